"""A board's traces as measurements: constants that made up the durations come back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.measured.compare.sessions import Replayed, traced_machine
from ffslab.measured.compare.trace_folder import recordings, replay_recording
from ffslab.registries import profiles
from ffslab.studies.calibrate import board_traces
from ffslab.studies.calibrate.regression import fit
from ffslab.studies.calibrate.verb import Inputs, collect
from helpers.compare_logs import vfs_log

# Beside what the profile of the board says: this board takes so much longer.
SLOWER = 1.4


def function_log(folder: Path) -> dict[str, float]:
    """Writes the durations of a made-up board, of calls and of functions, for the calls of a log; its constants."""
    machine = traced_machine()
    known = board_traces.Constants.of(machine.board or "")
    truth = {key: SLOWER * known.first_guess.get(key, 0.0) for key in (*board_traces.COLUMNS, board_traces.FLUSH)}
    # What is held at the profile's values is not slower.
    truth |= {key: known.first_guess.get(key, 0.0) for key in (*board_traces.HELD, board_traces.TRACER)}

    def work_us(made: Replayed, keys: list[str]) -> float:
        every = board_traces.COLUMNS | board_traces.HELD
        return sum(truth[key] * board_traces._amount(made, *every[key]) for key in keys if key != board_traces.TRACER)

    elapsed_us, functions = [], []
    for made in replay_recording(recordings(folder)[0], machine)[1]:
        if made.call.elapsed_s is None:
            continue  # Nobody logged it: it is concluded from others.
        inside_us = 0.0
        for name, keys in board_traces.IN_FUNCTION.items():
            count = board_traces._calls(made, name)
            if count:
                held = [] if name == "write_begin" else [*board_traces.HELD]
                us = work_us(made, [*keys, *held]) + count * truth[board_traces.TRACER]
                if name == "readpage":
                    us += board_traces._flash(made, "page_reads") * known.read_us
                if name == "write_end":
                    programs = board_traces._flash(made, "page_programs")
                    us += programs * (known.program_us + truth[board_traces.FLUSH])
                functions += [f"0;0;{us / count / 1e6:.9f};jffs2_{name};1"] * count
                inside_us += us
        around = board_traces.AROUND.get(made.call.op, [])
        elapsed_us.append(inside_us + work_us(made, around) + known.call_us)
    _write(folder / "ffs" / "128_run1.csv", functions)
    log = folder / "vfs" / "128_run1.csv.gz"
    with gzip.open(log, "rt") as file:
        head, *lines = file.read().splitlines()
    timed = [f"{line.rpartition(';')[0]};{us / 1e6:.9f}" for line, us in zip(lines, elapsed_us, strict=True)]
    with gzip.open(log, "wt") as file:
        file.write("\n".join([head, *timed]) + "\n")
    return truth


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_what_made_up_the_durations_comes_back(tmp_path: Path) -> None:
    vfs_log(tmp_path, inserts=20)
    truth = function_log(tmp_path)
    (found,), _ = collect(Inputs(traces=[tmp_path], base="omap3evm", record_bytes=[128]))
    fitted = fit(found)
    # Those that INSERTs tell apart: what is compressed is much alike in all of them.
    for key in (
        *("cpu.node_write_us", "cpu.page_write_us", "cpu.page_write_ns_per_B", "cpu.page_fill_us"),
        *("cpu.page_clear_ns_per_B", "tracers.call_us", "tracers.function_us"),
    ):
        assert fitted.constants[key].value == pytest.approx(truth[key], rel=1e-3), key


def test_traces_without_durations_of_functions_are_refused(tmp_path: Path) -> None:
    vfs_log(tmp_path)
    with pytest.raises(InputError, match="no session has both durations of calls"):
        collect(Inputs(traces=[tmp_path], base="omap3evm"))


def test_a_log_of_functions_that_ends_too_early_is_told(tmp_path: Path) -> None:
    vfs_log(tmp_path)
    _write(tmp_path / "ffs" / "128_run1.csv", ["0;0;0.0001;jffs2_write_begin;1"])
    with pytest.raises(InputError, match=r"fewer calls of jffs2_\w+ than the system calls make"):
        collect(Inputs(traces=[tmp_path], base="omap3evm"))


def test_the_driver_is_calibrated_first() -> None:
    with pytest.raises(InputError, match=r"driver\.read_us is missing: calibrate its driver first"):
        board_traces.Constants.of("zero-overhead")
    assert profiles.numbers("omap3evm")["driver.read_us"] == board_traces.Constants.of("omap3evm").read_us
