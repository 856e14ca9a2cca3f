"""Which axes matter for a figure.

Of a plan "saltelli": Sobol's indices with SALib (Saltelli et al., Computer Physics Communications 181, 2010). Of a plan
"morris": elementary effects (Morris, Technometrics 33, 1991). Of everything else the share of the variance that lies
between the values of an axis: the first-order index, estimated from the points that are there; of a range between
equally filled parts of it. Of a grid only designs are compared that came to their end for all values of the axis
(`ffslab.studies.sweep.comparable`).

Another sample would say something else, so of a sample an axis is told only where chance does not say as much: where
its interval of 95 % leaves out 0, and of the share of the variance where at most one in twenty shufflings of the values
over the points gives as large a one (a permutation test). A grid is not drawn: it has all its points.
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
    Parts = np.ndarray[Any, np.dtype[np.intp]]

PARTS_MAX = 32
SHUFFLINGS = 99
CHANCE_MAX = 0.05
OF_CHANCE = "not told apart from chance"
NO_DESIGN = "not comparable, because no design came to its end for all of its values"
NO_SECOND = "not told, because no value of it has a second point"
_NONE: Influence = {
    "axis": "",
    "alone": None,
    "alone_interval": None,
    "total": None,
    "total_interval": None,
    "effect": None,
    "effect_interval": None,
    "spread": None,
    "nothing": None,
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
    axes = sorted(found, key=lambda one: (one["nothing"] is not None, -size_of(one)))
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
            "nothing": None if total > total_interval else OF_CHANCE,
        }


def _of_morris(result: StudyRuns, values: pd.Series) -> Iterator[Influence]:
    from SALib.analyze import morris

    study = result.study
    drawn = _drawn(result, values)
    found = morris.analyze(problem_of(study.axes), planned(study), drawn, seed=study.sample.seed)
    for i, axis in enumerate(result.design.axes):
        effect, interval = float(found["mu_star"][i]), float(found["mu_star_conf"][i])
        yield {
            **_NONE,
            "axis": axis.name,
            "effect": effect,
            "effect_interval": interval,
            "spread": float(found["sigma"][i]),
            "nothing": None if effect > interval else OF_CHANCE,
        }


def _of_points(result: StudyRuns, values: pd.Series) -> Iterator[Influence]:
    import numpy as np

    names, method = [axis.name for axis in result.design.axes], result.study.sample.method
    ended = result.points[values.notna()]
    for axis in result.design.axes:
        points = comparable(ended, names, [axis.name], method)
        if points[axis.name].nunique() < 2:
            yield {**_NONE, "axis": axis.name, "nothing": NO_DESIGN}
            continue
        parts, numbers = _parts_of(axis, points), values[points.index].to_numpy(dtype=np.float64)
        if len(np.unique(parts)) == len(parts):
            yield {**_NONE, "axis": axis.name, "nothing": NO_SECOND}
            continue
        alone = _between(parts, numbers)
        by_chance = method != GRID and _by_chance(parts, numbers, result.study.sample.seed)
        yield {**_NONE, "axis": axis.name, "alone": alone, "nothing": OF_CHANCE if by_chance else None}


def _between(parts: Parts, values: Numbers) -> float:
    """The share of the variance of `values` that lies between `parts`, without what chance alone would put there
    (Kelley's epsilon squared, PNAS 21, 1935): few points in many parts differ in any case."""
    import numpy as np

    sizes = np.bincount(parts)
    from_mean = values - values.mean()
    total = float((from_mean**2).sum())
    within = total - float((np.bincount(parts, from_mean) ** 2 / sizes).sum())
    free = len(values) - len(sizes)
    if not total:
        return 0.0
    return max(0.0, (total - within - (len(sizes) - 1) * within / free) / total)


def _by_chance(parts: Parts, values: Numbers, seed: int) -> bool:
    """Whether the parts differ no more than they often do when the values are dealt out to the points anew."""
    import numpy as np

    chance = np.random.default_rng(seed)
    found = _between(parts, values)
    as_much = sum(_between(parts, chance.permutation(values)) >= found for _ in range(SHUFFLINGS))
    return (as_much + 1) / (SHUFFLINGS + 1) > CHANCE_MAX


def _parts_of(axis: Axis, points: pd.DataFrame) -> Parts:
    """In which part of an axis each point is, from 0: at one of its values, or in one of equally filled parts."""
    import pandas as pd

    of_axis = points[axis.name]
    groups = of_axis if isinstance(axis, Listed) else pd.qcut(of_axis, _parts(len(points)), duplicates="drop")
    parts: Parts = pd.factorize(groups.astype(str))[0]
    return parts


def _parts(points: int) -> int:
    """Into how many parts a range goes, so that each holds about as many points as there are parts."""
    return min(PARTS_MAX, max(2, math.isqrt(points)))


def _drawn(result: StudyRuns, values: pd.Series) -> Numbers:
    """The figure for each draw of the plan; several of them may be one point."""
    import numpy as np

    drawn: Numbers = np.asarray(values.to_numpy(), dtype=np.float64)[np.asarray(result.design.drawn)]
    return drawn
