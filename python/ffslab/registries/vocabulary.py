"""What experiment files may say: every step and every table with its keys, as their JSON Schema tells it."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import cast

from ffslab import _native, systems
from ffslab._native import InputError

Node = dict[str, object]

# What the top of an experiment file is called here.
TOP = "experiment"
# Units by the end of a key's name.
_UNITS = {
    "B": "B",
    "bytes": "B",
    "KiB": "KiB",
    "ns": "ns",
    "us": "us",
    "ms": "ms",
    "s": "s",
    "hz": "Hz",
    "percent": "%",
}
_PLAIN = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "table",
}


@dataclass(frozen=True)
class Word:
    """A word that may stand as the value of a key."""

    word: str
    about: str


@dataclass(frozen=True)
class Key:
    """A key: what stands there, the unit of a plain number, what holds if it is absent (`None`: `about` says it)."""

    name: str
    kind: str
    unit: str | None
    is_required: bool
    default: str | None
    about: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Entry:
    """A step, or a table of an experiment file."""

    name: str
    head: str
    about: str
    keys: tuple[Key, ...]
    # The keys of an example, in TOML.
    example: tuple[str, ...]


@cache
def steps() -> dict[str, Entry]:
    """All steps by their names, in the order of the schema."""
    schema = _schema()
    step = _node(_node(schema["$defs"])["Step"])
    entries = (_entry(_step_name(one), "[[measure]]", one) for one in cast(list[Node], step["oneOf"]))
    return {entry.name: entry for entry in entries}


@cache
def tables() -> dict[str, Entry]:
    """The tables that are no steps: the top of the file, and the stack of each system by the system's name."""
    schema = _schema()
    defined = _node(schema["$defs"])
    stacks = cast(list[Node], _node(defined["StackTable"])["anyOf"])
    keys = [_node(defined[_name_of(stack)]) for stack in stacks]
    heads = {TOP: _entry(TOP, "the top of the file", schema)}
    return heads | {name: _entry(name, "[stack]", node) for node in keys for name in [_system(node)]}


@cache
def keys_of(table: str) -> dict[str, Key]:
    """The keys of a table of the stack, such as `policy`, by their names; empty: it may hold others, or is none."""
    defined = _node(_schema()["$defs"])
    found: dict[str, Key] = {}
    for stack in cast(list[Node], _node(defined["StackTable"])["anyOf"]):
        node = _node(_node(defined[_name_of(stack)])["properties"]).get(table)
        for inner in [] if node is None else _tables_of(_node(node)):
            if inner.get("additionalProperties") is not False:
                return {}
            entry = _entry(table, f"[stack.{table}]", inner)
            found |= {key.name: key for key in entry.keys}
    return found


def _tables_of(node: Node) -> list[Node]:
    """The tables that may stand at a key."""
    if "$ref" in node:
        return _tables_of(_node(_node(_schema()["$defs"])[_name_of(node)]))
    if "anyOf" in node:
        return [table for part in cast(list[Node], node["anyOf"]) for table in _tables_of(part)]
    return [node] if "properties" in node or "additionalProperties" in node else []


def _system(stack: Node) -> str:
    """The system whose stack it is; the one that is meant where none is named has no key for it."""
    key = _node(_node(stack["properties"]).get("system", {}))
    return _kind(key)[1][0].word if key else systems.DEFAULT.name


def entry(name: str) -> Entry:
    """The step or table that is called so.

    Raises `ffslab.InputError` when none is.
    """
    known = steps() | tables()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 1)
    right = f'did you mean "{near[0]}"?' if near else "`ffslab steps` lists them all"
    raise InputError(f'"{name}" is neither a step nor a table of an experiment: {right}')


@cache
def _schema() -> Node:
    return cast(Node, json.loads(_native.schema("experiment")))


def _node(value: object) -> Node:
    return cast(Node, value)


def _name_of(reference: Node) -> str:
    """The definition that is meant."""
    return str(reference["$ref"]).rpartition("/")[2]


def _step_name(step: Node) -> str:
    return str(_node(_node(step["properties"])["step"])["const"])


def _entry(name: str, head: str, node: Node) -> Entry:
    required = cast(list[str], node.get("required", []))
    properties = cast(dict[str, Node], node["properties"])
    # First what must be said.
    own = [key for key in properties if key != "step"]
    order = [*(key for key in required if key in own), *(key for key in own if key not in required)]
    keys = tuple(_key(key, properties[key], key in required) for key in order)
    examples = cast(list[Node], node.get("examples", []))
    return Entry(name, head, _text(node), keys, tuple(_toml(examples[0], order) if examples else ()))


def _toml(keys: Node, order: list[str]) -> list[str]:
    """Keys as lines of TOML."""
    said = [f"{key} = {_value(keys[key])}" for key in ("step", *order) if key in keys]
    return "\n".join(said).split("\n")


def _value(value: object) -> str:
    """A value in TOML, which writes texts, numbers, truth values and lists of them as JSON does.

    The steps of a step are tables in lines of their own.
    """
    if isinstance(value, dict):
        said = sorted(value, key=lambda key: key != "step")
        return f"{{ {', '.join(f'{key} = {_value(value[key])}' for key in said)} }}"
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return "".join(["[\n", *(f"    {_value(one)},\n" for one in value), "]"])
    return json.dumps(value, ensure_ascii=False)


def _key(name: str, node: Node, is_required: bool) -> Key:
    about = _text(node)
    kind, words = _kind(node)
    default = None
    if not is_required:
        default = _default(node, kind)
    ending = re.split(r"_(?=[^_]+$)", name)[-1]
    unit = _UNITS.get(ending) if kind in ("size", "time", "number", "whole number") else None
    return Key(name, kind, unit, is_required, default, about, words)


def _default(node: Node, kind: str) -> str | None:
    value = node.get("default")
    if value is not None and value not in ([], {}):
        return json.dumps(value, ensure_ascii=False)
    # Where nothing is another answer than "no", the type has a `null` beside it.
    return "false" if kind == "true or false" and node.get("type") == "boolean" else None


def _text(node: Node) -> str:
    """The description in one line."""
    return " ".join(str(node.get("description", "")).split())


def _kind(node: Node) -> tuple[str, tuple[Word, ...]]:
    """What stands at a key, and the words that may."""
    if "$ref" in node:
        name = _name_of(node)
        if name == "Step":
            return "step", ()
        return _kind(_node(_node(_schema()["$defs"])[name]))
    if "oneOf" in node:
        return "word", tuple(word for part in cast(list[Node], node["oneOf"]) for word in _words(part))
    if "anyOf" in node:
        parts = [part for part in cast(list[Node], node["anyOf"]) if part.get("type") != "null"]
        if len(parts) == 1:
            return _kind(parts[0])
        pattern = str(next((part["pattern"] for part in parts if "pattern" in part), ""))
        if pattern:
            return ("size" if "KiB" in pattern else "time"), ()
        return " or ".join(dict.fromkeys(_kind(part)[0] for part in parts)), ()
    if "enum" in node or "const" in node:
        return "word", tuple(_words(node))
    kind = node.get("type")
    if isinstance(kind, list):
        kind = next(one for one in kind if one != "null")
    if kind == "array":
        inner, words = _kind(_node(node.get("items", {})))
        return f"list of {inner}s", words
    return _PLAIN.get(str(kind), "any value"), ()


def _words(node: Node) -> list[Word]:
    values = [node["const"]] if "const" in node else cast(list[object], node.get("enum", []))
    about = _text(node).removesuffix(".") if "const" in node else ""
    return [Word(str(value), about) for value in values if value is not None]
