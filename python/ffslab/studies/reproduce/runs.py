"""The runs of a campaign: made in processes of their own, one per core, and kept by a hash of all that determines them.

A run is an experiment (data) or a series of SQLite look-ups. Its result is a list of rows, plain values. Finished
runs wait beside the results folder until all are there, so that an interrupted campaign goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ffslab._native import InputError
from ffslab.api import states
from ffslab.api.experiment import Experiment
from ffslab.api.machine import as_json
from ffslab.api.run import Progress
from ffslab.api.stack import Stack
from ffslab.api.steps import Data
from ffslab.files.os_errors import reason
from ffslab.studies.reproduce.rows import Row, row_of
from ffslab.studies.sweep.workers import LocalWorkers
from ffslab.text.machine_line import Seen

RUNS = "runs"
# Keys of a stack that the line of a machine tells of.
_NAMED = ("fs", "board", "part", "kernel", "compression")


class LookUps(NamedTuple):
    """Look-ups in a data base of SQLite; the fields are arguments of `ffslab.sqlite.look_ups.look_ups`."""

    fs: str
    kind: str
    in_transaction: int = 10
    selects_together: bool = False


@dataclass(frozen=True)
class PlannedRun:
    """An experiment, or look-ups where there is none."""

    series: str
    experiment: Data | None = None
    look_ups: LookUps | None = None
    # Name and text of the job files that the experiment names.
    job_files: tuple[tuple[str, str], ...] = ()

    @cached_property
    def key(self) -> str:
        """Hash of all that determines the result: the program that simulates, its Python half, the experiment."""
        parts = [states.build(), _python_half(), as_json(self.experiment or {})]
        parts += ["/".join(map(str, self.look_ups or ()))]
        parts += [f"{name}\0{text}" for name, text in self.job_files]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def rows(self) -> list[Row]:
        """Does it."""
        if self.look_ups is not None:
            from ffslab.sqlite.look_ups import look_ups

            asked = self.look_ups
            runs = look_ups(
                [asked.fs],
                [asked.kind],
                in_transaction=asked.in_transaction,
                selects_together=asked.selects_together,
            )
            rows: list[Row] = json.loads(runs.to_json(orient="records"))
            further: Row = {"in_transaction": asked.in_transaction, "selects_together": asked.selects_together}
            return [row | further for row in rows]
        with tempfile.TemporaryDirectory() as folder:
            # There is a process per core already.
            done = self.experiment_in(Path(folder)).run(jobs=1).whole()
        made = [row_of(variant) for variant in done.summary["variants"]]
        for row in made:
            if row["job_errors"]:
                raise InputError(f"<{self.series}>: a job ended with {row['job_errors'][0]}")
        return made

    def experiment_in(self, folder: Path) -> Experiment:
        """The experiment, ready to run, with its job files in `folder`."""
        for name, text in self.job_files:
            (folder / name).write_text(text, encoding="utf-8")
        return Experiment.from_data(self.experiment or {}, f"<{self.series}>", folder)


def machines(planned: Sequence[PlannedRun]) -> list[Seen]:
    """What the runs are made on: each stack, with each file system, kernel and part that they vary."""
    stacks: dict[str, Mapping[str, Any]] = {}
    for run in planned:
        # The look-ups name a file system alone.
        data = run.experiment or {"stack": {"fs": run.look_ups.fs} if run.look_ups else {}}
        own, axes = data.get("stack"), data.get("axes")
        if not isinstance(own, Mapping):
            continue
        varied = {key: values for key, values in (axes if isinstance(axes, Mapping) else {}).items() if key in _NAMED}
        for values in product(*varied.values()):
            stack = {**own, **dict(zip(varied, values, strict=True))}
            named = {key: stack[key] for key in (*_NAMED, "system", "device", "partition_blocks") if key in stack}
            stacks.setdefault(as_json(named), stack)
    return [Seen(Stack.of(stack).keys, "as each run says") for stack in stacks.values()]


def run_all(
    planned: Sequence[PlannedRun], folder: Path, *, jobs: int | None = None, progress: Progress | None = None
) -> dict[str, list[Row]]:
    """The rows of each run by its key. Runs that `folder` or its unfinished neighbour hold are not made again."""
    waiting = unfinished(folder)
    found: dict[str, list[Row]] = {}
    missing: list[PlannedRun] = []
    for run in planned:
        kept = _kept(run, (waiting, folder / RUNS))
        if kept is None:
            missing.append(run)
        else:
            found[run.key] = kept
    if missing:
        try:
            waiting.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(waiting, error) from None
        with closing(_made(missing, jobs)) as made:
            for run, rows in made:
                found[run.key] = rows
                write_rows(waiting, run, rows)
                if progress is not None:
                    progress(len(found) / len(planned))
    return found


def _made(runs: Sequence[PlannedRun], jobs: int | None) -> Generator[tuple[PlannedRun, list[Row]], None, None]:
    """The rows of each run, in the order in which they come."""
    workers = LocalWorkers(jobs)
    waiting, running = deque(runs), dict[Future[list[Row] | str], PlannedRun]()
    try:
        while waiting or running:
            while waiting and len(running) < workers.places:
                run = waiting.popleft()
                running[workers.submit(_rows_or_error, run)] = run
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                rows = future.result()
                if isinstance(rows, str):
                    raise InputError(rows)
                yield running.pop(future), rows
    finally:
        workers.close()


def by_series(planned: Sequence[PlannedRun], rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The rows of each series, in the order in which they were planned."""
    series: dict[str, list[Row]] = {}
    for run in planned:
        series.setdefault(run.series, []).extend(rows[run.key])
    return series


def unfinished(folder: Path) -> Path:
    """The folder in which finished runs of an unfinished campaign wait."""
    return folder.parent / f".{folder.name}.unfinished"


def write_rows(folder: Path, run: PlannedRun, rows: list[Row]) -> None:
    """Keeps the result of a run; the file is complete or absent."""
    place = folder / f"{run.key}.json"
    fresh = place.with_suffix(".part")
    try:
        fresh.write_text(json.dumps({"series": run.series, "rows": rows}) + "\n", encoding="utf-8")
        fresh.rename(place)
    except OSError as error:
        raise _not_written(place, error) from None


def _not_written(place: Path, error: OSError) -> InputError:
    return InputError(f"{place}: cannot be written: {reason(error)}")


def _rows_or_error(run: PlannedRun) -> list[Row] | str:
    """In a process of the pool: its native exceptions cannot be sent to the one that asked."""
    try:
        return run.rows()
    except InputError as error:
        return str(error)


def _kept(run: PlannedRun, folders: Sequence[Path]) -> list[Row] | None:
    for folder in folders:
        try:
            kept = json.loads((folder / f"{run.key}.json").read_text(encoding="utf-8"))
            rows: list[Row] = kept["rows"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return rows
    return None


def _python_half() -> str:
    """What of this package, beside the native half, decides what is in a row."""
    import apsw

    package = Path(__file__).parents[2]
    sources = [
        Path(__file__),
        Path(__file__).with_name("rows.py"),
        package / "api" / "stack.py",
        package / "text" / "time_table.py",
        *sorted((package / "sqlite").glob("*.py")),
    ]
    digest = hashlib.sha256(apsw.sqlite_lib_version().encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()
