"""What `ffslab card cuts --json` prints; `ffslab schema card_cuts` is made from it."""

from __future__ import annotations

from typing import TypedDict


class CardCut(TypedDict):
    """A power cut. `at`: the program or erase that was hit, or the write, from 1; `torn`: what became of it.

    `writes`, `marks`: how many were answered before; `asked`: False where an equal state was asked about.
    """

    at: int
    torn: str | None
    writes: int
    marks: int
    verdict: str
    asked: bool


class CardVerdict(TypedDict):
    """What the check said, after how many cuts, and the first of them."""

    verdict: str
    good: bool
    cuts: int
    first_at: int
    first_torn: str | None


class CardCuts(TypedDict):
    """A session with power cuts. `unit`: what is counted; `total`: how many of them the session has.

    `asked`: how many states were looked at.
    """

    ffslab: str
    device: str
    unit: str
    total: int
    writes: int
    asked: int
    verdicts: list[CardVerdict]
    cuts: list[CardCut]
