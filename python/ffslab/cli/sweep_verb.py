"""`ffslab sweep`: a study of many runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.cli.result_options import Batch, Json, Scheduler
from ffslab.cli.stack_options import MachineOptions, RunOptions
from ffslab.terminal.printing import say, tell

if TYPE_CHECKING:
    from ffslab.studies.sweep import Study
    from ffslab.studies.sweep.workers import Workers


def sweep(
    study: Annotated[Path, argument("STUDY.toml", "What varies in which experiment, and what is wanted of it.")],
    machine: MachineOptions,
    how: RunOptions,
    shard: Annotated[
        str | None,
        option(
            "--shard I/N",
            "Run only the I-th of N parts into the store; merge the stores, then run the study without this.",
        ),
    ] = None,
    scheduler: Scheduler = None,
    batch: Batch = None,
    out: Annotated[
        Path | None,
        option(
            "--out DIR",
            "Folder to write; one that ffslab wrote is replaced, another refused. [default: results/NAME-sweep]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run thousands of variants: the best, trade-offs, what matters. See docs/studies.md.

    What was run is in the store: the same command goes on where it was interrupted.

    Example: ffslab sweep experiments/studies/logger.toml
    """
    from ffslab.cli.renamed import tell_old_form
    from ffslab.files import results
    from ffslab.studies.sweep import Study
    from ffslab.studies.sweep.folder import check
    from ffslab.terminal.progress import progress_of_parts

    part = _part(shard)
    folder = out if out is not None else Path("results") / f"{study.name.removesuffix('.toml')}-sweep"
    if part is None:
        check(folder)
    meant = _with(Study.from_file(study), machine, how)
    tell_old_form("sweep", study)
    with progress_of_parts(study.name) as show:
        workers = workers_of(scheduler, batch, how.jobs)
        done = meant.run(
            workers=workers,
            progress=show,
            shard=part,
            any_size=how.yes,
            again=how.again,
            share_setups=not how.own_setups,
        )
    if part is not None:
        say(f"part {shard}: {len(done.runs):,} runs of {len(done.own):,} points are in the store")
        return
    done.save(folder)
    say(results.dump_json(done.answer).rstrip() if json else f"{done.text}\n\nresults: {folder}")
    if failures := done.failures:
        tell(f"{len(failures):,} of {len(done.runs):,} runs did not come to their end, first {failures[0]}")
        raise typer.Exit(EXIT_NEGATIVE)
    if done.untold:
        raise typer.Exit(EXIT_NEGATIVE)


def _with(study: Study, machine: MachineOptions, how: RunOptions) -> Study:
    """The study with what was given in place of what its files say."""
    from dataclasses import replace

    changed = study.over(how.over(machine.over(study.experiment)))
    return changed if how.repeat is None else replace(changed, repeat=how.repeat)


def workers_of(scheduler: str | None, batch: str | None, jobs: int | None) -> Workers:
    """Those of a scheduler, jobs of a batch system, or so many processes of this machine."""
    if scheduler is not None and batch is not None:
        raise InputError("--batch: brings its own scheduler: leave --scheduler out")
    if batch is not None:
        from ffslab.studies.sweep.batch import BatchWorkers

        return BatchWorkers(batch, jobs or 1)
    from ffslab.studies.sweep.workers import DaskWorkers, LocalWorkers

    if scheduler is None:
        return LocalWorkers(jobs)
    if jobs is not None:
        raise InputError("--jobs: is for this machine; how many workers a scheduler has is its own affair")
    return DaskWorkers(scheduler)


def _part(shard: str | None) -> tuple[int, int] | None:
    if shard is None:
        return None
    first, slash, count = shard.partition("/")
    if not (slash and first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count) <= 100_000):
        raise InputError(f"--shard {shard}: must be a part and how many there are, such as 2/5")
    return int(first), int(count)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "sweep")(sweep)
