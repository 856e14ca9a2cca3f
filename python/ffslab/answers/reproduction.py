"""What `ffslab reproduce --json` prints and `claims.json` holds; `ffslab schema reproduction` is made from it."""

from __future__ import annotations

from typing import TypedDict


class RealReading(TypedDict):
    """What the runs of the real kernel give, whether the claim holds there, and how far a number is off."""

    text: str
    holds: bool
    off_tolerances: float | None


class ReadingRow(TypedDict):
    """A comparison. `number`: a value within a tolerance; otherwise an order or trend.

    `real_kernel`: the same of runs of the real Linux 2.6.37 in our set-up, null if it was not measured;
    `other_set_ups`: in those that were tried beside it. `agrees_with_real_kernel`: ours and the real kernel's are the
    same within the claim's tolerance. `cause`: why it does not hold, null if it does. `off_tolerances`: how far a
    number is from the published one, in the claim's tolerance: it holds from -1 to 1; null of an order or a trend.
    `published_value` and `our_value`: a number as it is, for reckoning; null of an order or a trend.
    """

    what: str
    published: str
    real_kernel: RealReading | None
    other_set_ups: dict[str, RealReading]
    ours: str
    holds: bool
    agrees_with_real_kernel: bool | None
    cause: str | None
    number: bool
    off_tolerances: float | None
    published_value: float | None
    our_value: float | None


class JudgedClaim(TypedDict):
    """A claim with our readings. `differs`: why they differ, where they do; `evidence`: what our runs show of it.

    `cause`: the gravest of its readings' causes, null if all hold.
    """

    id: str
    title: str
    source: str
    verdict: str
    cause: str | None
    differs: str | None
    evidence: list[str]
    readings: list[ReadingRow]


class JudgedPaper(TypedDict):
    """A published study beside ours."""

    paper: str
    title: str
    # On what our runs were made, and how many, in a line.
    machine: str
    ffslab: str
    # The set-up of our runs, if the real kernel was measured in it.
    set_up: str | None
    runs: int
    claims: list[JudgedClaim]
