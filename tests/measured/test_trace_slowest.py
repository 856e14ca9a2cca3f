"""The slowest calls that a trace report tells are those of the run that wrote its logs."""

from pathlib import Path

import pytest

import ffslab
from ffslab.measured.tracereport.recording import load
from ffslab.measured.tracereport.summary import summarize
from helpers.command import ROOT

EXAMPLE = ROOT / "examples" / "trace" / "half-full.toml"


def test_they_are_those_of_the_run(tmp_path: Path) -> None:
    run = ffslab.Experiment.from_file(EXAMPLE).run()
    run.save(tmp_path / "results")
    report, _ = summarize(load([tmp_path / "results" / "logs" / "1"]))
    ours = run.summary["variants"][0]["slowest"]
    assert len(report["slowest"]) == len(ours)
    for told, call in zip(report["slowest"], ours, strict=True):
        # The logs have microseconds.
        assert told["duration_us"] == pytest.approx(call["latency_us"], abs=1.0)
        # The open, which reads the nodes of the file, is among them.
        assert told["function"] in (call["op"], f"vfs_{call['op']}") and told["task"] == "caller"
        own = [wait for wait in call["waited_for"] if wait["task"] == "caller"]
        inside, of_others = told["inside"], told["of_others"]
        for kind in ("page_reads", "page_programs", "erases"):
            assert inside[kind] == sum(wait[kind] for wait in own)
            everybody = sum(wait[kind] for wait in call["waited_for"])
            # An operation of another task on the border of the call may be on either side.
            assert abs(inside[kind] + of_others[kind] - everybody) <= 1
