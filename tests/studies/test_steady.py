"""When enough of a workload was seen to tell years."""

import json
from pathlib import Path

import pytest

from ffslab.steady import needs_us
from helpers.command import Command
from helpers.wear import workload

HOUR_US = 3.6e9


@pytest.mark.parametrize(
    ("erases", "due", "windows", "needs_hours"),
    [
        # Nothing is written: nothing wears, however short that was.
        (0.0, 0.0, [], None),
        # Erases that are due count as those that were made.
        (0.0, 10.0, [], 11.0),
        (25.0, 10.0, [], 4.0),
        (100.0, 10.0, [], None),
        # Halves that erased alike, a trend, and a difference that chance makes.
        (400.0, 400.0, [(1.0, 100.0)] * 4, None),
        (400.0, 400.0, [(1.0, 40.0), (1.0, 60.0), (1.0, 140.0), (1.0, 160.0)], 2.0),
        (120.0, 120.0, [(1.0, 28.0), (1.0, 28.0), (1.0, 32.0), (1.0, 32.0)], None),
    ],
)
def test_years_need_a_round_of_erases_and_two_halves_alike(
    erases: float, due: float, windows: list[tuple[float, float]], needs_hours: float | None
) -> None:
    needs = needs_us(HOUR_US, erases, due, 100, windows)
    assert needs == (None if needs_hours is None else needs_hours * HOUR_US)


@pytest.mark.parametrize("steps", [1, 8])
def test_no_years_are_told_before_that(steps: int, ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "wear.toml").write_text(workload("jffs2", steps), encoding="utf-8")
    ran = ffslab("lifetime", "wear.toml", "--years", "10", "--json", "--endurance", "1000000000", "--reckon")
    (row,) = json.loads(ran.stdout)["workloads"]
    if steps == 8:
        assert row["needs_us"] is None and row["lifetime_years"]["levelled"]["estimate"] > 0
        assert (ran.returncode, row["verdict"]["answer"]) == (0, "yes")
        return
    assert row["needs_us"] > row["time_us"]
    assert row["lifetime_years"] == {"levelled": {"estimate": None, "low": None, "high": None}, "busiest_block": None}
    assert (ran.returncode, row["verdict"]["answer"]) == (1, "too short")
    told = ffslab("lifetime", "wear.toml", "--reckon")
    assert told.returncode == 1 and "too short: " in told.stdout and "Without `--reckon` it is lived" in told.stdout
