"""Who gains what: each value of one axis beside its first value, run by run, wherever the other axes stand.

Runs with the same number have the same contents, places and uptime at every point, so each is compared with its like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffslab import _native
from ffslab.answers.study import Change, Gains, GainsRow
from ffslab.studies.sweep.runs import StudyRuns

if TYPE_CHECKING:
    from ffslab.answers import Json

Runs = dict[int, float]


def gains_of(result: StudyRuns, figure: str) -> Gains | None:
    """What the values of the study's `compare` change in a figure; `None`: it compares nothing."""
    axis = result.study.compare
    if axis is None:
        return None
    design, at = result.design, [one.name for one in result.design.axes].index(axis)
    runs = _runs(result, figure)
    values: list[Json] = []
    places: dict[str, tuple[dict[str, Json], dict[str, Runs]]] = {}
    for point in result.own:
        told: dict[str, Json] = dict(zip((one.name for one in design.axes), design.points[point], strict=True))
        value = told.pop(axis)
        if value not in values:
            values.append(value)
        where = places.setdefault(repr(told), (told, {}))
        where[1][repr(value)] = runs.get(point + 1, {})
    base, *others = _in_order(result, at, values)
    rows: list[GainsRow] = [
        {"axes": axes, "changes": [_change(found.get(repr(base), {}), found.get(repr(other), {})) for other in others]}
        for axes, found in places.values()
    ]
    return {"figure": figure, "axis": axis, "base": base, "values": others, "rows": rows}


def _in_order(result: StudyRuns, at: int, values: list[Json]) -> list[Json]:
    """The values as the axis lists them."""
    listed = [repr(value) for value in getattr(result.design.axes[at], "listed", ())]
    return sorted(values, key=lambda value: listed.index(repr(value)) if repr(value) in listed else len(listed))


def _runs(result: StudyRuns, figure: str) -> dict[int, Runs]:
    """The figure of each run that ended, by point and number of the run."""
    ended = result.runs[result.runs["error"].isna() & result.runs[figure].notna()]
    found: dict[int, Runs] = {}
    for point, run, value in zip(ended["point"].tolist(), ended["run"].tolist(), ended[figure].tolist(), strict=True):
        found.setdefault(point, {})[run] = float(value)
    return found


def _change(base: Runs, other: Runs) -> Change:
    """The median of what changes from run to run, as a share of the base, and its interval if there are six runs."""
    shares = [other[run] / base[run] - 1.0 for run in sorted(base.keys() & other.keys()) if base[run] > 0]
    if not shares:
        return {"median": None, "low": None, "high": None}
    median, low, high = _native.spread(shares)[:3]
    return {"median": median, "low": low, "high": high}
