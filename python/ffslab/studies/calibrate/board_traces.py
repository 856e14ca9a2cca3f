"""Observations from a board's traces: durations of system calls and of functions of the file system.

The sessions are made again on the simulated stack (`ffslab.measured.compare`), which says what work each call did.
What is left of a measured duration after the flash operations, at the driver's known times, is explained by that work.

Which calls a page program fell into is not in these traces, and it need not be the same calls as in the simulation:
that depends on how full the write buffer was. A program takes far longer than anything beside it that scatters, so the
number of programs in a call is the one that comes nearest to its duration, found together with the constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from ffslab._native import InputError
from ffslab.api.machine import LINUX_BOARD, Machine
from ffslab.measured.compare.alignment import reads_in_functions
from ffslab.measured.compare.board_logs import FunctionCall
from ffslab.measured.compare.sessions import Replayed
from ffslab.measured.compare.trace_folder import Recording, replay_recording
from ffslab.registries import profiles
from ffslab.studies.calibrate.observations import Numbers, Observations

# Steps of the papers' board's clock (32,768 Hz). A difference of two readings scatters by a step / sqrt(6).
CLOCK_STEP_US = 1e6 / 32_768
# More programs than these do not fit into a node of a page.
PROGRAMS_MAX = 4
ROUNDS = 12
# A duration that is further away than so many standard deviations contains something else: an interrupt, another task.
OUTLIER_SD = 6.0
# What work belongs to which constant: its key in a profile, the kind of work, how often it was done or on which bytes.
COLUMNS: dict[str, tuple[str, Literal["count", "bytes"]]] = {
    "cpu.page_write_us": ("page_write", "count"),
    "cpu.page_write_ns_per_B": ("page_write", "bytes"),
    "cpu.page_read_us": ("page_read", "count"),
    "cpu.page_read_ns_per_B": ("page_read", "bytes"),
    "cpu.page_fill_us": ("page_fill", "count"),
    "cpu.page_clear_ns_per_B": ("page_clear", "bytes"),
    "cpu.read_ahead_us": ("read_ahead", "count"),
    "cpu.cold_cache_us": ("cold_cache", "count"),
    "cpu.node_write_us": ("node_write", "count"),
    "cpu.node_read_us": ("node_read", "count"),
    "cpu.lzo_compress_us": ("lzo_compress", "count"),
    "cpu.lzo_compress_ns_per_B": ("lzo_compress", "bytes"),
    "cpu.lzo_output_ns_per_B": ("lzo_output", "bytes"),
    "cpu.zlib_compress_us": ("zlib_compress", "count"),
    "cpu.zlib_compress_ns_per_B": ("zlib_compress", "bytes"),
    "cpu.zlib_decompress_ns_per_B": ("zlib_decompress", "bytes"),
    "tracers.call_us": ("traced_call", "count"),
    "tracers.function_us": ("traced_function", "count"),
}
# Every byte of a node is in a check sum, and whole pages are decompressed: traces cannot tell these from the cost of a
# node, so the profile's values are kept.
HELD: dict[str, tuple[str, Literal["count", "bytes"]]] = {
    "cpu.crc_ns_per_B": ("crc", "bytes"),
    "cpu.lzo_decompress_ns_per_B": ("lzo_decompress", "bytes"),
}
# Seen in the shortest function, write_begin of a page that is there, and held in the others.
TRACER = "tracers.function_us"
FLUSH = "cpu.buffer_flush_us"
IN_FUNCTION = {
    "write_begin": ["cpu.page_fill_us", "cpu.page_clear_ns_per_B", "cpu.cold_cache_us", TRACER],
    "write_end": [
        "cpu.node_write_us",
        "cpu.lzo_compress_us",
        "cpu.lzo_compress_ns_per_B",
        "cpu.lzo_output_ns_per_B",
        "cpu.zlib_compress_us",
        "cpu.zlib_compress_ns_per_B",
    ],
    "readpage": [
        "cpu.node_read_us",
        "cpu.zlib_decompress_ns_per_B",
    ],
}
AROUND = {
    "write": ["cpu.page_write_us", "cpu.page_write_ns_per_B", "tracers.call_us"],
    "read": ["cpu.page_read_us", "cpu.page_read_ns_per_B", "cpu.page_fill_us", "cpu.read_ahead_us", "tracers.call_us"],
}


@dataclass(frozen=True)
class Row:
    """A measured duration, what work it was, and the flash operations that are known to be in it."""

    kind: str
    amounts: dict[str, float]
    measured_us: float
    known_us: float
    # How many durations were added up: a sum scatters as much more as its root.
    count: int = 1
    may_program: bool = False


@dataclass(frozen=True)
class Constants:
    """What is known before: driver times, the cost of a call that no data can tell from a tracer's."""

    read_us: float
    program_us: float
    call_us: float
    first_guess: dict[str, float]

    @classmethod
    def of(cls, board: str) -> Constants:
        """Reads the constants from a board profile."""
        values = profiles.numbers(board)
        try:
            read_us, program_us = values["driver.read_us"], values["driver.program_us"]
        except KeyError as error:
            raise InputError(f"board {board}: {error.args[0]} is missing: calibrate its driver first") from None
        return cls(read_us, program_us, values.get("vfs.call_ns", 0) / 1000, values)


