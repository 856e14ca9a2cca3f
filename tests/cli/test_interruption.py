"""Signals that end the command while it writes: nothing is left behind, and the exit code says which one it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command import FFSLAB, ROOT, SMALL

ENDINGS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
# The function that writes, in which the command stops half-way until the signal comes.
STOPPED = """\
import sys, time
from pathlib import Path
import ffslab.{module} as module
def half(*given, **named):
    for place in given:
        if isinstance(place, Path) and place.name == "fresh":
            place.mkdir(exist_ok=True)
            (place / "half").write_text("half")
        elif isinstance(place, Path) and place.name.startswith("."):
            place.write_text("half")
    Path("begun").touch()
    time.sleep(60)
module.{function} = half
from ffslab.__main__ import main
sys.argv = {arguments!r}
main()
"""
STRACE = ROOT / "examples/sqlite/select-random-50.strace.gz"
WRITERS = {
    "results": ("files.results", "_write", ["ffslab", "run", "small.toml", "--out", "out"]),
    "convert": ("files.traces", "_copy", ["ffslab", "trace", "convert", str(STRACE), "--out", "out.parquet"]),
}


def stopped(tmp_path: Path, name: str, number: signal.Signals) -> tuple[int, str]:
    """Exit code and standard error of a verb that gets the signal while it writes."""
    module, function, arguments = WRITERS[name]
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    before = {path.name for path in tmp_path.iterdir()}
    code = STOPPED.format(module=module, function=function, arguments=arguments)
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    deadline_s = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and running.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)
    os.kill(running.pid, number)
    _, said = running.communicate(timeout=30)
    assert {path.name for path in tmp_path.iterdir()} == before | {"begun"}
    return running.returncode, said


@pytest.mark.parametrize("name", WRITERS)
def test_sigterm_while_a_verb_writes_leaves_nothing(tmp_path: Path, name: str) -> None:
    assert stopped(tmp_path, name, signal.SIGTERM) == (143, "ffslab: interrupted\n")


@pytest.mark.parametrize("number", ENDINGS)
def test_every_signal_that_ends_programs_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    assert stopped(tmp_path, "results", number) == (ENDINGS[number], "ffslab: interrupted\n")


def test_sigterm_ends_a_run_under_way(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(SMALL.replace("count = 600", "count = 4000000"), encoding="utf-8")
    running = subprocess.Popen([FFSLAB, "run", "long.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    running.terminate()
    assert running.communicate(timeout=30)[1] == "ffslab: interrupted\n"
    assert (running.returncode, [path.name for path in tmp_path.iterdir()]) == (143, ["long.toml"])


def test_sigterm_ends_a_statement_without_end(tmp_path: Path) -> None:
    """SQLite makes no call while it counts, and Python hears of a signal only while it runs."""
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t;"
    (tmp_path / "endless.sql").write_text(endless, encoding="utf-8")
    running = subprocess.Popen(
        [FFSLAB, "sqlite", "endless.sql", "--fs", "ubifs"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        time.sleep(2)
        running.terminate()
        assert running.communicate(timeout=30)[1] == "ffslab: interrupted\n"
    finally:
        running.kill()
    assert (running.returncode, [path.name for path in tmp_path.iterdir()]) == (143, ["endless.sql"])


def test_nohup_is_respected(tmp_path: Path) -> None:
    """Who starts a program with SIGHUP ignored wants it to survive its terminal."""
    code = (
        "import signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from ffslab.files.interruption import catch_signals\n"
        "catch_signals()\n"
        "signal.raise_signal(signal.SIGHUP)\n"
        "print('still here')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.stdout == "still here\n"


@pytest.mark.parametrize("number", ENDINGS)
def test_an_import_that_a_signal_breaks_off_is_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """Packages with native parts make an error of their own of what is raised in the middle of their import, and those
    that run Python text from C leave CPython to believe that nobody handled it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes, signal, sys\n"
        "run = ctypes.pythonapi.PyRun_String\n"
        "run.argtypes, run.restype = [ctypes.c_char_p, ctypes.c_int, *[ctypes.py_object] * 2], ctypes.py_object\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy':\n"
        "            try:\n"
        f"                run(b'signal.raise_signal({number.value})', 257, globals(), globals())\n"
        "            except KeyboardInterrupt:\n"
        "                raise ImportError('numpy cannot be imported') from None\n"
        "sys.meta_path.insert(0, Broken())\n",
        encoding="utf-8",
    )
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "ffslab", "run", "small.toml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (ENDINGS[number], "ffslab: interrupted\n")
