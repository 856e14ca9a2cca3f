"""Programs and judges of `ffslab crashtest` that do not return: the line of the file is told, and nothing is judged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.studies.crashtest import CrashTest, Cut, crashtest

UBIFS = {"board": "omap3evm", "kernel": "2.6.37", "compression": "none", "fs": "ubifs", "partition_blocks": 40}
FUNCTIONS = """import sys
def works(machine): machine.sync()
def raises(*given): raise ValueError("oh")
def leaves(*given): sys.exit(0)
def takes_nothing(): pass
def fails(machine): machine.open("none", "rdonly")
def right(files, told): pass
def counts(files, told): return 7
"""


@pytest.mark.parametrize(
    ("program", "judge", "says"),
    [
        ("own.py:raises", "own.py:right", "program: own.py:raises: own.py:3: ValueError: oh"),
        ("own.py:leaves", "own.py:right", "own.py:4: it leaves the interpreter (SystemExit): return"),
        ("own.py:takes_nothing", "own.py:right", "own.py:takes_nothing: TypeError: takes_nothing() takes 0"),
        ("own.py:fails", "own.py:right", "own.py:fails: own.py:6: no such file or directory"),
        ("gone.py:works", "own.py:right", "gone.py:1: it leaves the interpreter"),
        (":", "own.py:right", 'as "settings.py:run"'),
        ("own.py:works", "own.py:raises", "own.py:raises: own.py:3: ValueError: oh"),
        ("own.py:works", "own.py:counts", "own.py:counts: returned 7: a judge returns a text"),
        ("own.py:works", "own.py:leaves", "own.py:4: it leaves the interpreter"),
        ("own.py:works", "own.py:takes_nothing", "own.py:takes_nothing: TypeError"),
    ],
)
def test_a_function_that_does_not_return_is_told_with_its_line(
    program: str, judge: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "gone.py").write_text("raise SystemExit\n", encoding="utf-8")
    test = CrashTest(
        stack=UBIFS, judge={"kind": "python", "function": judge}, program=program, folder=tmp_path, cut=Cut(1)
    )
    with pytest.raises(InputError, match=re.escape(says)):
        crashtest(test)


def test_a_workload_that_leaves_the_flash_alone_proves_nothing() -> None:
    with pytest.raises(InputError, match="programs and erases nothing"):
        crashtest(
            CrashTest(stack={**UBIFS, "fs": "jffs2"}, judge={"kind": "synced"}, steps=({"step": "sleep", "us": 1},))
        )
