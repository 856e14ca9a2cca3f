"""Each figure of a result is declared in one table, and whatever has figures has those of the table."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args, get_type_hints

import pytest

from ffslab import steps
from ffslab.answers.summary import Counts, EnergySummary, LatencyUs, MeanSd, Summary, VariantSummary
from ffslab.api.experiment import Experiment
from ffslab.store.rows import FIGURES as KEPT
from ffslab.studies.budgets.file import known_figures
from ffslab.studies.limits import limit_of
from ffslab.text.figures import FIGURES, Place, at, figures_of
from ffslab.text.repeats import repeats_cells
from ffslab.text.summary import summary_cells
from ffslab.text.variants import columns_of

# Parts of the summary of a variant that are figures, by their keys.
PARTS: dict[str, type] = {
    "latency_us": LatencyUs,
    "totals": Counts,
    "erases_per_block": MeanSd,
    "energy_uJ": EnergySummary,
}
# Numbers of a variant that say how much of it was kept.
OF_TABLES = {"requests_kept"}


@pytest.fixture(scope="module")
def repeated() -> Summary:
    stack: Any = {"fs": "jffs2", "board": "apf27", "partition_blocks": 16}
    measure: list[Any] = [steps.create(file="a", bytes=1 << 16), steps.unlink(file="a"), steps.sync()]
    made = Experiment.of("repeated", stack=stack, setup=[steps.mount()], measure=measure, repeat=2)
    return made.run().summary


def numbers(typed: type) -> list[str]:
    """The keys whose values are one number, or null."""
    hints = get_type_hints(typed)
    kinds = {key: get_args(hint) if isinstance(hint, UnionType) else (hint,) for key, hint in hints.items()}
    return [key for key, kind in kinds.items() if int in kind or float in kind]


def test_each_number_of_a_summary_is_a_figure() -> None:
    places = {figure.source or figure.key for figure in FIGURES.values()}
    wanted = {f"{part}.{key}" for part, typed in PARTS.items() for key in numbers(typed)}
    wanted |= set(numbers(VariantSummary)) - OF_TABLES
    assert len(wanted) > 30 and sorted(wanted - places) == []


def test_columns_stores_and_budgets_have_the_figures_of_the_table(repeated: Summary) -> None:
    kept = [figure.key for figure in at(Place.STORE)]
    assert [key for key in figures_of(repeated["variants"][0]) if key in FIGURES] == kept
    assert list(KEPT) == kept == known_figures(None)
    columns = [key for key in columns_of(repeated) if key in FIGURES]
    assert columns == [key for key in kept if key in columns] and "energy_total_uJ" in columns


def test_a_rate_is_of_the_bytes_that_programs_moved_and_more_of_it_is_better(repeated: Summary) -> None:
    variant = repeated["variants"][0]
    figures = figures_of(variant)
    assert variant["user_written_B"] == 1 << 16 and figures["read_B_per_s"] is None
    assert figures["written_B_per_s"] == pytest.approx((1 << 16) / (variant["time_us"] / 1e6))
    limit = limit_of("written_B_per_s >= 1000", known_figures(None), lambda *_: "")
    assert limit.figure == "written_B_per_s" and FIGURES[limit.figure].better == "more"


def test_runs_that_are_repeated_are_told_by_the_figures_of_the_table(repeated: Summary) -> None:
    # The list that makes them stands in Rust.
    found = repeated["repeats"][0]["figures"]
    assert sorted(found) == sorted(figure.key for figure in at(Place.REPEATS))
    names = [row[1].partition(",")[0] for row in repeats_cells(repeated)[1]]
    assert names == [figure.name for figure in at(Place.REPEATS) if found[figure.key]["most"]]


def test_a_terminal_shows_those_that_stand_there(repeated: Summary) -> None:
    names = [row[0].partition(",")[0] for row in summary_cells(repeated)[1]]
    order = [figure.name for figure in at(Place.TERMINAL)]
    assert names == [name for name in order if name in names] and "latency p99.9" not in order
