"""The runs of a campaign: experiments, which the workers of a sweep make for its store, and look-ups in data bases.

An experiment that the store holds is not made again, so that an interrupted campaign goes on where it was. No store
holds look-ups, which take a second or so each.
"""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

from ffslab._native import InputError
from ffslab.answers.machine import KeyOf
from ffslab.answers.summary import FailedVariant, VariantSummary
from ffslab.api.experiment import Experiment
from ffslab.api.run import Progress
from ffslab.api.stack import Stack
from ffslab.api.steps import Data
from ffslab.store import KeptRun, Store
from ffslab.studies.reproduce.rows import Row, row_of
from ffslab.studies.sweep import tasks
from ffslab.studies.sweep.running import Task, at_work, kept_in
from ffslab.studies.sweep.workers import LocalWorkers, Workers
from ffslab.text.machine_line import Seen

# Keys of a stack that the line of a machine tells of.
_NAMED = ("fs", "board", "part", "kernel", "compression")


class LookUps(NamedTuple):
    """Look-ups in a data base of SQLite; the fields are arguments of `ffslab.sqlite.look_ups.look_ups`."""

    fs: str
    kind: str
    in_transaction: int = 10
    selects_together: bool = False

    def rows(self) -> list[Row]:
        """Does them."""
        from ffslab.sqlite.look_ups import look_ups

        together = self.selects_together
        runs = look_ups([self.fs], [self.kind], in_transaction=self.in_transaction, selects_together=together)
        rows: list[Row] = json.loads(runs.to_json(orient="records"))
        return [{**row, "in_transaction": self.in_transaction, "selects_together": together} for row in rows]


@dataclass(frozen=True)
class PlannedRun:
    """An experiment, or look-ups where there is none."""

    series: str
    experiment: Data | None = None
    look_ups: LookUps | None = None
    # Name and text of the job files that the experiment names.
    job_files: tuple[tuple[str, str], ...] = ()

    def experiment_in(self, folder: Path) -> Experiment:
        """The experiment, ready to run, with its job files in `folder`."""
        folder.mkdir(exist_ok=True)
        for name, text in self.job_files:
            (folder / name).write_text(text, encoding="utf-8")
        made = Experiment.from_data(self.experiment or {}, f"<{self.series}>", folder)
        return replace(made, change={"requests_kept": tasks.REQUESTS_KEPT})


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
            stacks.setdefault(json.dumps(named), stack)
    return [Seen(Stack.of(stack).keys, "as each run says") for stack in stacks.values()]


def run_all(
    planned: Sequence[PlannedRun],
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> dict[str, list[Row]]:
    """The rows of each series, in the order in which its runs are planned. Without `store` that is `Store.usual()`."""
    with tempfile.TemporaryDirectory() as folder:
        experiments = {
            at: run.experiment_in(Path(folder) / str(at)) for at, run in enumerate(planned) if run.look_ups is None
        }
        others: dict[int, Task] = {
            at: (run.look_ups.rows, ()) for at, run in enumerate(planned) if run.look_ups is not None
        }
        done = work(experiments, others, jobs=jobs, store=store, progress=progress)
    if done.refused:
        raise InputError(next(iter(done.refused.values())))
    rows: dict[int, list[Row]] = {**done.others}
    for at, of_run in done.runs.items():
        rows[at] = [_row_of(run, variant, experiments[at].file_name) for variant, run in of_run]
    series: dict[str, list[Row]] = {}
    for at, run in enumerate(planned):
        series.setdefault(run.series, []).extend(rows[at])
    return series


class Worked(NamedTuple):
    """What came of experiments and other work, by their numbers.

    `runs`: the variants of each experiment, in its order. `refused`: experiments that cannot run, and why.
    """

    runs: dict[int, list[tuple[KeyOf, KeptRun]]]
    others: dict[int, Any]
    refused: dict[int, str]


def work(
    experiments: Mapping[int, Experiment],
    others: Mapping[int, Task],
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Worked:
    """Runs what the store does not hold of experiments, and does other work, which no store holds, at the same time."""
    with kept_in(store) as kept, at_work(LocalWorkers(jobs)) as crew:
        variants: dict[int, list[KeyOf]] = {}
        refused: dict[int, str] = {}
        for at, made in experiments.items():
            try:
                variants[at] = made.keys()["variants"]
            except InputError as error:
                refused[at] = str(error)
        keys = {at: [str(one["key"]) for one in of_run] for at, of_run in variants.items()}
        every = {key for of_run in keys.values() for key in of_run}
        known = kept.has(every, tasks.REQUESTS_KEPT)
        missing: dict[int, Task] = {}
        for at in sorted({*experiments, *others}):
            if at in others:
                missing[at] = others[at]
            elif at in keys and not known.issuperset(keys[at]):
                there = [i for i, key in enumerate(keys[at]) if key in known]
                missing[at] = tasks.run, (experiments[at], there, False)
        planned, found_others = len(experiments) + len(others), {}
        for done, (at, result) in enumerate(_made(missing, crew), planned - len(missing) + 1):
            if isinstance(result, tasks.Ran):
                kept.add(result.part)
            elif isinstance(result, Refused):
                refused[at] = result.why
            else:
                found_others[at] = result
            if progress is not None:
                progress(done / planned)
        kept.make_room()
        found = kept.find(every, tasks.REQUESTS_KEPT, with_tables=False)
        runs = {
            at: [(one, found[key]) for key, one in zip(keys[at], of_run, strict=True)]
            for at, of_run in variants.items()
            if at not in refused
        }
        return Worked(runs, found_others, refused)


class Refused(NamedTuple):
    """What stands in place of a result when the work cannot be done."""

    why: str


def _made(missing: Mapping[int, Task], crew: Workers) -> Generator[tuple[int, Any], None, None]:
    """What each piece of work gives, in the order in which they end."""
    waiting, running = deque(missing.items()), dict[Future[Any], int]()
    while waiting or running:
        while waiting and len(running) < crew.places:
            at, (work, given) = waiting.popleft()
            running[crew.submit(_or_error, work, *given)] = at
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


def _or_error(work: Callable[..., Any], *given: object) -> Any:
    """In a process of the pool: its native exceptions cannot be sent to the one that asked."""
    try:
        return work(*given)
    except InputError as error:
        return Refused(str(error))


def _row_of(run: KeptRun, variant: KeyOf, file_name: str) -> Row:
    """The row of a variant of an experiment, which came to its end and whose jobs had no error."""
    if run.ended is None:
        raise InputError(f"{file_name}: variant {variant['name']}: {cast('FailedVariant', run.said)['error']}")
    row = row_of(cast("VariantSummary", run.named(variant)))
    if row["job_errors"]:
        raise InputError(f"{file_name}: a job ended with {row['job_errors'][0]}")
    return row
