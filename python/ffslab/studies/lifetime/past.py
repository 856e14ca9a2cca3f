"""How long a part in the field will last if it goes on at its past rate: by its image and its age."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import numpy as np

from ffslab._native import InputError
from ffslab.answers.image import Facts
from ffslab.answers.lifetime import Lifetime, WorkloadLife
from ffslab.api.profiles import endurance_of
from ffslab.boards.tracereport.statistics import poisson_interval
from ffslab.file_systems import title
from ffslab.images import How
from ffslab.images.inspection import inspect_image
from ffslab.studies.lifetime.verdict import DAY_US, Blocks, judged, spread, years
from ffslab.studies.lifetime.workloads import Given

# The sequence number of the block that YAFFS2 writes first after a format (YAFFS_LOWEST_SEQUENCE_NUMBER, yaffs_guts.h).
YAFFS2_FIRST_SEQUENCE = 0x1000


def of_past(image: Path, age_days: float, part: str, given: Given, **how: Unpack[How]) -> Lifetime:
    """The lifetime of the part that `image` was read from, which was in use for so long.

    `part` names the endurance where none is given. Raises `ffslab.InputError` when the image keeps no count of erases.
    """
    facts = inspect_image(image, **how)
    said = (given.endurance, "as given") if given.endurance is not None else endurance_of(part)
    if said is None:
        raise InputError(f"part {part} has no endurance_erases: give --endurance ERASES")
    counted = _by_ubi(facts, age_days, said) or _by_yaffs2(facts, age_days, said)
    if counted is None:
        name = title(facts["layout"]["fs"])
        raise InputError(f"{image}: {name} keeps no count of erases: give --workload EXPERIMENT in place of --age")
    return judged({"start": str(image), "workloads": [counted]}, given.wanted_years)


def _by_ubi(facts: Facts, age_days: float, said: tuple[int, str]) -> WorkloadLife | None:
    """UBI counts the erases of each block in its erase counter header."""
    counters = [block["erases"] for block in facts["blocks"]]
    known = np.array([counter for counter in counters if counter is not None], dtype=float)
    if not len(known):
        return None
    row = _row(known, age_days, said, "UBI's erase counters in the image")
    busiest, most = int(np.argmax([-1 if counter is None else counter for counter in counters])), float(known.max())
    row["busiest_block"] = busiest
    if most > 0:
        low, high = poisson_interval(most)
        row["lifetime_years"]["busiest_block"] = years(max(said[0] - most, 0.0), (low, most, high), 1 / age_days)
    return row


def _by_yaffs2(facts: Facts, age_days: float, said: tuple[int, str]) -> WorkloadLife | None:
    """YAFFS2 numbers the blocks that it begins to write: all but the first round of them were erased before."""
    blocks = [block for block in facts["blocks"] if not block["is_bad"]]
    highest = max((block["sequence"] for block in blocks if block["sequence"] is not None), default=None)
    if highest is None:
        return None
    erases = max(highest - YAFFS2_FIRST_SEQUENCE - len(blocks), 0)
    by = "YAFFS2's sequence numbers in the image, which do not count erases of checkpoints; not by block"
    return _row(np.full(len(blocks), erases / len(blocks)), age_days, said, by)


def _row(worn: Blocks, age_days: float, said: tuple[int, str], by: str) -> WorkloadLife:
    """The life at which so many erases of each block took so long, which block is the busiest not told yet."""
    endurance, source = said
    total, often = float(worn.sum()), 1 / age_days
    per_block = worn * often
    low, high = poisson_interval(total)
    left = float(np.maximum(endurance - worn, 0.0).sum())
    return {
        "kind": "past",
        "workload": "at its past rate",
        "variant": "base",
        "time_us": age_days * DAY_US,
        "times_per_day": often,
        "erases": total,
        "endurance_erases": endurance,
        "endurance_source": source,
        "worn": {"mean": float(worn.mean()), "max": float(worn.max())},
        "erases_per_day": {"all_blocks": total * often, "by_block": per_block.tolist()},
        "erases_per_block_per_day": spread(per_block),
        "uncertainty": "the number of erases alone, as independent events",
        "lifetime_years": {"levelled": years(left, (low, total, high), often), "busiest_block": None},
        "busiest_block": None,
        "of_setup": None,
        "causes": [],
        "formatting_erases": 0,
        "wear_said_by": by,
        "said": [],
        "verdict": None,
    }
