"""`ffslab sqlite`: reads the scripts, runs them, writes the results folder, says what came out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ffslab._native import InputError
from ffslab.api.machine import Machine, Value
from ffslab.api.observe import Observe
from ffslab.files import results
from ffslab.files.inputs import read_stdin, read_text
from ffslab.sqlite.run import rows_text, run_scripts, table_text
from ffslab.sqlite.script import Script
from ffslab.terminal.progress import progress_bar

# Name of the script and its results folder when it comes from the standard input.
STDIN = "stdin"


def run(
    script: Path | None,
    setup: Path | None,
    machine: Machine,
    database: str,
    stacks: Mapping[str, Sequence[Value]],
    *,
    seed: int,
    rows: bool,
    out: Path | None,
    json: bool,
    observe: Observe | None = None,
) -> str:
    """What the verb prints. `stacks`: what is compared, as in `run_scripts`."""
    name = script.stem if script is not None else STDIN
    if not database or database in (".", "..") or "/" in database:
        raise InputError(f'--database "{database}": must be a plain file name, such as contacts.db')
    if rows and json:
        raise InputError("--rows and --json: rows are no part of the JSON, ask for one of them")
    measured = _read(script)
    prepared = _read(setup) if setup is not None else None
    folder = out if out is not None else Path("results") / name
    results.check_free(folder)
    with progress_bar(name) as progress:
        done = run_scripts(
            measured,
            stacks,
            keys=machine.keys(),
            seed=seed,
            setup=prepared,
            database=database,
            progress=progress,
            observe=observe,
        )
    done.run.save(folder)
    if json:
        return results.dump_json(done.run.summary).rstrip()
    printed = [rows_text(done.rows)] if rows and done.rows else []
    return "\n\n".join([*printed, table_text(done.run.summary), f"Report: {folder / results.REPORT}"])


def _read(path: Path | None) -> Script:
    if path is not None:
        return Script.parse(read_text(path, "script"), str(path))
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("no SQL: name a script or give it on the standard input, as in `ffslab sqlite < script.sql`")
    return Script.parse(read_stdin(STDIN, "script"), STDIN)
