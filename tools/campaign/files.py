"""A model of what a file system holds: names, folders, files with several names; and what a power cut must leave.

It says what POSIX says. In which a system may differ from that, `calls` knows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

# What a path stands for after a power cut, when nobody can say.
FOLDER = None


@dataclass(eq=False)
class Node:
    """A file, whatever its names."""

    data: bytearray = field(default_factory=bytearray)

    def put(self, data: bytes, at: int) -> None:
        """A write; zeros fill what lies between the end and its begin."""
        if data:
            self.data.extend(bytes(max(0, at - len(self.data))))
            self.data[at : at + len(data)] = data

    def cut(self, size: int) -> None:
        """ftruncate(2)."""
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


@dataclass
class Files:
    """What is there now, by path."""

    names: dict[str, Node] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def snapshot(self) -> dict[str, bytes | None]:
        """Content of each file, `FOLDER` for folders."""
        files: dict[str, bytes | None] = {path: bytes(node.data) for path, node in self.names.items()}
        return files | dict.fromkeys(self.folders, FOLDER)

    def paths_of(self, node: Node) -> list[str]:
        """All its names."""
        return [path for path, other in self.names.items() if other is node]

    def has(self, path: str) -> bool:
        return path in self.names or path in self.folders

    def below(self, folder: str) -> list[str]:
        """Paths of everything in a folder, however deep."""
        return [path for path in (*self.names, *self.folders) if is_below(path, folder)]

    # ---- what POSIX refuses ---------------------------------------------------------------------------------

    def _no_place(self, path: str) -> str | None:
        """Why nothing can be looked for there."""
        parent = parent_of(path)
        while parent:
            if parent in self.names:
                return "ENOTDIR"
            if parent not in self.folders:
                return "ENOENT"
            parent = parent_of(parent)
        return None

    def why_not(self, op: str, path: str, to: str = "") -> str | None:
        """The error in which a call ends; `None`: it is done."""
        if why := self._no_place(path):
            return why
        match op:
            case "write":
                return "EISDIR" if path in self.folders else None
            case "read" | "truncate" | "fsync" | "unlink":
                return "EISDIR" if path in self.folders else None if path in self.names else "ENOENT"
            case "mkdir":
                return "EEXIST" if self.has(path) else None
            case "rmdir":
                if path not in self.folders:
                    return "ENOTDIR" if path in self.names else "ENOENT"
                return "ENOTEMPTY" if self.below(path) else None
            case "link":
                if path not in self.names:
                    return "EPERM" if path in self.folders else "ENOENT"
                return self._no_place(to) or ("EEXIST" if self.has(to) else None)
            case "rename":
                return self._why_not_rename(path, to)
        raise ValueError(op)

    def _why_not_rename(self, path: str, to: str) -> str | None:
        if not self.has(path):
            return "ENOENT"
        if path in self.folders and is_below(to, path):
            return "EINVAL"
        if why := self._no_place(to):
            return why
        if path == to:
            return None
        if path in self.folders:
            if to in self.names:
                return "ENOTDIR"
            return "ENOTEMPTY" if to in self.folders and self.below(to) else None
        return "EISDIR" if to in self.folders else None

    # ---- what is done ---------------------------------------------------------------------------------------

    def create(self, path: str) -> Node:
        return self.names.setdefault(path, Node())

    def rename(self, path: str, to: str) -> None:
        """Two names of one file both stay, as POSIX demands."""
        if path == to:
            return
        if path in self.names:
            if self.names.get(to) is not self.names[path]:
                self.names[to] = self.names.pop(path)
            return
        self.folders.discard(to)
        for old in [path, *self.below(path)]:
            new = to + old[len(path) :]
            if old in self.names:
                self.names[new] = self.names.pop(old)
            else:
                self.folders.discard(old)
                self.folders.add(new)

    def change(self, op: str, path: str, to: str = "") -> None:
        """A call that changes names."""
        match op:
            case "unlink":
                del self.names[path]
            case "mkdir":
                self.folders.add(path)
            case "rmdir":
                self.folders.discard(path)
            case "link":
                self.names[to] = self.names[path]
            case "rename":
                self.rename(path, to)


@dataclass
class Promises:
    """What must be there after a power cut: what was synced, and not touched since."""

    # The last state that was synced as a whole, with files that were synced one by one since.
    synced: dict[str, bytes | None] = field(default_factory=dict)
    is_anything: bool = False
    # Of these any content is right, or any kind and none.
    changed: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)

    def all_synced(self, files: Files) -> None:
        self.synced, self.is_anything = files.snapshot(), True
        self.changed, self.moved = set(), set()

    def file_synced(self, files: Files, node: Node) -> None:
        """A name that is not synced itself, or was changed since, may still be lost."""
        for path in files.paths_of(node):
            if path in self.synced and not self._is_moved(path):
                self.synced[path] = bytes(node.data)
                self.changed.discard(path)

    def _is_moved(self, path: str) -> bool:
        return path in self.moved or any(is_below(path, folder) for folder in self.moved)

    def broken_by(self, found: dict[str, bytes | None]) -> Iterator[str]:
        """What is wrong with the files after a cut."""
        if not self.is_anything:
            return
        for path in sorted({*self.synced, *found}):
            if self._is_moved(path):
                continue
            if path not in self.synced:
                yield f"{path} is there, which nobody made"
            elif path not in found:
                yield f"{path} is gone, which was synced"
            elif (found[path] is FOLDER) != (self.synced[path] is FOLDER):
                yield f"{path} is of another kind than what was synced"
            elif path not in self.changed and found[path] != self.synced[path]:
                yield f"{path}: {difference(self.synced[path] or b'', found[path] or b'')}, which was synced"


def difference(wanted: bytes, found: bytes) -> str:
    """In a few words."""
    if len(wanted) != len(found):
        return f"{len(found)} B instead of {len(wanted)} B"
    at = next((at for at, (a, b) in enumerate(zip(wanted, found, strict=True)) if a != b), len(wanted))
    return f"byte {at} of {len(wanted)} is {found[at : at + 4].hex()} instead of {wanted[at : at + 4].hex()}"


def tree_difference(wanted: dict[str, bytes | None], found: dict[str, bytes | None]) -> str:
    """The first thing that is another."""
    for path in sorted({*wanted, *found}):
        if path not in found:
            return f"{path[:40]} is missing"
        if path not in wanted:
            return f"{path[:40]} is there, and should not be"
        if wanted[path] != found[path]:
            if wanted[path] is FOLDER or found[path] is FOLDER:
                return f"{path[:40]} is of another kind"
            return f"{path[:40]}: {difference(wanted[path] or b'', found[path] or b'')}"
    return "nothing"


def content(kind: str, size: int, seed: int) -> bytes:
    """Bytes that compress well, not at all, or that are zeros."""
    draw = random.Random(seed)
    if kind == "random":
        return draw.randbytes(size)
    if kind == "zero":
        return bytes(size)
    words = [draw.randbytes(3).hex().encode() for _ in range(9)]
    text = b" ".join(draw.choice(words) for _ in range(min(size, 400) // 7 + 1))
    return (text * (size // max(1, len(text)) + 1))[:size]
