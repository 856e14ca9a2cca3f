"""The smallest step of a clock, found in what it measured: durations are multiples of it.

Method: every difference of two durations is a multiple of the step, so the small ones, divided by small numbers, are
candidates. The largest candidate on which all durations lie is the step. Whether they lie on it or only seem to is
decided by Rayleigh's test: the phases of the durations within the step are compared with those of chance.
"""

from __future__ import annotations

import numpy as np

from ffslab.studies.calibrate.observations import Numbers

# Durations of which a candidate is made; more make it slow and no better.
CANDIDATES_MAX = 400
DIVISORS = (1, 2, 3, 4, 5, 6)
# Chance of seeing a step where there is none.
CHANCE = 1e-4
# Mean resultant length of the phases: 1 when all durations are multiples, 0 when there is no step. Durations that were
# rounded when they were written down do not reach 1.
ALIGNED = 0.9


def clock_step(durations: Numbers) -> float | None:
    """The step, in the unit of `durations`; None when they show none."""
    values = np.unique(np.asarray(durations, dtype=float))
    values = values[np.isfinite(values) & (values > 0)]
    if len(values) < 3:
        return None
    steps = np.diff(np.concatenate([[0.0], values]))
    # What differs by less than a thousandth of the smallest duration differs by how it was written down.
    small = np.unique(steps[steps > 1e-3 * values[0]])[:CANDIDATES_MAX]
    candidates = np.unique(np.concatenate([small / divisor for divisor in DIVISORS]))[::-1]
    for candidate in candidates:
        step = _refined(values, candidate)
        if step is None:
            continue
        phases = np.exp(2j * np.pi * values / step)
        length = float(np.abs(phases.mean()))
        turned = float(np.abs(np.angle(phases.mean())))
        by_chance = float(np.exp(-len(values) * length**2)) * len(candidates)
        if length >= ALIGNED and turned < 0.3 and by_chance < CHANCE:
            return step
    return None


def _refined(values: Numbers, step: float) -> float | None:
    """`step`, made more exact by longer and longer durations; None when it comes to nothing."""
    reach = 8 * step
    while True:
        near = values[values <= reach]
        if len(near) >= 2:
            counts = np.round(near / step)
            if not counts.any():
                return None
            better = float((counts @ near) / (counts @ counts))
            if not 0.9 < better / step < 1.1:
                return None
            step = better
        if reach >= values[-1]:
            return step
        reach *= 2
