"""Profiles by name or path, and what parts bear."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError, is_path
from ffslab.answers.profile import ProfileName, ShownConstant, ShownProfile


def shown(name: str) -> ShownProfile:
    """One profile, by name or by path.

    Raises `ffslab.InputError` when there is none.
    """
    profile: ShownProfile = json.loads(_native.profile(name))
    return profile


# Where experiments of this process have their files, the last one first: their results name profiles as they do.
_PLACES: list[Path] = []


def look_also_in(folder: Path) -> None:
    """Profiles of users that results name by a relative path are looked for there, too."""
    if folder in _PLACES:
        _PLACES.remove(folder)
    _PLACES.insert(0, folder)


def file_of(name: str) -> Path | None:
    """The file of a profile that is named by its path; `None`: it is not here."""
    return next((path for folder in (Path(), *_PLACES) if (path := folder / name).is_file()), None)


# What is looked for, and which kinds of profiles that is.
WANTED = {
    "board": ("board", "board with RTEMS"),
    "part": ("part",),
    "kernel": ("kernel",),
    "block device": ("block device",),
}


def check_known(name: str, what: str, flag: str) -> None:
    """Refuses the value of an option that is neither the name of a board, part, kernel or block device nor a path, and
    tells the nearest names.

    Raises `ffslab.InputError`.
    """
    if said := _native.unknown_profile(name, what):
        raise InputError(f"{flag} {name}: {said}")


def numbers(name: str) -> dict[str, float]:
    """The constants of a profile that are numbers, by key; not those that hold in some circumstances alone."""
    values = {constant["key"]: constant["value"] for constant in shown(name)["values"] if not constant.get("when")}
    return {key: value for key, value in values.items() if not isinstance(value, bool | str | list)}


def listed(part_kind: str | None = None) -> list[ProfileName]:
    """All built-in profiles, or the parts of a kind.

    Raises `ffslab.InputError` when there is no such kind.
    """
    entries: list[ProfileName] = json.loads(_native.profiles())
    if part_kind is None:
        return entries
    example_of(part_kind)
    return [entry for entry in entries if (part := entry.get("part")) and part["kind"] == part_kind]


def example_of(part_kind: str) -> str:
    """The built-in part on which a new one of this kind builds.

    Raises `ffslab.InputError` when there is no such kind.
    """
    kinds = dict(_native.part_kinds())
    if part_kind not in kinds:
        raise InputError(f"--kind {part_kind}: there is no such kind of part: {meant(part_kind, kinds)}")
    return kinds[part_kind]


def meant(name: str, known: Collection[str]) -> str:
    """Which of the known names is nearest, if one is near, and all of them."""
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{hint}known: {', '.join(known)}"


def part_of(board: str) -> str:
    """The part that a board has.

    Raises `ffslab.InputError` when there is no such board, or it has none.
    """
    part = shown(board).get("part")
    if not isinstance(part, str):
        raise InputError(f"{board}: is no board with a part: name the part with --part")
    return part


def whole(constant: ShownConstant) -> int:
    """A constant that is a number of things."""
    value = constant["value"]
    assert isinstance(value, int | float), constant["key"]
    return int(value)


def endurance_of(part: str) -> tuple[int, str] | None:
    """Erases that a block of a part bears, and who says so; `None` when its profile does not know.

    Or when it is a file that is not here: results name it as the experiment did, relative to a folder that may be
    another one, or on another computer.
    """
    if not is_path(part):
        return _known_endurance_of(part)
    return _endurance_of(part) if Path(part).is_file() else None


def borne_by(stack: Mapping[str, Any]) -> tuple[int, str] | None:
    """Erases that a block of a stack bears, and who says so: its table `ageing`, or its part; `None`: neither."""
    part, ageing = stack.get("part"), stack.get("ageing")
    of_part = endurance_of(str(part)) if part else None
    said = ageing.get("endurance_erases") if isinstance(ageing, Mapping) else None
    if not said or (of_part is not None and of_part[0] == said):
        return of_part
    return int(said), "[stack.ageing]"


def _endurance_of(part: str) -> tuple[int, str] | None:
    for value in shown(part)["values"]:
        if value["key"].endswith("endurance_erases"):
            return whole(value), f"{part}, {value['status']}"
    return None


# A built-in part is asked for at each point of a study; a file of the user's may change.
_known_endurance_of = cache(_endurance_of)
