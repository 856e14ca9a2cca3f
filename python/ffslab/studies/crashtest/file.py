"""What a test of power cuts says: the machine, the workload, the judge, which cuts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.api.machine import SETTLED
from ffslab.files.asked_tables import AskedCuts, AskedProgram, keys_of
from ffslab.files.inputs import read_text
from ffslab.files.one_file import asked, is_experiment
from ffslab.files.toml_tables import check_keys, read_toml, table_at, texts_at, whole

_KEYS = (
    *("title", "seed", "folder", "initial", "stack", "setup", "steps", "program", "command", "mount", "judge", "cuts"),
    *("cut", "timeline"),
)
_CUT_KEYS = ("operation", "torn", "seed", "says")
TORN = ("nothing", "partial", "unstable", "cache", "complete")
ALL = "all"
# What `initial` says of the blocks of a new partition; of an experiment it may say what is filled, too.
BLOCKS = (SETTLED, "fresh")

Step = dict[str, Any]


@dataclass(frozen=True)
class Cut:
    """At which program or erase of the flash, from 1, and what is left of that.

    Of `partial` and `unstable`, `seed` says how; `cache`: of a device's write cache a subset is left, by `seed`.
    """

    operation: int
    torn: str = "nothing"
    seed: int = 0


@dataclass(frozen=True)
class Cuts:
    """Which cuts are made.

    `points`: how many at most, `None`: all. `tears`: in how many ways each operation is torn, `unstable`:
    in how many it is left so that it reads differently each time. `cache`: how many subsets of what a device has not
    flushed are lost. `recovery`: how many
    further cuts of each recovery, `depth`: how often a recovery is cut again and again. `second_mount`: what a first
    mount shows, a second one must show, too.
    """

    points: int | None = None
    tears: int = 1
    unstable: int = 0
    cache: int = 0
    recovery: int = 0
    depth: int = 1
    second_mount: bool = True


@dataclass(frozen=True)
class Program:
    """Commands of a program that drives a chip of libffslab by itself.

    `setup` is not cut, `command` is, `check` ends with 0 when what a cut left is right, `seconds` after its begin at
    the latest.
    """

    command: tuple[str, ...]
    check: tuple[str, ...]
    setup: tuple[str, ...] = ()
    seconds: int = 60


@dataclass(frozen=True)
class CrashTest:
    """A test of power cuts.

    `steps`: the workload, or `program`: a Python function, "FILE.py:NAME" or "MODULE:NAME", or `command`: a real
    program that runs in the mounted folder; or `on_chip`, a program without a file system. `cut`: the only one to be
    made. `initial`: whether the blocks of a new partition are made usable before ("settled"), or meanwhile ("fresh");
    `filled`: what an experiment says in its place, of which `setup` has the steps. `axes`: those of the experiment,
    none of which is varied.
    """

    stack: Mapping[str, Any]
    judge: Mapping[str, Any]
    title: str = ""
    steps: tuple[Step, ...] = ()
    program: str | None = None
    command: tuple[str, ...] = ()
    on_chip: Program | None = None
    setup: tuple[Step, ...] = ()
    mount: tuple[str, ...] = ()
    cuts: Cuts = field(default_factory=Cuts)
    cut: Cut | None = None
    initial: str = SETTLED
    filled: str | None = None
    seed: int = 1
    folder: Path = Path()
    file_name: str = "<crashtest>"
    axes: tuple[str, ...] = ()

    @classmethod
    def from_file(cls, path: str | Path) -> CrashTest:
        """A test from a TOML file; relative paths in it start at its folder.

        Raises `ffslab.InputError` with one line when it is none.
        """
        path = Path(path)
        return read_toml(read_text(path, "experiment"), str(path), lambda data: _test(data, str(path), path.parent))


def _test(data: dict[str, Any], file_name: str, folder: Path) -> CrashTest:
    axes: tuple[str, ...] = ()
    filled = None
    if is_experiment(data) or "crashtest" in data:
        axes = tuple(table_at(data, "axes") or ())
        filled = _filled(data)
        on_chip = isinstance(asked(data, "crashtest").get("program"), dict)
        if on_chip and "measure" in data:
            raise InputError("`measure`: what a program on libffslab does stands in its table: leave it out")
        if "measure" in data:
            Experiment.from_file(file_name).keys()
        data = _of_experiment(data)
    check_keys(data, _KEYS)
    if isinstance(data.get("program"), dict):
        return _on_chip(data, file_name, folder)
    if "stack" not in data:
        raise InputError("no [stack]: it says which board and file system, as in an experiment")
    program = data.get("program")
    steps = _steps(data, "steps")
    if program is not None and not (isinstance(program, str) and ":" in program):
        raise InputError(
            '`program` must name a Python function, as "settings.py:run", or be a table with `command` and `check`, '
            "of a program on libffslab"
        )
    command = words_of(data["command"], "command") if "command" in data else ()
    if (program is not None) + bool(steps) + bool(command) != 1:
        raise InputError(
            "the workload is either steps, [[steps]], or `program`, a Python function, or `command`, a real program: "
            "give one of them"
        )
    if command and data.get("setup"):
        raise InputError("`setup`: is of steps and Python programs; a command makes what it needs")
    cut = _cut(table_at(data, "cut")) if "cut" in data else None
    return CrashTest(
        stack=table_at(data, "stack"),
        axes=axes,
        judge=table_at(data, "judge") or {"kind": "synced"},
        title=_title(data, file_name),
        steps=steps,
        program=program,
        command=command,
        setup=_steps(data, "setup"),
        mount=texts_at(data, "mount"),
        cuts=_cuts(table_at(data, "cuts")),
        cut=cut,
        # Failures that were kept before there was the key began with a fresh partition.
        initial=str(data.get("initial", SETTLED if cut is None else "fresh")),
        filled=filled,
        seed=whole("seed", data.get("seed", 1), 0),
        folder=folder / str(data.get("folder", "")),
        file_name=file_name,
    )


def _title(data: dict[str, Any], file_name: str) -> str:
    title = data.get("title", Path(file_name).name.removesuffix(".toml"))
    if not isinstance(title, str):
        raise InputError("`title` must be a text")
    return title


# What a program on libffslab has no use for, and why.
_NOT_ON_CHIP = {
    **dict.fromkeys(("steps", "setup", "command"), "the commands of a program stand in its table"),
    "mount": "a program on libffslab mounts nothing",
    "initial": "a program on libffslab begins with an erased chip; `setup` of its table says what it does before",
    "judge": "the judge is `check` of the program's table",
}


def _on_chip(data: dict[str, Any], file_name: str, folder: Path) -> CrashTest:
    """A test of a program that drives its chip by itself."""
    for key, why in _NOT_ON_CHIP.items():
        if data.get(key):
            raise InputError(f"`{key}`: {why}: leave it out")
    table = data["program"]
    check_keys(table, keys_of(AskedProgram), "program: ")
    for key, what in (("command", "what the program does while power is cut"), ("check", "which judges what is left")):
        if key not in table:
            raise InputError(f"program: the key `{key}` is missing, {what}")
    cuts = table_at(data, "cuts")
    for key in ("cache", "second_mount"):
        if key in cuts:
            raise InputError(f"[crashtest.cuts]: `{key}`: is of file systems and devices below them: leave it out")
    cut = _cut(table_at(data, "cut")) if "cut" in data else None
    if cut is not None and cut.torn == "cache":
        raise InputError('[cut]: `torn` = "cache": is of devices with a write cache')
    return CrashTest(
        stack=table_at(data, "stack"),
        judge={},
        title=_title(data, file_name),
        on_chip=Program(
            command=words_of(table["command"], "command"),
            check=words_of(table["check"], "check"),
            setup=words_of(table["setup"], "setup") if "setup" in table else (),
            seconds=whole("seconds", table.get("seconds", Program.seconds), 1),
        ),
        cuts=_cuts(cuts),
        cut=cut,
        seed=whole("seed", data.get("seed", 1), 0),
        folder=folder / str(data.get("folder", "")),
        file_name=file_name,
    )


def _of_experiment(data: dict[str, Any]) -> dict[str, Any]:
    """What an experiment says, in the words of a test: its measured steps are the workload, the others its setup.

    What the setup leaves open is opened after the machine has been switched on again, from where cuts are looked for.
    """
    own = asked(data, "crashtest")
    has_own = own.keys() & {"steps", "program", "command"}
    if data.get("program") and not has_own:
        raise InputError(
            "its [[program]]s run beside the measured steps, and a test of power cuts has one program: say in "
            "[crashtest] what it does: steps = [{ step = ... }]"
        )
    filled = _filled(data)
    begun: list[Step] = [] if filled is None else json.loads(_native.initial_steps(filled))
    state = [*_steps(data, "state"), {"step": "umount"}] if data.get("state") else []
    setup = [*state, *begun, *_steps(data, "setup")]
    opens = _left_open(setup)
    mounts = [step.get("options", []) for step in setup if step["step"] == "mount"]
    found = {
        "title": data.get("title"),
        "seed": data.get("seed"),
        "initial": data.get("initial") if filled is None else None,
        # A power cut is made on a copy of the chip, which has no past that ages it.
        "stack": {key: value for key, value in table_at(data, "stack").items() if key != "ageing"} or None,
        "mount": own.get("mount", mounts[-1] if mounts else []),
        "judge": own.get("judge"),
        "cuts": own.get("cuts"),
        "setup": None if own.get("command") else setup[:opens],
        **({key: own[key] for key in has_own} if has_own else {"steps": [*setup[opens:], *_steps(data, "measure")]}),
    }
    return {key: value for key, value in found.items() if value is not None}


def _filled(data: Mapping[str, Any]) -> str | None:
    """What `initial` of an experiment says that is more than the state of the blocks."""
    initial = data.get("initial")
    return initial if isinstance(initial, str) and initial not in BLOCKS else None


def _left_open(setup: list[Step]) -> int:
    """The number of the first step that opens what no later one closes, and that of all steps if there is none."""
    for number, step in enumerate(setup):
        closed = any(later["step"] == "close" and later.get("file") == step.get("file") for later in setup[number:])
        if step["step"] == "open" and not closed:
            return number
    return len(setup)


def _steps(data: dict[str, Any], key: str) -> tuple[Step, ...]:
    steps = data.get(key, [])
    if not isinstance(steps, list) or not all(isinstance(step, dict) and "step" in step for step in steps):
        raise InputError(f"`{key}` must be tables [[{key}]], each with `step`")
    return tuple(steps)


def words_of(said: object, key: str) -> tuple[str, ...]:
    """The words of a command: a list of them, or a text for the shell."""
    words = ["/bin/sh", "-c", said] if isinstance(said, str) else said
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise InputError(f"`{key}` must be a text for the shell, or a list of words")
    if any("\0" in word for word in words):
        raise InputError(f"`{key}` has a NUL character, which no word of a command can have: take it out")
    return tuple(words)


def _cut(table: dict[str, Any]) -> Cut:
    check_keys(table, _CUT_KEYS, "[cut]: ")
    torn = table.get("torn", "nothing")
    if torn not in TORN:
        raise InputError(f'[cut]: `torn` must be {", ".join(TORN[:-1])} or {TORN[-1]}, not "{torn}"')
    seed = table.get("seed", 0)
    if not isinstance(seed, int) or seed < 0:
        raise InputError("[cut]: `seed` must be a whole number")
    return Cut(whole("operation", table.get("operation"), 1), torn, seed)


def _cuts(table: dict[str, Any]) -> Cuts:
    check_keys(table, keys_of(AskedCuts), "[crashtest.cuts]: ")
    usual = Cuts()
    second_mount = table.get("second_mount", usual.second_mount)
    if not isinstance(second_mount, bool):
        raise InputError("[crashtest.cuts]: `second_mount` must be true or false")
    return Cuts(
        points=points_of(table.get("points", ALL)),
        tears=whole("tears", table.get("tears", usual.tears), 0),
        unstable=whole("unstable", table.get("unstable", usual.unstable), 0),
        cache=whole("cache", table.get("cache", usual.cache), 0),
        recovery=whole("recovery", table.get("recovery", usual.recovery), 0),
        depth=whole("depth", table.get("depth", usual.depth), 1),
        second_mount=second_mount,
    )


def points_of(said: object) -> int | None:
    """How many points: a number, or "all"."""
    return None if said == ALL else whole("points", int(said) if isinstance(said, str) and said.isdigit() else said, 1)
