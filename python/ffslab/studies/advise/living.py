"""What a device does at a point until it fails: a life as `ffslab lifetime` lives it, given up sooner.

What blocks wear alike, and which call is the slowest, is not told by the rounds in which a partition is turned over:
data that never change rest, a directory stays in its block, a layer tidies up once in a thousand calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from ffslab._native import InputError
from ffslab.studies.lifetime import Given, WholeLives, lived
from ffslab.studies.lifetime import Workload as Living
from ffslab.studies.lifetime.whole import LEAPS_AFTER_WORK
from ffslab.studies.sweep.tasks import at_points
from ffslab.text.durations import DAYS_PER_YEAR

if TYPE_CHECKING:
    from ffslab.answers.lives import VariantLife
    from ffslab.api.experiment import Experiment
    from ffslab.store import Store
    from ffslab.studies.advise.asked import Workload
    from ffslab.studies.sweep.axes import Value

# So much work (flash operations and calls) is done for a life while points are compared, and for one that is told,
# which leaps no sooner than in `ffslab lifetime`: about a second, and ten.
WORK_COMPARED, WORK_TOLD = 400_000, 2 * LEAPS_AFTER_WORK
# Fewer erases do not tell which blocks come in turn.
ERASES_MIN = 4
# So many of all blocks together tell the rate of a ring to 2 %.
ERASES_OF_RING_MIN = 50
# Blocks that come in turn have so many times the usual erases: what has fewer rests, what has more is worn first.
IN_TURN = (0.5, 2.0)
# Ends that are no wear.
REFUSED = ("failed", "full")
# The device was not looked at any longer.
LIVES_ON = ("limit", "unknown", "unworn")


class Lived(NamedTuple):
    """`years` until its blocks have had their erases; `None`: not known. `slowest_us`: of calls before one failed.
    `error`: why it did not go on, though no block had failed."""

    years: float | None
    slowest_us: float | None
    error: str | None


def lived_at(workload: Workload, values: Mapping[str, object], store: Store, work_max: int) -> Lived | None:
    """The life under a workload with these values of its axes; `None`: it cannot be lived."""
    experiment = workload.experiment.changed(axes={name: [value] for name, value in values.items()})
    try:
        found = _lived(workload, experiment, store, work_max)
    except InputError:
        return None
    lives = found.lives
    return lived_of(lives[0][1]) if lives else None


def live_together(workload: Workload, points: Sequence[Mapping[str, Value]], store: Store, work_max: int) -> None:
    """Lets devices live with these values of its axes at the same time, on all cores. `lived_at` finds their lives in
    the store."""
    names = dict.fromkeys(name for values in points for name in values)
    axes = {name: list(dict.fromkeys(values[name] for values in points if name in values)) for name in names}
    every = at_points(workload.experiment, axes, [tuple(values.get(name) for name in names) for values in points])
    with suppress(InputError):
        # Of one that cannot be lived `lived_at` says so.
        _lived(workload, every, store, work_max)


def _lived(workload: Workload, experiment: Experiment, store: Store, work_max: int) -> WholeLives:
    return lived([Living(workload.name, experiment)], Given(per_day=workload.per_day), work_max=work_max, store=store)


def slowest_us(life: VariantLife) -> float | None:
    """The slowest call of a device that works: a block that fails is tested while calls wait."""
    first = life["first_bad_block_years"]
    until_days = float("inf") if first is None else first * DAYS_PER_YEAR
    known = [point["max_us"] for point in life["points"] if point["max_us"] is not None and point["days"] < until_days]
    return max(known, default=None)


def lived_of(life: VariantLife) -> Lived:
    """What a life says of a point."""
    ended = life["ended"]
    refused = ended["by"] in REFUSED and life["first_bad_block_years"] is None
    error = f"after {life['repetitions']:,} repetitions: {ended['error']}" if refused else None
    return Lived(_years(life), slowest_us(life), error)


def _years(life: VariantLife) -> float | None:
    """When the blocks that come in turn have had the erases that their part bears, or the device ends before that.

    So they are compared alike, those that live on with blocks that have failed, and those that were given up, too.
    `None`: not known.
    """
    every = list(zip(life["wear"]["days"], life["wear"]["erases"], strict=True))
    borne = life["endurance_erases"]
    worn_days = next((days for days, erases in every if _worn(life, erases) >= borne), None)
    ends = [_reckoned(life, every) if worn_days is None else worn_days / DAYS_PER_YEAR]
    if life["ended"]["by"] not in LIVES_ON:
        ends.append(life["years"])
    return min((years for years in ends if years is not None), default=None)


def _reckoned(life: VariantLife, every: Sequence[tuple[float, list[int]]]) -> float | None:
    """When the blocks that come in turn will have had their erases, by those at these days. `None`: not known."""
    if is_ring(every[-1][1]):
        return _of_ring(life, every)
    # The first window is how a new partition fills up.
    for days, began in (*every[1:2], *every[:1]):
        taken = [count - before for count, before in zip(every[-1][1], began, strict=True)]
        worn = _worn(life, taken)
        if worn >= ERASES_MIN:
            return (every[-1][0] - days) / DAYS_PER_YEAR * life["endurance_erases"] / worn
    return None


def is_ring(erases: Sequence[int]) -> bool:
    """Whether all blocks come in turn, one after the other."""
    return max(erases, default=0) - min(erases, default=0) <= 1


def _of_ring(life: VariantLife, every: Sequence[tuple[float, list[int]]]) -> float | None:
    """`_reckoned` of a ring. A block of it has a whole number of erases, so few of them are a coarse rate; the sum over
    all blocks is a fine one. `None`: too few after the first window, in which a new partition takes no erase where an
    old one takes some; then the rounds tell the rate."""
    days, began = every[min(1, len(every) - 1)]
    erases = sum(every[-1][1]) - sum(began)
    if erases < ERASES_OF_RING_MIN:
        return None
    rate = erases / len(began) / (every[-1][0] - days)
    return life["endurance_erases"] / rate / DAYS_PER_YEAR


def _worn(life: VariantLife, taken: Sequence[int]) -> float:
    """The erases of the blocks that decide."""
    if life["levels_from_erases"] is not None:
        # UBI lets all blocks have as many, sooner or later.
        return mean(taken)
    if not life["blocks_fail"]:
        return max(taken)
    # What rests is no part of it, and the few blocks that are worn first are replaced by others.
    usual = median([count for count in taken if count] or [0])
    fewest, most = (times * usual for times in IN_TURN)
    return mean(count for count in taken if fewest <= count <= most)
