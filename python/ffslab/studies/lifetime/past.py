"""How long a part in the field will last if it goes on at its past rate: by its image and its age."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ffslab._native import InputError
from ffslab.answers.image import Facts
from ffslab.answers.lifetime import Lifetime, WorkloadLife
from ffslab.file_systems import title
from ffslab.measured.tracereport.statistics import poisson_interval
from ffslab.studies.lifetime.rows import borne, life
from ffslab.studies.lifetime.verdict import DAY_US, Blocks, judged
from ffslab.studies.lifetime.workloads import Given
from ffslab.text.machine_line import Seen, line

# The sequence number of the block that YAFFS2 writes first after a format (YAFFS_LOWEST_SEQUENCE_NUMBER, yaffs_guts.h).
YAFFS2_FIRST_SEQUENCE = 0x1000


def of_past(image: Path, facts: Facts, age_days: float, part: str, given: Given) -> Lifetime:
    """The lifetime of the part that `image` was read from, which was in use for so long.

    `facts`: what `ffslab.studies.lifetime.looked_into` found in it. `part` names the endurance where none is given.
    Raises `ffslab.InputError` when the image keeps no count of erases.
    """
    said = borne(given.endurance, {"part": part})
    counted = _by_ubi(facts, age_days, said) or _by_yaffs2(facts, age_days, said)
    if counted is None:
        name = title(facts["layout"]["fs"])
        raise InputError(f"{image}: {name} keeps no count of erases: give --workload EXPERIMENT in place of --age")
    fs = facts["layout"]["fs"]
    machine = line([Seen({"part": part, "fs": fs}, f"image {image}", seen_us=age_days * DAY_US)])
    return judged({"start": str(image), "machine": machine, "workloads": [counted]}, given.wanted_years)


def _by_ubi(facts: Facts, age_days: float, said: tuple[int, str]) -> WorkloadLife | None:
    """UBI counts the erases of each block in its erase counter header."""
    counted = [(number, block["erases"]) for number, block in enumerate(facts["blocks"]) if block["erases"] is not None]
    if not counted:
        return None
    worn = np.array([erases for _, erases in counted], dtype=float)
    busiest = int(np.argmax(worn))
    row = _row(worn, age_days, said, "UBI's erase counters in the image", busiest)
    return {**row, "busiest_block": counted[busiest][0]}


def _by_yaffs2(facts: Facts, age_days: float, said: tuple[int, str]) -> WorkloadLife | None:
    """YAFFS2 numbers the blocks that it begins to write: all but the first round of them were erased before."""
    blocks = [block for block in facts["blocks"] if not block["is_bad"]]
    highest = max((block["sequence"] for block in blocks if block["sequence"] is not None), default=None)
    if highest is None:
        return None
    erases = max(highest - YAFFS2_FIRST_SEQUENCE - len(blocks), 0)
    by = "YAFFS2's sequence numbers in the image, which do not count erases of checkpoints; not by block"
    return _row(np.full(len(blocks), erases / len(blocks)), age_days, said, by, None)


def _row(worn: Blocks, age_days: float, said: tuple[int, str], by: str, busiest: int | None) -> WorkloadLife:
    """The life at which so many erases of each block took so long."""
    row = life(
        "past",
        worn,
        worn,
        said,
        time_us=age_days * DAY_US,
        often=1 / age_days,
        busiest=busiest,
        interval=poisson_interval(float(worn.sum())),
        uncertainty="the number of erases alone, as independent events",
        wear_said_by=by,
    )
    return {**row, "workload": "at its past rate"}
