"""Random experiments as data, for what is asked of whole commands."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from campaign import machines, workloads
from campaign.case import Case, fewer, without
from ffslab import _native
from ffslab.api.machine import completed

# How many axes and values: each is a variant more.
VARIANTS = (1, 2, 2, 4)


def drawn(draw: random.Random) -> Case:
    """A machine, a setup, measured steps, and now and then an axis."""
    machine = machines.drawn(draw)
    setup = workloads.drawn(draw, machine, draw.choice((0, 5)))
    axes = {"setup.sleep.us": [1000, 50_000_000]} if draw.random() < 0.4 else {}
    return {
        "machine": machine,
        "seed": draw.randrange(1, 1000),
        "setup": [*setup, [{"step": "sleep", "us": 1000}]],
        "measure": workloads.drawn(draw, machine, draw.choice((3, 8, 20))),
        "axes": axes,
        "repeat": draw.choice(VARIANTS),
    }


def toml(case: Case) -> str:
    """The file of the experiment."""
    setup = [{"step": "mount"}, *workloads.steps_of(case["setup"])]
    data = {
        "title": "campaign",
        "seed": case["seed"],
        "stack": completed(case["machine"]),
        "setup": setup,
        "measure": [*workloads.steps_of(case["measure"]), {"step": "umount"}],
    }
    data |= {"axes": case["axes"]} if case["axes"] else {}
    data |= {"repeat": case["repeat"]} if case["repeat"] > 1 else {}
    return _native.toml_of(data)


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything in a results folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def smaller(case: Case) -> Iterator[Case]:
    for key in ("measure", "setup"):
        for parts in fewer(case[key]):
            yield {**case, key: parts}
    if case["repeat"] > 1:
        yield {**case, "repeat": 1}
    if case["axes"]:
        yield {**case, "axes": {}}
    keys = [key for key in case["machine"] if key not in ("system", "fs", "quirks")]
    yield from without(case, "machine", keys)
