"""Power cuts of a program that drives a chip of libffslab: it runs once, and its own check judges what each cut leaves.

`crates/chip/src/journal.rs` writes what a program does to its chip, and gives a later process the chip as a cut in that
leaves it. So nobody here knows what the chip holds: cuts are told to the check by a variable of the environment.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.files.os_errors import how_ended
from ffslab.studies.crashtest.journal import Entry, Journal

if TYPE_CHECKING:
    from ffslab.studies.crashtest.file import CrashTest, Program

# What `found` of a failure says.
FOUND = "program"
_KEEP, _FROM, _STACK = "FFSLAB_CHIP_KEEP", "FFSLAB_CHIP_FROM", "FFSLAB_CHIP_STACK"
# What a shell ends with when there is no such command, and when there is one that cannot be run.
_NOT_RUN = (126, 127)

# Operation, what is left of it, seed.
Row = tuple[int, str, int]


@dataclass(frozen=True)
class _Ended:
    """How a process ended. `code`: negative for a signal, `None` if its time was over. `line`: the first it said."""

    code: int | None
    line: str

    def told(self, who: str) -> str:
        """What happened, in a line."""
        how = "" if self.code is None else how_ended(self.code)
        return f"{who} ended {how}{': ' + self.line if self.line else ''}"


@dataclass
class _Judged:
    """What is known of one medium."""

    checks: int = 0
    cuts: int = 0
    # What is wrong, and which recoveries were cut before.
    found: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass(frozen=True)
class ProgramRecording:
    """What a program did to its chip: for programs what `CrashRecording` of the native half is for file systems."""

    program: Program
    journal: Journal
    # That of the setup, from whose end `journal` goes on.
    before: Journal | None
    folder: Path
    stack: str
    # Where journals are, until nobody needs this any more.
    place: Path

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.place, ignore_errors=True)

    def operations(self) -> int:
        """Programs and erases of the command."""
        return len(self.journal.entries)

    def promises(self) -> str:
        """None: no file system is there that could promise something."""
        return ""

    def told(self) -> list[tuple[str, int]]:
        """None: a check knows by itself what was promised."""
        return []

    def faults_met(self) -> list[str]:
        """None: what fails is the program's."""
        return []

    def calls(self) -> list[tuple[str, int, int, int]]:
        """The operations as the calls of a workload: what, operations before and after, at which time (not known)."""
        return [(f"{entry} {entry.medium}", at, at + 1, 0) for at, entry in enumerate(self.journal.entries)]

    def during(self, operation: int) -> str:
        """The operation that a cut hits, and who called for it; "": behind the last one."""
        return str(self.journal.entries[operation - 1]) if operation <= self.operations() else ""

    def timeline(self, operation: int, most: int) -> list[str]:
        """The last operations until a cut, a line each."""
        last = list(enumerate(self.journal.entries[:operation], 1))[-most:]
        return [f"{number:6}  {entry}" for number, entry in last]

    def whole(self) -> str:
        """A journal of the setup and the command together, which needs no other file."""
        if self.before is None:
            return self.journal.path.read_text(encoding="utf-8")
        parts = self.before.path.read_text(encoding="utf-8"), self.journal.path.read_text(encoding="utf-8")
        return parts[0] + parts[1].partition("\n")[2]

    def again(self, row: Row, journal: Path) -> str:
        """A line for a shell in the folder of the test that runs the check from such a journal once more.

        All of a check that is a text for the shell is told of it, so that shell stands in the line.
        """
        before = 0 if self.before is None else len(self.before.entries)
        operation, torn, seed = row
        name = os.path.relpath(journal.resolve(), self.folder)
        said = [f"{_FROM}={shlex.quote(f'{name}:{before + operation}:{torn}:{seed}')}"]
        if self.stack:
            said.append(f"{_STACK}={shlex.quote(self.stack)}")
        return f"{' '.join(said)} {shlex.join(self.program.check)}"

    def judge(
        self, points: Sequence[Row], asked: str, _judge: object, progress: Callable[[float], object] | None
    ) -> str:
        """Judges cuts; those that leave the same medium once.

        Raises `ffslab.InputError` when the check judges nothing.
        """
        wanted = json.loads(asked)
        groups: dict[Any, list[int]] = {}
        for number, row in enumerate(points):
            groups.setdefault(self._medium(row), []).append(number)
        firsts = [points[members[0]] for members in groups.values()]
        findings: list[dict[str, Any]] = []
        checks = cuts = 0
        with ThreadPoolExecutor(wanted["jobs"]) as pool:
            made = pool.map(lambda row: self._judged(row, wanted), firsts)
            try:
                for number, (members, judged) in enumerate(zip(groups.values(), made, strict=True), 1):
                    checks, cuts = checks + judged.checks, cuts + judged.cuts
                    findings += [
                        {"point": point, "found": FOUND, "says": says, "recoveries_cut": trail}
                        for point in members
                        for says, trail in judged.found
                    ]
                    if progress is not None:
                        progress(number / len(groups))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        findings.sort(key=lambda finding: finding["point"])
        return json.dumps(
            {
                "points": len(points),
                "states": len(groups),
                "recoveries": checks,
                "cuts_of_recoveries": cuts,
                "cuts_of_second_mounts": 0,
                "findings": findings,
                "faults_met": [],
            }
        )

    def _medium(self, row: Row) -> Any:
        """The same for cuts that leave the same medium, as far as the journal tells."""
        operation, torn, _ = row
        if torn == "nothing" or operation > self.operations():
            return self.journal.medium_before(operation)
        return self.journal.medium_before(operation + 1) if torn == "complete" else row

    def _judged(self, row: Row, wanted: dict[str, Any]) -> _Judged:
        """What the check says of a cut, and of cuts of its own way back."""
        judged = _Judged()
        with tempfile.TemporaryDirectory(prefix="check-", dir=self.place) as place:
            names = (Path(place) / str(number) for number in count())
            depth = wanted["depth"] if wanted["recovery_cuts"] else 0

            def cut(from_: Path, at: Row, depth: int, trail: list[str]) -> None:
                kept = next(names)
                says, entries = self._check(f"{from_}:{':'.join(map(str, at))}", kept)
                judged.checks += 1
                if says is not None:
                    judged.found.append((says, trail))
                elif depth > 0:
                    operations = len(entries)
                    cuts = min(wanted["recovery_cuts"], operations)
                    judged.cuts += cuts
                    for number in range(cuts):
                        # Spread evenly, as cuts of a mount are.
                        operation = 1 + (number * operations + row[0] % operations) // cuts % operations
                        torn = (operation, "partial", row[0] ^ operation)
                        cut(kept, torn, depth - 1, [*trail, f"{operation} of {operations}: {entries[operation - 1]}"])

            cut(self.journal.path, row, depth, [])
        return judged

    def _check(self, from_: str, kept: Path) -> tuple[str | None, list[Entry]]:
        """What the check says of a cut, `None`: all is right; and what it did to the chip itself."""
        said = {_FROM: from_, _KEEP: str(kept), _STACK: self.stack}
        ended = _run(self.program.check, "check", self.folder, said, self.program.seconds)
        if ended.code is None:
            return f"the check has not ended after {self.program.seconds} s", []
        if ended.code in _NOT_RUN:
            raise InputError(f"program: {ended.told('the check')}: it judges nothing")
        if not kept.exists():
            raise InputError(f"program: {ended.told('the check')}: it has opened no chip, so nothing was judged")
        entries = Journal.read(kept).entries
        if ended.code == 0:
            return None, entries
        return ended.line if ended.line and ended.code > 0 else ended.told("the check"), entries


