"""Cells of the tables of docs/key-value.md on one part, from the results of their experiments."""

from __future__ import annotations

import tomllib
from typing import Any

from helpers.command import ROOT

# Operations of the cells by the key of the part that says how long one takes.
CELLS = {
    "t_read_us": ("page_reads", "partial_page_reads", "oob_reads"),
    "t_program_us": ("page_programs", "oob_programs"),
    "t_erase_us": ("erases",),
}


def years(steps: list[dict[str, Any]]) -> str:
    """64 blocks that wear alike, with the endurance of the part, if this work is done once an hour."""
    erases = sum(step["counts"]["erases"] for step in steps)
    return f"{64 * 100_000 / erases / 24 / 365.25:,.1f}"


def chip_energy(steps: list[dict[str, Any]], part: str) -> str:
    """What the cells of a part take while they read, program and erase in these steps, by its profile; millijoules."""
    profile = tomllib.loads((ROOT / f"profiles/parts/{part}.toml").read_text(encoding="utf-8"))
    energy_nanojoule = 0.0
    for key, operations in CELLS.items():
        milliwatt = profile[key.replace("t_", "").replace("_us", "_mA")]["value"] * profile["supply_V"]["value"]
        count = sum(step["counts"][name] for step in steps for name in operations)
        energy_nanojoule += count * profile[key]["value"] * milliwatt
    return f"{energy_nanojoule / 1e6:,.0f}"
