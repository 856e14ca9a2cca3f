"""The energy of results, which is told where the prices of it have a source.

A board's prices of a flash operation at the driver level are those of its chip, its bus and the CPU meanwhile. A board
without them has at most a power of its CPU, often another board's: what that adds up to is in `summary.json`, and is
not the energy of the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

from ffslab._native import InputError, is_path
from ffslab.answers.machine import SessionTotals
from ffslab.answers.profile import ShownProfile
from ffslab.answers.summary import StepSummary, VariantSummary
from ffslab.registries import profiles

Rail = Literal["cpu", "memory", "total"]
_OPERATIONS, _RAILS = ("read", "program", "erase"), ("cpu", "memory")
PRICES = tuple(f"driver.{operation}_{rail}_uJ" for operation in _OPERATIONS for rail in _RAILS)


def energy_mj(result: VariantSummary | StepSummary | SessionTotals, rail: Rail = "total") -> float | None:
    """Energy above idle, mJ, as far as it is counted; `None`: nothing is known of it."""
    energy = result["energy_uJ"]
    return None if energy is None else energy[rail] / 1e3


def have_energy(variants: Iterable[VariantSummary]) -> bool:
    """Whether all of them have an energy that can be told, and one that is not 0."""
    every = list(variants)
    energies = [energy_mj(variant) for variant in every]
    return None not in energies and any(energies) and all(energy_is_priced(variant) for variant in every)


def energy_is_priced(variant: VariantSummary) -> bool:
    """Whether the energy of a variant is of prices that have a source."""
    return variant["energy_uJ"] is not None and missing_price(variant.get("stack", {})) is None


def missing_price(stack: Mapping[str, Any]) -> str | None:
    """What is missing for the energy of a machine, as the rest of a sentence; `None`: nothing is."""
    board, part = stack.get("board"), stack.get("part")
    if not isinstance(board, str):
        return None
    if is_path(board):
        file = profiles.file_of(board)
        return f"the profile {board} is not here to be asked" if file is None else _missing(board, part, str(file))
    return _missing_of_known(board, part if isinstance(part, str) else None)


def _missing(board: str, part: str | None, file: str | None = None) -> str | None:
    try:
        profile = profiles.shown(file or board)
    except InputError as error:
        return str(error)
    prices = {one["key"]: one["status"] for one in profile["values"] if one["key"] in PRICES}
    absent = [key for key in PRICES if key not in prices]
    if absent:
        return f"no source gives what the chip and the bus of board {board} take for an operation ({absent[0]} ...)"
    if unverified := [key for key, status in prices.items() if status == "unverified"]:
        return f"{unverified[0]} of board {board} is unverified"
    own = _part_of(profile)
    if part is not None and own is not None and part != own:
        return f"the prices of board {board} are those of its part {own}, and nobody has measured them with {part}"
    return None


def _part_of(profile: ShownProfile) -> str | None:
    return profile.get("part")


# A built-in profile is asked for at each point of a study; a file of the user's may change.
_missing_of_known = cache(_missing)
