"""Which modules of `ffslab` import which, read from their text, and the circles among them.

An import inside a function is an arrow like any other: it hides a circle from the interpreter, not from a reader.
Imports under `TYPE_CHECKING` are kept apart, since nothing runs by them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from helpers.command import ROOT

PACKAGE = ROOT / "python" / "ffslab"


class Arrow(NamedTuple):
    """One import: who imports whom, on which line, and whether it is for types alone."""

    source: str
    target: str
    line: int
    types_only: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The package below `ffslab` in which a module stands, or the name of a module that stands in none."""
    return module.split(".")[1] if "." in module else module


@cache
def modules() -> Mapping[str, Path]:
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(tree: ast.AST, types_only: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, types_only
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.body:
                yield from imports_of(ast.Module(body=[child], type_ignores=[]), True)
        else:
            yield from imports_of(node, types_only)


def arrows_of(source: str, text: str, known: Iterable[str]) -> Iterator[Arrow]:
    known = frozenset(known)
    for node, types_only in imports_of(ast.parse(text)):
        if isinstance(node, ast.Import):
            named = [name.name for name in node.names]
        else:
            assert node.level == 0, f"{source}, line {node.lineno}: a relative import; write its full name"
            inner = [f"{node.module}.{name.name}" for name in node.names if name.name != "_native"]
            named = [name if name in known else str(node.module) for name in inner]
        for target in dict.fromkeys(named):
            if target in known and target != source:
                yield Arrow(source, target, node.lineno, types_only)


@cache
def arrows() -> tuple[Arrow, ...]:
    return tuple(
        arrow
        for source, path in modules().items()
        for arrow in arrows_of(source, path.read_text(encoding="utf-8"), modules())
    )
