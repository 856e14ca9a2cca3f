"""The tables of an experiment's file in which verbs are asked, as types that check keys and tell editors."""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from ffslab._native import InputError
from ffslab.files.toml_tables import check_keys

# A value of an axis, a key of a step: what stands there is checked by the run.
Open: TypeAlias = Any


class AskedWorkload(TypedDict):
    """Further work of the day. `experiment`: a file, or a table of setup and measure on the same machine."""

    name: NotRequired[str]
    experiment: str | dict[str, Open]
    per_day: float


class AskedSearch(TypedDict, total=False):
    """How many points are tried, and how often the finalists are run."""

    runs: int
    repeat: int
    seed: int


class AskedBoot(TypedDict, total=False):
    """The measured steps are a boot, and images are made of its roots. `description`: of the flash, as of `ffslab image
    build`. `root_blocks`: the UBI of the root, in layouts that have two."""

    description: str
    root_blocks: int


class Question(TypedDict, total=False):
    """What `ffslab advise` is asked: how often a day the measured steps happen, what may vary, limits, what is wanted.
    docs/advise.md."""

    name: str
    per_day: float
    workload: list[AskedWorkload]
    boot: AskedBoot
    axes: dict[str, Open]
    conditions: list[str]
    limits: list[str]
    minimise: str
    maximise: str
    search: AskedSearch


class AskedSample(TypedDict, total=False):
    """How points are chosen where not all are run."""

    method: str
    points: int
    seed: int


class Study(TypedDict, total=False):
    """How `ffslab sweep` varies the file: further axes, how points are chosen, what is best. docs/studies.md."""

    axes: dict[str, Open]
    sample: AskedSample
    conditions: list[str]
    repeat: int
    minimise: list[str]
    maximise: list[str]
    compare: str


class AskedJudge(TypedDict):
    """Who judges what a power cut leaves."""

    kind: Literal["synced", "sqlite", "checksums", "command", "python"]
    file: NotRequired[str]
    may_lose: NotRequired[bool]
    files: NotRequired[str]
    command: NotRequired[str | list[str]]
    function: NotRequired[str]


class AskedCuts(TypedDict, total=False):
    """Which power cuts are made."""

    points: int | str
    tears: int
    unstable: int
    cache: int
    recovery: int
    depth: int
    second_mount: bool


class AskedProgram(TypedDict):
    """A program on libffslab: the commands that do its work, and that judge what a power cut leaves of it."""

    command: str | list[str]
    check: str | list[str]
    setup: NotRequired[str | list[str]]
    seconds: NotRequired[int]


class CrashTest(TypedDict, total=False):
    """How `ffslab crashtest` judges what power cuts in the measured steps leave, and which cuts are made.
    docs/power-cuts.md."""

    steps: list[dict[str, Open]]
    program: str | AskedProgram
    command: str | list[str]
    mount: list[str]
    judge: AskedJudge
    cuts: AskedCuts


class Budgets(TypedDict, total=False):
    """The limits that `ffslab ci` checks for the file. docs/budgets.md."""

    name: str
    per_day: float
    limits: list[str]
    changes: list[str]
    baseline: str


TABLES: dict[str, type] = {"question": Question, "study": Study, "crashtest": CrashTest, "budgets": Budgets}
_BEGUN = re.compile(rf"^[ \t]*\[*[ \t]*(?:{'|'.join(TABLES)})\b", re.MULTILINE)


def check_tables(text: str, file_name: str) -> None:
    """Refuses a key of these tables that no verb reads, whichever verb reads the file.

    Raises `ffslab.InputError`.
    """
    if not _BEGUN.search(text):
        return
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        # Who runs it tells that with its line.
        return
    try:
        check_data(data)
    except InputError as error:
        raise InputError(f"{file_name}: {error}") from None


def check_data(data: Mapping[str, object]) -> None:
    """The same of a file that was read."""
    for name, kind in TABLES.items():
        _check(data.get(name), kind, name, "[{}]")


def keys_of(kind: type) -> list[str]:
    """The keys of a table."""
    return list(typing.get_type_hints(kind))


def _check(value: object, kind: Any, name: str, brackets: str) -> None:
    """Checks the keys of a table and of those in it; what is no table where one belongs is told by its reader."""
    if typing.is_typeddict(kind) and isinstance(value, Mapping):
        inner = typing.get_type_hints(kind)
        check_keys(value, keys_of(kind), f"{brackets.format(name)}: ")
        for key, part in value.items():
            _check(part, inner[key], f"{name}.{key}", "[{}]")
    elif typing.get_origin(kind) is list and isinstance(value, list):
        for part in value:
            _check(part, typing.get_args(kind)[0], name, "[[{}]]")
