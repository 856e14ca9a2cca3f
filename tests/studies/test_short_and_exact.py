"""What is advised from short lives, beside lives of which every operation is run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ffslab.studies.advise.answer import Looked
from ffslab.studies.advise.day import Tried
from ffslab.studies.advise.living import lived_of
from helpers.command import ROOT
from helpers.scripts import loaded

BORNE = 1000
FILLED = {"days": [0.0, 365.25 / 2, 365.25], "erases": [[0] * 4, [10] * 4, [50] * 4]}


def life(began: list[int], now: list[int], *, by: str = "unknown", **changes: Any) -> Any:
    """A life of a year, at whose begin and end the blocks have these erases."""
    return {
        "years": 1.0,
        "repetitions": 7,
        "ended": {"by": by, "error": "EIO"},
        "erases": {"mean": sum(now) / len(now)},
        "wear": {"days": [0.0, 365.25], "erases": [began, now]},
        "endurance_erases": BORNE,
        "levels_from_erases": None,
        "blocks_fail": True,
        "first_bad_block_years": None,
        "points": [{"days": 1.0, "max_us": 5.0}, {"days": 300.0, "max_us": 9.0}],
        **changes,
    }


@pytest.mark.parametrize(
    ("wear", "changes", "years"),
    [
        # What rests, with a few erases of the setup behind it, is no part of it.
        (([3, 3, 0, 0], [3, 3, 50, 50]), {}, 20),
        # A few blocks that are worn first are replaced by others.
        (([0] * 8, [50] * 7 + [900]), {}, 20),
        # Where nobody knows how blocks fail the most worn one decides.
        (([0] * 8, [50] * 7 + [900]), {"blocks_fail": False}, 1000 / 900),
        # UBI lets all have as many, sooner or later.
        (([0] * 4, [20, 20, 0, 120]), {"levels_from_erases": 4}, 25),
        # Too few to tell.
        (([0] * 4, [2, 2, 3, 3]), {}, None),
        # How a new partition fills up is no part of it, if there is more.
        (([0] * 4, [50] * 4), {"wear": FILLED}, 1000 / 40 * 0.5),
        # The first block that had all its erases is what was lived for.
        (([0] * 4, [50] * 4), {"by": "endurance"}, 1.0),
        # A device that ended does not last until the usual block has had its erases.
        (([0] * 4, [50] * 4), {"by": "full", "first_bad_block_years": 0.5}, 1.0),
        # JFFS2 lives on with blocks that have had theirs; what it does then is no measure.
        (([0] * 4, [BORNE + 500] * 4), {"by": "limit", "years": 30.0}, 1.0),
    ],
)
def test_years_are_those_of_the_blocks_in_turn(
    wear: tuple[list[int], list[int]], changes: dict[str, Any], years: float | None
) -> None:
    found = lived_of(life(*wear, **changes))
    assert found.years == (None if years is None else pytest.approx(years))
    assert found.error is None


def test_the_slowest_call_is_of_a_device_that_works_and_a_refused_one_is_an_error() -> None:
    assert lived_of(life([0] * 4, [50] * 4)).slowest_us == 9.0
    assert lived_of(life([0] * 4, [50] * 4, first_bad_block_years=0.5)).slowest_us == 5.0
    assert lived_of(life([0] * 4, [1] * 4, by="failed")).error == "after 7 repetitions: EIO"


def test_a_longer_look_may_turn_points_round() -> None:
    seen: list[Any] = []

    def tried(name: str, years: float) -> Any:
        return Tried((name,), {"years": years})

    longer = {"a": 5.0, "b": 20.0, "c": 25.0, "d": 1.0}

    def look(points: Any) -> Any:
        seen.extend(point for (point,) in points)
        return [[tried(point, longer[point])] for (point,) in points]

    question: Any = SimpleNamespace(wanted=("years", True), limits=[])
    search: Any = SimpleNamespace(
        tried={(name,): tried(name, years) for name, years in zip("abcd", (30, 22, 21, 1), strict=True)}
    )
    choice, second = Looked(question, search, look).best_two()
    # The best one of the search is not what it seemed to be: the third one is looked into, and the last one is not.
    assert (choice[0].point, second[0].point, seen) == (("c",), ("b",), ["a", "b", "c"])


def test_two_of_the_answers_that_the_table_has_are_near_the_exact_ones() -> None:
    script = loaded(ROOT / "experiments" / "questions" / "short_and_exact.py")
    for name, question, fs in script.asked(["ring/ubifs", "keys/tickv"]):
        row = script.row_of(question, fs)
        assert row.exact.years == pytest.approx(row.lifetime.years, rel=0.1)
        if name == "keys":
            # It fails after five repetitions.
            assert row.advise.years is None and row.run.slowest_ms is None
        else:
            assert row.advise.years == pytest.approx(row.exact.years, rel=script.YEARS_OFF)
            assert row.advise.slowest_ms == pytest.approx(row.exact.slowest_ms, rel=script.SLOWEST_OFF)
