"""Fixtures of all rooms: tests call the installed command, as a user does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.command import FFSLAB, ROOT, SMALL, Command, Ran
from helpers.command_server import Server, can_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Of all commands: how wide their tables are, and that no state of an earlier run is used.
USUAL = {"COLUMNS": "120", "FFSLAB_STATES": ""}
TIMEOUT_S = 300
REFEREE = ROOT / "tests" / "referee"
# Files whose tests take minutes together.
LONG = (
    "test_journeys_papers.py",
    "test_journeys_shipped.py",
    "test_journeys_readme.py",
    "test_mount_programs.py",
    "test_page_kinds.py",
    "test_pages.py",
    "test_sweep.py",
    "test_worked_examples.py",
)

# A test sees what runs, not what ran before; those of the store name one.
os.environ["FFSLAB_STORE"] = ""


def pytest_configure() -> None:
    """Undoes `nohup`: children inherit ignored signals, and a test that ends one by such a signal would hang."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number, action in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a virtual machine take longest, then those of `LONG`: what begins last must be short, or one worker
    would end long after the other.

    Files are dealt out whole (`--dist loadfile`): the tests of a file share what its fixtures made, on one worker.
    What boots a real kernel is marked so.
    """
    for item in items:
        if REFEREE in item.path.parents or "kit" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kernels)
    slow_files = {item.path for item in items if "kit" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: (item.path not in slow_files, item.path.name not in LONG))


@pytest.fixture
def started(tmp_path: Path) -> Command:
    """Starts the installed `ffslab` in an empty folder, as a shell does: for tests of the start itself."""

    def run(*args: str | Path, cwd: Path = tmp_path, **env: str) -> Ran:
        return subprocess.run(
            [FFSLAB, *map(str, args)],
            cwd=cwd,
            env={**os.environ, **USUAL, **env},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def command_server() -> Iterator[Server]:
    """A process that has loaded the command."""
    server = Server()
    yield server
    server.end()


@pytest.fixture
def ffslab(tmp_path: Path, started: Command, command_server: Server) -> Command:
    """Runs `ffslab` in an empty folder, in a process that need not load it (see `command_server`)."""

    def run(*args: str | Path, cwd: Path = tmp_path, **env: str) -> Ran:
        if not can_run(env):
            return started(*args, cwd=cwd, **env)
        command = [str(FFSLAB), *map(str, args)]
        return command_server.run(command, cwd, {**os.environ, **USUAL, **env}, TIMEOUT_S)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An experiment file that runs in a moment."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of the small experiment, made once."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    subprocess.run([FFSLAB, "run", "small.toml"], cwd=folder, capture_output=True, timeout=300, check=True)
    return folder / "results" / "small"


@pytest.fixture(scope="session")
def small_summary(small_results: Path) -> dict[str, Any]:
    """`summary.json` of the small experiment."""
    summary: dict[str, Any] = json.loads((small_results / "summary.json").read_text(encoding="utf-8"))
    return summary


# ---- pages in a browser: one for all tests of a process, since its start takes longer than most of them -----------


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of this machine, for all tests of this process."""
    from helpers import browsing

    yield from browsing.started()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a file; at the end nothing may have gone wrong, and nobody may have asked the network for anything."""
    from helpers import browsing

    yield from browsing.opening(browser)
