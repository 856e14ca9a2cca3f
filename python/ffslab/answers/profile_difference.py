"""What `ffslab profiles diff --json` prints; `ffslab schema profile_difference` is made from it."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers.profile import ShownConstant


class PairOfConstants(TypedDict):
    """A constant that differs; null on the side that lacks it."""

    key: str
    before: ShownConstant | None
    after: ShownConstant | None


class ProfileDifference(TypedDict):
    """Two profiles of one kind: how many values are the same, and those that are not."""

    kind: str
    before: str
    after: str
    same: int
    differences: list[PairOfConstants]
