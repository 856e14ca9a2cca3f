"""Whether enough of a workload was seen to tell years of it.

A new partition has room: until garbage collection has gone round, a workload erases less than it will. So years are
told only when as many blocks were erased as there are, and when the two halves of what was measured erased alike, as
far as their numbers can tell. That is the rule of batch means (Law, Simulation Modeling and Analysis, chapter 9.5) with
the least number of batches: it finds a trend, not a change that comes later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# How far the erases of two halves may be apart, as a share of their mean, beyond what chance does: two deviations of
# independent events.
TOLERANCE = 0.1
DEVIATIONS = 2.0
# Fewer windows have no halves to be compared.
WINDOWS_MIN = 4


def needs_us(
    time_us: float, erases: float, due_erases: float, blocks: int, windows: Sequence[tuple[float, float]]
) -> float | None:
    """How long a workload must be seen at least; `None`: it was.

    `due_erases`: blocks full of what was programmed, each of which has to be erased sooner or later. `windows`: times
    and erases of what was measured, one after the other.
    """
    if not due_erases and not erases:
        return None
    if erases < blocks:
        # What is due was let go by the room that there was: the rest of a round comes on top of it.
        late = max(due_erases - erases, 0.0)
        return time_us * (blocks + late) / max(erases, due_erases, 1.0)
    half = len(windows) // 2
    if len(windows) >= WINDOWS_MIN:
        (early_us, early), (late_us, late) = (_sum(windows[:half]), _sum(windows[-half:]))
        # What the first half would have erased in the time of the second one.
        early *= late_us / early_us
        apart = abs(late - early)
        if apart > TOLERANCE * (early + late) / 2 + DEVIATIONS * math.sqrt(early + late):
            return 2 * time_us
    return None


def _sum(windows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(time for time, _ in windows), sum(erases for _, erases in windows)
