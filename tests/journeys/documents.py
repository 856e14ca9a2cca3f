"""What documents have a person type, and whether a command of a journey is that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from typer.core import TyperGroup

from helpers.command import ROOT
from helpers.verbs import VERBS

# Whose every command is a journey.
FRONT = (ROOT / "README.md", ROOT / "docs" / "verbs.md")
VERB_NAMES = [name for name, verb in VERBS.items() if not isinstance(verb, TyperGroup)]
# What a person types stands alone on a line: indented, behind a prompt, or in a block of a shell.
INDENTED = re.compile(r"^(?:    |\$ )(?=\S)")
OF_SHELL = ("```sh", "```bash", "```console", "```shell")
COMMAND = re.compile(r"(?:\.venv/bin/)?((?:ffslab|python) .*?)(?:  +(.*)| # (.*))?")
# What is said about it goes on below it.
GOES_ON = re.compile(r"^ {12,}(?=\S)")
# Called from a shell that did something before, or sets a variable.
CALL = re.compile(r"(?:^|[&|;(]\s*|-- |\w=\S+ )((?:ffslab|python) [^&|;>]*)")
# A word for what the reader has: "TRACE", "FILE.toml". The same kind of file must be typed.
OF_READER = re.compile(r"<?[A-Z][A-Z0-9_-]*((?:\.\w+)*)(?:\.\.\.)?>?")
NUMBER = re.compile(r"\d[\d.]*[a-z%]*")


@dataclass(frozen=True)
class Documented:
    """A command of a document. `remark`: what is said about it on its line and on those that go on with it."""

    page: Path
    line: str
    remark: str = ""
    is_of_shell: bool = False

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.line}"


def documented(page: Path) -> Iterator[Documented]:
    """What a page has typed."""
    fence = ""
    last: Documented | None = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if last and GOES_ON.match(line):
            last = replace(last, remark=f"{last.remark} {line.strip()}")
            continue
        if last:
            yield last
        last = None
        if line.startswith("```"):
            fence = "" if fence else line.strip()
            continue
        is_of_shell = fence in OF_SHELL
        prompt = INDENTED.match(line)
        found = COMMAND.fullmatch(line[prompt.end() if prompt else 0 :].rstrip())
        if found and (prompt or is_of_shell):
            last = Documented(page, found[1], found[2] or found[3] or "", is_of_shell)
    if last:
        yield last


def calls(line: str) -> list[str]:
    """The calls of `ffslab` and of shipped programs in a line of a shell."""
    return [call.strip() for call in CALL.findall(line)]


def words(call: str) -> list[str]:
    """Of a call or of what is documented of one, where brackets hold what may be left out."""
    return [word for word in re.sub(r"""['"\[\]<]""", " ", call).split() if word != "..."]


def flags(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))


def verbs_of(lines: list[str]) -> set[str]:
    """The verbs that are called."""
    called = [words(call)[1:] for line in lines for call in calls(line) if call.startswith("ffslab ")]
    return {name for name in VERB_NAMES for call in called if call[: len(name.split())] == name.split()}


def is_typed_by(line: str, typed: str) -> bool:
    """Whether a line that is typed calls what is documented: the same verb with the same files, names and options.

    How much of something may be another number there, but for the names of kernels, which are numbers as well.
    """
    wanted = words(line)
    return any(_is_call_of(wanted, words(call)) for call in calls(typed))


def _is_call_of(wanted: list[str], typed: list[str]) -> bool:
    return len(typed) >= len(wanted) and all(
        _stands_in(word, typed, is_of_option=before.startswith("--"))
        for before, word in zip(["", *wanted], wanted, strict=False)
    )


def _stands_in(word: str, typed: list[str], *, is_of_option: bool) -> bool:
    if of_reader := OF_READER.fullmatch(word):
        return any(each.endswith(of_reader[1]) for each in typed)
    if is_of_option and NUMBER.fullmatch(word):
        return any(NUMBER.fullmatch(each) for each in typed)
    return any(fnmatchcase(each, word) or each.startswith(f"{word}=") for each in typed)
