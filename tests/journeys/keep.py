"""Runs the journeys of tables and keeps what they answer: `python tests/journeys/keep.py [TABLE ...] [--only TEXT]`.

It runs each command anew, as a shell does, not in the process that spares tests its start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from helpers.command import FFSLAB, Ran
from journeys import table


def started(words: list[str], place: Path, stdin: Path | None, environment: Mapping[str, str]) -> Ran:
    with (stdin or Path(os.devnull)).open() as file:
        return subprocess.run(
            [FFSLAB, *words], cwd=place, env=environment, stdin=file, capture_output=True, text=True, check=False
        )


def _call(words: list[str], place: Path, stdin: Path | None) -> Ran:
    return started(words, place, stdin, table.environment(place))


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("table", nargs="*")
    said.add_argument("--only", default="", metavar="TEXT", help="journeys whose name holds this")
    said.add_argument("--needs", default="", metavar="WORD", help="those that need this: long, kernels")
    chosen = said.parse_args()
    for name in chosen.table or table.tables():
        before = table.kept(name)
        answers = {}
        for journey in table.journeys(name):
            if journey.needs == chosen.needs and chosen.only in journey.name:
                began_s = time.monotonic()
                with tempfile.TemporaryDirectory() as made:
                    place = Path(made).resolve()
                    table.prepare(journey, place)
                    answers[journey.name] = table.told(journey, place, _call)
                print(f"{time.monotonic() - began_s:7.1f} s  {journey.id}", file=sys.stderr)
            elif journey.name in before:
                answers[journey.name] = before[journey.name]
        table.keep(name, answers)


if __name__ == "__main__":
    main()
