"""The steps and the keys of machines as functions and types of Python, made from the JSON Schema of experiments:
python/ffslab/steps.py and python/ffslab/answers/typed_keys.py.

    python tools/native_steps.py

writes them; tests/api/test_steps.py fails when they are not what this makes. So an editor completes steps and keys, and
mypy finds one that is misspelt.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from pathlib import Path

from ffslab import _native
from native_types import Node, as_node, formatted, nodes, type_of

PACKAGE = Path(__file__).resolve().parent.parent / "python/ffslab"
STEPS = PACKAGE / "steps.py"
KEYS = PACKAGE / "answers/typed_keys.py"
# Names to which a program may add its own.
OPEN_NAMES = ("fs", "medium", "system")
OF_EVERY_STACK = ("system", "board", "fs", "partition_blocks")
WIDTH = 114

STEPS_HEAD = '''\
"""The steps of experiments as functions, for `Experiment.of`: an editor and mypy find a misspelt step or key.

>>> from ffslab import Experiment, steps
>>> setup = [steps.mount(), steps.create(file="log", bytes="5 MiB"), steps.sync()]

What is not said, or `None`, is left to its default. Made by tools/native_steps.py from `ffslab schema`.
"""

# long file: it is made, and a list of all steps.
from __future__ import annotations

from collections.abc import Sequence

__IMPORTS__
# A step: its name under "step", its keys.
Step = dict[str, object]
'''
KEYS_HEAD = '''\
"""What mypy knows of the keys of a machine and of `Stack.step`. Made by tools/native_steps.py from `ffslab schema`."""

# long file: it is made, and a list of all steps.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict, overload

__WORDS__


def said_step(name: str, /, **keys: object) -> dict[str, object]:
    """A step with the keys that are said. A key that is a word of Python has an underscore behind it there."""
    said = {key.rstrip("_"): value for key, value in keys.items() if value is not None}
    return {"step": name, **said}
'''


RUN_STEP = '''
    def step(self, step: str, /, **keys: object) -> None:
        """Runs a step of the experiments' vocabulary: `stack.step("fill", file="x")`.

        Files that it opens or expects to be open are the steps' own, beside those of `open`.
        """
        self._run_step(said_step(step, **keys))

    def _run_step(self, step: dict[str, object]) -> None:
        raise NotImplementedError
'''


def definitions() -> dict[str, Node]:
    """What is defined in the schema of experiments."""
    schema = as_node(json.loads(_native.schema("experiment")))
    return {name: as_node(node) for name, node in as_node(schema["$defs"]).items()}


def typed(value: object, known: dict[str, Node]) -> str:
    """The type of a key. Words are named as in Rust; lists are any sequences, tables any dictionaries."""
    text = type_of(value).replace(", null]", "] | None")
    for name, node in known.items():
        if "anyOf" in node and name in text.split(" | "):
            text = text.replace(name, typed(node, known))
        if "properties" in node:
            text = " | ".join("Mapping[str, object]" if part == name else part for part in text.split(" | "))
    return text.replace("list[", "Sequence[").replace("Json", "object")


def words(known: dict[str, Node], text: str) -> dict[str, str]:
    """Types that are one of several words and stand in a text."""
    used = sorted(set(re.findall(r"\w+", text)) & known.keys() - {"Step", "StackTable"})
    named = {name: type_of(known[name]) for name in used if "properties" not in known[name]}
    return {name: literal for name, literal in named.items() if literal.startswith("Literal")}


def name_of_step(step: Node) -> str:
    """As it stands under the key `step`."""
    return str(as_node(as_node(step["properties"])["step"])["const"])


def parameters(step: Node, known: dict[str, Node]) -> list[str]:
    """Those of a step's function, in the order of the schema, what is required first."""
    required = step["required"]
    assert isinstance(required, list)
    made = []
    for key, value in sorted(as_node(step["properties"]).items(), key=lambda item: _rank(item[0], required)):
        name = f"{key}_" if keyword.iskeyword(key) else key
        text = typed(value, known)
        optional = text if "None" in text.split(" | ") else f"{text} | None"
        if key != "step":
            made.append(f"{name}: {text}" if key in required else f"{name}: {optional} = None")
    return made


