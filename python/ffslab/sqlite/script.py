"""SQL scripts, cut into statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

import apsw

from ffslab._native import InputError

# What may stand before a statement.
_GAP = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$)|;)*", re.DOTALL)
# What may hold a semicolon that ends nothing, and those that may; what is never closed goes to the end.
_QUOTED_OR_SEMICOLON = re.compile(
    r"""'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;""", re.DOTALL
)
# END and its semicolon may be so far apart.
END_CHARACTERS = 200
# So much of a statement names it.
TITLE_CHARACTERS_MAX = 160


@dataclass(frozen=True)
class Statement:
    """A statement, and where it stands in its script (from 1)."""

    sql: str
    line: int

    @property
    def title(self) -> str:
        """The statement in one line, cut when it is long."""
        text = " ".join(self.sql.split()).rstrip("; ")
        return text if len(text) <= TITLE_CHARACTERS_MAX else text[: TITLE_CHARACTERS_MAX - 3] + "..."


@dataclass(frozen=True)
class Script:
    """Statements, and the name of their file for messages."""

    name: str
    text: str
    statements: list[Statement]

    @classmethod
    def parse(cls, text: str, name: str) -> Script:
        """Cuts a text into statements.

        Raises `InputError` for commands of the `sqlite3` shell, for a last statement that is not complete, and for
        zero bytes, at which SQLite would stop reading.
        """
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise InputError(f"{name}:{line}: a zero byte: a script of SQL is text, this is none")
        found: list[Statement] = []
        at = _end_of_gap(text, 0)
        line, counted = 1, 0
        while at < len(text):
            line += text.count("\n", counted, at)
            counted = at
            if text[at] == ".":
                command = text[at:].split(maxsplit=1)[0]
                raise InputError(f"{name}:{line}: {command} is a command of the sqlite3 shell, not SQL: leave it out")
            end = _end_of_statement(text, at)
            if end is None:
                if not apsw.complete(text[at:] + ";"):
                    raise InputError(f"{name}:{line}: the statement is not complete: a quote or an END is missing")
                end = len(text)
            found.append(Statement(text[at:end].strip(), line))
            at = _end_of_gap(text, end)
        return cls(name, text, found)


def _end_of_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _end_of_statement(text: str, start: int) -> int | None:
    """Where the statement that begins at `start` ends, its semicolon included.

    SQLite is asked at few semicolons only, as it looks at the whole text each time: at the first one, and, as that may
    stand in a trigger, at those behind an END.
    """
    first = True
    for found in _QUOTED_OR_SEMICOLON.finditer(text, start):
        if found.group() != ";":
            continue
        before = text[max(start, found.start() - END_CHARACTERS) : found.start()]
        if (first or "END" in before.upper()) and apsw.complete(text[start : found.end()]):
            return found.end()
        first = False
    return None
