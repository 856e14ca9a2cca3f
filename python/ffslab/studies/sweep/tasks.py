"""What a worker does: it looks at points, and runs them. A worker is a process of this machine or of a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing import connection, parent_process
from typing import NamedTuple

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.api.run import RunGiven
from ffslab.store.kept import KeptRun, said_by
from ffslab.store.rows import part_of
from ffslab.studies.sweep.axes import Axis, Listed, Value

# So many requests of each run keep a row. Percentiles of more are within 0.1 % (crates/lab/src/tally.rs).
REQUESTS_KEPT = 0


class Looked(NamedTuple):
    """What shows of some points without running them: the keys of each one's runs, or why they cannot run."""

    keys: list[list[str]]
    refusal: str | None
    seconds: float
    setup_seconds: float = 0.0


class Ran(NamedTuple):
    """What some points did: a file for the store of runs."""

    part: bytes
    runs: int
    failed: int
    seconds: float
    # Of them, for setups that points had in common.
    setup_seconds: float


def experiment_of(
    experiment: Experiment, axes: Sequence[Axis], points: Sequence[tuple[Value | None, ...]], repeat: int | None
) -> Experiment:
    """An experiment whose variants are some points, each `repeat` times."""
    values: dict[str, list[Value]] = {}
    for i, axis in enumerate(axes):
        # Which words an axis has decides what a variant needs and how it is called; numbers would only be many.
        words = isinstance(axis, Listed) and not all(isinstance(one, int | float) for one in axis.listed)
        values[axis.name] = list(axis.values()) if words else _of(points, i)
    chosen = at_points(
        replace(experiment, change={**experiment.change, "requests_kept": REQUESTS_KEPT}), values, points
    )
    return chosen if repeat is None else replace(chosen, change={**chosen.change, "repeat": repeat})


def at_points(
    experiment: Experiment, values: Mapping[str, Sequence[Value]], points: Sequence[tuple[Value | None, ...]]
) -> Experiment:
    """An experiment whose variants are some points. `values`: of each axis all that they have; a point leaves an axis
    out with `None`."""
    # `True` is 1 where values are looked up.
    places: list[dict[tuple[type, Value | None], int | None]] = [
        {(type(None), None): None, **{(type(one), one): at for at, one in enumerate(column)}}
        for column in values.values()
    ]
    chosen = [[place[type(one), one] for place, one in zip(places, point, strict=True)] for point in points]
    return replace(experiment, change={**experiment.change, "axes": dict(values), "points": chosen})


def _of(points: Sequence[tuple[Value | None, ...]], i: int) -> list[Value]:
    """The values that points have on an axis; one of them stands for it where all leave it out."""
    return list(dict.fromkeys(value for point in points if (value := point[i]) is not None)) or [0]


def look(experiment: Experiment, any_size: bool) -> Looked:
    """Checks the variants of an experiment and says under which keys a store keeps their runs."""
    began = time.monotonic()
    try:
        experiment.check(any_size=any_size)
        variants = experiment.keys()["variants"]
    except InputError as error:
        return Looked([], str(error), time.monotonic() - began)
    runs = int(str(experiment.change.get("repeat", 1)))
    keys = [variant["key"] for variant in variants]
    if None in keys:
        text = f"{experiment.file_name}: reads what cannot be read again, such as a pipe: a study needs a file"
        return Looked([], text, time.monotonic() - began)
    named = [str(key) for key in keys]
    return Looked([named[at : at + runs] for at in range(0, len(named), runs)], None, time.monotonic() - began)


def run(experiment: Experiment, known: Sequence[int], any_size: bool, share_setups: bool = True) -> Ran:
    """Runs the variants of an experiment but those at the positions `known`, one after the other."""
    began = time.monotonic()
    variants = experiment.keys()["variants"]
    key_of = {variant["name"]: str(variant["key"]) for variant in variants}
    done = experiment.run_without(RunGiven(jobs=1, any_size=any_size, share_setups=share_setups), known)
    summary = done.summary
    # A point that stands in a batch twice is kept once.
    kept = {key_of[said["name"]]: KeptRun(key_of[said["name"]], summary["title"], said) for said in said_by(summary)}
    failed = len(summary.get("failed", []))
    return Ran(part_of(list(kept.values())), len(kept), failed, time.monotonic() - began, done.shared.seconds)


def begin() -> None:
    """Makes a local process a worker: Ctrl-C is for the command alone, and without it there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """Ends this process when the one that started it has ended, however that was."""
    connection.wait([sentinel])
    os._exit(1)
