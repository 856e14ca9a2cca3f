"""`ffslab new`: a commented experiment to begin with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import argument, check_distinct, option, verb
from ffslab.cli.stack_options import Part
from ffslab.cli.terminal import ask, say
from ffslab.systems import DEFAULT
from ffslab.workloads.begin import WORKS

BOARD, SIZE_MiB, FILLED_PERCENT = "omap3evm", 20, 50


def new(
    file: Annotated[Path, argument("FILE.toml", "The experiment to write; one that is there stays as it is.")],
    work: Annotated[
        str | None,
        option(
            "--work WORD",
            f"What the device does: {'; '.join(f'{name} ({about})' for name, about in WORKS.items())}. "
            "[default: logger]",
            choices=tuple(WORKS),
        ),
    ] = None,
    recording: Annotated[
        Path | None,
        option("--recording TRACE", "With --work recording: of strace -f -ttt -T, or as docs/traces.md says."),
    ] = None,
    board: Annotated[
        str | None,
        option("--board NAME", f"Board profile, by name or path; `ffslab profiles` lists them. [default: {BOARD}]"),
    ] = None,
    part: Part = None,
    size_MiB: Annotated[  # noqa: N803
        int | None, option("--size-MiB MiB", f"Size of the partition. [default: {SIZE_MiB}]", least=1)
    ] = None,
    filled: Annotated[
        int | None,
        option("--filled PERCENT", f"How full it is before the work begins. [default: {FILLED_PERCENT}]", least=1),
    ] = None,
    fs: Annotated[
        list[str] | None,
        option(
            "--fs NAME",
            f"File system: {', '.join(DEFAULT.file_systems)}; give it several times to compare. [default: all of them]",
        ),
    ] = None,
) -> None:
    """Write a commented experiment from five questions. They are asked on a terminal; options answer them.

    Example: ffslab new logger.toml --work logger --filled 80 --fs jffs2 --fs ubifs
    """
    from ffslab.workloads.begin import Answers, write

    if file.exists():
        raise InputError(f"{file}: is there already, and would be lost: name another file")
    work = work or _asked("What does the device do", "logger", WORKS)
    if work == "recording" and recording is None:
        answer = _asked("Which recording of strace -f -ttt -T", "")
        if not answer:
            raise InputError("--recording: this work needs one, of strace -f -ttt -T or as docs/traces.md says")
        recording = Path(answer)
    board = board or _asked("Which board, by name or path", BOARD)
    mebibytes = size_MiB or _number("How large is the partition, in MiB", SIZE_MiB)
    filled = filled or _number("How full is it before, in per cent", FILLED_PERCENT)
    fs = (
        fs or _asked("Which file systems, to compare several", " ".join(DEFAULT.file_systems)).replace(",", " ").split()
    )
    check_distinct("--fs", fs)
    write(Answers(work, board, mebibytes, filled, fs, part, recording), file)
    say(f"{file}: written. Next: ffslab run {file}")


def _asked(question: str, default: str, choices: dict[str, str] | None = None) -> str:
    """The answer of a person; where none is there, the default."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return default
    for name, about in (choices or {}).items():
        say(f"  {name:<10}{about}", sys.stderr)
    while True:
        try:
            answer = ask(f"{question}? [{default}]") or default
        except EOFError:
            raise InputError("new: the questions were not answered: nothing is written") from None
        if choices is None or answer in choices:
            return answer
        say(f"  one of {', '.join(choices)}", sys.stderr)


def _number(question: str, default: int) -> int:
    answer = _asked(question, str(default))
    if not (answer.isascii() and answer.isdigit() and len(answer) < 10):
        raise InputError(f"new: {question.lower()}: {answer} is no whole number")
    return int(answer)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "new")(new)
