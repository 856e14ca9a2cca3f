"""Runs SQL scripts on simulated stacks and sums up what each statement cost."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import apsw

from ffslab import _native
from ffslab._native import InputError, __version__
from ffslab.answers.summary import Summary
from ffslab.api.machine import SETTLED, Value
from ffslab.api.observe import Observe
from ffslab.api.run import Progress, Run
from ffslab.api.stack import Measurement, Stack, joined
from ffslab.sqlite.script import Script, Statement
from ffslab.sqlite.vfs import connected, execute, is_wal
from ffslab.text.step_groups import step_table
from ffslab.text.summary import aligned, summary_text

# Name of the data base file on the simulated file system.
DATABASE = "database.db"
NOT_INCLUDED = "SQLite's own computing takes no time here: the figures are those of its system calls"

Row = tuple[object, ...]


@dataclass(frozen=True)
class SqlRun:
    """What a script did: results as those of an experiment, and the rows that its statements returned (of the first
    variant)."""

    run: Run
    rows: list[Row]


def measure_script(
    stack: Stack,
    script: Script,
    database: str = DATABASE,
    done: Callable[[], object] | None = None,
    *,
    wal: bool | None = None,
) -> list[Row]:
    """Executes a script on a mounted stack: opening the data base, each statement and closing it are measured steps.

    Returns the rows of all statements; `done` is called after each. `wal`: whether the data base is in WAL mode;
    without it the header is read before the measurement, and is in the page cache then.
    """
    rows: list[Row] = []
    if wal is None:
        wal = is_wal(stack, database)
    with stack.measured(f"open {database}"):
        stack.note(NOT_INCLUDED)
        connection = connected(stack, database, wal=wal)
        opened = connection.__enter__()
    try:
        for statement in script.statements:
            with stack.measured(statement.title):
                rows += _execute(opened, statement, script.name)
            if done is not None:
                done()
    finally:
        with stack.measured(f"close {database}"):
            connection.__exit__(None, None, None)
    return rows


def _cool_down(stack: Stack) -> None:
    """Syncs and empties the caches; a system that cannot do so is restarted."""
    stack.sync()
    try:
        stack.drop_caches()
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        stack.restart()


def execute_script(stack: Stack, script: Script, database: str = DATABASE) -> None:
    """Executes a script outside of any measurement."""
    with connected(stack, database) as connection:
        for statement in script.statements:
            _execute(connection, statement, script.name)


def _execute(connection: apsw.Connection, statement: Statement, name: str) -> list[Row]:
    try:
        return execute(connection, statement.sql)
    except apsw.Error as error:
        raise InputError(f"{name}:{statement.line}: {error}: {statement.title}") from error


def run_scripts(
    script: Script,
    stacks: Mapping[str, Sequence[Value]],
    *,
    keys: Mapping[str, Value] | None = None,
    seed: int = 1,
    setup: Script | None = None,
    database: str = DATABASE,
    title: str | None = None,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> SqlRun:
    """Runs `script` on each combination of `stacks` (a stack key and its values, as the axes of an experiment).

    `setup` is executed before, unmeasured; afterwards everything is synced and the caches are dropped. `keys` are the
    stack's other keys. `observe`: what is to be written down of the measured statements.
    """
    if not script.statements:
        raise InputError(f"{script.name}: there is no SQL statement in it")
    axes: dict[str, list[Any]] = {key: list(values) for key, values in stacks.items() if len(values) > 1}
    fixed: dict[str, Value] = {**(keys or {}), **{key: values[0] for key, values in stacks.items() if len(values) == 1}}
    variants = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    total, finished = len(variants) * len(script.statements), 0
    measurements: list[Measurement] = []
    rows: list[Row] = []
    first_keys: Mapping[str, object] = {}

    def done() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished / total)

    for number, variant in enumerate(variants):
        name = ", ".join(f"{axis}={value}" for axis, value in variant.items()) or "base"
        try:
            stack = Stack.of({**fixed, **variant}, seed)
            stack.mount()
            wal = None
            if setup is not None:
                execute_script(stack, setup, database)
                # Reads the file, so before the caches are dropped.
                wal = is_wal(stack, database)
                _cool_down(stack)
            if observe is not None:
                stack.observe(observe.part(number + 1, len(variants)), name, number + 1)
            returned = measure_script(stack, script, database, done, wal=wal)
        except InputError as error:
            raise InputError(f"variant {name}: {error}" if axes else str(error)) from error
        measurements.append(stack.measurement(name, variant))
        if number == 0:
            rows, first_keys = returned, stack.keys
    if observe is not None:
        observe.join(len(variants))
    title = title or f"SQLite {apsw.sqlite_lib_version()}: {script.name}"
    resolved = _resolved(title, first_keys, axes, database, setup, script)
    return SqlRun(run_of(title, measurements, resolved, seed), rows)


def run_of(title: str, measurements: Sequence[Measurement], resolved_toml: str, seed: int = 1) -> Run:
    """The measurements of several stacks as one run."""
    summary: Summary = {
        "title": title,
        "version": __version__,
        "generator": "sqlite",
        "seed": seed,
        "variants": [measurement.variant for measurement in measurements],
    }
    requests = joined([measurement.request_columns for measurement in measurements])
    blocks = joined([measurement.block_columns for measurement in measurements])
    stacks = [own for measurement in measurements if (own := measurement.stack_columns) is not None]
    return Run(summary, requests, blocks, resolved_toml, stacks=joined(stacks) if stacks else None)


def _resolved(
    title: str,
    keys: Mapping[str, object],
    axes: Mapping[str, Sequence[Value]],
    database: str,
    setup: Script | None,
    script: Script,
) -> str:
    ran = {"database": database, "setup": setup.text if setup is not None else None, "script": script.text}
    data = {"title": title, "initial": SETTLED, "stack": keys, "axes": axes or None, "sqlite": ran}
    about = f"# What `ffslab sqlite` ran, with SQLite {apsw.sqlite_lib_version()}.\n"
    return about + _native.toml_of(data)


def table_text(summary: Summary) -> str:
    """What `ffslab sqlite` prints: the summary of a run, then the statements of each variant."""
    parts = [summary_text(summary, SETTLED)]
    for variant in summary["variants"]:
        head, rows = step_table(variant, "statement")
        where = f"{variant['name']}\n" if len(summary["variants"]) > 1 else ""
        parts.append(where + aligned(head, rows))
    return "\n\n".join(parts)


def rows_text(rows: Sequence[Row]) -> str:
    """Rows as the `sqlite3` shell prints them."""
    return "\n".join("|".join(_cell(value) for value in row) for row in rows)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
