"""Cards that are tried: classes of translation layers with their structure, and what their operations cost.

The structure (class, page, segment, how many are open ...) decides how many operations of the flash a line of a
probe takes; the native half counts them on the device itself (`card_operations`). The time of a line is the sum of
operations times constants.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from ffslab import _native
from ffslab.files.inputs import json_of
from ffslab.studies.calibrate.cards.lines import Align, Line
from ffslab.studies.calibrate.observations import Numbers

CardClass = Literal["open-segments", "log-blocks", "slc-cache", "page-map"]
CLASSES: tuple[CardClass, ...] = ("open-segments", "log-blocks", "slc-cache", "page-map")
# No probe tells how long an erase takes: there is one for some hundred programs. Data sheets of MLC say 2 to 3 ms.
ERASE_US = 2500.0


@dataclass(frozen=True)
class Structure:
    """What stands inside a card. `slc_cache_blocks`: blocks of a segment's size, written with one bit a cell."""

    ftl: str
    page_bytes: int
    segment_bytes: int
    spare_share: float = 0.07
    buffer_pages: int = 1
    log_blocks: int = 2
    random_segments: int = 0
    random_log_pages: int | None = None
    slc_cache_blocks: int | None = None
    cell_bits: int = 1

    @property
    def card_class(self) -> CardClass:
        """The class of the mapping."""
        return "log-blocks" if self.ftl in ("bast", "fast") else self.ftl  # type: ignore[return-value]

    @property
    def slc_cache_bytes(self) -> int:
        """What the cache holds."""
        return (self.slc_cache_blocks or 0) * self.segment_bytes // self.cell_bits


# The constants, with what is said of them where they are printed.
CONSTANTS = {
    "read_call_us": "a read, beside the flash",
    "write_call_us": "a write, beside the flash",
    "write_us_per_KiB": "transfer of what is written",
    "read_segment_us": "a read in another segment than the call before",
    "write_segment_us": "a write in another segment than the call before",
    "page_read_us": "read of a page",
    "page_program_us": "program of a page",
    "several_bits_read_us": "read of a page with several bits a cell",
    "several_bits_program_us": "program of a page with several bits a cell",
}


def operations(structure: Structure, lines: list[Line]) -> tuple[Numbers, Numbers]:
    """(amounts, known): for each line and constant how often it occurs in a call, and the time in us that is known.

    Errors: lines that do not go with the structure.
    """
    asked = [line.asked.asked() for line in lines]
    counted = json_of(_native.card_operations(json.dumps(asdict(structure)), json.dumps(asked)), "card_operations")
    rows, known = [], []
    for line, of in zip(lines, counted, strict=True):
        is_read, calls = isinstance(line.asked, Align), of["calls"]
        rows.append(
            [
                float(is_read),
                float(not is_read),
                0.0 if is_read else of["bytes"] / 1024 / calls,
                of["segment_changes"] / calls if is_read else 0.0,
                0.0 if is_read else of["segment_changes"] / calls,
                of["reads"] / calls,
                of["programs"] / calls,
                of["several_bits_reads"] / calls,
                of["several_bits_programs"] / calls,
            ]
        )
        known.append(of["erases"] / calls * ERASE_US)
    return np.array(rows), np.array(known)
