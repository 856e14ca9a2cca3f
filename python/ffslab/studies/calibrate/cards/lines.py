"""Lines of a probe: what was asked of a card, and how long a call took.

Two probes have them: flashbench (`flashbench_log`), and the fio jobs in probe/fio/cards (`fio_output`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["pre", "on", "post"]
PLACES: tuple[Place, ...] = ("pre", "on", "post")


@dataclass(frozen=True)
class Align:
    """A read of `block_bytes` before, across or after multiples of `align_bytes`."""

    align_bytes: int
    block_bytes: int
    place: Place

    def asked(self) -> dict[str, object]:
        """The pattern in the form in which the native half takes it."""
        pattern = {"pattern": "align", "align_bytes": self.align_bytes}
        return {**pattern, "block_bytes": self.block_bytes, "place": self.place}

    def name(self) -> str:
        """The pattern in words."""
        return f"read {self.place} {size_text(self.align_bytes)}"


@dataclass(frozen=True)
class OpenAu:
    """Writes of `block_bytes` to all of `erase_blocks` erase blocks in turns."""

    erase_block_bytes: int
    block_bytes: int
    erase_blocks: int
    is_random: bool

    def asked(self) -> dict[str, object]:
        """The pattern in the form in which the native half takes it."""
        pattern = {"pattern": "open-au", "erase_block_bytes": self.erase_block_bytes, "block_bytes": self.block_bytes}
        return {**pattern, "erase_blocks": self.erase_blocks, "is_random": self.is_random}

    def name(self) -> str:
        """The pattern in words."""
        order = "any order" if self.is_random else "in order"
        return f"write {self.erase_blocks} x {size_text(self.block_bytes)} {order}"


@dataclass(frozen=True)
class Line:
    """What was asked, and the mean time of a call."""

    asked: Align | OpenAu
    measured_us: float
    source: str


def size_text(size_bytes: int) -> str:
    """A size as flashbench prints it."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} B"
