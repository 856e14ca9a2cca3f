"""The answer of a study: the best points, the trade-offs between them, the axes that matter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ffslab._native import __version__
from ffslab.answers.study import FailedPoint, FigureSpread, Objective, StudyAnswer, StudyPoint
from ffslab.studies.sweep.axes import Axis, Listed, Range
from ffslab.studies.sweep.gains import gains_of
from ffslab.studies.sweep.runs import StudyRuns, ended
from ffslab.studies.sweep.sensitivity import sensitivity_of
from ffslab.text.durations import duration
from ffslab.text.machine_line import line

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ffslab.answers import Json

BEST_MAX = 10
GENERATORS = "points: PCG64 of numpy, scipy.stats.qmc, SALib; contents and places: SplitMix64"


def answer_of(result: StudyRuns) -> StudyAnswer:
    """What a study found."""
    study, design = result.study, result.design
    objectives = result.objectives
    names = [name for name, _ in objectives]
    whole = ended(result.points, names)
    return {
        "title": study.title,
        "machine": line(result.seen, _seen(result)),
        "without_energy": result.without_energy,
        "version": __version__,
        "method": study.sample.method,
        "generators": GENERATORS,
        "seed": study.sample.seed,
        "axes": {axis.name: _said(axis) for axis in study.axes},
        "conditions": list(study.conditions),
        "draws": design.draws,
        "held": len(design.drawn),
        "points": len(result.own),
        "runs_per_point": study.repeat or 1,
        "failed": _failed(result),
        "needs_us": result.needs_us,
        "untold": result.untold,
        "objectives": [_objective(result, whole, name, maximise, names) for name, maximise in objectives],
        "trade_offs": _entries(result, trade_offs(whole, objectives), names),
        "sensitivity": [sensitivity_of(result, name) for name in names],
        "gains": [gains for name in names if (gains := gains_of(result, name)) is not None],
    }


def _seen(result: StudyRuns) -> str | None:
    """How long each run was seen."""
    if "time_us" not in result.runs:
        return None
    low, high = (duration(float(time_us)) for time_us in (result.runs["time_us"].min(), result.runs["time_us"].max()))
    return low if low == high else f"{low} to {high}"


def trade_offs(points: pd.DataFrame, objectives: Sequence[tuple[str, bool]]) -> pd.DataFrame:
    """The points of which no other is better in one objective and not worse in the others (the Pareto front), by the
    first objective. Of equal ones the first is there."""
    import numpy as np

    if not objectives or points.empty:
        return points.iloc[:0]
    costs = np.column_stack([points[name] * (-1.0 if most else 1.0) for name, most in objectives])
    order = np.lexsort([np.arange(len(costs)), *costs.T[::-1]])
    front: list[int] = []
    for at in order:
        # What is worse in the first objective cannot beat what stands before it.
        if not any(_beats_or_equals(costs[kept], costs[at]) for kept in front):
            front.append(int(at))
    return points.iloc[front]


def _beats_or_equals(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return bool((one <= other).all())


def _said(axis: Axis) -> Json:
    if isinstance(axis, Listed):
        return cast("Json", list(axis.listed))
    assert isinstance(axis, Range)
    said: dict[str, Json] = {"from": axis.low, "to": axis.high, "unit": axis.unit, "log": axis.is_log}
    return {**said, "step": axis.step, "count": axis.count}


def _objective(result: StudyRuns, whole: pd.DataFrame, name: str, maximise: bool, names: Sequence[str]) -> Objective:
    best = whole.sort_values(name, ascending=not maximise, kind="stable").head(BEST_MAX)
    return {"figure": name, "maximise": maximise, "best": _entries(result, best, names)}


def _entries(result: StudyRuns, points: pd.DataFrame, names: Sequence[str]) -> list[StudyPoint]:
    return [
        {
            "point": int(row["point"]),
            "axes": axes_of_point(result, int(row["point"])),
            "figures": {name: _spread(row, name) for name in names},
        }
        for row in points.to_dict("records")
    ]


def axes_of_point(result: StudyRuns, point: int) -> dict[str, Json]:
    """The values of the axes of a point, by its number, as the study has them."""
    values = result.design.points[point - 1]
    return {axis.name: value for axis, value in zip(result.design.axes, values, strict=True)}


def _spread(row: dict[Any, Any], name: str) -> FigureSpread:
    def of(column: str) -> float | None:
        value = row.get(column)
        return None if value is None or value != value else float(value)

    return {"median": of(name), "low": of(f"{name}_low"), "high": of(f"{name}_high")}


def _failed(result: StudyRuns) -> list[FailedPoint]:
    failed = result.runs[result.runs["error"].notna()]
    errors: dict[int, list[str]] = {}
    for point, error in zip(failed["point"].tolist(), failed["error"].tolist(), strict=True):
        errors.setdefault(point, []).append(error)
    return [
        {"point": point, "axes": axes_of_point(result, point), "runs": len(told), "error": told[0]}
        for point, told in errors.items()
    ]


class Answered(StudyRuns):
    """What a study ran, and what that says."""

    @cached_property
    def answer(self) -> StudyAnswer:
        """What is best, what it costs, what matters."""
        return answer_of(self)
