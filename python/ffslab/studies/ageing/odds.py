"""Closed forms for frames that age: how many wrong bits they have, and what is lost between two scrubs.

A frame's rate is Beta distributed. At rates that matter (below 1 %) that is a Gamma distribution but for a relative
error as great as the rate, and the errors of a frame are a mixed Poisson process: negative binomial at each time, with
closed joint probabilities at two times (Grandell, Mixed Poisson Processes, 1997, the Polya process).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from scipy.special import gammaln
from scipy.stats import nbinom


def lost_between(shape: float, before: float, after: float, threshold: int, corrected: int) -> float:
    """The probability that a frame has less than `threshold` wrong bits, and then more than `corrected`.

    `before`, `after`: its mean number of wrong bits at the two times. With less the frame is not moved by the first
    scrub, with more it is lost at the second one.
    """
    total = 0.0
    gained = max(after - before, 0.0)
    for k in range(threshold):
        if k and before <= 0:
            break
        for j in range(max(corrected + 1 - k, 0), corrected + 400):
            if j and gained <= 0:
                break
            log_term = (
                gammaln(shape + k + j) - gammaln(shape) - gammaln(k + 1) - gammaln(j + 1)
                + shape * math.log(shape / (shape + after))
                + (k * math.log(before / (shape + after)) if k else 0.0)
                + (j * math.log(gained / (shape + after)) if j else 0.0)
            )  # fmt: skip
            term = math.exp(log_term)
            total += term
            if term < total * 1e-12:
                break
    return total


def lost_over(shape: float, means: Sequence[float], threshold: int, corrected: int) -> float:
    """The expected losses of a frame over a row of scrubs, by its mean wrong bits at each, those of time 0 first.

    What a scrub has moved is not followed again, so this is right as long as few frames are moved twice.
    """
    first = lost_between(shape, 0.0, means[1], 1, corrected)
    steps = pairwise(means[1:])
    return first + sum(lost_between(shape, before, after, threshold, corrected) for before, after in steps)


def count_odds(shape: float, mean_bits: float, frames: float, count: float) -> tuple[float, float]:
    """The probability that so many frames have at least, and at most, `count` wrong bits together."""
    if mean_bits <= 0 or frames <= 0:
        return (1.0 if count <= 0 else 0.0), 1.0
    size, success = shape * frames, shape / (shape + mean_bits)
    return float(nbinom.sf(math.ceil(count) - 1, size, success)), float(nbinom.cdf(math.floor(count), size, success))


def count_interval(shape: float, mean_bits: float, frames: float) -> tuple[int, int]:
    """Between what 95 % of the counts of wrong bits in so many frames lie."""
    if mean_bits <= 0 or frames <= 0:
        return 0, 0
    size, success = shape * frames, shape / (shape + mean_bits)
    low, high = nbinom.ppf([0.025, 0.975], size, success)
    return int(low), int(high)
