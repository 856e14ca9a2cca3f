"""A row of lifetimes: what erases in so much time mean for blocks of an endurance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ffslab._native import InputError
from ffslab.answers.lifetime import WorkloadLife
from ffslab.measured.tracereport.statistics import poisson_interval
from ffslab.registries.profiles import borne_by
from ffslab.studies.lifetime.verdict import Blocks, spread, years


def borne(endurance: int | None, stack: Mapping[str, Any]) -> tuple[int, str]:
    """Erases that a block bears, and who says so: what was given, or what the stack or its part's profile knows.

    Raises `ffslab.InputError` when none does.
    """
    said = (endurance, "as given") if endurance is not None else borne_by(stack)
    if said is None:
        raise InputError(f"part {stack.get('part') or ''} has no endurance_erases: give --endurance ERASES")
    return said


def life(
    kind: Literal["workload", "past"],
    erases: Blocks,
    worn: Blocks,
    said: tuple[int, str],
    *,
    time_us: float,
    often: float,
    busiest: int | None,
    interval: tuple[float, float],
    uncertainty: str,
    wear_said_by: str,
) -> WorkloadLife:
    """The row of blocks that are `worn` and get so many `erases` `often` times a day, of a workload without a name.

    `said`: as of `borne`. `time_us`: what it takes once. `busiest`: the block that is erased most, if it is known.
    `interval`: that of 95 % of the number of all erases, which follows from `uncertainty`.
    """
    endurance, source = said
    total, most = float(erases.sum()), 0.0 if busiest is None else float(erases[busiest])
    left, per_block = np.maximum(endurance - worn, 0.0), erases * often
    of_busiest = None
    if busiest is not None and most > 0:
        low, high = poisson_interval(most)
        of_busiest = years(float(left[busiest]), (low, most, high), often)
    return {
        "kind": kind,
        "workload": "",
        "variant": "base",
        "time_us": time_us,
        "times_per_day": often,
        "erases": total,
        "endurance_erases": endurance,
        "endurance_source": source,
        "worn": {"mean": float(worn.mean()), "max": float(worn.max())},
        "erases_per_day": {"all_blocks": total * often, "by_block": per_block.tolist()},
        "erases_per_block_per_day": spread(per_block),
        "uncertainty": uncertainty,
        "lifetime_years": {
            # All blocks share the erases: nothing lives longer.
            "levelled": years(float(left.sum()), (interval[0], total, interval[1]), often),
            # The block that is erased most goes on like that: nothing dies sooner.
            "busiest_block": of_busiest,
        },
        "busiest_block": busiest,
        "of_setup": None,
        "causes": [],
        "formatting_erases": 0,
        "needs_us": None,
        "wear_said_by": wear_said_by,
        "said": [],
        "verdict": None,
    }
