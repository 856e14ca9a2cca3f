"""The smallest workload that still fails, and its earliest cut.

Steps are left out as long as the same kind of failure is found (delta debugging: Zeller and Hildebrandt, "Simplifying
and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002).
"""

from __future__ import annotations

from dataclasses import replace

from ffslab._native import InputError
from ffslab.answers.crashtest import CrashFailure
from ffslab.studies.crashtest.file import Step
from ffslab.studies.crashtest.run import Outcome, Progress, crashtest

# Workloads that are tried, and cuts of each.
TRIES = 40
POINTS = 400


def shrunk(outcome: Outcome, failure: CrashFailure, *, jobs: int | None, progress: Progress | None) -> Outcome | None:
    """The smallest workload in which this kind of failure is found, with its cuts; `None`: no smaller one."""
    test = outcome.test
    if not test.steps or test.cut is not None:
        return None
    tries = 0
    best: Outcome | None = None

    def fails(steps: tuple[Step, ...]) -> bool:
        nonlocal tries, best
        if tries >= TRIES or not steps:
            return False
        tries += 1
        try:
            found = crashtest(replace(test, steps=steps), points=POINTS, jobs=jobs, progress=progress)
        except InputError:
            return False
        if same_kind(found, failure) is None:
            return False
        best = found
        return True

    steps, parts = test.steps, 2
    while len(steps) > 1 and tries < TRIES:
        size = max(1, len(steps) // parts)
        without = (steps[:at] + steps[at + size :] for at in range(0, len(steps), size))
        smaller = next((left for left in without if fails(left)), None)
        if smaller is not None:
            steps, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(steps), parts * 2)
    return best


def same_kind(outcome: Outcome, failure: CrashFailure) -> CrashFailure | None:
    """The first failure of an outcome that blames the same."""
    return next((found for found in outcome.failures if found["found"] == failure["found"]), None)
