"""Whether an answer is as its JSON Schema says."""

from __future__ import annotations

import json
from typing import Any

from ffslab.api import schemas

KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


def disagreements(value: Any, schema: Any, root: Any, at: str = "$") -> list[str]:
    """Where a value is not as its schema says; a key that the schema does not know is a disagreement, too."""
    if schema is True:
        return []
    if "$ref" in schema:
        return disagreements(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    for way in ("anyOf", "oneOf"):
        if way in schema:
            each = [disagreements(value, one, root, at) for one in schema[way]]
            return [] if [] in each else min(each, key=len)
    if "const" in schema or "enum" in schema:
        wanted = schema.get("enum", [schema.get("const")])
        return [] if value in wanted else [f"{at}: {value!r} is none of {wanted}"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, KINDS[kind]) for kind in kinds):
        return [f"{at}: {value!r} is no {' or '.join(kinds)}"]
    if isinstance(value, bool) and kinds and "boolean" not in kinds:
        return [f"{at}: {value!r} is no {' or '.join(kinds)}"]
    found = []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", "properties" not in schema)
        found += [f"{at}: {key} is missing" for key in schema.get("required", []) if key not in value]
        for key, part in value.items():
            if key not in known and others is False:
                found.append(f"{at}: {key} is not in the schema")
            else:
                found += disagreements(part, known.get(key, others), root, f"{at}.{key}")
    if isinstance(value, list):
        parts = schema.get("prefixItems", [schema.get("items", True)] * len(value))
        for index, (part, one) in enumerate(zip(value, parts, strict=True)):
            found += disagreements(part, one, root, f"{at}[{index}]")
    return found


def check(name: str, text: str) -> None:
    schema = json.loads(schemas.text(name))
    assert disagreements(json.loads(text), schema, schema) == []
