"""What was deleted or overwritten, as text and tables, and written into a folder.

The native half finds it (`_native.read_lost`). Files are written as `ffslab.images.extraction` writes those of an
image.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from ffslab import _native
from ffslab.answers.image import Facts
from ffslab.answers.inspection import LostFile
from ffslab.images import How, ImageEntry, ImageTree, Partition, said
from ffslab.images.extraction import extract, extract_partitions
from ffslab.text.quoting import one_line, quoted
from ffslab.text.tables import number, text_table

# Lost files that a terminal shows; JSON and report have all.
SHOWN = 40
# The file that says what is in a folder of recovered files.
LISTING = "recovered.json"


@dataclass(frozen=True)
class LostEntry:
    """A lost file with its content."""

    path: str  # below the root; bytes that are not UTF-8 as os.fsdecode has them
    facts: LostFile
    permissions: int
    owner: tuple[int, int]
    data: bytes | None  # missing bytes are zeros


def read_lost(path: str | Path, **how: Unpack[How]) -> list[tuple[Partition, list[LostEntry] | None]]:
    """What each partition of an image has lost; nothing: what it holds is not known.

    The keywords are those of `ffslab.images.said`. Raises `ffslab.InputError`.
    """
    found = []
    for part, rows in _native.read_lost(path, said(**how)):
        entries = None
        if rows is not None:
            entries = [
                LostEntry(name, json.loads(facts), permissions, owner, data)
                for name, facts, permissions, owner, data in rows
            ]
        found.append((Partition.of(json.loads(part)), entries))
    return found


def recover(
    found: list[tuple[Partition, list[LostEntry] | None]], folder: str | Path, *, partial: bool = False
) -> list[str]:
    """Writes what is whole into a new or empty folder, complete or not at all; of several partitions each into its own.

    `partial`: what is not whole, too, with a suffix that says so. Each folder has a listing, `recovered.json`. Returns
    what had to be left out. Raises `ffslab.InputError`.
    """
    known = [(part, tree_of(entries, partial=partial)) for part, entries in found if entries is not None]
    too_large = [
        f"{quoted('/' + entry.path)}: left out: all content together is too large here"
        for _, entries in found
        for entry in entries or []
        if is_written(entry.facts, partial=partial) and lacks_content(entry)
    ]
    left_out = extract(known[0][1], folder) if len(found) == 1 else extract_partitions(known, folder)
    return left_out + too_large


def tree_of(entries: list[LostEntry], *, partial: bool = False) -> ImageTree:
    """The lost files that are to be written, as the tree of an image, with their listing."""
    wanted = [entry for entry in entries if is_written(entry.facts, partial=partial) and not lacks_content(entry)]
    # A directory that only leads to others is made, too.
    folders = {"", *(above for entry in wanted for above in _above(entry.path))}
    rows: list[ImageEntry] = []
    listed = []
    attributes = {entry.path: entry for entry in wanted if entry.facts["kind"] == "directory"}
    folders |= set(attributes)
    taken = set(folders)
    for entry in wanted:
        if entry.facts["kind"] == "directory":
            continue
        suffix = "" if entry.facts["state"] == "whole" else f".{entry.facts['state']}"
        name = _free(f"{entry.path}{suffix}", taken)
        taken.add(name)
        rows.append(_row(name, entry))
        listed.append({"file": os.fsencode(name).decode("utf-8", "backslashreplace"), **entry.facts})
    rows += [_row(path, attributes.get(path)) for path in folders]
    listing = json.dumps({"files": listed}, indent=2, ensure_ascii=False).encode() + b"\n"
    rows.append(_row(_free(LISTING, taken), None, kind="file", data=listing))
    # A directory comes before what it holds, and that next to it.
    rows.sort(key=lambda row: os.fsencode(row.path).split(b"/") if row.path else [])
    # Each is a file of its own, whatever its number was: entries of one number would be one file.
    return ImageTree([replace(row, ino=number) for number, row in enumerate(rows, 1)], [])


def is_written(facts: LostFile, *, partial: bool = False) -> bool:
    """Whether a lost file is recovered: it is whole, or not all of it is missing and that will do."""
    if facts["kind"] not in ("file", "symlink", "directory"):
        return False
    return facts["state"] == "whole" or (partial and facts["held_B"] > 0)


def lacks_content(entry: LostEntry) -> bool:
    """Whether the content was found and there is no room for it in memory."""
    return entry.data is None and entry.facts["kind"] != "directory"


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _free(path: str, taken: set[str]) -> str:
    """The path, or one that is numbered as `cp --backup=numbered` numbers old versions."""
    names = (path if count == 0 else f"{path}.~{count}~" for count in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def _row(path: str, entry: LostEntry | None, *, kind: str = "directory", data: bytes = b"") -> ImageEntry:
    """As an entry of an image; without a lost file, what recovering itself makes."""
    if entry is None:
        permissions = 0o755 if kind == "directory" else 0o644
        owner = (os.geteuid(), os.getegid())
        return ImageEntry(path, kind, 0, permissions, owner, 1, 0, len(data), 0, data, None)
    facts = entry.facts
    data = entry.data or b""
    modified_s = facts["modified_s"] or 0
    return ImageEntry(path, facts["kind"], 0, entry.permissions, entry.owner, 1, 0, len(data), modified_s, data, None)


# ---- for people ---------------------------------------------------------------------------------------------


def line(facts: Facts) -> str:
    """How much was found, in a line; empty if nobody has looked."""
    lost = facts["lost"]
    if lost is None:
        return ""
    files = [it for it in lost["files"] if it["kind"] != "directory"]
    if not files:
        return "nothing was found that was deleted or overwritten"
    parts = []
    for why in ("deleted", "overwritten"):
        states = Counter(it["state"] for it in files if it["why"] == why)
        if count := sum(states.values()):
            parts.append(f"{count} {why} ({', '.join(f'{states[state]} {state}' for state in sorted(states))})")
    return f"deleted or overwritten files: {', '.join(parts)}"


def rows(facts: Facts) -> tuple[list[str], list[list[str]]]:
    """The lost files as a table."""
    head = ["file", "what", "state", "size, B", "there, B", "modified", "when"]
    found = facts["lost"]["files"] if facts["lost"] is not None else []
    return head, [
        [
            quoted("/" + it["path"]),
            f"{it['why']} {it['kind']}" if it["kind"] != "file" else it["why"],
            it["state"],
            number(it["size_B"]),
            number(it["held_B"]),
            when(it["modified_s"]),
            when(it["ended_s"]),
        ]
        for it in found
    ]


def when(seconds: int | None) -> str:
    """A time in UTC; "-": no node says it."""
    if seconds is None:
        return "-"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        # A year that no calendar has.
        return f"@{seconds}"


def text(facts: Facts) -> str:
    """What was lost, for a terminal; empty if nobody has looked."""
    lost = facts["lost"]
    if lost is None:
        return ""
    head, cells = rows(facts)
    table = [text_table(head, cells[:SHOWN], "lllrrll")] if cells else []
    more = [f"  ... and {len(cells) - SHOWN} more"] if len(cells) > SHOWN else []
    return "\n".join([line(facts), *table, *more, *(f"note: {one_line(note)}" for note in lost["notes"])])
