"""What a reader of measurements hands over: a design matrix with names, and what was measured.

Each measured value is a sum of constants times known amounts, and an error. A loop of `n` page reads that took `t` us
is a row `{"driver.read_us": n, "loop.read_us": 1}` with `t`: constants are the time of a read and of starting a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Measurements of one quantity.

    `amounts`: a row per measurement, a column per constant under the key that it has in a board profile
    ("driver.read_us"); a constant that no profile has, such as the start of a loop, has a key that begins with "loop.".
    `measured`: the values, in `unit`; the unit of a constant is that of its key.
    `source`: what they were read from, for tables and for the profile.
    """

    source: str
    what: str
    unit: str
    amounts: pd.DataFrame
    measured: Numbers
    # Smallest step of the instrument, in `unit`, when it is known.
    resolution: float | None = None
    # How much each value is expected to scatter, in any unit: values that scatter less count more. None: all alike.
    scatter: Numbers | None = None
    # No constant can be negative, whatever the data say.
    bounded: bool = False
    # What a reader has to say about them.
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        source: str,
        what: str,
        unit: str,
        rows: list[dict[str, float]],
        measured: ArrayLike,
        resolution: float | None = None,
        scatter: Numbers | None = None,
        bounded: bool = False,
        warnings: Sequence[str] = (),
    ) -> Observations:
        """Makes observations of rows, each of which names only the constants that occur in it."""
        amounts = pd.DataFrame(rows).fillna(0.0).astype(float)
        return cls(
            source, what, unit, amounts, np.asarray(measured, dtype=float), resolution, scatter, bounded, list(warnings)
        )

    def __post_init__(self) -> None:
        if len(self.amounts) != len(self.measured):
            raise ValueError(f"{len(self.amounts)} rows of amounts for {len(self.measured)} measurements")
