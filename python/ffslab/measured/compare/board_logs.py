"""The logs of a board's tracers: system calls, functions of the file system, flash operations.

Formats: fields separated by ";", lines that begin with "#" are comments, files may be gzipped.

    vfs            epoch_s;call;arguments;file;elapsed_s
    vfs_repaired   t_s;op;file;offset;bytes;origin
    ffs            start_s;end_s;duration_s;function;pid
    flash          t_s;type;address;task
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.inputs import open_input

# Fields between a call's name and its file.
ARGUMENTS = {"open": 4, "read": 3, "write": 3, "close": 1}


@dataclass(frozen=True)
class Call:
    """A system call. `elapsed_s`: what the tracer saw, `None` if it did not time it, or did not see it (`inferred`)."""

    t_s: float
    op: str
    path: str
    offset: int = 0
    bytes: int = 0
    elapsed_s: float | None = None
    inferred: bool = False


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function of the file system."""

    start_s: float
    duration_s: float
    name: str


@dataclass(frozen=True)
class FlashOp:
    """A flash operation: "R", "W" or "E"."""

    t_s: float
    kind: str
    address: int
    task: str


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    with open_input(path, "table", unpack=True) as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError:
                raise InputError(f"{path}:{number}: is no UTF-8 text") from None
            if text and not text.startswith("#"):
                yield number, text.split(";")


def _wrong(path: Path, number: int, wanted: str) -> InputError:
    return InputError(f"{path}:{number}: expected {wanted}")


def read_calls(path: Path) -> list[Call]:
    """System calls of a `vfs` log, timed or not, or of a repaired one; times begin at 0."""
    calls = []
    for number, row in _rows(path):
        try:
            calls.append(_repaired(row) if row[1] not in ARGUMENTS or row[2].startswith("/") else _traced(row))
        except (ValueError, IndexError) as error:
            wanted = (
                '"TIME;read;FD;OFFSET;BYTES;/FILE;ELAPSED", or open, write, close, or "T;OP;/FILE;OFFSET;BYTES;ORIGIN"'
            )
            raise _wrong(path, number, wanted) from error
    if not calls:
        raise InputError(f"{path}: there is no system call in it")
    begin_s = calls[0].t_s
    return [Call(**{**vars(call), "t_s": call.t_s - begin_s}) for call in calls]


def _traced(row: list[str]) -> Call:
    end = 2 + ARGUMENTS[row[1]]
    transfers = row[1] in ("read", "write")
    elapsed = row[end + 1] if len(row) > end + 1 else ""
    if not row[end].startswith("/"):
        raise ValueError
    return Call(
        t_s=float(row[0]),
        op=row[1],
        path=row[end],
        offset=int(row[3]) if transfers else 0,
        bytes=int(row[4]) if transfers else 0,
        elapsed_s=float(elapsed) if elapsed else None,
    )


def _repaired(row: list[str]) -> Call:
    t_s, op, path, offset, count, origin = row
    if op not in (*ARGUMENTS, "fsync", "unlink"):
        raise ValueError
    return Call(float(t_s), op, path, int(offset or 0), int(count or 0), None, origin == "inferred")


def read_functions(path: Path) -> list[FunctionCall]:
    """Calls of an `ffs` log."""
    try:
        calls = [FunctionCall(float(row[0]), float(row[2]), row[3]) for _, row in _rows(path)]
    except (ValueError, IndexError) as error:
        raise InputError(f'{path}: expected lines "START;END;DURATION;FUNCTION;PID"') from error
    return calls


def read_flash_ops(path: Path) -> list[FlashOp]:
    """Operations of a `flash` log."""
    ops = []
    for number, row in _rows(path):
        if len(row) != 4 or row[1] not in ("R", "W", "E", "C"):
            raise _wrong(path, number, '"TIME;R, W, E or C;ADDRESS;TASK"')
        try:
            ops.append(FlashOp(float(row[0]), row[1], int(row[2]), row[3]))
        except ValueError as error:
            raise _wrong(path, number, '"TIME;R, W, E or C;ADDRESS;TASK"') from error
    return ops
