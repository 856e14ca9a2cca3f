"""What `ffslab inspect --lint --json` prints; `ffslab schema image_lint` is made from these types."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Verdict: TypeAlias = Literal["ok", "wrong", "not known"]
MustBe: TypeAlias = Literal["equal to", "at most", "at least", "a multiple of"]


class LintCheck(TypedDict):
    """One thing that the image has and the part, its partition or its board wants, in `unit`.

    `has` must be `must_be` `wanted`; null: not known. `right`: what to give which tool, where it is wrong. `note`: what
    the numbers are made of. `is_decisive`: unless it is known, nobody knows whether the image works.
    `is_unverified`: a number of a profile behind it is marked so.
    """

    about: str
    verdict: Verdict
    has: int | None
    must_be: MustBe
    wanted: int | None
    unit: str
    right: str | None
    note: str
    is_decisive: bool
    is_unverified: bool


class ImageLint(TypedDict):
    """Whether an image fits a part. `fits`: nothing is wrong, and everything decisive is known."""

    file: str
    part: str
    board: str | None
    kernel: str
    block_B: int
    partition_blocks: int
    fits: bool
    checks: list[LintCheck]
