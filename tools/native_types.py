"""The types of Python for what the native half answers, made from its JSON Schemas: python/ffslab/answers/*.py.

    python tools/native_types.py

writes them; tests/api/test_schemas.py fails when they are not what this makes. What is an object becomes a TypedDict,
so that a result stays what `json.loads` makes of it, and mypy knows each key.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
from pathlib import Path

from ffslab import _native

FOLDER = Path(__file__).resolve().parent.parent / "python/ffslab/answers"
# The schemas whose types stand in a module. One that several modules need stands in the first.
MODULES = {
    "stacks": ["stack"],
    "summary": ["variant", "summary"],
    "machine": ["plan", "totals", "activity", "keys"],
    "inspection": ["partitions", "inspection"],
    "validation": ["validation"],
    "profile": ["profiles", "profile"],
    "mount": ["mount"],
    "ageing": ["ageing"],
    "lives": ["lives"],
}
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
LINE_MAX = 120

Node = dict[str, object]


def as_node(value: object) -> Node:
    assert isinstance(value, dict)
    return value


def nodes(value: object) -> list[Node]:
    assert isinstance(value, list)
    return [as_node(each) for each in value]


def name_of(reference: object) -> str:
    """The name of a type, without what Rust's generic types make of it."""
    name = str(reference).rpartition("/")[2]
    return re.sub(r"^Result_of_(\w+)_or_string$", r"\1OrWhy", name)


def union(types: list[str]) -> str:
    """One of several types; literals of texts are one literal."""
    types = [part for text in types for part in text.split(" | ")]
    texts = dict.fromkeys(part for text in types if text.startswith("Literal[") for part in text[8:-1].split(", "))
    others = [text for text in types if not text.startswith("Literal[")]
    return " | ".join(dict.fromkeys([*([f"Literal[{', '.join(texts)}]"] if texts else []), *others]))


def type_of(value: object) -> str:
    """A schema as an expression of Python's types."""
    if value is True or not set(as_node(value)) - {"description", "default"}:
        return "Json"
    node = as_node(value)
    if "$ref" in node:
        return name_of(node["$ref"])
    if "const" in node or "enum" in node:
        texts = node.get("enum", [node.get("const")])
        assert isinstance(texts, list)
        return f"Literal[{', '.join(json.dumps(text) for text in texts)}]"
    for way in ("anyOf", "oneOf"):
        if way in node:
            return union([type_of(each) for each in nodes(node[way])])
    kind = node["type"]
    if isinstance(kind, list):
        return union([type_of({**node, "type": each}) for each in kind])
    if kind == "array":
        items = node.get("prefixItems", [node.get("items", True)])
        assert isinstance(items, list)
        return f"list[{union([type_of(item) for item in items])}]"
    if kind == "object":
        return f"dict[str, {type_of(node.get('additionalProperties', True))}]"
    return PLAIN[str(kind)]


def fields_of(node: Node, known: dict[str, Node]) -> dict[str, str] | None:
    """The keys of an object and their types; of what is one of several objects the keys of all of them."""
    if "$ref" in node:
        return fields_of(known[name_of(node["$ref"])], known)
    if "properties" in node:
        required = node.get("required", [])
        assert isinstance(required, list)
        types = {key: type_of(each) for key, each in as_node(node["properties"]).items()}
        return {key: text if key in required else f"NotRequired[{text}]" for key, text in types.items()}
    several = [fields_of(each, known) for way in ("anyOf", "oneOf") for each in nodes(node.get(way, []))]
    objects = [fields for fields in several if fields is not None]
    if not objects or len(objects) < len(several):
        return None
    merged: dict[str, str] = {}
    for key in dict.fromkeys(key for fields in objects for key in fields):
        found = [fields[key] for fields in objects if key in fields]
        plain = union(
            [text.removeprefix("NotRequired[").removesuffix("]") if "NotRequired" in text else text for text in found]
        )
        always = len(found) == len(objects) and not any("NotRequired" in text for text in found)
        merged[key] = plain if always else f"NotRequired[{plain}]"
    return merged


def definition(name: str, known: dict[str, Node]) -> str:
    """A named thing as a class or an alias."""
    node = known[name]
    fields = fields_of(node, known)
    if fields is None:
        # A name that is not defined yet must be a text.
        text = type_of(node)
        return f"{name}: TypeAlias = {text if text.startswith('Literal') else json.dumps(text)}\n"
    about = " ".join(str(node.get("description", "")).replace("[`", "`").replace("`]", "`").split())
    first = about.split(". ")[0].rstrip(".:") if about else name
    said = f'"""{first}."""' if len(first) < LINE_MAX - 11 else f'"""{first[: LINE_MAX - 14]}..."""'
    if all(key.isidentifier() and not keyword.iskeyword(key) for key in fields):
        return "\n".join([f"class {name}(TypedDict):", f"    {said}\n", *(f"    {k}: {t}" for k, t in fields.items())])
    lines = [f"    {json.dumps(key)}: {text!r}," for key, text in fields.items()]
    return "\n".join([f"# {first}.", f'{name} = TypedDict("{name}", {{', *lines, "})"])


def sources() -> dict[str, str]:
    """The text of each module."""
    homes: dict[str, str] = {}
    known: dict[str, Node] = {}
    made = {}
    for module, schemas in MODULES.items():
        for schema in (as_node(json.loads(_native.schema(name))) for name in schemas):
            named = {name_of(name): as_node(node) for name, node in as_node(schema.get("$defs", {})).items()}
            if schema.get("type") != "array":
                named[name_of(schema["title"])] = {
                    k: v for k, v in schema.items() if k not in ("$schema", "title", "$defs")
                }
            for name, node in named.items():
                homes.setdefault(name, module)
                assert known.setdefault(name, node) == node, f"two things are called {name}"
        own = "\n\n\n".join(definition(name, known) for name in sorted(known) if homes[name] == module)
        # Above a class there are two lines, above anything else one.
        gap = "\n\n" if own.startswith("class ") else "\n"
        made[module] = formatted(f"{head(own, homes, module)}{gap}{own}\n", module)
    return made


def head(text: str, homes: dict[str, str], module: str) -> str:
    """What stands above the definitions."""
    words = set(re.findall(r"\w+", text))
    typing = sorted(words & {"Literal", "NotRequired", "TypeAlias", "TypedDict"})
    lines = [f"from typing import {', '.join(typing)}\n"]
    lines += ["from ffslab.answers import Json"] * ("Json" in words)
    for other in sorted(MODULES):
        names = sorted(name for name, home in homes.items() if home == other and name in words)
        lines += [f"from ffslab.answers.{other} import {', '.join(names)}"] * (other != module and bool(names))
    about = f'"""Made by tools/native_types.py from `ffslab schema {" and ".join(MODULES[module])}`."""'
    return "\n".join([about, "\nfrom __future__ import annotations\n", *lines])


def formatted(text: str, module: str) -> str:
    ruff = [
        str(Path(sys.executable).with_name("ruff")),
        "format",
        "--stdin-filename",
        str(FOLDER / f"{module}.py"),
        "-",
    ]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Writes the modules."""
    for module, text in sources().items():
        (FOLDER / f"{module}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
