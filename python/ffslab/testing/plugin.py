"""The plugin of pytest: fixtures `flash_stack` and `flash_mount`, the marker `flash_budget`. See docs/budgets.md.

pytest loads this file wherever ffslab is installed, so it imports nothing that takes time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from ffslab.studies.differences import Account
    from ffslab.testing.figures import Figures
    from ffslab.testing.machines import Asked, FlashStack
    from ffslab.testing.mounts import FlashMount

BASELINE = "flash-baseline.json"
_MARKERS = (
    "flash_stack(file, **keys): the machine of flash_stack and flash_mount: a TOML file with [stack], keys of it",
    'flash_budget(*rules, per_day=None): rules of what the test measures, such as "erases <= 40", "erases <= +2 %"',
)
# What the tests with changes did, by their ids: the new baseline.
_ACCOUNTS: pytest.StashKey[dict[str, Account]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("flash_stack", "a TOML file with [stack] for tests that name none, from the root folder")
    parser.addini("flash_baseline", "the file against which changes are held, from the root folder", default=BASELINE)
    parser.getgroup("ffslab").addoption(
        "--flash-update", action="store_true", help="write what the tests with changes did as the new baseline"
    )


def pytest_configure(config: pytest.Config) -> None:
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    config.stash[_ACCOUNTS] = {}
    if config.getoption("flash_update") and config.getoption("dist", "no") != "no":
        raise pytest.UsageError("--flash-update: one process writes the baseline: leave --numprocesses (-n) out")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("flash_update") and (accounts := session.config.stash[_ACCOUNTS]):
        from ffslab.testing.budgets import update

        update(_baseline(session.config), accounts)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    if "Figure" not in (type(left).__name__, type(right).__name__):
        return None
    from ffslab.testing.figures import compared

    said = compared(op, left, right)
    return None if said is None else list(said)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After the test itself its budgets, nearest first: one that is not kept is a failure of the test."""
    done = yield
    for marker in pyfuncitem.iter_markers("flash_budget"):
        with _plain_failures():
            _check(pyfuncitem, marker)
    return done


def _check(item: pytest.Function, marker: pytest.Mark) -> None:
    from ffslab.testing.budgets import TestBudget, failures_of

    budget = TestBudget.of(marker.args, marker.kwargs)
    account = budget.account(_measured(item))
    update = bool(item.config.getoption("flash_update"))
    if update and budget.has_changes:
        item.config.stash[_ACCOUNTS][item.nodeid] = account
    rows = budget.checked(item.nodeid, account, None if update else _baseline(item.config))
    item.user_properties += [(row["figure"], row["found"]) for row in rows]
    if said := failures_of(rows):
        pytest.fail(said, pytrace=False)


def _measured(item: pytest.Function) -> Figures:
    """What the machine of a test did."""
    from ffslab._native import InputError

    for name in ("flash_stack", "flash_mount"):
        if name in item.funcargs:
            return cast("FlashStack | FlashMount", item.funcargs[name]).figures()
    raise InputError("the marker flash_budget: the test uses neither flash_stack nor flash_mount")


def _baseline(config: pytest.Config) -> Path:
    return config.rootpath / str(config.getini("flash_baseline"))


@contextmanager
def _plain_failures() -> Iterator[None]:
    """What is wrong with an input is told in a line, without the way to it."""
    from ffslab._native import InputError

    try:
        yield
    except InputError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _asked(request: pytest.FixtureRequest) -> Asked:
    from ffslab.testing.machines import Asked

    named = str(request.config.getini("flash_stack"))
    usual = request.config.rootpath / named if named else None
    markers = [(marker.args, marker.kwargs) for marker in request.node.iter_markers("flash_stack")]
    return Asked.of(reversed(markers), usual, request.path.parent)


@pytest.fixture
def flash_stack(request: pytest.FixtureRequest) -> FlashStack:
    """A board with one partition, mounted: `ffslab.Stack`, whose calls take time on the board only."""
    with _plain_failures():
        return _asked(request).stack()


@pytest.fixture
def flash_mount(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FlashMount]:
    """The file system of such a board, mounted at `flash_mount.place` for real programs; without FUSE, skipped."""
    from ffslab.testing.mounts import FlashMount, lacks_fuse

    if lacks := lacks_fuse():
        pytest.skip(lacks)
    with _plain_failures():
        mount = FlashMount(_asked(request), tmp_path)
    yield mount
    mount.end()
