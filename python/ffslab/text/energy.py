"""The energy of results, which systems without figures of power do not have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ffslab.answers.machine import SessionTotals
from ffslab.answers.summary import StepSummary, VariantSummary

Rail = Literal["cpu", "memory", "total"]


def energy_mj(result: VariantSummary | StepSummary | SessionTotals, rail: Rail = "total") -> float | None:
    """Energy above idle, mJ; `None`: nothing is known of it."""
    energy = result["energy_uJ"]
    return None if energy is None else energy[rail] / 1e3


def have_energy(results: Iterable[VariantSummary | StepSummary]) -> bool:
    """Whether all of them have an energy, and one that is not 0."""
    energies = [energy_mj(result) for result in results]
    return None not in energies and any(energies)
