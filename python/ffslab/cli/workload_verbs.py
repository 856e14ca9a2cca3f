"""The verbs `replay`, `fio`, `postmark` and `sqlite` of the command: programs on any system."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab.cli.parts import EXIT_NEGATIVE, argument, check_distinct, option, verb
from ffslab.cli.stack_options import (
    FileSystem,
    FileSystems,
    Kernel,
    OwnBlocks,
    OwnBoard,
    ReadAhead,
    ReadAheads,
    Settings,
    System,
    Yes,
)
from ffslab.cli.terminal import say, tell

if TYPE_CHECKING:
    from ffslab.api.experiment import Experiment, Run


class Think(StrEnum):
    """What becomes of the pauses between recorded calls."""

    KEEP = "keep"
    NONE = "none"


def add_to(app: typer.Typer) -> None:
    """Makes the verbs known to the command."""
    for function in (replay, fio, postmark, sqlite):
        verb(app, function.__name__)(function)


def _end_with(failures: list[str]) -> None:
    """Tells what went wrong in a run that came to its end, which is a negative answer."""
    for failure in failures:
        tell(failure)
    if failures:
        raise typer.Exit(EXIT_NEGATIVE)


def replay(
    trace: Annotated[Path, argument("replay", "trace", "TRACE")],
    system: System = "linux",
    board: OwnBoard = None,
    kernel: Kernel = None,
    fs: FileSystems = None,
    partition_blocks: OwnBlocks = None,
    read_ahead: ReadAheads = None,
    settings: Settings = None,
    think: Annotated[Think, option("replay", "think", "--think")] = Think.KEEP,
    yes: Yes = False,
    out: Annotated[Path | None, option("replay", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("replay", "json", "--json")] = False,
) -> None:
    """Replays one trace: an experiment written from the options."""
    from ffslab.api.machine import Machine, settings_of
    from ffslab.workloads.replay import replay_experiment

    file_systems = fs or ["jffs2"]
    check_distinct("--fs", file_systems)
    check_distinct("--read-ahead", read_ahead or [])
    given = settings_of(settings or [])
    machine = Machine(board, kernel, file_systems[0], partition_blocks, None, system, given)
    experiment = replay_experiment(trace, machine, read_ahead or [], think.value, file_systems)
    name = trace.name.removesuffix(".gz").removesuffix(".strace").removesuffix(".parquet")
    run_and_print(experiment, name, out, json, yes)


def fio(
    jobfile: Annotated[Path, argument("fio", "jobfile", "JOBFILE")],
    system: System = "linux",
    board: OwnBoard = None,
    kernel: Kernel = None,
    fs: FileSystem = "jffs2",
    partition_blocks: OwnBlocks = None,
    read_ahead: ReadAhead = None,
    settings: Settings = None,
    lenient: Annotated[bool, option("fio", "lenient", "--lenient")] = False,
    yes: Yes = False,
    out: Annotated[Path | None, option("fio", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("fio", "json", "--json")] = False,
) -> None:
    """Runs a job file: an experiment with one `fio` step."""
    from ffslab.api.machine import Machine, settings_of
    from ffslab.files import results
    from ffslab.workloads import fio as jobs

    machine = Machine(board, kernel, fs, partition_blocks, read_ahead, system, settings_of(settings or []))
    experiment = jobs.fio_experiment(jobfile, machine, lenient)
    done, folder = _run(experiment, jobfile.name.removesuffix(".fio"), out, yes)
    for warning in jobs.warnings(done.summary):
        tell(f"warning: {warning}")
    if json:
        say(results.dump_json(jobs.fio_json(done.summary)).rstrip())
    else:
        say(f"{jobs.fio_text(done.summary)}\n\nReport: {folder / results.REPORT}")
    _end_with(jobs.failures(done.summary))


def postmark(
    commands: Annotated[Path, argument("postmark", "commands", "COMMANDS")],
    system: System = "linux",
    board: OwnBoard = None,
    kernel: Kernel = None,
    fs: FileSystem = "jffs2",
    partition_blocks: OwnBlocks = None,
    read_ahead: ReadAhead = None,
    settings: Settings = None,
    yes: Yes = False,
    out: Annotated[Path | None, option("postmark", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("postmark", "json", "--json")] = False,
) -> None:
    """Runs a command file: an experiment with one `postmark` step."""
    from ffslab.api.machine import Machine, settings_of
    from ffslab.files import results
    from ffslab.workloads import postmark as mail

    machine = Machine(board, kernel, fs, partition_blocks, read_ahead, system, settings_of(settings or []))
    experiment = mail.postmark_experiment(commands, machine)
    done, folder = _run(experiment, commands.name, out, yes)
    if json:
        say(results.dump_json(done.summary).rstrip())
    else:
        say(f"{mail.postmark_text(done.summary)}\n\nReport: {folder / results.REPORT}")
    _end_with(mail.failures(done.summary))


def run_and_print(experiment: Experiment, name: str, out: Path | None, json: bool, yes: bool) -> None:
    from ffslab.files import results
    from ffslab.text.summary import summary_text

    done, folder = _run(experiment, name, out, yes)
    if json:
        say(results.dump_json(done.summary).rstrip())
    else:
        say(f"{summary_text(done.summary)}\n\nReport: {folder / results.REPORT}")


def _run(experiment: Experiment, name: str, out: Path | None, yes: bool) -> tuple[Run, Path]:
    """Runs with a progress bar and saves; the run and its folder."""
    from ffslab.cli.progress import progress_bar
    from ffslab.files import results

    folder = out if out is not None else Path("results") / name
    results.check_free(folder)
    with progress_bar(name) as progress:
        done = experiment.run(progress, any_size=yes, tell=tell)
    done.save(folder)
    return done, folder


def sqlite(
    script: Annotated[Path | None, argument("sqlite", "script", "SCRIPT.sql")] = None,
    setup: Annotated[Path | None, option("sqlite", "setup", "--setup", metavar="SCRIPT.sql")] = None,
    system: System = "linux",
    board: OwnBoard = None,
    fs: FileSystems = None,
    partition_blocks: OwnBlocks = None,
    read_ahead: ReadAheads = None,
    settings: Settings = None,
    database: Annotated[str, option("sqlite", "database", "--database", metavar="NAME")] = "database.db",
    rows: Annotated[bool, option("sqlite", "rows", "--rows")] = False,
    out: Annotated[Path | None, option("sqlite", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("sqlite", "json", "--json")] = False,
) -> None:
    """Runs SQL with the real SQLite."""
    from ffslab.api.machine import Machine, settings_of
    from ffslab.sqlite import verb as sql

    file_systems = fs or ["jffs2"]
    given = settings_of(settings or [])
    machine = Machine(board, None, file_systems[0], partition_blocks, None, system, given)
    say(sql.run(script, setup, machine, database, file_systems, read_ahead or [], rows=rows, out=out, json=json))
