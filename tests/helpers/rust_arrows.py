"""Which file of a Rust crate uses which, read from paths in its text, tests left out.

A path such as `crate::gc::Victim`, `super::Victim` or, after `use crate::gc;`, `gc::Victim` is followed to the file
where `Victim` is defined, through re-exports. So a file that only declares modules and re-exports items uses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TESTS = re.compile(
    r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod \w+ \{.*?^\}", re.M | re.S
)
TEST_USE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?(?:use [^;]*|mod \w+);")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.M)
DEFINED = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))? )?(?:(?:async|unsafe|const|extern \"\") )*"
    r"(?:fn|struct|enum|trait|type|const|static|union|macro_rules!) (\w+)",
    re.M,
)
PATH = re.compile(r"(?<![\w:])([a-z_]\w*)((?:::\w+)+)")


def branches(tree: str) -> Iterator[tuple[list[str], str]]:
    """The paths of a use tree, each with the name that it gets: `a::{b, c as d}` has `a::b` as b and `a::c` as d."""
    tree = tree.strip()
    opening = tree.find("{")
    if opening < 0:
        path, _, alias = tree.partition(" as ")
        parts = [part.strip() for part in path.split("::") if part.strip()]
        if parts and parts[-1] == "self":
            parts = parts[:-1]
        if parts:
            yield parts, alias.strip() or parts[-1]
        return
    before = [part.strip() for part in tree[:opening].split("::") if part.strip()]
    depth, start = 0, opening + 1
    inner = tree[opening + 1 : tree.rfind("}")]
    pieces, start = [], 0
    for at, character in enumerate(inner):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            pieces.append(inner[start:at])
            start = at + 1
    for piece in [*pieces, inner[start:]]:
        if piece.strip() == "self":
            yield before, before[-1]
        else:
            for parts, name in branches(piece):
                yield before + parts, name


@dataclass
class File:
    """One module of a crate: what it defines, declares, and names by `use`."""

    path: tuple[str, ...]
    text: str
    children: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    uses: dict[str, list[str]] = field(default_factory=dict)
    globs: list[list[str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "::".join(self.path) or "lib"


def read(path: tuple[str, ...], text: str) -> File:
    text = TEST_USE.sub("", TESTS.sub("", COMMENT.sub("", STRING.sub('""', text))))
    file = File(path, text)
    file.children = set(MODULE.findall(text))
    file.defined = set(DEFINED.findall(text))
    for tree in USE.findall(text):
        for parts, name in branches(re.sub(r"\s+", " ", tree)):
            if name == "*":
                file.globs.append(parts[:-1])
            else:
                file.uses[name] = parts
    file.text = USE.sub("", text)
    return file


class Crate:
    """The files of a crate and the arrows among them."""

    def __init__(self, texts: dict[tuple[str, ...], str]) -> None:
        self.files = {path: read(path, text) for path, text in texts.items()}

    def absolute(self, at: tuple[str, ...], parts: list[str]) -> tuple[str, ...] | None:
        """The path from the root of the crate, or None if it leads into another crate."""
        here = list(at)
        parts = list(parts)
        if parts[0] == "crate":
            return tuple(parts[1:])
        if parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                if parts.pop(0) == "super":
                    here = here[:-1]
            return tuple(here + parts)
        if parts[0] in self.files[at].children:
            return tuple(here + parts)
        return None

    def home(self, path: tuple[str, ...], seen: frozenset[tuple[str, ...]] = frozenset()) -> tuple[str, ...]:
        """The file in which the item of this path is defined; a path to a module itself is that module."""
        at: tuple[str, ...] = ()
        for number, part in enumerate(path):
            if (*at, part) in self.files:
                at = (*at, part)
                continue
            found = self.named(at, part, seen)
            if found is None:
                return at
            rest = path[number + 1 :]
            return self.home((*found, *rest), seen | {path}) if (*found, *rest) not in seen else at
        return at

    def named(self, at: tuple[str, ...], name: str, seen: frozenset[tuple[str, ...]]) -> tuple[str, ...] | None:
        """Where a name that a file does not define comes from, as a path from the root of the crate."""
        file = self.files[at]
        if name in file.defined:
            return None
        if name in file.uses:
            return self.absolute(at, file.uses[name])
        for glob in file.globs:
            source = self.absolute(at, glob)
            if source is None or source in seen:
                continue
            module = self.home(source, seen | {source})
            if module != at and (name in self.files[module].defined or name in self.files[module].uses):
                return (*module, name)
        return None

    def arrows(self) -> Iterator[tuple[str, str]]:
        for at, file in self.files.items():
            targets: set[tuple[str, ...]] = set()
            only_declares = not file.defined and "impl" not in file.text
            words = set(re.findall(r"\w+", file.text))
            for name, parts in file.uses.items():
                path = self.absolute(at, parts)
                if path is not None and path not in self.files and name in words and not only_declares:
                    targets.add(self.home(path))
            if not only_declares:
                targets.update(self.home(path) for glob in file.globs if (path := self.absolute(at, glob)) is not None)
            for first, rest in PATH.findall(file.text):
                parts = [first, *rest.split("::")[1:]]
                if first in file.uses:
                    parts = file.uses[first] + parts[1:]
                path = self.absolute(at, parts)
                if path is not None:
                    targets.add(self.home(path))
            for target in targets - {at}:
                yield file.name, self.files[target].name


def crate_at(folder: Path) -> Crate:
    texts = {}
    source = folder / "src"
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if "tests" in parts or parts[0] == "bin":
            continue
        if parts[-1] == "mod" or parts in (("lib",), ("main",)):
            parts = parts[:-1]
        texts[parts] = path.read_text(encoding="utf-8")
    return Crate(texts)
