"""What a kind of cases is, what comes of a case, and how a case that fails is made smaller."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

# Plain data that JSON holds: with it alone a case is run again.
Case = dict[str, Any]
T = TypeVar("T")


@dataclass
class Fault:
    """What went wrong. `what`: a word by which two faults are the same one, `says`: a sentence."""

    what: str
    says: str


class Found(Exception):  # noqa: N818
    """Something is wrong; ends the case."""

    def __init__(self, what: str, says: str) -> None:
        super().__init__(f"{what}: {says}")
        self.fault = Fault(what, says)


@dataclass
class Verdict:
    """What came of a case: what was counted, and what was wrong."""

    fault: Fault | None = None
    counts: Counter[str] = field(default_factory=Counter)


def judged(run: Callable[[Case, Path, Counter[str]], None], case: Case, folder: Path) -> Verdict:
    """What comes of a case that `run` ends by `Found`, and counts."""
    counts: Counter[str] = Counter()
    try:
        run(case, folder, counts)
    except Found as found:
        return Verdict(found.fault, counts)
    return Verdict(None, counts)


class Kind(Protocol):
    """A kind of cases. The campaign asks nothing else of it."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> int:
        """How often it is drawn beside the others."""

    def draw(self, draw: random.Random) -> Case:
        """A case, which the state of `draw` decides."""

    def run(self, case: Case, folder: Path) -> Verdict:
        """Runs a case in an empty folder. What it raises is a fault, too."""

    def smaller(self, case: Case) -> Iterator[Case]:
        """Cases that may fail in its place, those that leave out most first."""


def fewer(parts: Sequence[T], least: int = 0) -> Iterator[list[T]]:
    """Lists without a piece of it: half, a quarter ... one (Zeller and Hildebrandt, IEEE TSE 28(2), 2002)."""
    size = (len(parts) + 1) // 2
    while parts and size >= 1:
        for at in range(0, len(parts), size):
            left = [*parts[:at], *parts[at + size :]]
            if len(left) >= least:
                yield left
        size = size // 2


def without(case: Case, key: str, names: Sequence[str]) -> Iterator[Case]:
    """Cases whose table `key` lacks one of these names."""
    table = case[key]
    for name in names:
        if name in table:
            yield {**case, key: {other: value for other, value in table.items() if other != name}}


def shrunk(kind: Kind, case: Case, fails: Callable[[Case], bool]) -> Case:
    """The smallest case that is found to fail; `fails` says no when there is no time left."""
    while True:
        found = next((smaller for smaller in kind.smaller(case) if fails(smaller)), None)
        if found is None:
            return case
        case = found


def digest(case: Case) -> str:
    """A short name for a case."""
    return hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:10]
