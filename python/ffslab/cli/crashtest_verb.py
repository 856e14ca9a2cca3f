"""`ffslab crashtest`: is a product safe against power cuts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab._native import InputError
from ffslab.api.machine import SETTLED
from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.cli.result_options import Jobs, Json, with_page
from ffslab.cli.stack_options import (
    Initial,
    Kernel,
    MountedBlocks,
    MountedFs,
    MountOptions,
    OwnBoard,
    Part,
    Settings,
    System,
)
from ffslab.systems import DEFAULT
from ffslab.terminal.printing import say

if TYPE_CHECKING:
    from ffslab.studies.crashtest.file import CrashTest

# What a call with nothing is answered with.
BEGIN = (
    "name a TEST.toml (`ffslab crashtest --new my-test.toml` writes one to begin with), or a file system and a "
    "program: ffslab crashtest --fs ubifs -- PROGRAM"
)


def crashtest(
    test: Annotated[
        Path | None, argument("TEST.toml", "A workload, a judge, and which cuts; or a failure that was kept.")
    ] = None,
    command: Annotated[
        list[str] | None,
        argument("-- COMMAND", "Instead, with --fs: a program to run in a mounted folder, as ffslab mount does."),
    ] = None,
    system: System = None,
    fs: MountedFs = None,
    board: OwnBoard = None,
    part: Part = None,
    kernel: Kernel = None,
    blocks: MountedBlocks = None,
    settings: Settings = None,
    options: MountOptions = None,
    initial: Initial = SETTLED,
    judge: Annotated[
        str | None,
        option(
            "--judge COMMAND",
            "With --fs: a command for the shell that looks at the files after a cut, in a folder with them, and ends "
            "with 0 when they are right. [default: what was synced is looked at alone]",
        ),
    ] = None,
    points: Annotated[str, option("--points N", "How many cuts at most, or all.", check=_check_points)] = "all",
    seed: Annotated[
        int | None,
        option(
            "--seed N",
            "Seed of what chance decides: the content of files, where an operation is torn. [default: the test's]",
            least=0,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out DIR", "Folder to write; for report.html, failure-N.toml and failure-N.img. [default: crashtest/NAME]"
        ),
    ] = None,
    new: Annotated[
        Path | None, option("--new TEST.toml", "Write the smallest test, with comments, to begin with; run nothing.")
    ] = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Cut the power at every flash operation, and judge what is left. See docs/power-cuts.md.

    A test says a machine, a workload, and a judge of what is left; --new writes the smallest one. The answer begins
    with safe or not, of how many cuts, who is to blame and what to change; report.html shows the same.
    Exit code 1: a cut was found after which something is wrong.

    Example: ffslab crashtest examples/crashtest/settings.toml
    """
    from ffslab.files import results
    from ffslab.studies.crashtest import page as power_cuts
    from ffslab.studies.crashtest.begin import write_smallest
    from ffslab.studies.crashtest.file import points_of
    from ffslab.studies.crashtest.keep import keep, timeline
    from ffslab.studies.crashtest.run import answer_of
    from ffslab.studies.crashtest.run import crashtest as judged
    from ffslab.studies.crashtest.shrink import same_kind, shrunk
    from ffslab.studies.crashtest.text import text_of
    from ffslab.terminal.progress import progress_of_parts

    if new is not None:
        if test is not None or fs is not None:
            raise InputError(f"--new {new}: only writes a test: leave all else out")
        write_smallest(new)
        say(f"{new}: written. Next: ffslab crashtest {new}")
        return
    machine = _Machine(system, board, part, kernel, blocks, settings or [], options or [], initial)
    asked = _asked(test, command or [], judge, fs, machine)
    if seed is not None:
        asked = replace(asked, seed=seed)
    most = points_of(points)
    folder = out or Path("crashtest") / Path(asked.file_name).name.removesuffix(".toml")
    with progress_of_parts("power cuts") as show:
        outcome = judged(
            asked,
            points=most,
            jobs=jobs,
            progress=None if show is None else lambda share: show(share, "power cuts"),
            folder=folder,
        )
        answer = answer_of(outcome)
        for number, failure in enumerate(answer["failures"] if asked.cut is None else [], 1):
            smaller = shrunk(
                outcome, failure, jobs=jobs, progress=None if show is None else lambda share: show(share, "shrinking")
            )
            kept = same_kind(smaller, failure) if smaller else None
            failure["file"] = str(keep(smaller if smaller and kept else outcome, kept or failure, folder, number))
    page = None
    if asked.cut is None:
        page = folder / results.REPORT
        before = [timeline(outcome, failure["operation"]) for failure in answer["failures"]]
        results.write_report(page, power_cuts.html(answer, _machine_of(asked), before))
    say(results.dump_json(answer).rstrip() if json else with_page(text_of(answer), page))
    if not answer["holds"]:
        raise typer.Exit(EXIT_NEGATIVE)


