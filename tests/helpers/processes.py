"""Processes below one, as Linux lists them; each may have ended meanwhile."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CALLED = "import pickle, sys; name, file, of, given = pickle.load(sys.stdin.buffer); " + (
    "import importlib.util as made; spec = made.spec_from_file_location(name, file); "
    "module = made.module_from_spec(spec); spec.loader.exec_module(module); "
    "getattr(module, of).__wrapped__(**given)"
)


def alone(test: Callable[..., None]) -> Callable[..., None]:
    """A test that runs in a process of its own, where no earlier test has left a thread or a policy. What it is given
    must bear pickling."""
    file = inspect.getfile(test)

    @functools.wraps(test)
    def run(**given: Any) -> None:
        asked = pickle.dumps(("test_alone", file, test.__name__, given))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        ran = subprocess.run(
            [sys.executable, "-c", _CALLED], input=asked, env=environment, stderr=subprocess.PIPE, check=False
        )
        assert ran.returncode == 0, ran.stderr.decode()

    return run


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