def recorded(test: CrashTest) -> ProgramRecording:
    """The program's command with all that it did to its chip.

    Raises `ffslab.InputError` when it does not come to its end, or cannot be recorded.
    """
    program = test.on_chip
    assert program is not None
    place = Path(tempfile.mkdtemp(prefix="ffslab-crashtest-"))
    try:
        return _recorded(test, program, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _recorded(test: CrashTest, program: Program, place: Path) -> ProgramRecording:
    stack = _native.toml_of(dict(test.stack)) if test.stack else ""
    folder = test.folder.resolve()
    begun = ""
    before, journal = None, None
    for words, name in ((program.setup, "setup"), (program.command, "command")):
        if not words:
            continue
        kept = place / f"{name}.journal"
        ended = _run(words, name, folder, {_FROM: begun, _KEEP: str(kept), _STACK: stack}, None)
        if ended.code != 0:
            raise InputError(f"program: {ended.told(f'the {name}')}: it must end with 0 when no power is cut")
        if not kept.exists():
            raise InputError(
                f"program: the {name}, {_words(words)}, has opened no chip: is it linked with libffslab of this "
                "version?"
            )
        before, journal = journal, Journal.read(kept)
        begun = f"{kept}:{len(journal.entries) + 1}:nothing"
    if journal is None or not journal.entries:
        raise InputError(f"program: the command, {_words(program.command)}, programs and erases nothing")
    return ProgramRecording(program, journal, before, folder, stack, place)


def _words(words: Sequence[str]) -> str:
    """A command as it was written."""
    return words[2] if words[:2] == ("/bin/sh", "-c") else " ".join(words)


def _run(words: Sequence[str], what: str, folder: Path, said: dict[str, str], seconds: float | None) -> _Ended:
    """Runs a command of the test with what the chip is told; where its time is over, its children end, too."""
    environment = {name: value for name, value in os.environ.items() if name not in (_KEEP, _FROM, _STACK)}
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment | {"FFSLAB_FOLDER": str(folder)} | said,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(f"program: {what}: {words[0]}: {error.strerror}") from None
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _kill(process)
        return _Ended(None, "")
    except BaseException:
        _kill(process)
        raise
    lines = (err.strip() or out.strip()).decode("utf-8", "replace").splitlines()
    return _Ended(process.returncode, lines[0].strip() if lines else "")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process with its children, also those that it has left behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
