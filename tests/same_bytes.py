"""Hashes of what a fixed set of runs gives, which must not depend on build, computer or number of workers.

    FFSLAB_STORE= python tests/same_bytes.py [JOBS] > here.txt

on two builds (debug and release, x86-64 and arm64) must give the same file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from ffslab import Experiment, steps
from ffslab.studies.crashtest import CrashTest, Cuts, crashtest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples/crashtest"
STACKS: tuple[dict[str, Any], ...] = (
    {"board": "omap3evm", "fs": "jffs2", "partition_blocks": 32},
    {"board": "omap3evm", "fs": "yaffs2", "partition_blocks": 32},
    {"board": "omap3evm", "fs": "ubifs", "partition_blocks": 40},
    {"system": "bare", "fs": "littlefs", "board": "licheepi-nano", "part": "w25q128jv", "partition_blocks": 64},
)
MEASURE = [
    steps.create(file="a", bytes=300_000, request_B=4096),
    steps.open(file="a", flags=["rdwr"]),
    steps.requests(file="a", op="write", pattern="random", request_B=3000, range_B=262_144, count=150),
    steps.fsync(file="a"),
    steps.requests(file="a", op="read", pattern="random", request_B=1000, range_B=262_144, count=50),
    steps.close(file="a"),
]


def of_run(stack: dict[str, Any], jobs: int) -> str:
    """Of two variants all figures, and each call with its time."""
    setup = [steps.mount()]
    experiment = Experiment.of("same", stack=cast("Any", stack), setup=setup, measure=MEASURE)
    run = experiment.with_axes({"requests.request_B": [512, 3000]}).run(jobs=jobs)
    assert not run.failures, run.failures
    digest = hashlib.sha256(json.dumps(run.summary["variants"], sort_keys=True).encode())
    digest.update(run.requests.to_csv().encode())
    return digest.hexdigest()


def of_crashes(jobs: int) -> str:
    """Everything that is found in a test of power cuts with a defect."""
    test = CrashTest(
        stack=STACKS[2],
        judge={"kind": "python", "function": "applications.py:whole_settings"},
        program="applications.py:settings_no_fsync",
        cuts=Cuts(tears=2, recovery=1),
        folder=EXAMPLES,
    )
    judged = crashtest(test, points=40, jobs=jobs).judged
    return hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()


def lines(jobs: int) -> list[str]:
    """A line for each run of the set."""
    return [f"{of_run(stack, jobs)}  {stack['fs']}" for stack in STACKS] + [f"{of_crashes(jobs)}  power cuts"]


if __name__ == "__main__":
    print("\n".join(lines(int(sys.argv[1]) if len(sys.argv) > 1 else 1)))
