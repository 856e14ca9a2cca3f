"""Who says whether the files after a power cut are right."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab._native import InputError
from ffslab.files.toml_tables import check_keys, meant
from ffslab.studies.crashtest.file import CrashTest, words_of
from ffslab.studies.crashtest.functions import function_at
from ffslab.studies.crashtest.sqlite_judge import sqlite_judge

if TYPE_CHECKING:
    from ffslab._native import CrashRecording

# Path, kind and content of each file, as the native half gives them.
Rows = Sequence[tuple[bytes, str, bytes]]
# Gets the files, and how many things the application had told; says what is wrong.
Judge = Callable[["Files", int], str | None]
# What the native half calls: files, things told, the operation that was cut.
Called = Callable[[Rows, int, int], str | None]

COMMAND_SECONDS = 60
# What a shell ends with when there is no such command, and when there is one that cannot be run.
_NOT_RUN = (126, 127)
_SUM = re.compile(r"^\\?([0-9a-fA-F]{8,128}) [ *](.+)$")
_BY_HEX_DIGITS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}


@dataclass(frozen=True)
class Files:
    """The files after a cut, by paths without a leading slash."""

    rows: Rows

    @property
    def contents(self) -> dict[str, bytes]:
        """Content of the files; directories and links are left out."""
        return {os.fsdecode(path[1:]): content for path, kind, content in self.rows if kind == "file"}

    def extract(self, folder: Path) -> None:
        """Writes directories, files and links to a folder of this computer."""
        for path, kind, content in self.rows:
            place = folder / os.fsdecode(path[1:])
            if kind == "directory":
                place.mkdir(parents=True, exist_ok=True)
            elif kind == "file":
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            elif kind == "symlink" and not content.startswith(b"/") and b".." not in content.split(b"/"):
                place.symlink_to(os.fsdecode(content))


@dataclass
class Seen:
    """Whether a judge has found the files that it judges after any cut. `what` they are, as a message says it."""

    what: str
    once: bool = False

    def note(self, is_there: bool) -> None:
        self.once = self.once or is_there

    def check(self) -> None:
        """Refuses a verdict about nothing: the name is likely misspelt.

        Raises `ffslab.InputError` when the files were there after no cut.
        """
        if not self.once:
            raise InputError(
                f"[crashtest.judge]: {self.what} was there after no cut, so nothing was judged: is the name right?"
            )


def judge_of(test: CrashTest, recording: CrashRecording) -> tuple[Called | None, Seen | None]:
    """The judge that a test asks for, and whether it has seen what it judges.

    No judge: only what was synced is looked at, which always is. The second is `None` where a judge names no files.

    Raises `ffslab.InputError` when there is none of this kind, or a key is wrong.
    """
    if "kind" not in test.judge:
        raise InputError(f"[crashtest.judge]: the key `kind` is missing: known are {', '.join(_KINDS)}")
    kind = str(test.judge["kind"])
    if kind not in _KINDS:
        raise InputError(f'[crashtest.judge]: `kind` = "{kind}"{meant(kind, list(_KINDS))}')
    keys, make = _KINDS[kind]
    check_keys(test.judge, ("kind", *keys), "[crashtest.judge]: ")
    judge, seen = make(test, recording)
    return None if judge is None else lambda rows, told, _operation: judge(Files(rows), told), seen


_Made = tuple[Judge | None, Seen | None]


def _text(table: Mapping[str, Any], key: str, usual: str | None = None) -> str:
    value = table.get(key, usual)
    if not isinstance(value, str):
        raise InputError(f"[crashtest.judge]: `{key}` must be a text")
    return value


def _synced(_test: CrashTest, _recording: CrashRecording) -> _Made:
    return None, None


def _sqlite(test: CrashTest, recording: CrashRecording) -> _Made:
    lost = test.judge.get("may_lose", False)
    if not isinstance(lost, bool):
        raise InputError("[crashtest.judge]: `may_lose` must be true or false")
    name = _text(test.judge, "file")
    judged = sqlite_judge(name, recording, may_lose=lost)
    seen = Seen(f'`file` = "{name}"')

    def judge(files: Files, told: int) -> str | None:
        contents = files.contents
        seen.note(name in contents)
        return judged(contents, told)

    return judge, seen


def _checksums(test: CrashTest, _recording: CrashRecording) -> _Made:
    pattern = _text(test.judge, "files", "*.sha256")
    seen = Seen(f'a file like `files` = "{pattern}"')

    def judge(files: Files, _told: int) -> str | None:
        contents = files.contents
        paths = fnmatch.filter(contents, pattern)
        seen.note(bool(paths))
        for path in paths:
            said = _sums_differ(path, contents)
            if said:
                return said
        return None

    return judge, seen


def _sums_differ(path: str, contents: Mapping[str, bytes]) -> str | None:
    """Lines as those of sha256sum(1): a sum, and the name of a file in the same directory."""
    for number, line in enumerate(contents[path].decode("utf-8", "replace").splitlines(), 1):
        found = _SUM.match(line)
        algorithm = _BY_HEX_DIGITS.get(len(found[1])) if found else None
        if not found or not algorithm:
            return f"{path}: line {number} is no check sum"
        name = str(Path(path).parent / found[2])
        if name not in contents:
            return f"{path}: {name} is missing"
        if hashlib.new(algorithm, contents[name]).hexdigest() != found[1].lower():
            return f"{path}: {name} has another check sum"
    return None


def _command(test: CrashTest, recording: CrashRecording) -> _Made:
    try:
        words = words_of(test.judge.get("command"), "command")
    except InputError as error:
        raise InputError(f"[crashtest.judge]: {error}") from None
    told = [what for what, _ in recording.told()]
    folder = test.folder.resolve()

    def judge(files: Files, count: int) -> str | None:
        with tempfile.TemporaryDirectory(prefix="ffslab-crashtest-") as place:
            files.extract(Path(place))
            said = {"FFSLAB_TOLD": "\n".join(told[:count]), "FFSLAB_FOLDER": str(folder)}
            try:
                ran = subprocess.run(
                    words, cwd=place, env=os.environ | said, capture_output=True, timeout=COMMAND_SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                return f"the command has not ended after {COMMAND_SECONDS} s"
            except OSError as error:
                raise InputError(f"[crashtest.judge]: {words[0]}: {error.strerror}") from None
        if ran.returncode == 0:
            return None
        lines = (ran.stderr or ran.stdout).decode("utf-8", "replace").strip().splitlines()
        says = f"the command ended with {ran.returncode}{': ' + lines[-1] if lines else ''}"
        if ran.returncode in _NOT_RUN:
            raise InputError(f"[crashtest.judge]: {says}: it judges nothing")
        return says

    return judge, None


def _python(test: CrashTest, recording: CrashRecording) -> _Made:
    name = _text(test.judge, "function")
    function = function_at(name, test.folder, may_assert=True)
    told = [what for what, _ in recording.told()]

    def judge(files: Files, count: int) -> str | None:
        try:
            said = function(files.contents, told[:count])
        except AssertionError as error:
            return str(error) or "an assertion does not hold"
        if said is None or said is True:
            return None
        if said is False:
            return "the judge returned False"
        if not isinstance(said, str) or not said:
            raise InputError(f"{name}: returned {said!r}: a judge returns a text that says what is wrong, or None")
        return said

    return judge, None


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[CrashTest, CrashRecording], _Made]]] = {
    "synced": ((), _synced),
    "sqlite": (("file", "may_lose"), _sqlite),
    "checksums": (("files",), _checksums),
    "command": (("command",), _command),
    "python": (("function",), _python),
}
