"""The same programs on each system: what one interpreter of steps gives to RTEMS, from the command line."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.sqlite import connected
from helpers.command import ROOT, Command

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
    done = ffslab("postmark", str(ROOT / "examples/postmark/mail.pmrc"), "--system", "rtems", "--kernel", "6.1")
    assert done.returncode == 2
    assert "unknown key `kernel`" in done.stderr
    done = ffslab("postmark", str(ROOT / "examples/postmark/mail.pmrc"), "--system", "rtms")
    assert done.returncode == 2
    assert "did you mean `rtems`" in done.stderr


def ffslab_stack() -> ffslab.Stack:
    return ffslab.Stack("rfs", system="rtems", device_KiB=4096)


# ---- a program without an operating system --------------------------------------------------------------------


def bare() -> ffslab.Stack:
    stack = ffslab.Stack("yaffs2", system="bare", partition_blocks=64)
    stack.mount()
    return stack


def test_a_bare_program_finds_what_it_wrote_after_power_cuts_and_mounts() -> None:
    stack = bare()
    stack.mkdir("d")
    data = bytes(range(256)) * 40
    stack.write_file("d/a", data)
    # A call of any length, at any place, crosses chunks.
    fd = stack.open("d/a", "rdwr")
    assert stack.pwrite(fd, b"middle", 2045) == 6
    assert stack.pread(fd, 12, 2042) == data[2042:2045] + b"middle" + data[2051:2054]
    stack.fsync(fd)
    stack.pwrite(fd, b"lost", 0)
    stack.crash()
    stack.mount()
    expected = data[:2045] + b"middle" + data[2051:]
    assert stack.read_file("d/../d/./a") == expected
    stack.rename("d/a", "b")
    fd = stack.open("b", "rdonly")
    stack.unlink("b")
    assert sorted(stack.listdir()) == ["d", "lost+found"]
    assert stack.pread(fd, 4, 0) == expected[:4], "an open file lives on without its name"
    stack.close(fd)
    stack.umount()
    stack.mount()
    with pytest.raises(FileNotFoundError):
        stack.stat("b")


def test_nothing_is_cached_for_a_bare_program() -> None:
    reads = {}
    for system in ("linux", "bare"):
        stack = ffslab.Stack("yaffs2", system=system, partition_blocks=64)
        stack.mount()
        stack.write_file("a", bytes(64 << 10))
        stack.sync()
        before = stack.counters()["page_reads"]
        for _ in range(3):
            stack.read_file("a")
        reads[system] = stack.counters()["page_reads"] - before
    # 32 chunks, three times; the short-op cache may still hold its ten chunks of the last time.
    assert reads["linux"] == 0
    assert 3 * 32 - 3 * 10 <= reads["bare"] <= 3 * 32


def test_what_a_bare_program_has_not_is_said_with_the_reason(ffslab: Command, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="a bare program has no page cache"):
        bare().drop_caches()
    text = 'title = "t"\n[stack]\nsystem = "bare"\nfs = "jffs2"\n[[measure]]\nstep = "mount"\n'
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    done = ffslab("run", str(tmp_path / "a.toml"))
    assert done.returncode == 2
    assert "no interface for programs without an operating system" in done.stderr
    (tmp_path / "a.toml").write_text(text.replace('"jffs2"', '"yaffs2"\nread_ahead_KiB = 8'), encoding="utf-8")
    done = ffslab("run", str(tmp_path / "a.toml"))
    assert done.returncode == 2
    assert "unknown key `read_ahead_KiB`" in done.stderr


def page_cache_table(summary: dict[str, Any]) -> list[str]:
    """The rows of docs/bare.md, from the results of its experiment."""
    linux, program = summary["variants"]
    rows = []
    for here, there in zip(linux["steps"], program["steps"], strict=True):
        cells = [f"{step['counts']['page_reads']:,} | {step['counts']['page_programs']:,}" for step in (here, there)]
        times = [f"{step['elapsed_us'] / 1000:,.1f}" for step in (here, there)]
        rows.append(f"| {cells[0]} | {times[0]} | {cells[1]} | {times[1]} |")
    return rows


def test_the_table_of_what_the_page_cache_is_worth_is_true(ffslab: Command, tmp_path: Path) -> None:
    experiment = ROOT / "experiments/bare/page-cache.toml"
    summary = summary_of(ffslab("run", str(experiment), "--json", "--out", str(tmp_path / "out")))
    written = (ROOT / "docs/bare.md").read_text(encoding="utf-8")
    for row in page_cache_table(summary):
        assert row in written, row
    linux, program = summary["variants"]
    assert [step["counts"]["page_reads"] for step in linux["steps"][:2]] == [0, 0]
    assert all(step["counts"]["page_reads"] >= 512 for step in program["steps"][:2])
    # Every nanosecond has a cause on this system, too.
    for variant in (linux, program):
        caused = sum(c["cpu_us"] + c["driver_us"] + c["busy_us"] for c in variant["by_cause"])
        assert abs(caused + variant["program_us"] + variant["idle_us"] - variant["time_us"]) < 1.0
    resolved = ffslab("run", str(tmp_path / "out" / "resolved.toml"), "--json", "--out", str(tmp_path / "again"))
    assert summary_of(resolved)["variants"] == summary["variants"]


@pytest.mark.parametrize(
    ("system", "fs"),
    [
        ("linux", "jffs2"),
        ("linux", "yaffs2"),
        ("linux", "ubifs"),
        ("bare", "yaffs2"),
        ("bare", "littlefs"),
        ("rtems", "jffs2"),
    ],
)
def test_a_write_of_no_bytes_makes_no_file_longer(system: str, fs: str) -> None:
    stack = ffslab.Stack(fs, system=system)
    stack.mount()
    fd = stack.open("a", "rdwr create")
    assert stack.pwrite(fd, b"", 100_000) == 0
    assert stack.pwrite(fd, b"x", 2) == 1
    assert stack.pwrite(fd, b"", 100_000) == 0
    assert stack.pread(fd, 10, 0) == b"\0\0x"
