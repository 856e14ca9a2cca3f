"""`ffslab new`: a commented experiment to begin with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ffslab._native import InputError
from ffslab.api.machine import LINUX_BOARD, LINUX_PART
from ffslab.cli.parts import argument, check_distinct, option, verb
from ffslab.file_systems import ON_LINUX
from ffslab.terminal.printing import ask, say
from ffslab.workloads.begin import WORKS

if TYPE_CHECKING:
    from ffslab.workloads.begin import Answers

SIZE_MiB, FILLED_PERCENT = 20, 50

Answer = TypeVar("Answer")


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
    fs: Annotated[
        list[str] | None,
        option(
            "--fs NAME",
            f"File system: {', '.join(ON_LINUX)}; give it several times to compare. [default: all of them]",
        ),
    ] = None,
    part: Annotated[
        str | None,
        option("--part NAME", f"Flash part, by name or path. [default: the board's; without --board {LINUX_PART}]"),
    ] = None,
    board: Annotated[
        str | None,
        option(
            "--board NAME",
            f"Board profile, by name or path; `ffslab profiles` lists them. [default: one that can have the part, "
            f"{LINUX_BOARD} if it can]",
        ),
    ] = None,
    kernel: Annotated[
        str | None, option("--kernel NAME", "Kernel profile, by name or path. [default: the board's]")
    ] = None,
    size_MiB: Annotated[  # noqa: N803
        int | None, option("--size-MiB MiB", f"Size of the partition. [default: {SIZE_MiB}]", least=1)
    ] = None,
    filled: Annotated[
        int | None,
        option("--filled PERCENT", f"How full it is before the work begins. [default: {FILLED_PERCENT}]", least=1),
    ] = None,
    *,
    yes: Annotated[bool, option("--yes", "Do it without asking: what no option says is assumed.")] = False,
) -> None:
    """Write a commented experiment from seven questions. They are asked on a terminal; options answer them.

    What nobody answered is assumed, and the file says so.

    Example: ffslab new logger.toml --work logger --filled 80 --fs jffs2 --fs ubifs
    """
    from ffslab.workloads.begin import write

    if file.exists():
        raise InputError(f"{file}: is there already, and would be lost: name another file")
    check_distinct("--fs", fs or [])
    person = Person(is_there=not yes and sys.stdin.isatty() and sys.stderr.isatty())
    said = Said(work, recording, fs, part, board, kernel, size_MiB, filled)
    while True:
        asked_before = person.asked
        answers = _answered(said, person)
        try:
            write(answers, file)
        except InputError as error:
            # What only shows when all is known together: a person answers again, options stay wrong.
            if person.asked == asked_before:
                raise
            say(f"  {error}", sys.stderr)
            continue
        break
    say(f"{file}: written. Next: ffslab run {file}")


@dataclass(frozen=True)
class Said:
    """What the options say."""

    work: str | None
    recording: Path | None
    fs: list[str] | None
    part: str | None
    board: str | None
    kernel: str | None
    size_MiB: int | None  # noqa: N815
    filled: int | None


def _answered(said: Said, person: Person) -> Answers:
    """All answers: of the options, of the person, and what is assumed where neither said anything."""
    from ffslab.workloads import begin

    assumed: list[str] = []

    def known(
        name: str, option: Answer | None, question: str, default: Answer, read: Callable[[str], Answer]
    ) -> Answer:
        if option is not None:
            return option
        if not person.is_there:
            assumed.append(name)
            return default
        return person.answers(question, default, read)

    if said.work is None:
        person.shows(WORKS)
    work = known("work", said.work, "What does the device do", "logger", begin.work_of)
    recording = said.recording
    if work == "recording" and recording is None:
        if not person.is_there:
            raise InputError("--recording: this work needs one, of strace -f -ttt -T or as docs/traces.md says")
        recording = person.answers("Which recording of strace -f -ttt -T", Path("app.strace"), begin.recording_of)
    every = list(ON_LINUX)
    fs = known("fs", said.fs, "Which file systems, to compare several", every, begin.file_systems_of)
    own = LINUX_PART if said.board is None else begin.part_of(said.board)
    part = known("part", said.part, "Which flash part, by name or path", own, begin.part_named)
    board = known(
        "board",
        said.board,
        "Which board, by name or path",
        begin.board_for(part),
        lambda text: begin.board_named(text, part),
    )
    kernel = known("kernel", said.kernel, "Which kernel, by name or path", begin.kernel_of(board), begin.kernel_named)
    size = known(
        "size",
        said.size_MiB,
        "How large is the partition, in MiB",
        min(SIZE_MiB, begin.size_of(part)),
        lambda text: begin.whole(text, 1, begin.size_of(part)),
    )
    filled = known(
        "filled",
        said.filled,
        "How full is it before, in per cent",
        FILLED_PERCENT,
        lambda text: begin.whole(text, begin.FILLED_PERCENT[0], begin.FILLED_PERCENT[-1]),
    )
    return begin.Answers(work, fs, part, board, kernel, size, filled, recording, tuple(assumed))


@dataclass
class Person:
    """Who sits at the terminal, if anybody does: a wrong answer is asked for again."""

    is_there: bool
    asked: int = 0
    # By question, for when all are asked once more.
    before: dict[str, object] = field(default_factory=dict)

    def shows(self, choices: dict[str, str]) -> None:
        """What may be answered to the next question."""
        for name, about in choices.items() if self.is_there else ():
            say(f"  {name:<10}{about}", sys.stderr)

    def answers(self, question: str, default: Answer, read: Callable[[str], Answer]) -> Answer:
        """An answer that `read` can read; nothing is the default.

        Raises `InputError` when the person goes.
        """
        meant = self.before.get(question, default)
        shown = " ".join(meant) if isinstance(meant, list) else str(meant)
        while True:
            self.asked += 1
            try:
                answer = ask(f"{question}? [{shown}]")
            except EOFError:
                raise InputError("new: the questions were not answered: nothing is written") from None
            try:
                known = read(answer or shown)
            except InputError as error:
                say(f"  {error}", sys.stderr)
                continue
            self.before[question] = known
            return known


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "new")(new)
