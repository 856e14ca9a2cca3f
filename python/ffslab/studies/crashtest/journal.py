"""The journal of a chip of libffslab, as `crates/chip/src/journal.rs` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ffslab._native import InputError
from ffslab.text.tables import number

VERSION = 1
# What is programmed, by the words of a journal.
_WHAT = {"page": "program", "oob": "program of OOB", "bytes": "program", "erase": "erase"}
# An operation that nobody explains: the program has no symbols.
_UNKNOWN = "other"


@dataclass(frozen=True)
class Entry:
    """A program or an erase. `address`: byte of the partition; `medium`: a hash of what the chip holds behind it."""

    what: str
    address: int
    size_bytes: int
    by: str
    medium: str

    def __str__(self) -> str:
        size = f" of {number(self.size_bytes)} B" if self.size_bytes else ""
        by = "" if self.by == _UNKNOWN else f" by {self.by}"
        return f"{_WHAT[self.what]}{size} at 0x{self.address:x}{by}"


@dataclass(frozen=True)
class Journal:
    """What was done to a chip. `about`: the chip in words; `medium`: a hash of what it held at first."""

    path: Path
    about: str
    medium: str
    entries: list[Entry]

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal in a file.

        Raises `ffslab.InputError` when it is none, or tells why no power cuts can be made of it.
        """
        rows = _rows(path)
        header = next(rows, None)
        if header is None:
            raise InputError("program: its journal cannot be read: it is empty")
        entries = [
            Entry(
                row["what"],
                row["address"],
                len(row["data"] or row["oob"] or "") // 2,
                row["by"],
                row["medium"],
            )
            for row in rows
        ]
        return cls(path, header["about"], header["medium"], entries)

    def medium_before(self, operation: int) -> str:
        """A hash of what the chip holds before an operation, from 1; behind the last one, that."""
        before = min(operation - 1, len(self.entries))
        return self.entries[before - 1].medium if before else self.medium


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The lines."""
    try:
        with path.open(encoding="utf-8") as lines:
            for at, line in enumerate(lines):
                row = json.loads(line)
                if at == 0 and row.get("ffslab_chip_journal") != VERSION:
                    raise InputError("program: is linked with another version of libffslab: link it with this one")
                if "refused" in row:
                    raise InputError(f"program: {row['refused']}")
                yield row
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"program: its journal cannot be read: {error}") from None
