"""Arrows run one way: what uses what is computed from the code. Circles that are left stand in a list that shrinks.

DESIGN.md states the order of crates and of the Python package's rooms; here it is compared with manifests and imports.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from helpers.circles import circles, graph_of
from helpers.command import ROOT
from helpers.python_arrows import Arrow, arrows, arrows_of, modules, room_of
from helpers.rust_arrows import Crate, crate_at

# The circles of today by one of their members, with their sizes. Nothing is added here: new circles are opened instead.
ALLOWED = tomllib.loads((ROOT / "tests/project/circles.toml").read_text(encoding="utf-8"))


def compared(where: str, found: Iterable[list[str]], allowed: Mapping[str, int]) -> list[str]:
    """What is wrong with the circles found, beside those that are allowed."""
    wrong = []
    missing = dict(allowed)
    for members in found:
        name = next((member for member in members if member in missing), None)
        size = missing.pop(name) if name is not None else 0
        if len(members) > size:
            grown = f"grew from {size} to {len(members)}" if size else f"a new circle of {len(members)}"
            wrong.append(f"{where}: {grown}: {', '.join(members)}; let what both need stand below both")
        elif len(members) < size:
            wrong.append(f"{where}: the circle of {name} shrank from {size} to {len(members)}: write that down")
    gone = [f"{where}: the circle of {name} is open: take it from the list" for name in missing]
    return wrong + gone


# ---- Python -------------------------------------------------------------------------------------------------


def python_circles(*, with_types: bool) -> list[list[str]]:
    edges = ((arrow.source, arrow.target) for arrow in arrows() if with_types or not arrow.types_only)
    return circles(graph_of(edges))


def test_python_modules_run_in_no_circle() -> None:
    assert python_circles(with_types=False) == [], "let what both need stand below both"


def test_python_modules_name_types_in_no_circle() -> None:
    assert python_circles(with_types=True) == [], "let the type stand below those that name it"


def test_an_import_in_a_function_closes_a_circle() -> None:
    known = ("ffslab.a", "ffslab.b", "ffslab.c")
    lazy = "def f():\n    from ffslab import a\n"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ffslab.b import B\n"
    found = [*arrows_of("ffslab.a", "from ffslab.b import g", known), *arrows_of("ffslab.b", lazy, known)]
    assert circles(graph_of((arrow.source, arrow.target) for arrow in found)) == [["ffslab.a", "ffslab.b"]]
    assert list(arrows_of("ffslab.c", typed, known)) == [Arrow("ffslab.c", "ffslab.b", 3, True)]


# ---- the order of rooms and of crates -----------------------------------------------------------------------


def stated(heading: str) -> list[list[str]]:
    """The names at the beginning of each line of the first indented block below a heading of DESIGN.md, top first."""
    design = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", design, re.M | re.S)
    assert section, f"DESIGN.md has no section {heading!r}"
    block = re.search(r"^    .*?(?=^\S|\Z)", section[1], re.M | re.S)
    assert block, f"DESIGN.md, {heading}: no block that states an order"
    lines = [re.split(r"\s{2,}", line.strip())[0] for line in block[0].splitlines() if line.strip()]
    return [re.findall(r"[\w-]+", line) for line in lines if re.match(r"\w", line)]


def depths(order: list[list[str]]) -> dict[str, int]:
    names = [name for line in order for name in line]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert twice == [], f"DESIGN.md names them twice: {twice}"
    return {name: depth for depth, line in enumerate(order) for name in line}


def upward(edges: Iterable[tuple[str, str, str]], depth: Mapping[str, int]) -> list[str]:
    """The edges (who, whom, where) that do not lead downwards."""
    return [
        f"{where}: {who} uses {whom}, which does not stand below it"
        for who, whom, where in edges
        if depth[who] >= depth[whom]
    ]


def between_rooms() -> Iterator[tuple[str, str, str]]:
    for arrow in arrows():
        rooms = room_of(arrow.source), room_of(arrow.target)
        if rooms[0] != rooms[1]:
            yield (*rooms, f"{modules()[arrow.source].relative_to(ROOT)}, line {arrow.line}")


def test_rooms_of_the_package_use_only_rooms_below_them() -> None:
    depth = depths(stated("Python above, Rust below"))
    assert sorted(depth) == sorted({room_of(module) for module in modules()})
    assert upward(between_rooms(), depth) == []


@cache
def manifests() -> dict[str, dict[str, Any]]:
    return {
        path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.glob("crates/*/Cargo.toml"))
    }


def dependencies(manifest: Mapping[str, Any]) -> list[str]:
    tables = [manifest, *manifest.get("target", {}).values()]
    names = [name for table in tables for name in table.get("dependencies", {})]
    return [name.removeprefix("ffslab-") for name in names if name.startswith("ffslab-")]


def test_crates_depend_only_on_crates_below_them() -> None:
    depth = depths(stated("The floors"))
    assert sorted(depth) == sorted(manifests())
    edges = [
        (name, below, f"crates/{name}/Cargo.toml")
        for name, manifest in manifests().items()
        for below in dependencies(manifest)
    ]
    assert len(edges) > 100
    assert upward(edges, depth) == []


def test_the_check_of_orders_refuses_an_arrow_upwards() -> None:
    depth = depths([["cli"], ["api", "store"], ["text"]])
    assert upward([("cli", "text", "a"), ("api", "store", "b"), ("text", "cli", "c")], depth) == [
        "b: api uses store, which does not stand below it",
        "c: text uses cli, which does not stand below it",
    ]


# ---- files of a crate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("crate", sorted(manifests()))
def test_files_of_a_crate_use_one_another_in_no_new_circle(crate: str) -> None:
    found = circles(graph_of(crate_at(ROOT / "crates" / crate).arrows()))
    assert compared(f"crates/{crate}", found, ALLOWED["rust"].get(crate, {})) == []


def test_paths_of_rust_are_followed_to_where_an_item_is_defined() -> None:
    texts = {
        (): "mod gc;\nmod ledger;\npub use ledger::Ledger;\npub fn mount() { gc::run() }",
        ("gc",): "use crate::{Ledger, ledger};\n// crate::mount\npub fn run() -> Ledger { ledger::new() }\n"
        "#[cfg(test)]\nmod tests {\n    use crate::mount;\n    fn t() { mount() }\n}\n",
        ("ledger",): "pub struct Ledger;\npub fn new() -> Ledger { Ledger }",
    }
    assert sorted(set(Crate(texts).arrows())) == [("gc", "ledger"), ("lib", "gc")]
    texts["ledger",] += "\npub fn audit() { super::gc::run() }"
    assert circles(graph_of(Crate(texts).arrows())) == [["gc", "ledger"]]


def test_a_circle_that_grows_or_shrinks_is_told() -> None:
    assert compared("x", [["a", "b"]], {"a": 2}) == []
    assert compared("x", [["a", "b"]], {}) == ["x: a new circle of 2: a, b; let what both need stand below both"]
    assert compared("x", [["a", "b", "c"]], {"b": 2})[0].startswith("x: grew from 2 to 3: a, b, c;")
    assert compared("x", [["a", "b"]], {"b": 3}) == ["x: the circle of b shrank from 3 to 2: write that down"]
    assert compared("x", [], {"b": 3}) == ["x: the circle of b is open: take it from the list"]
