"""What is not told before the state is steady: of a run, a study, a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ffslab import Experiment, steps
from ffslab.answers.summary import Summary, VariantSummary
from ffslab.steady import filled_share, needs_us, variant_needs_us
from ffslab.studies.differences import account_of
from ffslab.studies.sweep import Study
from ffslab.text.failures import fell_short_or_lost
from ffslab.text.figures import FIGURES, RECKONED, figures_of, needs_steady, values_of
from ffslab.text.headline import headline_of
from ffslab.text.summary import summary_cells, summary_text

MACHINE: Any = {"board": "omap3evm", "partition_blocks": 96}
STEADY = ("latency_p99_9_us", "latency_max_us", "write_amplification", "years_until_worn_out")


def saves(count: int, fs: list[str] | str = "jffs2", **more: Any) -> Experiment:
    stack: Any = {**MACHINE, "fs": fs if isinstance(fs, str) else fs[0]}
    axes = None if isinstance(fs, str) else {"fs": fs}
    measure: list[Any] = [step for _ in range(count) for step in (steps.create(file="a", bytes=1 << 20), steps.sync())]
    return Experiment.of("saves", stack=stack, setup=[steps.mount()], measure=measure, axes=axes, **more)


@pytest.fixture(scope="module")
def short() -> Summary:
    return saves(1, ["jffs2", "yaffs2", "ubifs"]).run().summary


@pytest.fixture(scope="module")
def long() -> Summary:
    return saves(96, ["jffs2", "yaffs2", "ubifs"]).run().summary


def said_of(summary: Summary, count: int) -> str:
    return summary_text({**summary, "variants": summary["variants"][:count]})


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_short_run_tells_no_worst_case_no_years_and_no_winner(count: int, short: Summary, long: Summary) -> None:
    text = said_of(short, count)
    assert "Too short for years, write amplification and a worst case" in text and "This needs about " in text
    assert "has the shortest" not in text and "has the least" not in text and "last for" not in text
    assert count == 1 or ("In what was seen, " in text and ", and for a winner" in text)
    # The same workload, long enough.
    text = said_of(long, count)
    assert "Too short" not in text and "In what was seen" not in text and "too short" not in text
    assert count != 1 or "last for" in text
    assert count != 3 or "has the shortest" in text or "the same in all" in text


def test_a_cell_says_so_and_no_card_shows_it(short: Summary, long: Summary) -> None:
    rows = {row[0].partition(",")[0]: row[1:] for row in summary_cells(short)[1]}
    assert rows["latency max"] == ["too short"] * 3 and rows["write amplification"] == ["too short"] * 3
    assert "too short" not in rows["latency mean"] + rows["page programs"]
    labels = {card.label for card in headline_of(short).cards}
    assert "Slowest call" not in labels and "Slowest call" in {card.label for card in headline_of(long).cards}
    # Who was seen long enough is told beside who was not.
    mixed: Summary = {**short, "variants": [short["variants"][0], long["variants"][1]]}
    rows = {row[0].partition(",")[0]: row[1:] for row in summary_cells(mixed)[1]}
    assert rows["write amplification"][0] == "too short" != rows["write amplification"][1]


def test_each_figure_that_a_longer_look_turns_round_is_declared_where_it_stands(short: Summary, long: Summary) -> None:
    assert [key for key, figure in FIGURES.items() if figure.steady] == list(STEADY)
    assert all(figure.steady for figure in RECKONED.values())
    assert needs_steady("records.latency_max_us") and needs_steady("years") and not needs_steady("records.time_us")
    for variant in short["variants"]:
        assert all(values_of(variant)[key] is None for key in STEADY)
        assert figures_of(variant)["years_until_worn_out"] is None and variant_needs_us(variant) is not None
    for variant in long["variants"]:
        assert all(values_of(variant)[key] is not None for key in STEADY)
        assert figures_of(variant)["needs_us"] is None and figures_of(variant)["years_until_worn_out"] is not None


def test_what_only_reads_is_steady_at_once_and_what_is_still_in_memory_is_not() -> None:
    stack: Any = {**MACHINE, "fs": "ubifs"}
    begun: list[Any] = [steps.mount(), steps.create(file="a", bytes=1 << 16), steps.sync(), steps.drop_caches()]
    reading: list[Any] = [
        steps.open(file="a", flags=["rdonly"]),
        steps.requests(file="a", op="read", pattern="sequential", request_B=4096, count=16),
    ]
    reads = Experiment.of("reads", stack=stack, setup=begun, measure=reading).run().summary["variants"][0]
    assert variant_needs_us(reads) is None and values_of(reads)["latency_max_us"] is not None
    # Nothing was programmed and nothing erased, but only because write-back has not come yet.
    writing: list[Any] = [steps.create(file="b", bytes=1 << 16)]
    writes = Experiment.of("writes", stack=stack, setup=begun, measure=writing).run().summary["variants"][0]
    assert not writes["totals"]["page_programs"] and variant_needs_us(writes) is not None


@pytest.mark.parametrize(
    ("erases", "due", "windows", "is_steady"),
    [
        # As many erases as blocks, but half of what was filled was let go by the room of a new partition.
        (100.0, 200.0, [], False),
        (190.0, 200.0, [], True),
        # After ten rounds the first one is a tenth.
        (1000.0, 1300.0, [], True),
        # Collection at work from the first moment on: a tenth of a round, but counted.
        (110.0, 112.0, [(1.0, 27.5)] * 4, True),
        (110.0, 150.0, [(1.0, 27.5)] * 4, False),
        (20.0, 20.0, [(1.0, 5.0)] * 4, False),
        (110.0, 112.0, [], False),
    ],
)
def test_what_is_erased_must_be_what_is_filled(
    erases: float, due: float, windows: list[tuple[float, float]], is_steady: bool
) -> None:
    blocks = 1000 if erases < 150 and due != 200.0 else 100
    assert (needs_us(1e6, erases, due, blocks, windows) is None) == is_steady


def test_room_that_shrinks_in_each_quarter_goes_on_to_do_so(long: Summary) -> None:
    variant = long["variants"][0]
    assert filled_share(variant) is None

    def with_room(*free: int) -> VariantSummary:
        one = variant["steps"][0]
        return {**variant, "steps": [{**one, "fs_free_B": room} for room in free]}

    mib = 1 << 20
    assert filled_share(with_room(*(mib * left for left in (9, 8, 7, 6, 5)))) == pytest.approx(4 / 5)
    assert filled_share(with_room(*(mib * left for left in (9, 8, 9, 6, 5)))) is None


def test_a_study_names_no_winner_and_asked_for_a_worst_case_it_has_none(tmp_path: Path) -> None:
    axes = {"fs": ["jffs2", "yaffs2"]}
    few = Study.of(saves(1), axes, minimise=["time_us", "latency_max_us"]).run()
    assert few.untold == ["latency_max_us"] and [one["figure"] for one in few.answer["objectives"]] == ["time_us"]
    assert few.needs_us is not None and "Too short for a winner, and for latency max" in few.text
    assert "Least virtual time is" not in few.text and "In what was seen the least virtual time is" in few.text
    enough = Study.of(saves(96), axes, minimise=["time_us", "latency_max_us"]).run()
    assert enough.untold == [] and enough.needs_us is None and "Too short" not in enough.text


def test_a_short_study_of_which_nothing_is_told_has_a_page(tmp_path: Path) -> None:
    asked = Study.of(saves(1), {"fs": ["jffs2", "yaffs2"]}, minimise=["latency_max_us"]).run()
    assert asked.answer["objectives"] == [] and asked.needs_us is not None
    folder = asked.save(tmp_path / "study")
    assert "Too short for a winner" in (folder / "report.html").read_text(encoding="utf-8")


def test_lost_data_are_no_success(long: Summary) -> None:
    variant = long["variants"][0]
    assert fell_short_or_lost(variant) is None and "not_done" not in account_of(variant, {})
    lost: VariantSummary = {**variant, "counters": {"uncorrectable_frames": 2}}
    assert account_of(lost, {})["not_done"] == "2 frames could not be corrected"
