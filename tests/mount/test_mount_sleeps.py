"""`ffslab mount --think fast`: sleeps pass on the board alone, and clocks tell the board's time."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ffslab.mount.sleeps import remarks
from helpers.command import ROOT
from helpers.mounted import mounted, need_fuse

if TYPE_CHECKING:
    from helpers.command import Command

# Two weeks: whoever really slept them would never come to an end here.
LONG_S = 14 * 24 * 3600


def virtual_s(ran: subprocess.CompletedProcess[str]) -> float:
    assert ran.returncode == 0, ran.stderr
    # What the program has printed comes before the summary.
    summary: dict[str, Any] = json.loads(ran.stdout[ran.stdout.index("{\n") :])
    return float(summary["variants"][0]["time_us"]) / 1e6


def fast(ffslab: Command, folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    need_fuse()
    (folder / "mount").mkdir(exist_ok=True)
    options = ("--fs", "jffs2", "--blocks", "64", "--think", "fast", "--no-results", "--json")
    return ffslab("mount", *options, "mount", "--", *command)


def test_a_shell_sleeps_on_the_board_and_reads_its_clock(ffslab: Command, tmp_path: Path) -> None:
    script = f"cd mount && touch before && sleep {LONG_S} && touch after && stat -c %Y before after && date +%s"
    ran = fast(ffslab, tmp_path, "sh", "-c", script)
    assert LONG_S < virtual_s(ran) < LONG_S + 60
    before, after, now = (int(line) for line in ran.stdout.splitlines()[:3])
    assert before < 1_293_840_000 + 60 and after - before in (LONG_S, LONG_S + 1) and now - after in (0, 1)
    assert fast(ffslab, tmp_path, "sh", "-c", script).stdout == ran.stdout


PYTHON = f"""
import os, select, threading, time
begun, steady = time.time(), time.monotonic()
time.sleep({LONG_S})
select.select([], [], [], {LONG_S})
select.poll().poll({1000 * 3600})
assert not threading.Event().wait(0.05)
reads, writes = os.pipe()
assert select.select([reads], [], [], 0.05) == ([], [], [])
threading.Timer(0.01, os.write, (writes, b"x")).start()
assert select.select([reads], [], [], 30)[0] == [reads]
end = time.monotonic() + 0.01
while time.monotonic() < end:
    pass
child = os.fork()
if child == 0:
    time.sleep({LONG_S})
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
for passed in (time.time() - begun, time.monotonic() - steady):
    assert {3 * LONG_S + 3600} < passed < {3 * LONG_S + 3600} + 1, passed
"""


def test_all_ways_to_sleep_and_to_wait_of_python(ffslab: Command, tmp_path: Path) -> None:
    ran = fast(ffslab, tmp_path, sys.executable, "-c", PYTHON)
    assert 3 * LONG_S < virtual_s(ran) < 3 * LONG_S + 3700, ran.stderr


def test_a_logger_goes_through_a_day_with_sqlite(ffslab: Command, tmp_path: Path) -> None:
    program = """
import sqlite3, sys, time
database = sqlite3.connect("mount/log.db")
database.execute("CREATE TABLE log (at INTEGER, value REAL)")
for number in range(24):
    database.execute("INSERT INTO log VALUES (strftime('%s', 'now'), ?)", (number,))
    database.commit()
    time.sleep(3600)
database.close()
with open("mount/log.db", "rb") as file:
    open("copy.db", "wb").write(file.read())
"""
    assert virtual_s(fast(ffslab, tmp_path, sys.executable, "-c", program)) > 24 * 3600
    rows = sqlite3.connect(tmp_path / "copy.db").execute("SELECT at FROM log").fetchall()
    times = [int(at) for (at,) in rows]
    assert len(times) == 24 and all(b - a in (3600, 3601) for a, b in itertools.pairwise(times))


def test_a_mount_without_a_command_says_how_to_begin_programs(tmp_path: Path) -> None:
    with mounted(tmp_path, "jffs2", "--think", "fast", "--blocks", "32") as mount:
        line = mount.process.stderr.readline() if mount.process.stderr is not None else ""
        words = re.search(r"env (LD_PRELOAD=\S+ FFSLAB_MOUNT_SOCKET=\S+) PROGRAM", line)
        assert words is not None, line
        environment = dict(word.split("=", 1) for word in shlex.split(words[1]))
        subprocess.run(["sleep", str(LONG_S)], env={**os.environ, **environment}, check=True, timeout=60)
        assert mount.stat()["totals"]["time_us"] > LONG_S * 1e6
    # The mount is gone, and so is its library: the host's own sleep is back.
    assert not Path(environment["LD_PRELOAD"]).exists()


def test_two_that_cannot_go_together_are_refused(ffslab: Command, tmp_path: Path) -> None:
    ran = ffslab("mount", "--think", "fast", "--realtime", "mount")
    assert ran.returncode == 2 and "--realtime and --think fast: the one makes programs wait" in ran.stderr


def test_programs_that_no_library_reaches_are_told(tmp_path: Path) -> None:
    source, static = tmp_path / "static.c", tmp_path / "static"
    source.write_text("int main(void) { return 0; }\n")
    made = subprocess.run(["cc", "-static", "-o", static, source], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no static program can be made here: {made.stderr.splitlines()[0]}")
    assert [remark for remark in remarks([str(static)]) if "is statically linked" in remark]
    assert remarks([shutil.which("sleep") or ""]) == remarks(["absent-program"]) == []


def test_the_manual_shows_what_works(ffslab: Command, tmp_path: Path) -> None:
    manual = (ROOT / "docs/mount.md").read_text(encoding="utf-8")
    line = re.search(r"^    (ffslab mount .*--think fast .*)$", manual, re.MULTILINE)
    assert line is not None
    need_fuse()
    (tmp_path / "flash").mkdir()
    words = [word.replace("/tmp/flash", str(tmp_path / "flash")) for word in shlex.split(line[1])]
    assert ffslab(*words[1:]).returncode == 0
