"""Repeated variants: median, interval and worst of all runs, and the run that stands for them."""

import json
from pathlib import Path

import numpy as np
import pytest

from ffslab import Experiment, Run
from helpers.command import SMALL, Command

TEXT = SMALL.replace("zero-overhead", "omap3evm")
RUNS = 7


@pytest.fixture(scope="module")
def run() -> Run:
    return Experiment.from_toml(TEXT).changed(repeat=RUNS).run()


def test_figures_are_those_of_the_runs(run: Run) -> None:
    runs = run.variants.groupby("read_ahead_KiB", sort=False)
    assert list(run.variants["run"]) == list(range(1, RUNS + 1)) * 2
    for (_, own), one in zip(runs, run.summary["repeats"], strict=True):
        assert (one["runs"], one["failed"]) == (RUNS, 0)
        for figure in ("time_us", "latency_max_us", "page_programs"):
            spread, values = one["figures"][figure], own[figure]
            assert spread["median"] == np.median(values)
            # With seven values the interval of 95 % reaches from the least to the most.
            ends = (spread["low"], spread["least"], spread["high"], spread["most"])
            assert ends == (values.min(), values.min(), values.max(), values.max())
        typical = own[own["variant"] == one["typical"]]
        assert float(typical["time_us"].iloc[0]) == np.median(own["time_us"])
        worst = own[own["variant"] == one["worst"]]
        assert float(worst["latency_max_us"].iloc[0]) == own["latency_max_us"].max()
    table = run.repeats
    assert (
        set(table["figure"]) >= {"time_us", "erases", "energy_total_uJ"} and len(table["read_ahead_KiB"].unique()) == 2
    )


def test_the_first_run_is_the_experiment_itself_and_others_differ(run: Run) -> None:
    alone = Experiment.from_toml(TEXT).run().summary["variants"]
    first = [variant for variant in run.summary["variants"] if variant["axes"]["run"] == 1]
    for one, other in zip(first, alone, strict=True):
        assert one["totals"] == other["totals"] and one["latency_us"] == other["latency_us"]
    assert run.variants["latency_mean_us"].nunique() > 2


def test_the_same_bytes_whatever_runs_beside_one_another(tmp_path: Path) -> None:
    experiment = Experiment.from_toml(TEXT).changed(repeat=3)
    folders = [experiment.run(jobs=jobs).save(tmp_path / str(jobs)) for jobs in (1, 3)]
    for name in ("summary.json", "resolved.toml", "variants.csv", "requests.parquet", "report.html"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    again = Experiment.from_file(folders[0] / "resolved.toml").run()
    assert again.summary == Run.load(folders[0]).summary


def test_the_command_prints_the_table_and_draws_the_typical_run(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TEXT)
    ran = ffslab("run", "small.toml", "--repeat", RUNS, "--jobs", 1, "--seed", 3, "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert "95 % interval" in ran.stdout and f"read_ahead_KiB=0: {RUNS} runs" in ran.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["seed"] == 3 and len(summary["variants"]) == 2 * RUNS
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Over all runs" in report


def test_what_hangs_on_the_tick_counter_says_so() -> None:
    """JFFS2 draws a block to collect by it, once there is more than one kind of them."""
    assert said_of_ticks(TEXT.replace("count = 600", "count = 3")) == []
    assert said_of_ticks(TEXT.replace("count = 600", "count = 6000")) != []


def said_of_ticks(text: str) -> list[str]:
    notes = Experiment.from_toml(text).run().summary["variants"][0]["notes"]
    return [note for note in notes if "tick counter" in note]
