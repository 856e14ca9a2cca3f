"""Start-up and running phase of a device under one pattern, from the response times of its calls alone.

Follows the two-phase model of L. Bouganim, B. Jonsson, P. Bonnet, "uFLIP: Understanding Flash IO Patterns" (CIDR 2009):
after a start-up phase of cheap calls, in which a device uses what it has in reserve, comes a running phase that
oscillates between cheap and expensive calls. IOIgnore must cover the first, IOCount enough of the second for its mean
to hold. The paper reads both from plots; the rules by which they are found here are this laboratory's own, and are said
at each function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A start-up phase is one whose calls cost at most this share of those after it.
CHEAPER = 0.7
# Of a Brownian bridge: that its largest excursion exceeds so many standard deviations has a probability of 1 %.
EXCURSION = 1.63
# Calls are of two kinds when the expensive ones cost at least so many times the cheap ones.
APART = 2.0
# How alike a series must be to itself for its oscillation to have a period.
ALIKE = 0.5
# By how much the mean of a run may be off.
TOLERANCE = 0.05
COUNT_LEAST = 16


@dataclass(frozen=True)
class Phases:
    """What a series of response times shows.

    `startup_n`: calls of the start-up phase; 0: there is none. `startup_us`, `running_us`: mean response times in the
    two. `cheap_us`, `expensive_us`: between which levels the running phase oscillates; equal when it does not.
    `expensive_share`: of its calls. `period_n`: distance of the expensive calls, if it is regular; else `spacing_n`,
    their mean distance, tells. `count_n`: calls of the running phase after which their mean is within 5 % of that of
    the whole; `converged`: whether the series is long enough to know.
    """

    startup_n: int
    startup_us: float | None
    running_us: float
    cheap_us: float
    expensive_us: float
    expensive_share: float
    period_n: int | None
    spacing_n: float | None
    count_n: int
    converged: bool


def phases_of(times_us: ArrayLike) -> Phases:
    """The phases of a series, the first call first. Raises `ValueError` for fewer than 16 calls."""
    times = np.asarray(times_us, dtype=float)
    if len(times) < COUNT_LEAST:
        raise ValueError(f"{len(times)} calls tell no phases: at least {COUNT_LEAST} are needed")
    startup_n = startup_of(times)
    running = times[startup_n:]
    is_expensive = expensive_of(running)
    any_expensive = bool(is_expensive.any())
    count_n, converged = count_of(running)
    return Phases(
        startup_n=startup_n,
        startup_us=float(times[:startup_n].mean()) if startup_n else None,
        running_us=float(running.mean()),
        cheap_us=float(running[~is_expensive].mean()),
        expensive_us=float(running[is_expensive].mean()) if any_expensive else float(running.mean()),
        expensive_share=float(is_expensive.mean()),
        period_n=period_of(running) if any_expensive else None,
        spacing_n=_spacing(is_expensive),
        count_n=count_n,
        converged=converged,
    )


def startup_of(times: NDArray[np.float64]) -> int:
    """How many calls at the begin are the start-up phase.

    The cumulated deviation from the mean falls as long as calls are cheap and rises afterwards: where it is lowest, the
    phase ends. It counts only if it is deeper than chance would make it, if its calls cost at most 0.7 of those after
    it, and if it is followed by at least as many calls as are needed to tell a phase.
    """
    n = len(times)
    deviation = float(times.std())
    if deviation == 0.0:
        return 0
    fallen = np.cumsum(times - times.mean())
    end = int(np.argmin(fallen)) + 1
    if n - end < COUNT_LEAST or -fallen[end - 1] <= EXCURSION * deviation * n**0.5:
        return 0
    return end if times[:end].mean() <= CHEAPER * times[end:].mean() else 0


def expensive_of(times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which calls are the expensive ones of two kinds; none when they are all of one kind.

    The border between the kinds is the one of Otsu: the two groups of logarithms are as far apart as they can be.
    """
    logarithms = np.sort(np.log(np.maximum(times, 1e-9)))
    n = len(logarithms)
    sums = np.cumsum(logarithms)
    low_n = np.arange(1, n)
    low, high = sums[:-1] / low_n, (sums[-1] - sums[:-1]) / (n - low_n)
    apart = low_n * (n - low_n) * (high - low) ** 2
    apart[np.diff(logarithms) <= 0] = -1.0
    at = int(np.argmax(apart))
    if apart[at] <= 0:
        return np.zeros(len(times), dtype=bool)
    border = (logarithms[at] + logarithms[at + 1]) / 2
    found: NDArray[np.bool_] = np.log(np.maximum(times, 1e-9)) > border
    return found if times[found].mean() >= APART * times[~found].mean() else np.zeros(len(times), dtype=bool)


def period_of(times: NDArray[np.float64]) -> int | None:
    """The distance at which a series is most like itself, if it is alike at all; the shortest of several as good
    ones."""
    n = len(times)
    around = times - times.mean()
    spectrum = np.fft.rfft(around, 2 * n)
    products = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n)[: n // 2]
    if n < 4 or products[0] <= 0:
        return None
    # The same number of products stands behind each distance.
    alike = products / products[0] * n / (n - np.arange(n // 2))
    best = float(alike[2:].max(initial=0.0))
    if best < ALIKE:
        return None
    peaks = [
        at
        for at in range(2, len(alike) - 1)
        if alike[at] >= 0.95 * best and alike[at] >= alike[at - 1] and alike[at] >= alike[at + 1]
    ]
    return peaks[0] if peaks else None


def count_of(running: NDArray[np.float64]) -> tuple[int, bool]:
    """How many calls, a power of two, have a mean within 5 % of that of the whole, wherever they begin; whether this is
    known.

    It is known when at least four such runs fit into the series.
    """
    whole = float(running.mean())
    sums = np.concatenate([[0.0], np.cumsum(running)])
    count = COUNT_LEAST
    while 4 * count <= len(running):
        means = (sums[count:] - sums[:-count]) / count
        if float(np.abs(means - whole).max()) <= TOLERANCE * whole:
            return count, True
        count *= 2
    return min(count, len(running)), False


def lingering_of(before_us: Sequence[float], after_us: Sequence[float], window: int = COUNT_LEAST) -> tuple[int, float]:
    """How many cheap calls after a batch of others are still slowed down by it, and how long that takes, in
    microseconds.

    The effect ends where `window` calls in a row have a mean within 5 % of that before the batch.
    """
    before, after = float(np.mean(before_us)), np.asarray(after_us, dtype=float)
    sums = np.concatenate([[0.0], np.cumsum(after)])
    if len(after) < window:
        raise ValueError(f"{len(after)} calls after the batch are less than a window of {window}")
    means = (sums[window:] - sums[:-window]) / window
    calm = np.flatnonzero(means <= (1 + TOLERANCE) * before)
    affected = int(calm[0]) if len(calm) else len(after)
    # A window that begins with fast calls may be calm though slow ones stood just before its end: count slow calls
    # alone.
    slow = np.flatnonzero(after[:affected] > (1 + TOLERANCE) * before)
    affected = int(slow[-1]) + 1 if len(slow) else 0
    return affected, float(after[:affected].sum())


def _spacing(is_expensive: NDArray[np.bool_]) -> float | None:
    places = np.flatnonzero(is_expensive)
    return float(np.diff(places).mean()) if len(places) > 1 else None
