"""Runs journeys in tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.command import FFSLAB, Command, Ran
from helpers.command_server import Server
from journeys import table
from journeys.table import Journey

TIMEOUT_S = 600


@pytest.fixture
def travel(tmp_path: Path, command_server: Server, started: Command) -> Callable[[Journey], None]:
    """Runs a journey and compares what it answered with what is kept."""

    def run(journey: Journey) -> None:
        # A verb that many journeys call is started by those of README.
        is_started = journey.table == "shipped"

        def call(words: list[str], place: Path, stdin: Path | None) -> Ran:
            nonlocal is_started
            if not is_started and stdin is None:
                # Once in a journey with all that a start needs: the server has loaded every module before.
                is_started = True
                return started(*words, cwd=place, **table.environment(place))
            return command_server.run([str(FFSLAB), *words], place, table.environment(place), TIMEOUT_S, stdin)

        table.prepare(journey, tmp_path)
        answer = table.told(journey, tmp_path, call)
        before = table.kept(journey.table).get(journey.name)
        assert before is not None, f"nothing is kept of it: python tests/journeys/keep.py {journey.table}"
        assert answer == before, f"renew, and read what changed: python tests/journeys/keep.py {journey.table}"

    return run
