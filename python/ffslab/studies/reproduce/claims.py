"""Published claims, what was read off our runs and off those of the real kernel beside them, and the verdict.

A claim's numbers are in `readahead.toml` and `wear-gc.toml`. The module of each paper makes `Reading`s
of each claim. The verdict follows from them by one rule for all claims: nobody chooses it. Why a reading does not hold
follows from the same reading of the real kernel's runs (`kernel.py`), where there are any.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.resources import files
from itertools import pairwise

from ffslab.answers.reproduction import JudgedClaim, ReadingRow, RealReading

# What a printed curve can be read to: a trend may go so far against its direction, in points of per cent.
SLACK_POINTS = 5
# Curves that a paper calls the same, or stable, may differ so much.
ALIKE_POINTS = 10


class Verdict(StrEnum):
    """How far our runs agree with a published claim."""

    REPRODUCED = "reproduced"
    SHAPE_ONLY = "shape only"
    NOT_REPRODUCED = "not reproduced"
    NOT_RUN = "not yet run"


class Cause(StrEnum):
    """Why a reading does not hold, the gravest first: that of a claim is the gravest of its readings."""

    OURS = "ffslab differs from the real kernel"
    SET_UP = "the real kernel shows it in another set-up only"
    UNKNOWN = "it was not measured on the real kernel"
    KERNEL = "the real kernel differs from the paper, too, in every set-up tried"

    @property
    def who(self) -> str:
        """The words for a column of a table that says who or what differs."""
        return {
            Cause.OURS: "ffslab",
            Cause.SET_UP: "the set-up",
            Cause.UNKNOWN: "",
            Cause.KERNEL: "the real kernel, too",
        }[self]


# What a claim says in numbers: one, several, or a table of them.
Numbers = float | list[float] | dict[str, "Numbers"]


@dataclass(frozen=True)
class Reading:
    """One comparison. `number`: a value within a tolerance; otherwise an order or trend, the shape of a claim.

    `value`: ours, and `stated`: the published one.
    """

    what: str
    published: str
    ours: str
    holds: bool
    number: bool = False
    value: float | None = None
    stated: float | None = None
    # How far a number is from the published one, in tolerances: from -1 to 1 it holds.
    off: float | None = None
    # The same reading of the real kernel's runs: in the set-up that is ours, and in those that were tried beside it.
    real: Reading | None = None
    elsewhere: Mapping[str, Reading] = field(default_factory=dict)
    # Whether ours and that of the real kernel are the same, within the claim's tolerance; None if it was not measured.
    agrees: bool | None = None

    @property
    def cause(self) -> Cause | None:
        """Why it does not hold."""
        if self.holds:
            return None
        if self.agrees is False:
            return Cause.OURS
        if any(reading.holds for reading in self.elsewhere.values()):
            return Cause.SET_UP
        return Cause.UNKNOWN if self.real is None else Cause.KERNEL

    def as_dict(self) -> ReadingRow:
        """What `claims.json` holds of it."""
        return {
            "what": self.what,
            "published": self.published,
            "real_kernel": None if self.real is None else _real(self.real),
            "other_set_ups": {name: _real(reading) for name, reading in self.elsewhere.items()},
            "ours": self.ours,
            "holds": self.holds,
            "agrees_with_real_kernel": self.agrees,
            "cause": None if self.cause is None else self.cause.value,
            "number": self.number,
            "off_tolerances": self.off,
            "published_value": self.stated,
            "our_value": self.value,
        }


def _real(reading: Reading) -> RealReading:
    return {"text": reading.ours, "holds": reading.holds, "off_tolerances": reading.off}


@dataclass
class Judged:
    """A claim with our readings. `published`: the numbers of its entry in the data file."""

    id: str
    title: str
    source: str
    # Why our readings differ, where they do.
    differs: str
    published: Mapping[str, Numbers]
    readings: list[Reading] = field(default_factory=list)
    # What our runs show of the mechanism behind a difference.
    evidence: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Shapes are the orders and trends. A claim of numbers alone that misses one keeps no shape."""
        if not self.readings:
            return Verdict.NOT_RUN
        if all(reading.holds for reading in self.readings):
            return Verdict.REPRODUCED
        shapes = [reading.holds for reading in self.readings if not reading.number]
        return Verdict.SHAPE_ONLY if shapes and all(shapes) else Verdict.NOT_REPRODUCED

    @property
    def cause(self) -> Cause | None:
        """Why it is not reproduced: the gravest cause of its readings."""
        causes = {reading.cause for reading in self.readings}
        return next((cause for cause in Cause if cause in causes), None)

    def number(self, what: str, published: float, ours: float, unit: str = "") -> None:
        """Compares a value within the claim's `tolerance` (relative) or `tolerance_points` (of per cent)."""
        holds = self._is_near(ours, published)
        texts = _text(published, unit), _text(ours, unit)
        low, high = self.same(published)
        off = (ours - published) / ((high - low) / 2)
        self.readings.append(Reading(what, *texts, holds, number=True, value=ours, stated=published, off=off))

    def _is_near(self, value: float, reference: float) -> bool:
        if "tolerance" in self.published:
            return bool(abs(value - reference) <= self.value("tolerance") * abs(reference))
        return bool(abs(value - reference) * 100 <= self.value("tolerance_points"))

    def same(self, published: float) -> tuple[float, float]:
        """The least and the largest value that count as the same as the published one."""
        tolerance = self.published.get("tolerance")
        off = self.value("tolerance_points") / 100 if tolerance is None else self.value("tolerance") * abs(published)
        return published - off, published + off

    def put_beside(self, real: Mapping[str, Judged], our_set_up: str) -> None:
        """Puts the real kernel's readings, by set-up, beside ours of the same name."""
        found = {name: {reading.what: reading for reading in claim.readings} for name, claim in real.items()}
        ours = {reading.what for reading in self.readings}
        assert all(readings.keys() <= ours for readings in found.values()), f"{self.id}: a reading without ours"
        for i, reading in enumerate(self.readings):
            all_of = {name: readings[reading.what] for name, readings in found.items() if reading.what in readings}
            same = all_of.pop(our_set_up, None)
            agrees = None if same is None else self._agree(reading, same)
            self.readings[i] = replace(reading, real=same, elsewhere=all_of, agrees=agrees)
        self.evidence += [f"Linux 2.6.37: {line}" for line in real[our_set_up].evidence]

    def _agree(self, ours: Reading, real: Reading) -> bool:
        if ours.value is None or real.value is None:
            return ours.holds == real.holds
        return self._is_near(ours.value, real.value)

    def value(self, *keys: str) -> float:
        """A published number: its key, after those of the tables in which it stands."""
        found = self._at(keys)
        assert isinstance(found, int | float), f"{self.id}: {keys}"
        return found

    def values(self, *keys: str) -> list[float]:
        """Published numbers of which there are several."""
        found = self._at(keys)
        assert isinstance(found, list), f"{self.id}: {keys}"
        return found

    def table(self, *keys: str) -> dict[str, float]:
        """A table of published numbers."""
        return {name: self.value(*keys, name) for name in self.names(*keys)}

    def names(self, *keys: str) -> list[str]:
        """What stands in a table, which may hold tables."""
        found = self._at(keys)
        assert isinstance(found, dict), f"{self.id}: {keys}"
        return list(found)

    def _at(self, keys: tuple[str, ...]) -> Numbers:
        found: Numbers = dict(self.published)
        for key in keys:
            assert isinstance(found, dict), f"{self.id}: {keys}"
            found = found[key]
        return found

    def shape(self, what: str, published: str, ours: str, holds: bool) -> None:
        """Notes whether an order or a trend holds."""
        self.readings.append(Reading(what, published, ours, bool(holds)))

    def as_dict(self) -> JudgedClaim:
        """What `claims.json` holds of it."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "verdict": self.verdict.value,
            "differs": None if self.verdict in (Verdict.REPRODUCED, Verdict.NOT_RUN) else self.differs,
            "evidence": self.evidence,
            "cause": None if self.cause is None else self.cause.value,
            "readings": [reading.as_dict() for reading in self.readings],
        }


class Claims:
    """All claims of one paper, by id."""

    def __init__(self, paper: str) -> None:
        data = tomllib.loads(files("ffslab.studies.reproduce").joinpath(f"{paper}.toml").read_text(encoding="utf-8"))
        self.title: str = data["title"]
        self._claims = {claim["id"]: _judged(claim) for claim in data["claim"]}

    def __getitem__(self, claim: str) -> Judged:
        return self._claims[claim]

    def __iter__(self) -> Iterator[Judged]:
        return iter(self._claims.values())

    def put_beside(self, real: Mapping[str, Claims], our_set_up: str) -> None:
        """Puts the real kernel's readings of each claim, by set-up, beside ours."""
        for claim in self:
            claim.put_beside({name: claims[claim.id] for name, claims in real.items()}, our_set_up)


def _judged(claim: dict[str, Numbers]) -> Judged:
    """Of an entry of the data file: its texts, and numbers as they stand there."""
    name, title, source, differs = (str(claim.pop(key)) for key in ("id", "title", "source", "differs"))
    return Judged(name, title, source, differs, claim)


def _text(value: float, unit: str) -> str:
    return f"{value * 100:.1f} %" if unit == "%" else f"{value:.2f} {unit}".rstrip()


def percent_list(values: list[float]) -> str:
    """Shares as whole per cents: "77, 73, 65 %"."""
    return ", ".join(f"{value * 100:.0f}" for value in values) + " %"


def falls(gains: list[float]) -> bool:
    """Whether shares fall from each to the next, and altogether by more than the slack."""
    slack = SLACK_POINTS / 100
    return all(b <= a + slack for a, b in pairwise(gains)) and gains[-1] < gains[0] - slack


def alike(gains: list[float], others: list[float]) -> tuple[str, bool]:
    """How far two curves of shares are apart at most, and whether that counts as the same."""
    apart = max(abs(a - b) for a, b in zip(gains, others, strict=True)) * 100
    return f"{apart:.1f} points apart at most", apart <= ALIKE_POINTS
