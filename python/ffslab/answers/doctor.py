"""What `ffslab doctor --json` prints; `ffslab schema doctor` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class DoctorRow(TypedDict):
    """Something that ffslab needs for `purpose`.

    `kind`: "package" of Python, "program", or "system". `found`: a version or a path; null: it is not there.
    `is_needed`: verbs of every day do not work without it. `install`: the command that brings it; null: none does.
    """

    name: str
    kind: str
    purpose: str
    found: str | None
    is_needed: bool
    install: str | None


class DoctorAnswer(TypedDict):
    """What was looked for. `is_well`: nothing that is needed is missing."""

    ffslab: str
    python: str
    system: str
    is_well: bool
    rows: list[DoctorRow]
