"""The four papers: whole, as a person types it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from journeys.table import Journey, journeys


@pytest.mark.parametrize(
    "journey", [pytest.param(each, id=each.name, marks=each.marks()) for each in journeys("papers")]
)
def test_it_answers_as_it_did(journey: Journey, travel: Callable[[Journey], None]) -> None:
    travel(journey)
