"""Several programs in one experiment: what the command, the results folder and the report tell of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ffslab import Experiment
from ffslab.text.programs import alignment, programs_cells
from ffslab.text.tables import text_table
from helpers.command import ROOT, Command

EXAMPLE = "experiments/programs/logger.toml"


def test_an_update_makes_a_logger_wait(ffslab: Command, tmp_path: Path) -> None:
    ran = ffslab("run", EXAMPLE, "--out", tmp_path / "out", cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    head, rows = programs_cells(summary["variants"])
    table = text_table(head, rows, alignment(head))
    assert table in ran.stdout
    assert table in (ROOT / "experiments/programs/README.md").read_text(encoding="utf-8")
    assert "Programs at the same time" in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    for variant in summary["variants"]:
        main, logger = variant["programs"]
        assert (main["name"], logger["name"], logger["background"]) == ("main", "logger", True)
        assert logger["waited"]["by_program"][0]["program"] == "main"
        assert {call["program"] for call in variant["slowest"]} <= {"main", "logger"}
        # Without fsync the update's own calls may all be slower than the logger's.
        assert any(call["program"] == "logger" for call in variant["slowest"]) or "sync=none" in variant["name"]
        assert variant["user_written_B"] == main["written_B"] + logger["written_B"]
    requests = pq.read_table(tmp_path / "out/requests.parquet").to_pandas()
    assert set(requests["program"]) == {"main", "logger"}, "a file that is created is opened, written and closed"
    assert (requests["waited_us"] <= requests["latency_us"]).all()
    waited = requests[requests["cause"] == "another program"]
    assert (waited["cause_us"] == waited["waited_us"]).all() and len(waited) > 10


def test_alone_there_is_nothing_of_programs() -> None:
    run = Experiment.from_toml(
        'title = "t"\n[stack]\nboard = "omap3evm"\nfs = "jffs2"\npartition_blocks = 40\n[[setup]]\nstep = "mount"\n'
        '[[measure]]\nstep = "statfs"\n'
    ).run()
    assert not {"program", "waited_us"} & set(run.request_columns)
    assert "programs" not in run.summary["variants"][0]


@pytest.mark.parametrize("key", ["logger.append.count", "logger.append.gap_us"])
def test_axes_from_python_vary_steps_of_a_program(key: str) -> None:
    experiment = Experiment.from_file(ROOT / EXAMPLE).with_axes({"fs": ["jffs2"], key: [1_000, 2_000]})
    names = list(experiment.run().variants[key])
    assert names == [1_000, 2_000] * (len(names) // 2)
