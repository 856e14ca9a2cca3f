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


# Which published measurements tell of which times of an answer.
KINDS = {
    "mounts": ("attach", "mount"),
    "writes": ("raw program", "raw erase", "file write"),
    "reads": ("raw read", "file read"),
    "single calls": ("latency",),
}
MOUNTING = ("mount", "ubi_attach")


class Evidence(NamedTuple):
    """`low` and `high`: between which shares of the measured times eight of ten simulated ones of a kind were."""

    times: int
    low: float
    high: float


@cache
def evidence() -> dict[str, Evidence]:
    """What published measurements of other boards say of each of `KINDS`."""
    return {kind: Evidence(**of_kind) for kind, of_kind in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}


def times_said(variants: Sequence[VariantSummary]) -> Iterator[str]:
    """What the times of variants rest on, each board once."""
    kinds = _kinds_of(variants)
    stacks = (variant.get("stack", {}) for variant in variants)
    for board, part in dict.fromkeys((stack.get("board"), stack.get("part")) for stack in stacks):
        if isinstance(board, str):
            yield from _said(board, part if isinstance(part, str) else None, kinds)


def _kinds_of(variants: Sequence[VariantSummary]) -> list[str]:
    """Of which of `KINDS` an answer gives times: what a step that programs nothing reads was asked for. Each answer
    has single calls."""
    found = {"single calls"}
    for step in (step for variant in variants for step in variant.get("steps", [])):
        if step["step"].startswith(MOUNTING):
            found.add("mounts")
        elif step["counts"]["page_programs"]:
            found.add("writes")
        elif step["counts"]["page_reads"]:
            found.add("reads")
    return [kind for kind in KINDS if kind in found]


def _said(board: str, part: str | None, kinds: list[str]) -> Iterator[str]:
    calibrated = is_calibrated(board, part)
    if calibrated is None:
        return
    if calibrated:
        yield f"Times: driver and CPU of board {board} were measured."
        return
    known = [(kind, evidence()[kind]) for kind in kinds]
    shares = ", ".join(f"{one.low:g} to {one.high:g} for {kind} ({one.times})" for kind, one in known)
    yield (
        f"Times: board {board} was not measured{_with(board, part)}. On boards like that eight of ten simulated times "
        f"were these shares of published ones: {shares} (docs/evidence.md); counts of operations do not depend on it."
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
