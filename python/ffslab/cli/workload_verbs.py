"""The verbs `replay`, `fio`, `postmark` and `sqlite` of the command: programs on any system."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import EXIT_NEGATIVE, argument, check_positive, option, verb
from ffslab.cli.result_options import Out, SummaryJson, TimelineOptions
from ffslab.cli.slips import refuse_experiment
from ffslab.cli.stack_options import MachineOptions, RunOptions, Seed
from ffslab.terminal.printing import detail, remark, say, tell

if TYPE_CHECKING:
    from ffslab.api.experiment import Experiment
    from ffslab.api.observe import Observe
    from ffslab.api.run import Run


class Think(StrEnum):
    """What becomes of the pauses between recorded calls."""

    KEEP = "keep"
    NONE = "none"
    ARRIVALS = "arrivals"


def add_to(app: typer.Typer) -> None:
    """Makes the verbs known to the command."""
    for function in (replay, fio, postmark, sqlite):
        verb(app, function.__name__)(function)


def end_with_failures(failures: list[str]) -> None:
    """Tells what went wrong in a run that came to its end, which is a negative answer."""
    for failure in failures:
        tell(failure)
    if failures:
        raise typer.Exit(EXIT_NEGATIVE)


def replay(
    trace: Annotated[
        Path,
        argument(
            "TRACE",
            "Recording: strace, fio's iolog, blkparse, OpenFlash's CSV, MSR Cambridge, SPC, a table; "
            ".gz is read as it is.",
        ),
    ],
    machine: MachineOptions,
    think: Annotated[
        Think,
        option(
            "--think",
            "What becomes of the time between calls; keep: the application's pauses are slept; "
            "none: they are left out; arrivals: each call "
            "comes when it came in the recording, or at once if it is late.",
        ),
    ] = Think.KEEP,
    speed: Annotated[
        float | None, option("--speed TIMES", "How many times faster than in the recording pauses and arrivals are.")
    ] = None,
    onto: Annotated[
        str | None,
        option("--onto FILE", "Replay a recording of a device or file on this one: disk is a block device as a whole."),
    ] = None,
    only: Annotated[
        str | None, option("--only NAME", "With --onto: which device or file of a recording that has several.")
    ] = None,
    content: Annotated[
        str | None,
        option(
            "--content WORD",
            "What the program writes, as a recording has no bytes; random: nothing shrinks it; text; zero; "
            "mix: half of it compresses; 40%: a compressor leaves about so much. [default: random, and the answer says "
            "that compression cannot be judged]",
        ),
    ] = None,
    *,
    cold: Annotated[
        bool,
        option("--cold", "Nothing of what the recording reads is in the page cache when it begins, as after a boot."),
    ] = False,
    how: RunOptions,
    written: TimelineOptions,
    out: Out = None,
    json: SummaryJson = False,
) -> None:
    """Replay a recorded application. docs/traces.md lists formats.

    Example: ffslab replay examples/sqlite/insert.strace.gz --read-ahead 128 --read-ahead 0
    """
    from ffslab.workloads.replay import How, content_of, replay_experiment

    check_positive({"--speed": speed})
    refuse_experiment(trace, "replay reads a recording of strace and others (docs/traces.md)")
    meant = How(think.value, speed, onto, only, *content_of(content))
    experiment = replay_experiment(trace, machine.machine(), meant, cold=cold)
    experiment = experiment.changed(axes=machine.axes())
    name = trace.name.removesuffix(".gz").removesuffix(".strace").removesuffix(".parquet")
    end_with_failures(run_and_print(how.over(experiment), name, out, json, how, written.observe()))


def fio(
    jobfile: Annotated[Path, argument("JOBFILE", "Job file, as fio 3.33 reads it.")],
    machine: MachineOptions,
    lenient: Annotated[
        bool,
        option("--lenient", "Leave options that are not honoured out, with a warning each, instead of refusing them."),
    ] = False,
    *,
    how: RunOptions,
    written: TimelineOptions,
    out: Out = None,
    json: Annotated[
        bool,
        option(
            "--json",
            "Print JSON in place of text: as fio's --output-format=json, and `ffslab`; several are `variants`.",
        ),
    ] = False,
) -> None:
    """Run the jobs of a fio job file. docs/fio.md lists the options.

    Example: ffslab fio examples/fio/random-write.fio --fs ubifs
    """
    from ffslab.files import results
    from ffslab.workloads import fio as jobs

    refuse_experiment(jobfile, "fio reads a job file of fio")
    experiment = jobs.fio_experiment(jobfile, machine.machine(), lenient).changed(axes=machine.axes())
    done, folder = _run(how.over(experiment), jobfile.name.removesuffix(".fio"), out, how, written.observe())
    for warning in jobs.warnings(done.summary):
        remark(f"warning: {warning}")
    if json:
        say(results.dump_json(jobs.fio_json(done.summary)).rstrip())
    else:
        say(f"{jobs.fio_text(done.summary)}\n\nReport: {folder / results.REPORT}")
    end_with_failures([*jobs.failures(done.summary), *_unfinished(done)])


def postmark(
    commands: Annotated[Path, argument("COMMANDS", "Command file: lines such as `set number 500`, `run`.")],
    machine: MachineOptions,
    how: RunOptions,
    written: TimelineOptions,
    out: Out = None,
    json: Annotated[bool, option("--json", "Print JSON in place of text: the summary.")] = False,
) -> None:
    """Run a command file of the program postmark. See docs/postmark.md.

    Example: ffslab postmark examples/postmark/mail.pmrc --fs yaffs2
    """
    from ffslab.files import results
    from ffslab.workloads import postmark as mail

    refuse_experiment(commands, "postmark reads a command file of postmark")
    experiment = mail.postmark_experiment(commands, machine.machine()).changed(axes=machine.axes())
    done, folder = _run(how.over(experiment), commands.name, out, how, written.observe())
    if json:
        say(results.dump_json(done.summary).rstrip())
    else:
        say(f"{mail.postmark_text(done.summary)}\n\nReport: {folder / results.REPORT}")
    end_with_failures([*mail.failures(done.summary), *_unfinished(done)])


def run_and_print(
    experiment: Experiment, name: str, out: Path | None, json: bool, how: RunOptions, observe: Observe | None = None
) -> list[str]:
    """Runs, saves and prints; what went wrong in a run that came to its end."""
    from ffslab.files import results
    from ffslab.text.machine_line import initial_of
    from ffslab.text.summary import summary_text

    done, folder = _run(experiment, name, out, how, observe)
    if json:
        say(results.dump_json(done.summary).rstrip())
    else:
        text = summary_text(done.summary, initial_of(done.resolved_toml))
        say(f"{text}\n\nReport: {folder / results.REPORT}")
    return _unfinished(done)


def _unfinished(done: Run) -> list[str]:
    """How many variants did not come to their end; the printed text tells which, and why."""
    failed, ended = len(done.failures), len(done.summary["variants"])
    return [f"{failed} of {failed + ended} variants did not come to their end"] if failed else []


def _run(
    experiment: Experiment, name: str, out: Path | None, how: RunOptions, observe: Observe | None
) -> tuple[Run, Path]:
    """Runs with a progress bar and saves; the run and its folder."""
    from ffslab.files import results
    from ffslab.terminal.progress import progress_bar

    folder = out if out is not None else Path("results") / name
    results.check_free(folder)
    try:
        with progress_bar(name) as progress:
            done = experiment.run(
                progress,
                jobs=how.jobs,
                any_size=how.yes,
                tell=remark,
                again=how.again,
                observe=observe,
                share_setups=not how.own_setups,
            )
    except InputError as error:
        raise InputError(_named_once(str(error))) from None
    done.save(folder)
    detail(f"results: {folder.resolve()}")
    return done, folder


def _named_once(said: str) -> str:
    """What is wrong in a recording or a job file, which is named twice, as the experiment has its name, too."""
    title, _, rest = said.partition(": ")
    name = title.removeprefix("replay of ")
    whole = str(Path(name).absolute())
    # The setup is ours, nobody wrote it.
    rest = rest.removeprefix("end of the setup: ")
    return f"{name}{rest.removeprefix(whole)}" if rest.startswith(f"{whole}:") else f"{title}: {rest}"


def sqlite(
    script: Annotated[
        Path | None,
        argument("SCRIPT.sql", "SQL whose statements are measured; without a file it is read from the standard input."),
    ] = None,
    setup: Annotated[
        Path | None,
        option(
            "--setup SCRIPT.sql",
            "SQL that is executed before, unmeasured; then all is synced and the caches are dropped.",
        ),
    ] = None,
    *,
    machine: MachineOptions,
    seed: Seed = None,
    database: Annotated[str, option("--database NAME", "Name of the data base file.")] = "database.db",
    rows: Annotated[bool, option("--rows", "Print the rows that the statements return before the tables.")] = False,
    out: Out = None,
    json: Annotated[
        bool, option("--json", "Print JSON in place of text: the summary, whose steps are the statements.")
    ] = False,
    written: TimelineOptions,
) -> None:
    """Run SQL with the real SQLite on a simulated file system. See docs/sqlite.md.

    Example: ffslab sqlite --fs jffs2 --fs ubifs --setup make.sql < queries.sql
    """
    from ffslab.sqlite import verb as sql

    refuse_experiment(script, "sqlite reads a file of SQL")
    say(
        sql.run(
            script,
            setup,
            machine.machine(),
            database,
            machine.axes(),
            seed=1 if seed is None else seed,
            rows=rows,
            out=out,
            json=json,
            observe=written.observe(),
        )
    )
