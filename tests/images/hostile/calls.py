"""What is thrown at which verb: the verbs and their parameters are those that the command itself registers."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ffslab.cli.root import made

# Texts for names, patterns and numbers. A file cannot be called like some of them, an argument can.
TEXTS = (
    "",
    " ",
    "-",
    "--",
    "..",
    "../../../../etc/passwd",
    "./no-such.toml",
    "/dev/zero",
    "./huge-part.toml",
    "./loop",
    "nan",
    "1e400",
    "-1",
    "0",
    "99999999999999999999999999",
    "9" * 5000,
    "[" * 60_000,
    "\u001b]0;owned\u0007",
    "\u202eevil\n<script>",
    "\udcff\udcfe",
    "a=b=c",
    "key=[[[[[[",
    "page_B=1 oob_B=0 block_B=1 size_B=99999999999999999999",
    "flashmon=1e400",
    "*" * 2000 + "x",
)


@dataclass(frozen=True)
class Parameter:
    """A place for a value in the call of a verb. `flag` is empty for arguments."""

    name: str
    flag: str
    kind: type
    required: bool


@dataclass(frozen=True)
class Verb:
    """A verb by its words, with everything that it takes."""

    words: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        return " ".join(self.words)


def verbs() -> list[Verb]:
    """All verbs of the command."""
    return list(_verbs(made(), ()))


def _verbs(command: Any, words: tuple[str, ...]) -> Iterator[Verb]:
    # A group is no call of its own; `mount` is, and has verbs below it. What is hidden is an old name.
    if not hasattr(command, "resolve_command"):
        shown = (each for each in command.params if each.name != "help" and not each.hidden)
        yield Verb(words, tuple(_parameter(each) for each in shown))
    for word, inner in getattr(command, "commands", {}).items():
        yield from _verbs(inner, (*words, word))


def _parameter(parameter: Any) -> Parameter:
    is_option = type(parameter).__name__ == "TyperOption"
    return Parameter(
        parameter.name,
        parameter.opts[0] if is_option else "",
        _kind(parameter.type_descriptor.annotation),
        parameter.required,
    )


def _kind(annotation: Any) -> type:
    """The type of one value: Path of `list[Path] | None`."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType, list):
        return _kind(next(inner for inner in typing.get_args(annotation) if inner is not type(None)))
    if not isinstance(annotation, type):
        raise TypeError(f"{annotation} is not understood: teach it to tests/images/hostile/calls.py")
    return annotation


# ---- what is good --------------------------------------------------------------------------------------------

# What a verb needs beside the value that is thrown, so that it looks at that value at all.
BESIDE: dict[tuple[str, str], list[str]] = {
    ("calibrate", "power"): ["--loops", "good.csv"],
    ("calibrate", "part"): ["--loops", "good.csv"],
    ("calibrate", "base"): ["--loops", "good.csv"],
    ("calibrate", "title"): ["--loops", "good.csv"],
    ("calibrate", "out"): ["--loops", "good.csv"],
    ("lifetime", "start"): ["--workload", "good.toml"],
    ("lifetime", "endurance"): ["--workload", "good.toml"],
    ("lifetime", "per_day"): ["--workload", "good.toml"],
    ("reference run", "kernel"): ["--modules", "folder"],
    ("reference run", "modules"): ["--kernel-image", "good.csv"],
}
# Every call of these verbs.
ALWAYS = {"mount": ["--no-results", "--think", "none"], "sqlite": [], "reference fetch": ["--arch", "armhf"]}
# Good values of required arguments, by verb and parameter; otherwise a file that is not there.
GOOD = {
    "experiments": "good.toml",
    "experiment": "good.toml",
    "trace": "good.csv",
    "jobfile": "good.fio",
    "commands": "good.pmrc",
    "cases": "case.jsonl",
    "image": "good.img",
    "start": "good.img",
    "source": "calls.csv",
    "logs": "good.log",
    "a": "good.log",
    "b": "good.log",
    "mountpoint": "point",
    "name": "omap3evm",
    "paper": "no-such-paper",
    "traces": "folder",
    "file": "saved.img",
}
GOOD_OF = {("replay", "trace"): "calls.csv"}
# Values for which a verb works for long, or for ever, as it should: (verb, parameter).
NOT_THROWN = {("reproduce", "jobs"), ("reproduce", "out"), ("mount stat", "watch"), ("mount stat", "web")}


def files_of(verb: Verb) -> list[Parameter]:
    """The places of a verb for files and folders."""
    return [
        place for place in verb.parameters if issubclass(place.kind, Path) and (verb.name, place.name) not in NOT_THROWN
    ]


def words_of(verb: Verb) -> list[Parameter]:
    """The places of a verb for names and numbers."""
    plain = [place for place in verb.parameters if not issubclass(place.kind, Path | bool)]
    return [place for place in plain if (verb.name, place.name) not in NOT_THROWN and place.name != "command"]


def call(verb: Verb, place: Parameter, value: str) -> list[str]:
    """The arguments of a call that has `value` in this place and good values in the others that it needs."""
    thrown = [f"{place.flag}={value}" if place.flag.startswith("--") else place.flag, value][
        : 1 if place.flag.startswith("--") else 2
    ]
    words = [*verb.words, *ALWAYS.get(verb.name, []), *BESIDE.get((verb.name, place.name), [])]
    words += thrown if place.flag else []
    words.append("--")
    for other in verb.parameters:
        if other.flag:
            continue
        if other is place:
            words.append(value)
        elif other.required or (verb.name, place.name) == ("extract", "folder"):
            words.append(GOOD_OF.get((verb.name, other.name)) or GOOD.get(other.name, "absent"))
    if verb.name == "mount":
        words.append("true")
    return words


def enum_or_number(place: Parameter) -> bool:
    return issubclass(place.kind, Enum | int | float)
