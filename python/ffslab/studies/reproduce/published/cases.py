"""Cases of a folder: a published number, what is known of the machine that gave it, and how ours is taken.

`published.jsonl` has a case a line, an object with the keys of `Case`; others are notes of whoever keeps the folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeGuard

from ffslab._native import InputError
from ffslab.files.inputs import read_text

LIST, BOARDS, EXPERIMENTS = "published.jsonl", "boards", "exps"
# Kinds whose name ends so are shown and not counted.
NOT_COUNTED = "*"
# Behind the name of a board: the same one with a driver that costs nothing.
DRIVER_0 = "-0"
# What a driver costs is asked where it is a part of the whole that can be seen.
KINDS_OF_DRIVERS = ("raw", "attach", "mount")
ALL_STEPS = "all"
TEXTS = ("id", "kind", "source", "quantity", "unit", "experiment", "board")
TEXTS_IF_ANY = ("setup", "unknown", "not_simulated", "note", "ref")


@dataclass(frozen=True)
class Taken:
    """How a number is taken from the measured steps of an experiment (`get` of a case). One of:

    `rate_KiB`, `rate_MB`: so much, over the seconds of `steps`. `s`: the seconds of the steps. `count`: what the steps
    did to the flash, by its key in `counts` of a step. `latency_us`: of the calls of the first of the steps, in us.
    `minus`: what the same steps of another experiment took is taken off. `over`: the number of another experiment by
    which ours is divided. `per`: the unit of the published number, in that of ours.
    """

    what: str
    steps: tuple[int, ...] | None
    amount: float = 0.0
    key: str = ""
    minus: str | None = None
    over: str | None = None
    per: float = 1.0

    @property
    def experiments(self) -> tuple[str, ...]:
        """Of the folder, those that are needed beside the case's own."""
        return tuple(name for name in (self.minus, self.over) if name is not None)


@dataclass(frozen=True)
class Case:
    """A published number of a board."""

    id: str
    kind: str
    source: str
    quantity: str
    unit: str
    published: float
    experiment: str
    board: str
    taken: Taken
    set_up: str
    unknown: str
    not_simulated: str
    note: str
    reference: str

    @property
    def counted(self) -> bool:
        """Whether sums have it: others are variants, or say too little of their set-up."""
        return not self.kind.endswith(NOT_COUNTED)

    @property
    def asks_driver(self) -> bool:
        """Whether it is shown what a driver that costs nothing would give."""
        return self.kind.startswith(KINDS_OF_DRIVERS)


@dataclass(frozen=True)
class Folder:
    """Cases with what they name. Paths are absolute: experiments name boards and parts from where they lie."""

    path: Path
    cases: tuple[Case, ...]

    def experiment(self, name: str) -> Path:
        """The file of an experiment."""
        return self.path / EXPERIMENTS / f"{name}.toml"

    def without_driver(self, board: str) -> Path | None:
        """The same board with a driver that costs nothing, if the folder has one."""
        path = self.path / BOARDS / f"{board}{DRIVER_0}.toml"
        return path if path.is_file() else None


def shipped() -> Path:
    """The folder that comes with ffslab."""
    return Path(__file__).parent / "cases"


def read(path: Path, only: list[str] | None = None) -> Folder:
    """The cases of a folder whose id matches one of the patterns `only`; all without.

    Raises `ffslab.InputError`.
    """
    listed = path / LIST
    if not listed.is_file():
        raise InputError(f"{path}: no folder of cases: it has no {LIST} (docs/reproduce.md says what it holds)")
    found = list(_cases(listed))
    if not found:
        raise InputError(f"{listed}: holds no case")
    chosen = [case for case in found if only is None or any(fnmatchcase(case.id, pattern) for pattern in only)]
    if not chosen:
        raise InputError(f"--id {' '.join(only or [])}: matches none of {len(found)} cases, such as {found[0].id}")
    folder = Folder(path.resolve(), tuple(chosen))
    for case in chosen:
        for name in (case.experiment, *case.taken.experiments):
            if not folder.experiment(name).is_file():
                raise InputError(f"{listed}: {case.id}: there is no {EXPERIMENTS}/{name}.toml")
    return folder


def _cases(path: Path) -> Iterator[Case]:
    ids: set[str] = set()
    for at, line in enumerate(read_text(path, "log").splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{at}"
        try:
            said = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where}: is no JSON: {error}") from None
        if not isinstance(said, dict):
            raise InputError(f"{where}: a case is an object, {{...}}")
        case = _case(said, where)
        if case.id in ids:
            raise InputError(f"{where}: there is a case {case.id} above")
        ids.add(case.id)
        yield case


def _case(said: Mapping[str, Any], where: str) -> Case:
    texts: dict[str, str] = {}
    for key in (*TEXTS, *TEXTS_IF_ANY):
        value = said.get(key, None if key in TEXTS else "")
        if not isinstance(value, str) or (key in TEXTS and not value):
            near = "" if key in said else _near(key, said)
            raise InputError(f"{where}: `{key}` must be a text{near}")
        texts[key] = value
    published = said.get("published")
    if not _is_number(published) or published <= 0:
        near = "" if "published" in said else _near("published", said)
        raise InputError(f"{where}: `published` must be a number above 0{near}")
    get = said.get("get")
    if not isinstance(get, dict):
        raise InputError(f'{where}: `get` must say how the number is taken, as {{"s": [0]}}{_near("get", said)}')
    set_up, reference = texts.pop("setup"), texts.pop("ref")
    return Case(**texts, published=float(published), taken=_taken(get, where), set_up=set_up, reference=reference)


def _near(key: str, said: Mapping[str, Any]) -> str:
    found = get_close_matches(key, said, 1)
    return f" (`{found[0]}` is not known)" if found else ""


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


QUANTITIES = ("rate_KiB", "rate_MB", "s", "count", "latency_us")
BESIDE = ("step", "steps", "minus", "over", "per")


def _taken(get: Mapping[str, Any], where: str) -> Taken:
    for key in get:
        if key not in (*QUANTITIES, *BESIDE):
            near = get_close_matches(key, (*QUANTITIES, *BESIDE), 1)
            raise InputError(f"{where}: get: `{key}` is not known{f': did you mean `{near[0]}`?' if near else ''}")
    found = [what for what in QUANTITIES if what in get]
    if len(found) != 1:
        raise InputError(f"{where}: get: must have one of {', '.join(QUANTITIES)}")
    (what,) = found
    steps = get["s"] if what == "s" else get.get("steps", [get["step"]] if "step" in get else None)
    if steps == ALL_STEPS:
        steps = None
    elif not isinstance(steps, list) or not steps or not all(type(step) is int and step >= 0 for step in steps):
        raise InputError(f'{where}: get: steps are numbers of measured steps from 0, as [0, 1], or "{ALL_STEPS}"')
    others = {key: get.get(key) for key in ("minus", "over")}
    if not all(name is None or isinstance(name, str) for name in others.values()):
        raise InputError(f"{where}: get: `minus` and `over` are names of experiments")
    rate, per = get[what], get.get("per", 1)
    if what.startswith("rate") and not _is_number(rate):
        raise InputError(f"{where}: get: `{what}` must be a number")
    if what in ("count", "latency_us") and not isinstance(rate, str):
        raise InputError(f"{where}: get: `{what}` must be a name")
    if not _is_number(per) or per <= 0:
        raise InputError(f"{where}: get: `per` must be a number above 0")
    return Taken(
        what,
        None if steps is None else tuple(steps),
        float(rate) if what.startswith("rate") else 0.0,
        rate if what in ("count", "latency_us") else "",
        **others,
        per=float(per),
    )
