"""The points of a study: all combinations of a grid, or samples, of which each satisfies all conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ffslab._native import InputError
from ffslab.studies.sweep.axes import Axis, Value, plain
from ffslab.studies.sweep.plan import POINTS_MAX, Plan

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# `None`: the axis is left out there.
Point = tuple[Value | None, ...]


@dataclass(frozen=True)
class Design:
    """The points of a study, each once, in the order in which they were drawn. `drawn`: for each draw of a plan the
    position of its point; draws that fell on one point, or that a condition ruled out, are why there are more."""

    axes: tuple[Axis, ...]
    points: list[Point]
    drawn: list[int]
    # How many draws there were before the conditions.
    draws: int

    def name(self, at: int) -> str:
        """How the point at a position is called: "fs=ubifs, partition_blocks=160"."""
        pairs = zip(self.axes, self.points[at], strict=True)
        return ", ".join(f"{axis.name}={value}" for axis, value in pairs if value is not None)

    def table(self, of: Sequence[int] | None = None) -> pd.DataFrame:
        """A row for each point, or for those at the positions `of`: the values of its axes; sizes and times as numbers
        of bytes and microseconds."""
        import pandas as pd

        chosen = self.points if of is None else [self.points[at] for at in of]
        return pd.DataFrame(_columns(self.axes, chosen))


def _columns(axes: Sequence[Axis], points: Sequence[Point]) -> dict[str, list[Value | None]]:
    """The values of points by axes, sizes and times as numbers."""
    return {axis.name: [plain(point[i]) for point in points] for i, axis in enumerate(axes)}


def design_of(study: Plan) -> Design:
    """The points of a study.

    Raises `ffslab.InputError` when there are none, or too many.
    """
    axes = study.axes
    points = _grid(axes) if study.sample.method == "grid" else _sampled(study)
    held = held_of(study, points)
    if not held:
        raise InputError(f"{study.file_name}: no point satisfies all `conditions`")
    places: dict[Point, int] = {}
    drawn = [places.setdefault(point, len(places)) for point in held]
    return Design(axes, list(places), drawn, len(points))


class Conditioned(Protocol):
    """A study or a question: axes, what must hold of them, and the file that says so."""

    @property
    def axes(self) -> tuple[Axis, ...]: ...
    @property
    def conditions(self) -> tuple[str, ...]: ...
    @property
    def file_name(self) -> str: ...


def held_of(of: Conditioned, points: list[Point]) -> list[Point]:
    """The points that satisfy all conditions, without the values of axes whose `when` does not hold there.

    Raises `ffslab.InputError` for a condition that cannot be evaluated.
    """
    try:
        return satisfying(of.axes, left_out(of.axes, points), of.conditions)
    except InputError as error:
        raise InputError(f"{of.file_name}: {error}") from None


def left_out(axes: Sequence[Axis], points: list[Point]) -> list[Point]:
    """The points without the values of axes whose `when` does not hold there."""
    for i, axis in enumerate(axes):
        if axis.when is not None:
            holds = _holds(axes, points, axis.when)
            points = [
                point if there else (*point[:i], None, *point[i + 1 :])
                for point, there in zip(points, holds, strict=True)
            ]
    return points


def _grid(axes: Sequence[Axis]) -> list[Point]:
    values = [axis.values() for axis in axes]
    count = prod(map(len, values))
    if count > POINTS_MAX:
        raise InputError(f"the grid has {count:,} points: {POINTS_MAX:,} are the limit; draw a sample ([sample])")
    return list(product(*values))


def _sampled(study: Plan) -> list[Point]:
    shares = _shares(study)
    return [tuple(axis.at(float(share)) for axis, share in zip(study.axes, row, strict=True)) for row in shares]


def _shares(study: Plan) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A row for each draw: shares of the axes from 0 to 1. scipy.stats.qmc, and SALib for its own plans."""
    import numpy as np
    from scipy.stats import qmc

    count, seed, dimensions = study.sample.points, study.sample.seed, len(study.axes)
    match study.sample.method:
        case "random":
            drawn = np.random.Generator(np.random.PCG64(seed)).random((count, dimensions))
        case "latin":
            drawn = qmc.LatinHypercube(dimensions, rng=np.random.Generator(np.random.PCG64(seed))).random(count)
        case "sobol":
            drawn = qmc.Sobol(dimensions, rng=np.random.Generator(np.random.PCG64(seed))).random(count)
        case _:
            drawn = planned(study)
    shares: np.ndarray[Any, np.dtype[np.float64]] = np.clip(drawn, 0.0, np.nextafter(1.0, 0.0))
    return shares


def planned(study: Plan) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The plan that SALib makes for a sensitivity analysis, in shares.

    Raises `ffslab.InputError` when SALib is not installed.
    """
    problem = problem_of(study.axes)
    count, seed = study.sample.points, study.sample.seed
    plan: np.ndarray[Any, np.dtype[np.float64]]
    try:
        if study.sample.method == "saltelli":
            from SALib.sample import sobol

            plan = sobol.sample(problem, count, calc_second_order=False, seed=seed)
        else:
            from SALib.sample import morris

            plan = morris.sample(problem, count, seed=seed)
        return plan
    except ImportError:
        raise InputError(
            f'method "{study.sample.method}" needs the package SALib: pip install "ffslab[studies]"'
        ) from None


def problem_of(axes: Sequence[Axis]) -> dict[str, Any]:
    """What SALib must know of the axes."""
    return {"num_vars": len(axes), "names": [axis.name for axis in axes], "bounds": [[0.0, 1.0]] * len(axes)}


def satisfying(axes: Sequence[Axis], points: list[Point], conditions: Sequence[str]) -> list[Point]:
    """The points that satisfy all conditions.

    Raises `ffslab.InputError` for a condition that cannot be evaluated.
    """
    for condition in conditions:
        points = [point for point, there in zip(points, _holds(axes, points, condition), strict=True) if there]
    return points


def _holds(axes: Sequence[Axis], points: list[Point], condition: str) -> list[bool]:
    """Whether a condition holds at each point."""
    import pandas as pd

    if not points:
        return []
    columns = _columns(axes, points)
    # `append.request_B` may be called request_B where no other axis ends so.
    ends = [name.rpartition(".")[2] for name in columns]
    short = {end: columns[name] for name, end in zip(list(columns), ends, strict=True) if ends.count(end) == 1}
    try:
        holds = pd.DataFrame({**short, **columns}).eval(condition, engine="python")
    # What evaluates the text of a person may raise anything.
    except Exception as error:
        names = ", ".join(columns)
        said = str(error).removesuffix(" (<unknown>, line 1)")
        raise InputError(f"condition `{condition}`: {said} (the axes are {names})") from None
    if not isinstance(holds, pd.Series) or holds.dtype != bool:
        raise InputError(f"condition `{condition}`: must be true or false, such as `partition_blocks >= 160`")
    return [bool(there) for there in holds]
