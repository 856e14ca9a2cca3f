"""How long a part bears what a run does, until its blocks are worn out."""

from __future__ import annotations

from typing import NamedTuple

from ffslab.answers.summary import MeanSd, VariantSummary
from ffslab.registries.profiles import borne_by
from ffslab.steady import variant_needs_us
from ffslab.text.durations import DAYS_PER_YEAR

US_PER_YEAR = DAYS_PER_YEAR * 86_400e6


def years_until_worn_out(variant: VariantSummary) -> float | None:
    """How long the part bears the measured steps one after the other, if all blocks wear alike; `None`: nothing was
    erased, too little was seen of it (`ffslab.steady`), or nothing is known of the part."""
    borne = runs_until_worn_out(variant)
    return borne.runs * variant["time_us"] / US_PER_YEAR if borne is not None else None


class Borne(NamedTuple):
    """How often a part bears a run. `erases`: so many bears each of its blocks, by `source`."""

    runs: float
    erases: int
    source: str


def worn_most(variant: VariantSummary) -> tuple[str, MeanSd]:
    """The mount whose blocks wear most and the erases of each of them; "" where a machine has one mount."""
    mounts = ((mount["at"], mount["erases_per_block"]) for mount in variant.get("mounts", []))
    known = [(at, wear) for at, wear in mounts if wear is not None]
    return max(known, key=lambda one: one[1]["mean"], default=("", variant["erases_per_block"]))


def runs_until_worn_out(variant: VariantSummary) -> Borne | None:
    """How often the part bears the measured steps, if all blocks wear alike; `None` as of the years.

    Of several partitions the one that wears most decides, because wear is levelled within each alone.
    """
    if variant_needs_us(variant) is not None:
        return None
    mean, borne = worn_most(variant)[1]["mean"], borne_by(variant["stack"])
    return Borne(borne[0] / mean, *borne) if borne is not None and mean else None
