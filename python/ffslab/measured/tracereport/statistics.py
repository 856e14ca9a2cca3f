"""The few statistics that a report needs, with their sources; no package beyond numpy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffslab.answers.trace_report import Distribution

# Two-sided 95 %.
Z_95 = 1.959964

Floats = NDArray[np.float64]


def distribution(values: ArrayLike) -> Distribution:
    """Of durations in nanoseconds: number, sum, mean, standard deviation and percentiles, in microseconds.

    `step_us`: the smallest difference between two of them, the resolution of the clock at best.
    """
    us = np.sort(np.asarray(values, dtype=np.float64)) / 1e3
    n = len(us)
    if not n:
        return {"n": 0, "sum_us": 0.0}
    # The nearest-rank percentile: always a duration that was measured.
    p50, p90, p95, p99, p99_9 = (float(us[math.ceil(q / 100 * n) - 1]) for q in (50, 90, 95, 99, 99.9))
    steps = np.diff(us)
    steps = steps[steps > 5e-4]
    return {
        "n": n,
        "sum_us": float(us.sum()),
        "mean_us": float(us.mean()),
        "sd_us": float(us.std(ddof=1)) if n > 1 else 0.0,
        "min_us": float(us[0]),
        "p50_us": p50,
        "p90_us": p90,
        "p95_us": p95,
        "p99_us": p99,
        "p99_9_us": p99_9,
        "max_us": float(us[-1]),
        "step_us": float(steps.min()) if len(steps) else None,
    }


def poisson_interval(count: float, z: float = Z_95) -> tuple[float, float]:
    """The expectation behind a count of independent events: Byar's approximation of the exact interval.

    Breslow and Day, Statistical Methods in Cancer Research II (1987), p. 69. Its lower end is 3 % below the exact one
    at 3 events and half of it at 1. For no event the upper end is exact: -ln(0.025), as the interval stays two-sided.
    """
    if count <= 0:
        return 0.0, -math.log((1 - math.erf(z / math.sqrt(2))) / 2)
    low = count * (1 - 1 / (9 * count) - z / (3 * math.sqrt(count))) ** 3 if count > 1e-9 else 0.0
    above = count + 1
    return max(low, 0.0), above * (1 - 1 / (9 * above) + z / (3 * math.sqrt(above))) ** 3


def dispersion(counts_per_interval: ArrayLike) -> float:
    """Variance over mean of counts: 1 when events come independently, more when they come in bursts."""
    counts = np.asarray(counts_per_interval, dtype=np.float64)
    mean = counts.mean() if len(counts) else 0.0
    return float(counts.var(ddof=1) / mean) if len(counts) > 1 and mean else 1.0


def burst_interval(count: float, burstiness: float) -> tuple[float, float]:
    """`poisson_interval` of events in bursts: they tell as much as `count / burstiness` independent ones."""
    factor = max(burstiness, 1.0)
    low, high = poisson_interval(count / factor)
    return low * factor, high * factor


def rates_differ(count_a: float, time_a: float, count_b: float, time_b: float, burstiness: float = 1.0) -> float | None:
    """The two-sided p value of "both rates are equal", from the square roots of the counts.

    Huffman, Applied Statistics 33 (1984), p. 224. `None` when nothing happened in either."""
    if count_a + count_b == 0 or time_a <= 0 or time_b <= 0:
        return None
    factor = max(burstiness, 1.0)
    ratio = time_b / time_a
    a, b = count_a / factor, count_b / factor
    z = 2 * (math.sqrt(b + 3 / 8) - math.sqrt(ratio * (a + 3 / 8))) / math.sqrt(1 + ratio)
    return math.erfc(abs(z) / math.sqrt(2))


def kolmogorov_smirnov(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """The largest distance between two distributions, and the p value of "both are the same" for large samples.

    Kolmogorov's series with Stephens' correction for finite samples (Press et al., Numerical Recipes, 14.3).
    """
    a, b = np.sort(np.asarray(a)), np.sort(np.asarray(b))
    both = np.concatenate([a, b])
    below_a = np.searchsorted(a, both, side="right") / len(a)
    below_b = np.searchsorted(b, both, side="right") / len(b)
    distance = float(np.abs(below_a - below_b).max())
    root = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < 0.2:
        return distance, 1.0
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return distance, min(max(sum(terms), 0.0), 1.0)
