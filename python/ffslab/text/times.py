"""What the times of an answer rest on: measurements of this board, or data sheets and guesses.

Counts of flash operations need no board, times do. How far times of boards that nobody measured are off is what
published measurements say (docs/evidence.md); `evidence.toml` beside this file holds it, and is written with that page.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ffslab._native import InputError, is_path
from ffslab.answers.summary import VariantSummary
from ffslab.registries import profiles

FILE = Path(__file__).with_name("evidence.toml")
# How a number came about that somebody measured on the board, or inferred from what was measured there.
OF_BOARD = frozenset({"measured", "fitted", "published"})
# What an operation takes at the level of the driver, with the board's own part, or the driver alone.
DRIVER = tuple(
    (f"driver.{operation}_us", f"driver.{operation}_overhead_us") for operation in ("read", "program", "erase")
)
CPU = "cpu."
# A board without any of these is none that one could measure: nothing but the chip costs time.
PRICED = ("cpu.", "driver.", "spi.")


class Evidence(NamedTuple):
    """`low` and `high`: between which shares of the measured times eight of ten simulated ones were."""

    times: int
    boards: int
    low: float
    high: float


@cache
def evidence() -> Evidence:
    """What published measurements of other boards say."""
    return Evidence(**tomllib.loads(FILE.read_text(encoding="utf-8")))


def times_said(variants: Sequence[VariantSummary]) -> Iterator[str]:
    """What the times of variants rest on, each board once."""
    stacks = (variant.get("stack", {}) for variant in variants)
    for board, part in dict.fromkeys((stack.get("board"), stack.get("part")) for stack in stacks):
        if isinstance(board, str):
            yield from _said(board, part if isinstance(part, str) else None)


def _said(board: str, part: str | None) -> Iterator[str]:
    calibrated = is_calibrated(board, part)
    if calibrated is None:
        return
    if calibrated:
        yield f"Times: driver and CPU of board {board} were measured."
        return
    known = evidence()
    yield (
        f"Times: board {board} was not measured{_with(board, part)}. Of {known.times} published times of "
        f"{known.boards} boards like that, eight of ten came out at {known.low:g} to {known.high:g} of what was "
        "measured (docs/evidence.md); counts of operations do not depend on it."
    )


def _with(board: str, part: str | None) -> str:
    """Of a board that was measured, but not with this part."""
    return f" with {part}" if part is not None and is_calibrated(board, None) else ""


def is_calibrated(board: str, part: str | None) -> bool | None:
    """Whether driver and CPU of a board were measured, with this part; `None`: its profile is not here to be asked, or
    nothing of it costs time."""
    if is_path(board):
        file = profiles.file_of(board)
        return None if file is None else _is_calibrated(str(file), part)
    return _is_calibrated_of_known(board, part)


def _is_calibrated(board: str, part: str | None) -> bool | None:
    try:
        profile = profiles.shown(board)
    except InputError:
        return None
    # A key may have values that hold with some file systems or media only.
    keys = {one["key"] for one in profile["values"]}
    known = {one["key"] for one in profile["values"] if one["status"] in OF_BOARD}
    if not any(key.startswith(PRICED) for key in keys):
        return None
    own = profile.get("part")
    return (
        all(known.intersection(of_operation) for of_operation in DRIVER)
        and any(key.startswith(CPU) for key in known)
        and (part is None or own is None or part == own)
    )


# A built-in profile is asked for with each answer; a file of the user's may change.
_is_calibrated_of_known = cache(_is_calibrated)