def observations(
    recordings: Sequence[Recording], machine: Machine, progress: Callable[[float], object] | None = None
) -> Observations:
    """The rows of all recordings that have durations of calls and of functions.

    Errors: there is none, or one that is no session of INSERTs or SELECTs.
    """
    known = Constants.of(machine.board or LINUX_BOARD)
    rows: list[Row] = []
    rows_of: list[int] = []
    used: list[str] = []
    for recording in recordings:
        if recording.functions is None or not recording.timed:
            continue
        before = len(rows)
        rows += _rows(recording, machine, known)
        rows_of += [len(rows) - before] * (len(rows) - before)
        used.append(recording.title)
        if progress is not None:
            progress(len(used) / len(recordings))
    if not rows:
        raise InputError("no session has both durations of calls (vfs) and of functions (ffs)")
    # Every session counts alike, however long it is.
    sizes = np.asarray(rows_of, dtype=float)
    amounts, measured, outliers = _with_programs(rows, known, np.sqrt(sizes / sizes.mean()))
    what = "durations of system calls and of JFFS2's functions, less flash operations at the driver's times"
    return Observations.of(
        f"traces of {', '.join(used)}",
        what,
        "times their scatter",
        amounts,
        measured,
        bounded=True,
        warnings=[f"{outliers} of {len(rows)} durations contain something else (another task, an interrupt): left out"],
    )


def _rows(recording: Recording, machine: Machine, known: Constants) -> Iterator[Row]:
    reads = reads_in_functions(recording)
    functions = {name: iter(calls) for name, calls in _by_name(recording.functions or []).items()}
    for made in replay_recording(recording, machine)[1]:
        op, elapsed_s = made.call.op, made.call.elapsed_s
        if op not in AROUND or elapsed_s is None:
            continue
        inside_us = 0.0
        alone = not _others_ran(made)
        for name in IN_FUNCTION:
            count = _calls(made, name)
            if not count:
                continue
            durations = [next(functions[name], None) for _ in range(count)]
            if None in durations:
                raise InputError(f"{recording.functions_path}: fewer calls of jffs2_{name} than the system calls make")
            lasted_us = [call.duration_s * 1e6 for call in durations if call]
            inside_us += sum(lasted_us)
            if not alone:
                continue
            row = _row(made, IN_FUNCTION[name], name, count)
            flash_reads = 0
            if name == "readpage":
                logged = [reads[call] for call in durations if call] if reads else [_flash(made, "page_reads")]
                flash_reads = sum(logged)
            held_us = sum(_amount(made, *HELD[key]) * known.first_guess.get(key, 0.0) for key in HELD)
            held_us += count * known.first_guess.get(TRACER, 0.0)
            if name == "write_begin":
                held_us = 0.0
            yield replace(row, measured_us=sum(lasted_us), known_us=flash_reads * known.read_us + held_us)
        if alone:
            around = _row(made, AROUND[op], None, 1)
            yield replace(around, measured_us=elapsed_s * 1e6 - inside_us, known_us=known.call_us)


