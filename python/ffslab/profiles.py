"""The built-in profiles as text and JSON: `ffslab profiles`."""

from __future__ import annotations

import json
from typing import Any

from ffslab import _native
from ffslab.text_table import number, text_table


def list_json() -> str:
    """All profiles, as `lab` lists them."""
    return _indented(_native.profiles())


def show_json(name: str) -> str:
    """One profile, as `lab` shows it."""
    return _indented(_native.profile(name))


def list_text() -> str:
    """All profiles, one line each."""
    entries = json.loads(_native.profiles())
    return text_table(["kind", "name", "title"], [[e["kind"], e["name"], e["title"] or ""] for e in entries], "lll")


def show_text(name: str) -> str:
    """One profile: every value with unit, status and source, and what is derived from them."""
    shown = json.loads(_native.profile(name))
    lines = [f"{shown['kind']} {shown['name']}: {shown['title'] or ''}"]
    lines += [f"{key}: {shown[key]}" for key in ("part", "kernel") if key in shown]
    rows = [[v["key"], _value(v["value"]), v["unit"], v["status"], v["source"]] for v in shown["values"]]
    lines += ["", text_table(["key", "value", "unit", "status", "source"], rows, "lrlll")]
    if "derived" in shown:
        head = ["derived from these", "driver overhead ns", "CPU power mW", "memory power mW"]
        keys = ("driver_overhead_ns", "cpu_power_mW", "memory_power_mW")
        rows = [[row["operation"], *(_value(row[key]) for key in keys)] for row in shown["derived"]]
        lines += ["", text_table(head, rows, "lrrr")]
    return "\n".join(lines)


def endurance_of(part: str) -> tuple[int, str] | None:
    """Erases that a block of a part bears, and who says so; `None` when its profile does not know."""
    shown = json.loads(_native.profile(part))
    for value in shown["values"]:
        if value["key"].endswith("endurance_erases"):
            return int(value["value"]), f"{part}, {value['status']}"
    return None


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, 3) if isinstance(value, int | float) else str(value)


def _indented(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
