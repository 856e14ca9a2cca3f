"""Times of operations as a profile can hold them: totals above raw NAND, and what the driver adds on a serial bus.

A speed test measures chip, bus and driver together. Above raw NAND a profile says that as it is, unless the chip alone
takes longer by its data sheet. On a serial bus the profile knows clock, lines and the chip, so the driver is the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ffslab import _native
from ffslab._native import InputError
from ffslab.registries import profiles
from ffslab.studies import boot
from ffslab.studies.calibrate import board_profile
from ffslab.studies.calibrate.board_profile import Measured
from ffslab.studies.calibrate.boots import Draft

OPERATIONS = ("read", "program", "erase")
ERASE = "t_erase_us"
Drafting = Callable[[list[Measured]], Draft]
# (what the profile says, doubts)
_Said = tuple[list[Measured], list[str]]


def as_the_part_needs(measured: list[Measured], part: str, draft: Drafting) -> tuple[list[Measured], list[str]]:
    """(what the profile says of them, doubts).

    Errors: on a serial bus, a profile that no simulation can load.
    """
    totals = {of.key: of for of in measured if of.key in {_total(operation) for operation in OPERATIONS}}
    if not totals:
        return measured, []
    if profiles.shown(part).get("part_kind") == "spi-nand":
        return _beside_the_bus(measured, totals, draft)
    return _not_below_the_chip(measured, totals, part, draft)


def _beside_the_bus(measured: list[Measured], totals: dict[str, Measured], draft: Drafting) -> _Said:
    """What is left of each total beside the bus and the chip. Without a table of bad blocks an erase reads the block's
    mark, so what a read takes comes first."""
    doubts: list[str] = []
    for operation in OPERATIONS:
        key = _total(operation)
        if key not in totals:
            continue
        total = totals[key]
        with draft(_without_driver(measured, set(totals))).tried() as board:
            least_us = _operations_us(board)[operation]
        rest_us = total.value - least_us
        if rest_us < 0:
            doubts.append(
                f"{key}: {total.value:.4g} us were measured, and chip and bus take {least_us:.4g} us by the profile: "
                "another clock, more data lines, less spi.transfer_overhead_us or a faster chip than it says"
            )
        source = f"{total.source}: {total.value:.6g} us less chip and bus"
        rest = Measured(_overhead(key), max(0.0, rest_us), None, source)
        measured = [rest if of.key == key else of for of in measured]
    return measured, doubts


def _operations_us(board: str) -> dict[str, float]:
    """What an operation takes in a speed test."""
    part, speeds = boot.part_of(board), boot.speeds(board)
    page_kib, block_kib = part.page_bytes / 1024, part.block_bytes / 1024
    return {
        "read": page_kib / speeds.read_kib_per_s * 1e6,
        "program": page_kib / speeds.program_kib_per_s * 1e6,
        "erase": block_kib / speeds.erase_kib_per_s * 1e6,
    }


def _not_below_the_chip(measured: list[Measured], totals: dict[str, Measured], part: str, draft: Drafting) -> _Said:
    """Totals that are less than the chip's own time by its data sheet say that the driver adds nothing."""
    doubts: list[str] = []
    for key, total in totals.items():
        with draft(_without_driver(measured, set(totals) - {key})).tried() as board:
            if _loads(board):
                continue
        doubts.append(
            f"{key}: {total.value:.4g} us were measured, which is less than chip and bus need by {part}: the "
            "profile says that the driver adds nothing, and such an operation takes what they need"
        )
        measured = _without_driver(measured, {key})
    return measured, doubts


def part_as_measured(measured: list[Measured], part: str, copy: str | None) -> tuple[str | None, list[str]]:
    """(text of a part that builds on this one, doubts) where a block was erased in less than the chip takes by its data
    sheet, which is to hold for a worn block, too. `copy`: what the part's file will be called beside it.

    `None`: the chip's time leaves room for a driver, as on most boards.
    """
    erase_us = next((of.value for of in measured if of.key == _total("erase")), None)
    shown, sheet = profiles.shown(part), profiles.numbers(part)
    if shown.get("part_kind") != "nand" or erase_us is None or erase_us >= sheet.get(ERASE, 0.0):
        return None, []
    typical: board_profile.Entry = {
        "value": float(f"{erase_us:.6g}"),
        "source": "an erase of the speed test, with its driver",
        "status": "measured",
    }
    text = _native.profile_toml_of(
        {
            "title": f"{shown['title'] or part}, erases as measured",
            "base": copy or part,
            ERASE: typical,
        }
    )
    doubt = (
        f"{_total('erase')}: {erase_us:.4g} us were measured, and {part} says {sheet[ERASE]:.4g} us of the chip alone: "
        f"the board's part is a file of its own with {ERASE} as measured"
    )
    return text, [doubt]


def _loads(board: str) -> bool:
    try:
        board_profile.check(Path(board))
    except InputError:
        return False
    return True


def _without_driver(measured: list[Measured], keys: set[str]) -> list[Measured]:
    """These totals as nothing that the driver adds."""
    return [replace(of, key=_overhead(of.key), value=0.0, ci95=None) if of.key in keys else of for of in measured]


def _total(operation: str) -> str:
    return f"driver.{operation}_us"


def _overhead(total: str) -> str:
    return total.removesuffix("_us") + "_overhead_us"
