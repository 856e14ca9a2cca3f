"""Experiments that make many calls: an estimate and a limit before the run, a bounded number of rows after it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ffslab import Experiment, InputError
from helpers.command import SMALL, Command

ONE = SMALL.split("[axes]")[0]
ENDLESS = ONE.replace("count = 600", f"count = {2**63 - 1}")
FIO = "[global]\nrw=randread\nbs=512\nsize=1m\n[job]\nio_size=8192g\n"


def test_an_endless_count_is_refused_before_the_run(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS, encoding="utf-8")
    ran = ffslab("run", "endless.toml")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "endless.toml: about 9,223,372,036,854,7" in ran.stderr
    assert "calls_max" in ran.stderr and "--yes" in ran.stderr and "years" in ran.stderr and "GiB" in ran.stderr
    assert not (tmp_path / "results").exists()
    with pytest.raises(InputError, match="calls_max"):
        Experiment.from_toml(ENDLESS).check()


@pytest.mark.parametrize(
    ("verb", "name", "text"),
    [
        ("fio", "large.fio", FIO),
        ("postmark", "large.pm", "set transactions 100000000\n" + 6 * "run\n"),
    ],
)
def test_the_limit_holds_for_every_verb_that_makes_calls(
    ffslab: Command, tmp_path: Path, verb: str, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    ran = ffslab(verb, name)
    assert (ran.returncode, "the limit is 1,000,000,000 calls" in ran.stderr) == (2, True), ran.stderr


@pytest.mark.parametrize(
    "steps",
    [
        '[[measure]]\nstep = "create_many"\ndir = ""\ncount = 2000000000\nbytes = 1\n',
        '[[measure]]\nstep = "age"\nfile = "target"\noverwrites = 900000.0\nrequest_B = 1\n',
        '[[setup]]\nstep = "append"\nfile = "target"\ncount = 3000000000\nrequest_B = 1\n',
        '[[measure]]\nstep = "uflip"\nfile = "target"\npattern = "SR"\nio_count = 3000000000\n',
    ],
)
def test_the_limit_holds_for_every_step_that_makes_calls(steps: str) -> None:
    with pytest.raises(InputError, match="the limit is 1,000,000,000 calls"):
        Experiment.from_toml(f"{ONE}\n{steps}").check()
    Experiment.from_toml(f"calls_max = {2**62}\n{ONE}\n{steps}").check()


def test_the_key_and_yes_allow_more(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text(f"calls_max = 100\n{ONE}", encoding="utf-8")
    refused = ffslab("run", "few.toml")
    assert (refused.returncode, "the limit is 100 calls" in refused.stderr) == (2, True)
    assert ffslab("run", "few.toml", "--yes").returncode == 0
    resolved = (tmp_path / "results/few/resolved.toml").read_text(encoding="utf-8")
    assert "calls_max = 100\n" in resolved


def test_a_large_run_is_estimated_before_it_begins() -> None:
    told: list[str] = []

    def stop(_: float) -> None:
        raise InterruptedError

    many = ONE.replace("count = 600", "count = 20000000")
    with pytest.raises(InterruptedError):
        Experiment.from_toml(many).run(stop, tell=told.append)
    assert len(told) == 1 and "about 20,0" in told[0] and "GiB" in told[0]
    Experiment.from_toml(ONE).run(tell=told.append)
    assert len(told) == 1


def test_calls_beyond_the_rows_are_counted_and_said(ffslab: Command, tmp_path: Path) -> None:
    """Exact figures stay exact, percentiles move by at most 0.1 %, and every place says that rows are missing."""
    (tmp_path / "all.toml").write_text(ONE, encoding="utf-8")
    (tmp_path / "few.toml").write_text(f"requests_kept = 100\n{ONE}", encoding="utf-8")
    ran = {name: ffslab("run", f"{name}.toml") for name in ("all", "few")}
    folders = {name: tmp_path / "results" / name for name in ran}
    summaries = {name: json.loads((folder / "summary.json").read_text()) for name, folder in folders.items()}
    rows = {name: pq.read_table(folder / "requests.parquet").to_pylist() for name, folder in folders.items()}
    assert len(rows["all"]) > 600
    assert rows["few"] == rows["all"][:100]
    whole, few = (summaries[name]["variants"][0] for name in ("all", "few"))
    assert "requests_kept" not in whole and "latency_quantiles_us" not in whole
    assert few["requests_kept"] == 100 and len(few["latency_quantiles_us"]) == 1001
    assert few["latency_quantiles_us"][0] == whole["latency_us"]["min"]
    assert few["latency_quantiles_us"][-1] == whole["latency_us"]["max"]
    for exact, counted in [
        (whole["latency_us"], few["latency_us"]),
        *((a["latency_us"], b["latency_us"]) for a, b in zip(whole["steps"], few["steps"], strict=True)),
    ]:
        for key, value in exact.items():
            assert counted[key] == (pytest.approx(value, rel=1e-3) if value else value), key
            if key in ("n", "min", "max"):
                assert counted[key] == value
    for key in ("totals", "by_cause", "time_us", "energy_uJ"):
        assert few[key] == whole[key]
    said = f"first 100 of {len(rows['all'])} calls"
    assert said in ran["few"].stdout and said not in ran["all"].stdout
    assert said in (folders["few"] / "report.html").read_text(encoding="utf-8")
