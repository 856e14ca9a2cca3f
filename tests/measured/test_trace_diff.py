"""Two sessions compared: equal ones differ in nothing, known differences are named; the statistics against tables."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from ffslab.measured.tracereport import verb
from ffslab.measured.tracereport.statistics import (
    burst_interval,
    dispersion,
    distribution,
    kolmogorov_smirnov,
    poisson_interval,
    rates_differ,
)
from helpers.command import Command
from helpers.trace_logs import FLASH, log_text, other_session, write_session


def test_a_session_does_not_differ_from_itself(tmp_path: Path) -> None:
    write_session(tmp_path / "a")
    found, printed, _ = verb.diff(tmp_path / "a", tmp_path / "a", verb.Options(), tmp_path / "out")
    assert found["moved"] == []
    assert [(row["difference"], row["p"]) for row in found["counts"]] == [(0, 1.0)] * 4
    assert {row["moved_share"] for row in found["maps"].values()} == {0.0}
    assert {(row["ks_distance"], row["ks_p"]) for row in found["response_times"]} == {(0.0, 1.0)}
    assert "nothing that these logs show" in printed


def test_what_differs_is_named(ffslab: Command, tmp_path: Path) -> None:
    write_session(tmp_path / "before")
    other_session(tmp_path / "after")
    ran = ffslab("trace", "diff", "before", "after", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    programs = next(row for row in found["counts"] if row["type"] == "page_programs")
    assert (programs["a"], programs["b"], programs["difference"]) == (5, 7, 2)
    assert programs["a_per_s"] == pytest.approx(0.05)
    assert found["moved"][0] == "page programs: 7 instead of 5 (+40.0 %); +2 of them: app, vfs_write"
    assert found["maps"]["page_programs"]["largest_changes"] == [{"block": 700, "a": 0, "b": 2}]
    # 4 of 5 in block 512 and 1 in 0; then 4, 1 and 2 of 7.
    assert found["maps"]["page_programs"]["moved_share"] == pytest.approx(2 / 7)
    assert found["maps"]["erases"]["moved_share"] == 0
    first = found["response_times"][0]
    assert first["function"] == "vfs_read"
    assert first["mean_us"] == {"a": 400.0, "b": 40000.0}
    assert first["mean_difference_us"] == {"estimate": 39600.0, "low": None, "high": None}
    assert found["amplification"]["write"]["b"] == pytest.approx(7 * 2048 / 4196)
    folder = tmp_path / "results" / "diff-before-after"
    assert {path.name for path in folder.iterdir()} == {"diff.json", "report.html"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'data-chart="times"' in page and 'data-blocks="blocks"' in page
    # The map is that of the partitions that were worked on.
    held = json.loads(re.findall(r'id="data-blocks">(.*?)</script>', page)[0])[0]
    programs = next(one for one in held["metrics"] if one["label"] == "page programs")
    assert programs["signed"] and programs["values"][700 - held["first"]] == 2
    for words in ("What moved", "app, vfs_write", "Huffman", "Kolmogorov"):
        assert words in page


def test_sessions_on_different_chips_have_no_common_map(tmp_path: Path) -> None:
    for name, size in (("a", 134217728), ("b", 268435456)):
        chip = f"page_B=2048 oob_B=64 block_B=131072 size_B={size}"
        (tmp_path / f"{name}.log").write_text(log_text("flashmon", FLASH, chip=chip), encoding="utf-8")
    found, _, _ = verb.diff(tmp_path / "a.log", tmp_path / "b.log", verb.Options(), tmp_path / "out")
    assert found["maps"] == {}
    assert found["notes"] == ["the chips differ: maps are not compared"]


def test_an_incomplete_side_is_flagged(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(log_text("flashmon", FLASH), encoding="utf-8")
    (tmp_path / "b.log").write_text(log_text("flashmon", FLASH, end=None), encoding="utf-8")
    found, printed, _ = verb.diff(tmp_path / "a.log", tmp_path / "b.log", verb.Options(), tmp_path / "out")
    assert not found["complete"]
    assert f"INCOMPLETE: {tmp_path / 'b.log'}: the log is truncated" in printed


# ---- statistics ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # Exact two-sided 95 % limits of a Poisson mean (Garwood 1936, printed in every table of the kind).
    [(0, 0.0, 3.689), (3, 0.619, 8.767), (10, 4.795, 18.390), (50, 37.111, 65.919), (100, 81.364, 121.627)],
)
def test_poisson_limits_are_those_of_the_tables(count: int, low: float, high: float) -> None:
    found = poisson_interval(count)
    assert found[0] == pytest.approx(low, rel=0.03)
    assert found[1] == pytest.approx(high, rel=0.002)


def test_bursts_widen_an_interval() -> None:
    rng = np.random.default_rng(1)
    alone = rng.poisson(5.0, 2000)
    assert dispersion(alone) == pytest.approx(1.0, abs=0.1)
    assert dispersion(alone * 4) == pytest.approx(4.0, abs=0.4)
    low, high = poisson_interval(100)
    wide_low, wide_high = burst_interval(100, 4.0)
    assert wide_low < low and high < wide_high
    assert (wide_high - wide_low) / (high - low) == pytest.approx(2.0, rel=0.05)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Erases in bursts of 8, seen in 20 intervals of time: the rate behind them lies in the interval in about 95 %."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(400):
        counts = 8 * rng.poisson(2.0, 20)
        low, high = burst_interval(int(counts.sum()), dispersion(counts))
        held += low <= 8 * 2.0 * 20 <= high
    assert 0.90 <= held / 400 <= 0.99


def test_equal_rates_are_told_from_different_ones() -> None:
    rng = np.random.default_rng(3)
    same = [
        rates_differ(int(a), 10.0, int(b), 20.0)
        for a, b in zip(rng.poisson(50, 500), rng.poisson(100, 500), strict=True)
    ]
    assert sum(p is not None and p < 0.05 for p in same) / 500 == pytest.approx(0.05, abs=0.03)
    assert (rates_differ(50, 10.0, 200, 20.0) or 1.0) < 1e-3
    assert rates_differ(0, 10.0, 0, 10.0) is None


def test_equal_distributions_are_told_from_different_ones() -> None:
    rng = np.random.default_rng(4)
    same = [kolmogorov_smirnov(rng.normal(size=200), rng.normal(size=300))[1] for _ in range(300)]
    assert sum(p < 0.05 for p in same) / 300 == pytest.approx(0.05, abs=0.03)
    distance, p = kolmogorov_smirnov([1, 2, 3, 4], [3, 4, 5, 6])
    assert distance == 0.5
    # Of the Kolmogorov distribution at 1.36: 0.0505 (Smirnov's table).
    n = 10_000
    shifted = np.arange(n) + round(1.36 * math.sqrt(2 * n))
    assert kolmogorov_smirnov(np.arange(n), shifted)[1] == pytest.approx(0.0495, abs=0.002)
    assert p > 0.3


def test_percentiles_are_durations_that_were_measured() -> None:
    row = distribution([1_000 * us for us in range(1, 101)])
    assert [row[key] for key in ("n", "p50_us", "p90_us", "p99_us", "p99_9_us", "max_us", "step_us")] == [
        100, 50.0, 90.0, 99.0, 100.0, 100.0, 1.0,
    ]  # fmt: skip