def _machine_of(test: CrashTest) -> str:
    """On what a test runs, as its file says it."""
    if test.on_chip:
        return "A program on libffslab"
    keys = ("fs", "board", "part", "kernel", "system")
    return ", ".join(f"{key} {test.stack[key]}" for key in keys if isinstance(test.stack.get(key), str))


@dataclass(frozen=True)
class _Machine:
    """What the options say of the machine on which a program is run."""

    system: str | None
    board: str | None
    part: str | None
    kernel: str | None
    blocks: int | None
    settings: list[str]
    options: list[str]
    initial: str = SETTLED


def _asked(test: Path | None, command: list[str], judge: str | None, fs: str | None, machine: _Machine) -> CrashTest:
    """The test: that of a file, or a program on a mount."""
    from ffslab.cli.renamed import tell_old_form
    from ffslab.studies.crashtest.file import CrashTest

    if fs is None:
        if test is None:
            if command:
                raise InputError(f"-- {shlex.join(command)}: on which file system? crashtest --fs ubifs -- PROGRAM")
            raise InputError(BEGIN)
        if command or judge is not None or machine != _Machine(None, None, None, None, None, [], []):
            raise InputError("a machine, a program and --judge go with --fs; a TEST.toml says all this itself")
        if not test.exists() and test.suffix != ".toml":
            program = shlex.join([str(test), *command])
            raise InputError(
                f"{test}: no such TEST.toml; a program needs a file system: ffslab crashtest --fs ubifs -- {program}"
            )
        asked = CrashTest.from_file(test)
        tell_old_form("crashtest", test)
        return asked
    if test is not None and test.suffix == ".toml":
        raise InputError(f"{test}: says its machine itself, so leave out --fs {fs}, which goes with a program to run")
    from ffslab.mount.run import Wanted

    # The first word stands where TEST.toml would.
    words = ([str(test)] if test is not None else []) + command
    if not words:
        raise InputError(f"--fs {fs}: is of a program on a mount: name it: ffslab crashtest --fs {fs} -- PROGRAM")
    wanted = Wanted(
        machine.system or DEFAULT.name,
        fs,
        machine.board,
        machine.part,
        machine.kernel,
        machine.blocks,
        image=None,
        oob=None,
        autoplace=False,
        settings=machine.settings,
        options=machine.options,
    )
    return CrashTest(
        stack=wanted.machine().keys(),
        judge={"kind": "synced"} if judge is None else {"kind": "command", "command": judge},
        title=shlex.join(words),
        command=tuple(words),
        mount=tuple(machine.options),
        initial=machine.initial,
        file_name=words[0],
    )


def _check_points(flag: str, value: str) -> None:
    if value != "all" and not (value.isdecimal() and int(value) >= 1):
        raise InputError(f"{flag} {value}: must be a whole number from 1 on, or all")


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "crashtest")(crashtest)
