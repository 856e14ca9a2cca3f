"""The four papers and the measurements of other boards: whole, as a person types it."""

from __future__ import annotations

from collections.abc import Callable

from journeys.table import Journey, each_of


@each_of("papers")
def test_it_answers_as_it_did(journey: Journey, travel: Callable[[Journey], None]) -> None:
    travel(journey)
