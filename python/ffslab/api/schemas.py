"""JSON Schemas of what people write and of what ffslab answers, as `ffslab schema` prints them.

Those of what the native half reads and writes are its own. Those of what Python makes are made from the types here.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from importlib import import_module

from ffslab import _native
from ffslab._native import InputError
from ffslab.files.asked_tables import TABLES
from ffslab.files.toml_tables import meant
from ffslab.registries.vocabulary import Node

# What Python makes: what it is, and its type.
MADE_HERE = {
    "image": ("what `inspect --json` prints of an image", "ffslab.answers.image", "Facts"),
    "built_image": ("what stands in the image of a chip", "ffslab.answers.built_image", "BuiltImage"),
    "image_lint": ("whether an image fits a part", "ffslab.answers.image_lint", "ImageLint"),
    "lifetime": ("how long a part bears workloads", "ffslab.answers.lifetime", "Lifetime"),
    "whole_lives": ("what happened in simulated lives", "ffslab.answers.whole_lives", "WholeLivesAnswer"),
    "ageing_study": ("how a partition ages", "ffslab.answers.ageing_study", "AgeingStudy"),
    "trace_report": ("what logs of flash say", "ffslab.answers.trace_report", "TraceReport"),
    "trace_diff": ("two sessions of logs beside each other", "ffslab.answers.trace_diff", "TraceDiff"),
    "calibration": ("what a calibration found", "ffslab.answers.calibration", "CalibrationFacts"),
    "card": ("what was fitted to the lines of a probe of a card", "ffslab.answers.card", "CardFacts"),
    "card_cuts": ("what power cuts of a session of a card leave", "ffslab.answers.card_cuts", "CardCuts"),
    "profile_difference": (
        "what differs between two profiles",
        "ffslab.answers.profile_difference",
        "ProfileDifference",
    ),
    "evidence": ("published measurements of other boards beside ours", "ffslab.answers.evidence", "Evidence"),
    "reproduction": ("a published study beside ours", "ffslab.answers.reproduction", "JudgedPaper"),
    "study": ("what a study of many runs found", "ffslab.answers.study", "StudyAnswer"),
    "advice": ("which settings to take", "ffslab.answers.advice", "Advice"),
    "uflip_study": ("devices under the uFLIP benchmark", "ffslab.answers.uflip_study", "UflipStudy"),
    "run_diff": ("two results beside each other", "ffslab.answers.run_diff", "RunDiff"),
    "budgets": ("what keeps its budget, and what does not", "ffslab.answers.budgets", "BudgetsAnswer"),
    "doctor": ("what is installed, and what is missing for what", "ffslab.answers.doctor", "DoctorAnswer"),
    "crashtest": ("what power cuts of a workload leave", "ffslab.answers.crashtest", "CrashAnswer"),
    "comparison": ("a board's traces beside a replay of them", "ffslab.answers.comparison", "BoardComparison"),
}
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def names() -> dict[str, str]:
    """What has a schema, and what it is."""
    return dict(_native.schemas()) | {name: about for name, (about, _, _) in MADE_HERE.items()}


def text(name: str) -> str:
    """The schema of what is called so, for people and editors.

    Raises `ffslab.InputError` when nothing is.
    """
    known = list(names())
    if name not in known:
        raise InputError(f'schema "{name}"{meant(name, known)}')
    if name not in MADE_HERE:
        schema = json.loads(_native.schema(name))
        return json.dumps(_with_asked(schema) if name == "experiment" else schema, indent=2)
    _, module, kind = MADE_HERE[name]
    return json.dumps(schema_of(getattr(import_module(module), kind)), indent=2)


def _with_asked(schema: dict[str, dict[str, object]]) -> Node:
    """The schema of an experiment with the tables in which verbs are asked, which are Python's."""
    defined: dict[str, Node] = {}
    nodes = {key: _object(kind, defined) for key, kind in TABLES.items()}
    for node in (*nodes.values(), *defined.values()):
        # A key that nobody reads is refused.
        node["additionalProperties"] = False
    return {
        **schema,
        "properties": {**schema["properties"], **nodes},
        "$defs": dict(sorted({**schema["$defs"], **defined}.items())),
    }


def schema_of(kind: type) -> Node:
    """The JSON Schema of a TypedDict."""
    defined: dict[str, Node] = {}
    own = _object(kind, defined)
    head: Node = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind.__name__}
    return {**head, **own, "$defs": dict(sorted(defined.items()))}


def _object(kind: type, defined: dict[str, Node]) -> Node:
    hints = typing.get_type_hints(kind, localns=_aliases_of(kind), include_extras=True)
    not_required = {key for key, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
    # Those of a TypedDict with `total=False` are only in the second set.
    required = sorted(hints.keys() - not_required - getattr(kind, "__optional_keys__", frozenset()))
    properties = {key: _node(typing.get_args(h)[0] if key in not_required else h, defined) for key, h in hints.items()}
    about: Node = {"description": " ".join(kind.__doc__.split())} if kind.__doc__ else {}
    return {**about, "type": "object", "properties": properties, "required": required}


def _aliases_of(kind: type) -> dict[str, object]:
    """Aliases that are written as text in a type's module, and what they stand for: "A" | None is none, A | None is.

    An alias of itself (`Json`) stays text, which Python resolves as far as it must.
    """
    names = vars(sys.modules[kind.__module__])
    texts = {name: value for name, value in names.items() if name[0].isupper() and isinstance(value, str)}
    return {name: eval(value, dict(names)) for name, value in texts.items() if name not in value}


def _node(hint: object, defined: dict[str, Node]) -> Node | bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and hint in PLAIN:
        return {"type": PLAIN[hint]}
    if isinstance(hint, type) and typing.is_typeddict(hint):
        if hint.__name__ not in defined:
            defined[hint.__name__] = {}
            defined[hint.__name__] = _object(hint, defined)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _node(parts[0], defined)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_node(part, defined) for part in parts], "minItems": len(parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _node(parts[1], defined)}
    if origin in (typing.Union, types.UnionType):
        # `Json` is a union with itself inside: anything.
        if any(
            typing.get_origin(part) is list and isinstance(typing.get_args(part)[0], typing.ForwardRef)
            for part in parts
        ):
            return True
        return {"anyOf": [_node(part, defined) for part in parts]}
    return True
