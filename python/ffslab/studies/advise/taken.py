"""Whether the workloads of a question take the values of its axes: what no point could run is refused at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.studies.advise.asked import Asked, Workload, own_axis
from ffslab.studies.advise.boot import image_axes
from ffslab.studies.sweep.axes import Axis, Value, quantity
from ffslab.studies.sweep.design import Point, held_of
from ffslab.studies.sweep.tasks import experiment_of

# Axes whose values decide which keys and steps there are.
DECIDING = ("system", "fs")
# In a space of so many points a word is looked for in all of them: a moment's work.
POINTS_CHECKED_MAX = 1_000


def check_values(question: Asked) -> None:
    """Refuses a value with which no point could run: an answer that tells so at its end would have searched another
    space than the one that was asked for.

    A value of a wrong kind is one that the text of no experiment takes, with any of the file systems and systems. A
    misspelt word may show only when a machine is made. A number that no machine has (a partition that is larger than
    the chip) is an end of a range that does not work, which is part of the answer.

    Raises `ffslab.InputError` without the name of the file.
    """
    for i, axis in enumerate(question.axes):
        for workload in question.workloads:
            if own_axis(axis, workload, question) is None:
                continue
            points = [_deciding(question, i, value) for value in axis.listed]
            said = [_refused_by_all(question, workload, some, Experiment.keys) for some in points]
            if all(said):
                raise InputError(f"axis `{axis.name}` cannot be varied in workload {workload.name}: {said[0]}")
            if not any(said):
                said = _refused_words(question, workload, i)
            for value, why in zip(axis.listed, said, strict=True):
                if why is not None:
                    raise InputError(f"axis `{axis.name}`: {json.dumps(value)} in workload {workload.name}: {why}")


def _deciding(question: Asked, i: int, value: Value) -> list[Point]:
    """Points with a value of the axis at a position and each file system and system, all other axes left out."""
    ways: list[Sequence[Value | None]] = [axis.listed if axis.name in DECIDING else [None] for axis in question.axes]
    ways[i] = [value]
    return list(product(*ways))


def _refused_words(question: Asked, workload: Workload, i: int) -> list[str | None]:
    """Of each value of the axis at a position why no machine has it; `None`: one has, it is no word, it is not the axis
    that is refused, or there are too many points to know."""
    axes = question.axes
    if prod(len(axis.listed) for axis in axes) > POINTS_CHECKED_MAX:
        return [None] * len(axes[i].listed)

    def refused(value: Value | None) -> str | None:
        ways = [[value] if at == i else axis.listed for at, axis in enumerate(axes)]
        points = [point for point in held_of(question, list(product(*ways))) if point[i] == value]
        return _refused_by_all(question, workload, points, Experiment.check)

    said = [refused(value) if isinstance(value, str) and quantity(value) is None else None for value in axes[i].listed]
    return [None] * len(said) if all(said) and refused(None) is not None else said


def _first(question: Asked, workload: Workload) -> Experiment:
    """What is run, of a boot its first candidate."""
    if workload.boot is None:
        return workload.experiment
    first = tuple(axis.listed[0] for axis in question.axes)
    return workload.boot.made(workload.experiment, image_axes(question.axes, first)).experiment


def _refused_by_all(
    question: Asked, workload: Workload, points: Sequence[Point], look: Callable[[Experiment], object]
) -> str | None:
    """Why a workload can be done at none of some points; `None`: it can at one."""
    own = [own_axis(axis, workload, question) for axis in question.axes]
    axes: list[Axis] = [axis for axis in own if axis is not None]
    said = None
    for point in points:
        values = tuple(value for value, axis in zip(point, own, strict=True) if axis is not None)
        try:
            look(experiment_of(_first(question, workload), axes, [values], None))
        except InputError as error:
            said = said or str(error).removeprefix(workload.experiment.file_name).lstrip(":0123456789 ")
        else:
            return None
    return said
