"""The module of the kernel that stands in for a variant's flash, and what is to be known of it.

A module of this package describes each: sizes that it can have, its parameters, how flashmon sees it, what is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ffslab.answers.machine import PlannedFlash
from ffslab.measured.reference import chip, mtdram


class Medium(Protocol):
    """What `chip` and `mtdram` have."""

    MODULE: str
    COUNTERS: tuple[str, ...]

    def trouble(self, flash: PlannedFlash) -> str | None: ...
    def as_simulated(self, flash: PlannedFlash) -> PlannedFlash: ...
    def parameters(self, flash: PlannedFlash, bch_bits: int | None = None, sizes: Sequence[int] = ()) -> str: ...
    def mtd_of(self, flash: PlannedFlash) -> int: ...
    def probe_options(self, flash: PlannedFlash) -> str: ...
    def described(self, bch_bits: int | None) -> dict[str, object]: ...


NAND: Medium = chip
NOR: Medium = mtdram


def is_nor(flash: PlannedFlash) -> bool:
    """Whether the plan names NOR. Plans, like cases, name no medium for NAND."""
    return flash.get("medium") == "nor"


def of(flash: PlannedFlash) -> Medium:
    return NOR if is_nor(flash) else NAND
