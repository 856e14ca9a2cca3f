"""What `ffslab reproduce --json` prints and `claims.json` holds; `ffslab schema reproduction` is made from it."""

from __future__ import annotations

from typing import TypedDict


class ReadingRow(TypedDict):
    """A comparison. `number`: a value within a tolerance; otherwise an order or trend."""

    what: str
    published: str
    ours: str
    holds: bool
    number: bool


class JudgedClaim(TypedDict):
    """A claim with our readings. `differs`: why they differ, where they do; `evidence`: what our runs show of it."""

    id: str
    title: str
    source: str
    verdict: str
    differs: str | None
    evidence: list[str]
    readings: list[ReadingRow]


class JudgedPaper(TypedDict):
    """A published study beside ours."""

    paper: str
    title: str
    ffslab: str
    runs: int
    claims: list[JudgedClaim]
