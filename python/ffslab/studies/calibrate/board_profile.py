"""A board profile from measured constants and a profile that stands for what was not measured.

Values of the board itself are taken over as they are. Those of another board are taken over as assumptions: their
status becomes `unverified`, and the source says whose they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from ffslab import _native
from ffslab._native import InputError, is_path
from ffslab.answers.profile import ConstantValue, Status
from ffslab.registries import profiles


@dataclass(frozen=True)
class Measured:
    """A constant to be written. `key` as in a profile ("driver.read_us"), `source`: what it was measured with."""

    key: str
    value: float
    ci95: tuple[float, float] | None
    source: str


class Entry(TypedDict):
    """A constant as it stands in a profile."""

    value: ConstantValue
    source: str
    status: Status
    ci95: NotRequired[list[float]]


# A profile: texts, constants, and tables of constants.
_Profile = dict[str, str | Entry | dict[str, Entry]]


def board_toml(base: str, title: str, measured: list[Measured], *, part: str, kernel: str, same_board: bool) -> str:
    """The text of a profile: `measured` in place of what `base`, a built-in name or a path, says of them.

    Energies of `base` are left out when others than its own times are measured and no energies with them: an energy
    belongs to its time. Errors: those of reading `base`.
    """
    new = {constant.key: constant for constant in measured}
    values: dict[str, Entry] = {}
    for known in profiles.shown(base)["values"]:
        kept: Entry = {"value": known["value"], "source": known["source"], "status": known["status"]}
        if not same_board:
            kept["source"] = f"not measured on this board; of {base}: {kept['source']}"
            kept["status"] = "unverified"
        elif interval := known.get("ci95"):
            kept["ci95"] = interval
        values[known["key"]] = kept
    # It goes with the core, by which the prices are scaled already.
    values.pop("clock_MHz", None)
    for operation in ("read", "program", "erase"):
        total, overhead = f"driver.{operation}_us", f"driver.{operation}_overhead_us"
        if total in new or overhead in new:
            values.pop(overhead if total in new else total, None)
            for rail in ("cpu", "memory"):
                values.pop(f"driver.{operation}_{rail}_uJ", None)
    for key, constant in new.items():
        entry: Entry = {"value": _round(constant.value), "source": constant.source, "status": "measured"}
        if constant.ci95 is not None:
            entry["ci95"] = [_round(end) for end in constant.ci95]
        values[key] = entry
    profile: _Profile = {"title": title, "part": part, "kernel": kernel}
    return _native.profile_toml_of(profile | _in_tables(values))


def missing(base: str, measured: list[Measured], keys: tuple[str, ...]) -> list[str]:
    """Those of `keys` that neither were measured nor stand in `base`; none if that holds for all of them.

    Errors: those of reading `base`.
    """
    known = {constant.key for constant in measured}
    known |= {constant["key"] for constant in profiles.shown(base)["values"]}
    absent = [key for key in keys if key not in known]
    return absent if len(absent) < len(keys) else []


def named_by(base: str, kind: Literal["part", "kernel"]) -> str:
    """The part or kernel of a board: a built-in name, or a path from here.

    Errors: those of reading `base`; it is no board of Linux.
    """
    profile = profiles.shown(base)
    name = profile.get(kind)
    if name is None:
        raise InputError(f"--base {base}: is a {profile['kind']}; `ffslab profiles` lists the boards")
    return str(Path(base).parent / name) if is_path(name) and is_path(base) else name


def check(path: Path) -> None:
    """Loads a profile as a simulation does.

    Errors: what is wrong with it, such as a time that is less than the chip's own.
    """
    _native.profile(str(path))


def _in_tables(values: dict[str, Entry]) -> _Profile:
    """Constants in the tables that their keys name: "driver.read_us" is `read_us` of `driver`."""
    own: _Profile = {}
    tables: dict[str, dict[str, Entry]] = {}
    for key, entry in values.items():
        table, _, name = key.rpartition(".")
        if table:
            tables.setdefault(table, {})[name] = entry
        else:
            own[key] = entry
    return {**own, **tables}


def _round(value: float) -> float:
    """Six significant digits: more than any board keeps."""
    return float(f"{value:.6g}")
