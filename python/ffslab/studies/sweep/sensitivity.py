"""Which axes matter for a figure.

Of a plan "saltelli": Sobol's indices with SALib (Saltelli et al., Computer Physics Communications 181, 2010). Of a plan
"morris": elementary effects (Morris, Technometrics 33, 1991). Of everything else the share of the variance that lies
between the values of an axis: the first-order index, estimated from the points that are there; of a range between
equally filled parts of it. Of a grid only designs are compared that came to their end for all values of the axis
(`ffslab.studies.sweep.comparable`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ffslab.answers.study import Influence, Sensitivity
from ffslab.studies.sweep.axes import Axis, Listed
from ffslab.studies.sweep.comparable import GRID, comparable
from ffslab.studies.sweep.design import planned, problem_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ffslab.studies.sweep.runs import StudyRuns

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

PARTS_MAX = 32
_NONE: Influence = {
    "axis": "",
    "alone": None,
    "alone_interval": None,
    "total": None,
    "total_interval": None,
    "effect": None,
    "effect_interval": None,
    "spread": None,
}
METHODS = {
    "saltelli": "Sobol indices (SALib)",
    "morris": "elementary effects (Morris, SALib)",
}
OF_OTHERS = "share of the variance between the values of an axis"
OF_GRIDS = f"{OF_OTHERS}, over designs that exist for all of them"


def sensitivity_of(result: StudyRuns, figure: str) -> Sensitivity:
    """Which axes matter for a figure, that which matters most first."""
    sampled = result.study.sample.method
    method = METHODS.get(sampled, OF_GRIDS if sampled == GRID else OF_OTHERS)
    points = result.points
    # Of a point of which a run failed, the others tell only of those that did not.
    values = points[figure].where(points["failed"] == 0)
    nothing = None
    if len(result.own) < len(result.design.points):
        nothing = "this is one part of the study"
    elif sampled in METHODS and values.isna().any():
        nothing = "some points did not come to their end, and the plan needs all"
    elif values.nunique() < 2:
        nothing = "it is the same at all points"
    if nothing is not None:
        return {"figure": figure, "method": method, "axes": [], "nothing": nothing}
    by_plan = {"saltelli": _of_saltelli, "morris": _of_morris}
    found = by_plan.get(result.study.sample.method, _of_points)(result, values)
    axes = sorted(found, key=lambda one: -size_of(one))
    return {"figure": figure, "method": method, "axes": axes, "nothing": None}


def size_of(influence: Influence) -> float:
    """How much an axis matters, by what the method tells most fully."""
    return influence["total"] or influence["effect"] or influence["alone"] or 0.0


def _of_saltelli(result: StudyRuns, values: pd.Series) -> Iterator[Influence]:
    from SALib.analyze import sobol

    seed = result.study.sample.seed
    found = sobol.analyze(problem_of(result.design.axes), _drawn(result, values), calc_second_order=False, seed=seed)
    for i, axis in enumerate(result.design.axes):
        alone, total = (float(found[name][i]) for name in ("S1", "ST"))
        alone_interval, total_interval = (float(found[f"{name}_conf"][i]) for name in ("S1", "ST"))
        yield {
            **_NONE,
            "axis": axis.name,
            "alone": alone,
            "alone_interval": alone_interval,
            "total": total,
            "total_interval": total_interval,
        }


def _of_morris(result: StudyRuns, values: pd.Series) -> Iterator[Influence]:
    from SALib.analyze import morris

    study = result.study
    drawn = _drawn(result, values)
    found = morris.analyze(problem_of(study.axes), planned(study), drawn, seed=study.sample.seed)
    for i, axis in enumerate(result.design.axes):
        yield {
            **_NONE,
            "axis": axis.name,
            "effect": float(found["mu_star"][i]),
            "effect_interval": float(found["mu_star_conf"][i]),
            "spread": float(found["sigma"][i]),
        }


def _of_points(result: StudyRuns, values: pd.Series) -> Iterator[Influence]:
    names, method = [axis.name for axis in result.design.axes], result.study.sample.method
    ended = result.points[values.notna()]
    for axis in result.design.axes:
        points = comparable(ended, names, [axis.name], method)
        alone = _between(axis, points, values[points.index]) if points[axis.name].nunique() > 1 else None
        yield {**_NONE, "axis": axis.name, "alone": alone}


def _between(axis: Axis, points: pd.DataFrame, values: pd.Series) -> float:
    """The share of the variance of `values` that lies between the values of an axis, without what chance alone would
    put there (Kelley's epsilon squared, PNAS 21, 1935): few points in many parts differ in any case."""
    import pandas as pd

    of_axis = points[axis.name]
    groups = of_axis if isinstance(axis, Listed) else pd.qcut(of_axis, _parts(len(values)), duplicates="drop")
    parts = values.groupby(groups.astype(str))
    total = float(((values - values.mean()) ** 2).sum())
    within = float(((values - parts.transform("mean")) ** 2).sum())
    free = len(values) - parts.ngroups
    if not total or free <= 0:
        return 0.0
    return max(0.0, (total - within - (parts.ngroups - 1) * within / free) / total)


def _parts(points: int) -> int:
    """Into how many parts a range goes, so that each holds about as many points as there are parts."""
    return min(PARTS_MAX, max(2, math.isqrt(points)))


def _drawn(result: StudyRuns, values: pd.Series) -> Numbers:
    """The figure for each draw of the plan; several of them may be one point."""
    import numpy as np

    drawn: Numbers = np.asarray(values.to_numpy(), dtype=np.float64)[np.asarray(result.design.drawn)]
    return drawn
