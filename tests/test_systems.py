"""The same programs on each system: what one interpreter of steps gives to RTEMS, from the command line."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ffslab
from conftest import Command
from ffslab.sqlite import connected

ROOT = Path(__file__).resolve().parent.parent
BLOCK_DEVICES = ("rfs", "dosfs")


def on_rtems(fs: str) -> list[str]:
    return ["--system", "rtems", "--fs", fs, "--set", "device_KiB=16384"]


def summary_of(done: Any) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@pytest.mark.parametrize("fs", BLOCK_DEVICES)
def test_postmark_reports_on_rtems_what_it_does_on_linux(ffslab: Command, tmp_path: Path, fs: str) -> None:
    commands = tmp_path / "mail.pmrc"
    commands.write_text("set number 50\nset size 500 5000\nset transactions 200\nset seed 7\nrun\n", encoding="utf-8")
    # DOSFS of 2018 loses names of long directories: what that does to Postmark is another test.
    machines = {"linux": ["--fs", "jffs2"], "rtems": [*on_rtems(fs), "--set", "quirks=fixed"]}
    reports = {}
    for name, options in machines.items():
        done = ffslab("postmark", str(commands), *options, "--json", "--out", str(tmp_path / name))
        variant = summary_of(done)["variants"][0]
        reports[name] = variant["steps"][0]["postmark"][0]
        assert reports[name]["failed_operations"] == 0, variant["notes"]
    counted = ("files_created", "files_read", "files_appended", "files_deleted", "read_B", "written_B")
    assert {key: reports["rtems"][key] for key in counted} == {key: reports["linux"][key] for key in counted}
    assert variant["stack"]["system"] == "rtems"
    assert variant["counters"]["dev_write_bytes"] >= 4096


@pytest.mark.parametrize("fs", BLOCK_DEVICES)
def test_a_recording_is_replayed_on_rtems(ffslab: Command, tmp_path: Path, fs: str) -> None:
    trace = ROOT / "examples/sqlite/select-random-50.strace.gz"
    done = ffslab("replay", str(trace), *on_rtems(fs), "--think", "none", "--json", "--out", str(tmp_path / "out"))
    variant = summary_of(done)["variants"][0]
    linux = ffslab("replay", str(trace), "--think", "none", "--json", "--out", str(tmp_path / "linux"))
    there = summary_of(linux)["variants"][0]
    assert variant["latency_us"]["n"] == there["latency_us"]["n"] > 100
    assert variant["user_read_B"] == there["user_read_B"] > 0
    assert variant["counters"]["dev_read_bytes"] > 0


@pytest.mark.parametrize("fs", BLOCK_DEVICES)
def test_sqlite_runs_on_rtems_and_leaves_a_data_base(ffslab: Command, tmp_path: Path, fs: str) -> None:
    # RFS of 2018 makes a file shorter when less than a block is written into its full last block.
    (tmp_path / "make.sql").write_text(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);\n"
        + "".join(f"INSERT INTO t VALUES ({i}, '{'x' * 300}');\n" for i in range(40)),
        encoding="utf-8",
    )
    (tmp_path / "ask.sql").write_text("SELECT count(*), sum(length(b)) FROM t;\n", encoding="utf-8")
    files = [str(tmp_path / "ask.sql"), "--setup", str(tmp_path / "make.sql")]
    options = [*on_rtems(fs), "--set", "quirks=fixed", "--out", str(tmp_path / "out")]
    done = ffslab("sqlite", *files, *options, "--rows")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("40|12000\n"), done.stdout
    variant = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["variants"][0]
    # The machine was restarted after the setup: what is read comes from the device.
    assert variant["counters"]["dev_read_bytes"] >= 12_000


@pytest.mark.parametrize("fs", BLOCK_DEVICES)
def test_a_data_base_of_rtems_is_one_for_the_hosts_sqlite(tmp_path: Path, fs: str) -> None:
    stack = ffslab.Stack(fs, system="rtems", device_KiB=16384, quirks="fixed")
    stack.mount()
    with connected(stack, "a.db") as database:
        database.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)")
    (tmp_path / "a.db").write_bytes(stack.read_file("a.db"))
    with sqlite3.connect(tmp_path / "a.db") as host:
        assert host.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert host.execute("SELECT sum(x) FROM t").fetchone() == (6,)


def test_what_a_system_lacks_is_said_with_the_reason(ffslab: Command, tmp_path: Path) -> None:
    stack = ffslab_stack()
    with pytest.raises(OSError, match="RTEMS has no page cache") as refused:
        stack.drop_caches()
    assert refused.value.errno is not None
    done = ffslab("postmark", str(ROOT / "examples/postmark/mail.pmrc"), "--system", "rtems", "--kernel", "x")
    assert done.returncode == 2
    assert "unknown key `kernel`" in done.stderr
    done = ffslab("postmark", str(ROOT / "examples/postmark/mail.pmrc"), "--system", "rtms")
    assert done.returncode == 2
    assert "did you mean `rtems`" in done.stderr


def ffslab_stack() -> ffslab.Stack:
    return ffslab.Stack("rfs", system="rtems", device_KiB=4096)
