"""Which points of a study may be put beside each other along an axis: those whose other choices exist for all of it.

A median over a value of an axis is one over designs, and where some of them failed, were ruled out, or are not there
because an axis belongs to one file system alone, two values would be compared over different ones: the file system that
fails on the small partitions would look faster than the one that bears them. So of a grid each design (the values of
the other axes) is taken that came to its end for all values of the axis. An axis that only some points have is judged
among these; where the axis decides who has another one, such as the file system who has the compression, the other one
is no part of the design. A sample has no design twice, and all of it is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

GRID = "grid"


def comparable(points: pd.DataFrame, axes: Sequence[str], along: Sequence[str], method: str) -> pd.DataFrame:
    """The rows of `points` that may be compared along the axes `along`, all of which came to their end.

    `axes`: all axes; where one is left out, its column has nothing.
    """
    there = points[points[list(along)].notna().all(axis=1)]
    if method != GRID or there.empty:
        return there
    levels = there.groupby([there[name].astype(str) for name in along], sort=False)
    # Of each other axis: whether each value of `along` has points with it.
    shared = [name for name in axes if name not in along and levels[name].count().astype(bool).nunique() == 1]
    level = levels.ngroup()
    if not shared:
        return there
    design = there.groupby([there[name].astype(str) for name in shared], sort=False).ngroup()
    complete = level.groupby(design).nunique() == level.nunique()
    return there[design.map(complete).astype(bool)]
