"""How fast a study runs: variants a second beside the bare loop of the native half over the same variants.

    .venv/bin/python benches/studies.py [POINTS]

Reads on three file systems, 160 blocks, 64 requests. Both run here, one after the other, several times;
the ratios count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from ffslab import Experiment, Study, steps
from ffslab.api.run import RunGiven
from ffslab.store import Store
from ffslab.studies.sweep.design import design_of
from ffslab.studies.sweep.tasks import experiment_of
from ffslab.studies.sweep.workers import LocalWorkers

ROUNDS = 3
READS = Experiment.of(
    "Reads",
    stack={"board": "omap3evm", "fs": "ubifs", "partition_blocks": 160},
    setup=[
        steps.mount(),
        steps.create(file="f", bytes="256 KiB"),
        steps.sync(),
        steps.drop_caches(),
        steps.open(file="f", flags=["rdonly"]),
    ],
    measure=[steps.requests(file="f", op="read", pattern="random", request_B=512, count=64)],
)


def seconds_of(study: Study, jobs: int) -> float:
    """How long a study takes with so many workers."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        study.run(store=Store(Path(folder)), workers=LocalWorkers(jobs))
        return time.perf_counter() - began


def main() -> None:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
    cores = len(os.sched_getaffinity(0))
    axes = {"fs": ["jffs2", "ubifs", "yaffs2"], "requests.seed": list(range(1, points // 3 + 1))}
    study = Study.of(READS, axes)
    design = design_of(study)
    bare = experiment_of(READS, design.axes, design.points, None)
    for _ in range(ROUNDS):
        began = time.perf_counter()
        bare.run_without(RunGiven(jobs=cores))
        loop = len(design.points) / (time.perf_counter() - began)
        all_cores, one = (len(design.points) / seconds_of(study, jobs) for jobs in (cores, 1))
        print(
            f"{loop:7.1f} variants/s in the bare loop on {cores} cores, {all_cores:7.1f} in a study "
            f"({all_cores / loop:.2f} of it), {one:7.1f} with one worker "
            f"({all_cores / one:.2f} times as many with {cores})"
        )


if __name__ == "__main__":
    main()
