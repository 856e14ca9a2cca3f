"""README and docs/verbs.md: verbs in their order, whole, as a person types them."""

from __future__ import annotations

from collections.abc import Callable

from journeys.table import Journey, each_of


@each_of("readme")
def test_it_answers_as_it_did(journey: Journey, travel: Callable[[Journey], None]) -> None:
    travel(journey)
