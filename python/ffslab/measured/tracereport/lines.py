"""The text of a log in chunks of whole lines, its odd lines (comments, markers) taken out: the rest is a plain table.

Logs of hours are read in pieces: memory holds one piece of text and the columns of the events, never the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ffslab._native import InputError
from ffslab.files.inputs import open_input

CHUNK_B = 16 << 20
# A line longer than this is no line of a log: the file is something else.
LINE_B_MAX = 64 << 10
ODD = re.compile(rb"^(?:#|---|[^;\n]*;M;)[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Odd:
    """A line that is no event: its number, and how many events of the chunk stand before it."""

    line: int
    before: int
    text: str


@dataclass(frozen=True)
class Chunk:
    """Whole lines. `rows` holds the events alone; `ends_open`: the file ends here without a line feed."""

    first_line: int
    rows: bytes
    odd: list[Odd]
    ends_open: bool

    def line_of(self, row: int) -> int:
        """The line number of the event with this index in the chunk."""
        return self.first_line + row + sum(odd.before <= row for odd in self.odd)


def read_chunks(path: Path) -> Iterator[Chunk]:
    """The lines of a log, plain or gzipped."""
    line = 1
    with open_log(path) as file:
        rest = b""
        while block := file.read(CHUNK_B):
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest += block
                if len(rest) > LINE_B_MAX:
                    raise InputError(f"{path}:{line}: a line of more than {LINE_B_MAX} B: this is no log")
                continue
            yield (chunk := _chunk(line, rest + block[:cut]))
            line += chunk.rows.count(b"\n") + len(chunk.odd)
            rest = block[cut:]
        if rest:
            yield _chunk(line, rest)


def open_log(path: Path) -> BinaryIO:
    """A file, unpacked on the way when it is gzipped."""
    return open_input(path, "log", unpack=True)


def first_lines(path: Path, count: int = 64) -> list[str]:
    """The first lines, to tell what kind of log this is."""
    with open_log(path) as file:
        text = file.read(LINE_B_MAX)
    return text.decode("utf-8", "replace").splitlines()[:count]


def _chunk(first_line: int, text: bytes) -> Chunk:
    ends_open = not text.endswith(b"\n")
    if not (text.startswith((b"#", b"---")) or b"\n#" in text or b"\n---" in text or b";M;" in text):
        return Chunk(first_line, text, [], ends_open)
    rows, odd, at, before, line = [], [], 0, 0, first_line
    for match in ODD.finditer(text):
        piece = text[at : match.start()]
        rows.append(piece)
        before += piece.count(b"\n")
        line += piece.count(b"\n")
        odd.append(Odd(line, before, match.group().decode("utf-8", "replace").rstrip("\r\n")))
        line += 1
        at = match.end()
    rows.append(text[at:])
    return Chunk(first_line, b"".join(rows), odd, ends_open)
