"""One log of a tracer, read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ffslab.measured.tracereport.columns import Calls, Flash, Marker
from ffslab.measured.tracereport.header import Foot, Head


@dataclass
class Log:
    """One log. `flaws`: why it does not hold all that happened; `notes`: what it does not say."""

    path: Path
    source: str
    head: Head
    foot: Foot | None = None
    flash: Flash | None = None
    calls: Calls | None = None
    # Counts of reads, programs, erases: a row an erase block.
    spatial: NDArray[np.int64] | None = None
    markers: list[Marker] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def events(self) -> int:
        """How many events it holds."""
        return sum(len(events) for events in (self.flash, self.calls) if events is not None)
