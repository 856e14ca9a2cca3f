"""Processes below one, as Linux lists them; each may have ended meanwhile."""

from __future__ import annotations

import contextlib
from pathlib import Path


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def every_child(pid: int) -> list[int]:
    """The processes below one, however deep."""
    own: list[int] = []
    # One that has ended meanwhile has none.
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            own += map(int, (task / "children").read_text("ascii").split())
    return own + [deeper for child in own for deeper in every_child(child)]


def workers_of(pid: int) -> list[int]:
    """The worker processes of a command."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for word in (task / "children").read_text("ascii").split():
            if b"spawn_main" in command_line(int(word)):
                found.append(int(word))
    return found