def _row(made: Replayed, columns: list[str], function: str | None, count: int) -> Row:
    """The work of a call, or of the `count` calls of a function in it."""
    amounts = {key: _amount(made, *COLUMNS[key]) for key in columns}
    if TRACER in amounts:
        amounts[TRACER] = float(count)
    kind = function or f"around {made.call.op}"
    return Row(kind, amounts, 0.0, 0.0, count, may_program=function == "write_end")


def _with_programs(
    rows: Sequence[Row], known: Constants, doubt: Numbers
) -> tuple[list[dict[str, float]], Numbers, int]:
    """Finds the number of programs in each duration, and how far durations of each kind scatter.

    Returns (amounts, durations without known parts, outliers left out); both are divided by the scatter, so that short
    durations, which are known better, count more, and by `doubt`.
    """
    keys = sorted({key for row in rows for key in row.amounts} | {FLUSH})
    design = np.array([[row.amounts.get(key, 0.0) for key in keys] for row in rows])
    rest = np.array([row.measured_us - row.known_us for row in rows])
    may = np.array([row.may_program for row in rows])
    root = np.sqrt([row.count for row in rows])
    kinds = {kind: np.array([row.kind == kind for row in rows]) for kind in {row.kind for row in rows}}
    flush = keys.index(FLUSH)
    values = np.array([float(known.first_guess.get(key, 0.0)) for key in keys])
    kept, unit_us = np.ones(len(rows), dtype=bool), root
    for _ in range(ROUNDS):
        without = design @ np.where(np.arange(len(keys)) == flush, 0.0, values)
        program_us = known.program_us + values[flush]
        programs = np.where(may, np.clip(np.round((rest - without) / program_us), 0, PROGRAMS_MAX), 0.0)
        design[:, flush] = programs
        measured = rest - programs * known.program_us
        residuals = np.abs(measured - design @ values) / root
        scatter_us = root.copy()
        for of_kind in kinds.values():
            spread_us = float(np.median(residuals[of_kind])) / 0.6745
            scatter_us[of_kind] *= max(spread_us, CLOCK_STEP_US / np.sqrt(6))
        kept = residuals * root <= OUTLIER_SD * scatter_us
        # The triangle has the same best constants as the long design.
        unit_us = scatter_us * doubt
        q, r = np.linalg.qr((design / unit_us[:, None])[kept])
        new, _ = nnls(r, q.T @ (measured / unit_us)[kept])
        if np.allclose(new, values, rtol=1e-6):
            break
        values = new
    weighted = (design / unit_us[:, None])[kept]
    amounts = [dict(zip(keys, row, strict=True)) for row in weighted]
    return amounts, (measured / unit_us)[kept], int((~kept).sum())


def _by_name(calls: Sequence[FunctionCall]) -> dict[str, list[FunctionCall]]:
    named: dict[str, list[FunctionCall]] = {name: [] for name in IN_FUNCTION}
    for call in calls:
        named.setdefault(call.name.removeprefix("jffs2_"), []).append(call)
    return named


def _amount(made: Replayed, work: str, kind: Literal["count", "bytes"]) -> float:
    """How often, or thousands of bytes: constants are in us and in ns per byte."""
    amount = made.after["work"][work][kind] - made.before["work"][work][kind]
    return amount / 1000 if kind == "bytes" else float(amount)


def _calls(made: Replayed, function: str) -> int:
    return int(made.after["functions"][function]["calls"] - made.before["functions"][function]["calls"])


def _flash(made: Replayed, counter: Literal["page_reads", "page_programs", "erases"]) -> int:
    after, before = (activity["tasks"].get("caller") for activity in (made.after, made.before))
    return (after[counter] if after else 0) - (before[counter] if before else 0)


def _others_ran(made: Replayed) -> bool:
    """Whether a background task worked during the call."""
    return any(
        spent != made.before["tasks"].get(task) for task, spent in made.after["tasks"].items() if task != "caller"
    )
