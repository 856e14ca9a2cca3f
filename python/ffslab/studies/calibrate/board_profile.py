"""A board profile from measured constants and a profile that stands for what was not measured.

Values of the board itself are taken over as they are. Those of another board are taken over as assumptions: their
status becomes `unverified`, and the source says whose they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ffslab import _native


@dataclass(frozen=True)
class Measured:
    """A constant to be written. `key` as in a profile ("driver.read_us"), `source`: what it was measured with."""

    key: str
    value: float
    ci95: tuple[float, float] | None
    source: str


def is_path(name: str) -> bool:
    """Whether a profile is named by its path, as the loader decides it."""
    return "/" in name or name.endswith(".toml")


def board_toml(base: str, title: str, measured: list[Measured], *, part: str, kernel: str, same_board: bool) -> str:
    """The text of a profile: `measured` in place of what `base`, a built-in name or a path, says of them.

    Energies of `base` are left out when others than its own times are measured and no energies with them: an energy
    belongs to its time. Errors: those of reading `base`.
    """
    shown = json.loads(_native.profile(base))
    new = {constant.key: constant for constant in measured}
    values: dict[str, dict[str, Any]] = {}
    for entry in shown["values"]:
        kept = {key: entry[key] for key in ("value", "source", "status", "ci95") if key in entry}
        if not same_board:
            kept["source"] = f"not measured on this board; of {base}: {kept['source']}"
            kept["status"] = "unverified"
            kept.pop("ci95", None)
        values[entry["key"]] = kept
    for operation in ("read", "program", "erase"):
        if f"driver.{operation}_us" in new:
            for rail in ("cpu", "memory"):
                values.pop(f"driver.{operation}_{rail}_uJ", None)
    for key, constant in new.items():
        entry = {"value": constant.value, "source": constant.source, "status": "measured"}
        if constant.ci95 is not None:
            entry["ci95"] = [_round(end) for end in constant.ci95]
        entry["value"] = _round(constant.value)
        values[key] = entry
    return _text(title, part, kernel, values)


def missing(base: str, measured: list[Measured], keys: tuple[str, ...]) -> list[str]:
    """Those of `keys` that neither were measured nor stand in `base`; none if that holds for all of them.

    Errors: those of reading `base`.
    """
    known = {constant.key for constant in measured}
    known |= {entry["key"] for entry in json.loads(_native.profile(base))["values"]}
    absent = [key for key in keys if key not in known]
    return absent if len(absent) < len(keys) else []


def named_by(base: str, kind: str) -> str:
    """The part or kernel of a board: a built-in name, or a path from here."""
    name = str(json.loads(_native.profile(base))[kind])
    return str(Path(base).parent / name) if is_path(name) and is_path(base) else name


def check(path: Path) -> None:
    """Loads a profile as a simulation does.

    Errors: what is wrong with it, such as a time that is less than the chip's own.
    """
    _native.profile(str(path))


def _text(title: str, part: str, kernel: str, values: dict[str, dict[str, Any]]) -> str:
    lines = [f"title = {_quoted(title)}", f"part = {_quoted(part)}", f"kernel = {_quoted(kernel)}", ""]
    tables = list(dict.fromkeys(key.rpartition(".")[0] for key in values))
    for table in sorted(tables, key=lambda name: (name != "", tables.index(name))):
        if table:
            lines += ["", f"[{table}]"]
        for key, entry in values.items():
            name = key.rpartition(".")
            if name[0] == table:
                inner = ", ".join(f"{word} = {_literal(value)}" for word, value in entry.items())
                lines.append(f"{name[2]} = {{ {inner} }}")
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    # A basic string of TOML is a string of JSON, but for DEL.
    return json.dumps(text, ensure_ascii=False)


def _round(value: float) -> float:
    """Six significant digits: more than any board keeps."""
    return float(f"{value:.6g}")
