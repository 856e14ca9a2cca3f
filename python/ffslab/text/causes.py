"""What the tasks and reasons of a result mean: its key `causes`, in the words of the layers that they belong to."""

from __future__ import annotations

from ffslab.answers.inspection import MountFacts
from ffslab.answers.mount import MountStat
from ffslab.answers.summary import VariantSummary

# Of whose wish reasons serve: data that the program asked for, and what reading them brings about.
ASKED_FOR = frozenset({"read", "write"})
READING = frozenset({"read", "for reads"})
FORMATTING = frozenset({"formatting"})
# What the setup left, and making a new partition usable: no doing of the measured programs.
APART = frozenset({"setup"}) | FORMATTING


def titles(result: VariantSummary | MountFacts | MountStat) -> dict[str, str]:
    """Who issues flash operations, as heads of tables name them, the program first."""
    return {row["task"]: row["title"] for row in result["causes"]["tasks"]}


def meanings(result: VariantSummary | MountFacts) -> dict[str, str]:
    """What happens for each reason, as the rest of a sentence."""
    return {row["reason"]: row["sentence"] for row in result["causes"]["reasons"]}


def reasons_that(result: VariantSummary | MountFacts, purposes: frozenset[str]) -> frozenset[str]:
    """The reasons that serve one of `purposes`."""
    return frozenset(row["reason"] for row in result["causes"]["reasons"] if row["purpose"] in purposes)