def _rank(key: str, required: list[object]) -> tuple[bool, bool]:
    """What a step works on stands first, then what else it needs."""
    return key not in required, key not in ("file", "dir", "from")


def about(step: Node, indent: str) -> str:
    """The docstring of a step's function."""
    lines = textwrap.wrap(str(step["description"]), WIDTH - len(indent))
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""'
    return f'{indent}"""' + f"\n{indent}".join(lines) + f'\n{indent}"""'


def step_functions() -> str:
    """The module of the functions."""
    known = definitions()
    parts = [STEPS_HEAD]
    for step in nodes(known["Step"]["oneOf"]):
        name = json.dumps(name_of_step(step))
        given = parameters(step, known)
        passed = "".join(f", {each.split(':')[0]}={each.split(':')[0]}" for each in given)
        star = ", ".join(["*", *given] if given else [])
        head = f"\n\ndef {name_of_step(step)}({star}) -> Step:\n"
        parts.append(f"{head}{about(step, '    ')}\n    return said_step({name}{passed})\n")
    text = "".join(parts)
    names = ", ".join([*words(known, text), "said_step"])
    return formatted(text.replace("__IMPORTS__", f"from ffslab.answers.typed_keys import {names}\n"), "../steps")


def keys_and_calls() -> str:
    """The module of the keys of machines and of the overloads of `Stack.step`."""
    known = definitions()
    tables = [known[str(as_node(each)["$ref"]).rpartition("/")[2]] for each in nodes(known["StackTable"]["anyOf"])]
    types: dict[str, list[str]] = {}
    for table in tables:
        for key, value in as_node(table["properties"]).items():
            found = types.setdefault(key, [])
            value = {"type": "string"} if key in OPEN_NAMES else value
            found += [part for part in typed(value, known).split(" | ") if part not in [*found, "None"]]
    fields = {key: " | ".join(dict.fromkeys([*parts, "None"])) for key, parts in sorted(types.items())}
    own = [f"    {key}: {text}" for key, text in fields.items() if key not in OF_EVERY_STACK]
    every = [f"    {key}: {fields[key]}" for key in OF_EVERY_STACK]
    parts = [KEYS_HEAD]
    parts.append('\n\nclass OtherKeys(TypedDict, total=False):\n    """Keys of machines that only some have."""\n\n')
    parts.append("\n".join(own))
    parts.append(
        '\n\n\nclass MachineKeys(OtherKeys, total=False):\n    """The `[stack]` table of an experiment."""\n\n'
    )
    parts.append("\n".join(every))
    parts.append('\n\n\nclass StepCalls:\n    """`step` of a stack, with the keys of each step."""\n')
    for step in nodes(known["Step"]["oneOf"]):
        given = parameters(step, known)
        star = ", ".join(["", "*", *given]) if given else ""
        name = json.dumps(name_of_step(step))
        parts.append(f"\n    @overload\n    def step(self, step: Literal[{name}], /{star}) -> None: ...\n")
    parts.append(RUN_STEP)
    # What `Step` is in the module of the functions, which imports this one.
    text = "".join(parts).replace("Sequence[Step]", "Sequence[Mapping[str, object]]")
    aliases = [f"{name}: TypeAlias = {literal}" for name, literal in words(known, text).items()]
    return formatted(text.replace("__WORDS__", "\n".join(aliases)), "../answers/typed_keys")


def main() -> None:
    """Writes the modules."""
    STEPS.write_text(step_functions(), encoding="utf-8")
    KEYS.write_text(keys_and_calls(), encoding="utf-8")


if __name__ == "__main__":
    main()
