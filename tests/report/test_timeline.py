"""Timelines: what a run does stands in them to the nanosecond, and who asks for none gets the same results as ever."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ffslab import Experiment, InputError
from ffslab.api.observe import Observe
from ffslab.api.stack import Stack
from helpers import pftrace
from helpers.command import Command
from helpers.trace_logs import COLUMNS, log_text

# A real board: work of the CPU, the driver and the flash take time; write-back and garbage collection go on beside.
BUSY = """\
title = "Busy"

[stack]
board = "omap3evm"
kernel = "2.6.37"
fs = "{fs}"
partition_blocks = 32

[[setup]]
step = "mount"
[[setup]]
step = "sleep"
us = "20 s"

[[measure]]
step = "create"
file = "kept"
bytes = "300 KiB"
[[measure]]
step = "open"
file = "target"
flags = ["rdwr", "create"]
[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
range_B = "256 KiB"
count = 120
seed = 3
[[measure]]
step = "fsync"
file = "target"
[[measure]]
step = "sleep"
us = "40 s"
"""
LANES = "(select id from track where rank between 100 and 299)"
LEAVES = "('program', 'computing', 'driver', 'flash', 'idle')"


def one(tables: sqlite3.Connection, sql: str) -> Any:
    return tables.execute(sql).fetchone()[0]


@pytest.fixture(scope="module", params=["jffs2", "ubifs", "yaffs2"])
def busy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, sqlite3.Connection]:
    """A run of each file system, and its timeline."""
    file = tmp_path_factory.mktemp("busy") / "busy.pftrace"
    run = Experiment.from_toml(BUSY.format(fs=request.param)).run(observe=Observe(file))
    return run, pftrace.read(file)


def test_slices_add_up_to_the_clock(busy: tuple[Any, sqlite3.Connection]) -> None:
    run, tables = busy
    time_ns = round(run.summary["variants"][0]["time_us"] * 1000)
    of_cpu = one(tables, "select sum(dur) from slice join track on track.id = track where track.name = 'CPU'")
    of_leaves = one(tables, f"select sum(dur) from slice where category in {LEAVES} and track in {LANES}")
    assert of_cpu == of_leaves == time_ns
    # End to end, so nothing is counted twice and nothing is left out.
    gaps = """select count(*) from (select ts + dur - lead(ts) over (order by ts) as gap from slice
              join track on track.id = track where track.name = 'CPU') where gap != 0"""
    assert one(tables, gaps) == 0


def test_each_layer_adds_up_to_its_counters(busy: tuple[Any, sqlite3.Connection]) -> None:
    run, tables = busy
    causes = run.summary["variants"][0]["by_cause"]
    for category, key in (("computing", "cpu_us"), ("driver", "driver_us"), ("flash", "busy_us")):
        counted = round(sum(cause[key] for cause in causes) * 1000)
        where = f"category = '{category}' and track in {LANES}"
        assert one(tables, f"select coalesce(sum(dur), 0) from slice where {where}") == counted, category
    for name, key in (("file system (with the system calls)", "cpu_us"), ("driver", "driver_us")):
        counted = round(sum(cause[key] for cause in causes) * 1000)
        on_track = f"select coalesce(sum(dur), 0) from slice join track on track.id = track where track.name = '{name}'"
        assert one(tables, on_track) == counted, name


def test_each_flash_operation_is_on_the_track_of_its_die(busy: tuple[Any, sqlite3.Connection]) -> None:
    run, tables = busy
    causes = run.summary["variants"][0]["by_cause"]
    for name, counted in (
        ("page program", sum(cause["page_programs"] - cause["reprograms"] for cause in causes)),
        ("page read", sum(cause["page_reads"] - cause["partial_page_reads"] for cause in causes)),
        ("block erase", sum(cause["erases"] for cause in causes)),
    ):
        drawn = f"select count(*) from slice join track on track.id = track where slice.name = '{name}'"
        assert one(tables, f"{drawn} and track.name = 'flash: die 0'") == counted
    of_reason = "select count(distinct value) from args where key = 'reason'"
    assert one(tables, of_reason) == len(
        {c["reason"] for c in causes if c["page_programs"] or c["page_reads"] or c["erases"]}
    )


def test_calls_are_slices_as_long_as_their_latencies(busy: tuple[Any, sqlite3.Connection]) -> None:
    run, tables = busy
    drawn = tables.execute("select ts, dur, name from slice where category = 'call' order by ts, id").fetchall()
    rows = run.requests.sort_values("start_us", kind="stable")
    assert [name for _, _, name in drawn] == rows["op"].tolist()
    assert [dur for _, dur, _ in drawn] == [round(us * 1000) for us in rows["latency_us"]]
    outside = """select count(*) from slice c join slice p on p.id = c.parent
                 where c.ts < p.ts or c.ts + c.dur > p.ts + p.dur"""
    assert one(tables, outside) == 0
    # Calls nest down to operations.
    # Those of UBIFS write to the page cache alone: there it is the step of the fsync.
    deep = """select count(*) from slice op join slice reason on reason.id = op.parent
              join slice call on call.id = reason.parent
              where (op.category, reason.category) = ('flash', 'reason') and call.category in ('call', 'step')"""
    assert one(tables, deep) > 0


def test_arrows_lead_from_calls_to_what_they_bring_about(busy: tuple[Any, sqlite3.Connection]) -> None:
    run, tables = busy
    arrows = """select count(*) from flow join slice a on a.id = slice_out join slice b on b.id = slice_in
                where a.name = 'leaves work for later' and b.name = 'does what a call has left' and b.ts >= a.ts"""
    # JFFS2 and YAFFS2 have no dirty pages: write(2) writes.
    has_dirty_pages = run.summary["variants"][0]["stack"]["fs"] == "ubifs"
    assert (one(tables, arrows) > 0) == has_dirty_pages
    counters = {name for (name,) in tables.execute("select name from track where is_counter")}
    assert {"energy above idle", "write amplification", "free erase blocks"} <= counters
    assert ("dirty pages" in counters) == has_dirty_pages
    energy = one(
        tables, "select max(value) from counter join track on track.id = track where name = 'energy above idle'"
    )
    used = run.summary["variants"][0]["energy_uJ"]
    assert energy == pytest.approx(used["cpu"] + used["memory"])


def test_stacks_add_up_too(busy: tuple[Any, sqlite3.Connection]) -> None:
    run, tables = busy
    stacks, causes = run.stacks, run.summary["variants"][0]["by_cause"]
    assert stacks["time_ns"].sum() == one(
        tables, f"select sum(dur) from slice where category in {LEAVES} and track in {LANES}"
    )
    assert stacks["erases"].sum() == sum(cause["erases"] for cause in causes)
    used = run.summary["variants"][0]["energy_uJ"]
    assert stacks["energy_uJ"].sum() == pytest.approx(used["cpu"] + used["memory"])


def test_a_run_that_is_drawn_gives_the_same_results(ffslab: Command, tmp_path: Path, small: Path) -> None:
    assert ffslab("run", small, "--out", "plain", "--again").returncode == 0
    assert ffslab("run", small, "--out", "drawn", "--timeline", "t.pftrace").returncode == 0
    plain, drawn = tmp_path / "plain", tmp_path / "drawn"
    # The page of the one that is drawn has a flame graph, too.
    for file in [file for file in plain.iterdir() if file.suffix != ".html"]:
        assert file.read_bytes() == (drawn / file.name).read_bytes(), file.name
    assert {file.name for file in drawn.iterdir()} - {file.name for file in plain.iterdir()} == {"stacks.parquet"}
    # Two variants are two groups of tracks, in one file.
    tables = pftrace.read(tmp_path / "t.pftrace")
    groups = [name for (name,) in tables.execute("select name from track where parent = 0 order by id")]
    assert groups == [variant["name"] for variant in json.loads((drawn / "summary.json").read_text())["variants"]]
    assert sorted(path.name for path in tmp_path.glob("t.*")) == ["t.pftrace"]


def test_sampling_says_so_and_keeps_the_clock(tmp_path: Path) -> None:
    experiment = Experiment.from_toml(BUSY.format(fs="jffs2"))
    sizes = {}
    for every in (1, 10):
        file = tmp_path / f"{every}.pftrace"
        experiment.run(observe=Observe(file, every))
        sizes[every] = file.stat().st_size
    assert sizes[10] * 3 < sizes[1] * 2
    tables = pftrace.read(tmp_path / "10.pftrace")
    assert "sampled: what happens in a call is drawn of one in 10" in one(
        tables, "select name from track where parent = 0"
    )
    whole = pftrace.read(tmp_path / "1.pftrace")
    of_cpu = "select sum(dur) from slice join track on track.id = track where track.name = 'CPU'"
    assert one(tables, of_cpu) == one(whole, of_cpu)
    calls = "select count(*) from slice where category = 'call'"
    assert one(tables, calls) == one(whole, calls)


def test_programs_have_tracks_of_their_own(tmp_path: Path) -> None:
    beside = '[[program]]\nname = "logger"\nbackground = true\n[[program.steps]]\nstep = "sleep"\nus = 5000000\n'
    beside += '[[program.steps]]\nstep = "open"\nfile = "log"\nflags = ["wronly", "create", "append"]\n'
    beside += '[[program.steps]]\nstep = "append"\nfile = "log"\nrequest_B = 512\ncount = 3\nsync = "fsync"\n'
    file = tmp_path / "p.pftrace"
    run = Experiment.from_toml(BUSY.format(fs="ubifs") + beside).run(observe=Observe(file))
    tables = pftrace.read(file)
    names = [row[0] for row in tables.execute("select name from track where rank between 100 and 199 order by rank")]
    assert names == [program["name"] for program in run.summary["variants"][0]["programs"]]
    of_logger = (
        "select count(*) from slice join track on track.id = track where category = 'call' and track.name = 'logger'"
    )
    assert one(tables, of_logger) == (run.requests["program"] == "logger").sum()
    of_leaves = one(tables, f"select sum(dur) from slice where category in {LEAVES} and track in {LANES}")
    assert of_leaves == one(
        tables, "select sum(dur) from slice join track on track.id = track where track.name = 'CPU'"
    )


def test_a_session_is_drawn_from_where_it_was_asked(tmp_path: Path) -> None:
    stack = Stack(fs="ubifs", board="omap3evm", kernel="2.6.37", partition_blocks=64)
    stack.mount()
    stack.observe(Observe(tmp_path / "s.pftrace"), "session")
    with stack.measured("write"):
        stack.write_file("a", b"x" * 20_000)
    stack.measurement()
    tables = pftrace.read(tmp_path / "s.pftrace")
    steps = tables.execute("select name from slice where category = 'step'").fetchall()
    assert steps == [("write",)]
    assert one(tables, "select count(*) from slice where category = 'call'") >= 3


def test_a_place_that_cannot_be_written_is_told_before_the_run(ffslab: Command, small: Path) -> None:
    ran = ffslab("run", small, "--timeline", "nowhere/t.pftrace")
    assert (ran.returncode, ran.stderr) == (2, "ffslab: --timeline nowhere/t.pftrace: nowhere: no such folder\n")
    ran = ffslab("run", small, "--timeline-every", "10")
    assert ran.returncode == 2 and "name its file with --timeline" in ran.stderr
    with pytest.raises(InputError, match="is a folder"):
        Observe(Path("/")).check()


def test_logs_of_a_real_system_are_drawn(ffslab: Command, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    calls = ["101.0;500;vfs_write;app;200;7;0;4096;4096", "101.0001;100;vfs_read;other;201;8;0;10;10"]
    functions = ["101.0001;200;jffs2_write_end;app;200"]
    flash = ["101.000150;W;32800;app;200;2048", "101.000900;E;600;gc;90;131072", "103.0;M;;second phase"]
    for kind, rows in (("vfsmon", calls), ("funcmon", functions), ("flashmon", flash)):
        (logs / f"{kind}.log").write_text(log_text(kind, rows))
    assert set(COLUMNS) == {path.stem for path in logs.iterdir()}
    ran = ffslab("trace", "timeline", logs, "--out", "board.pftrace")
    assert (ran.returncode, ran.stderr) == (0, "")
    tables = pftrace.read(tmp_path / "board.pftrace")
    asked = """select track.name, slice.name, dur, depth from slice join track on track.id = track
              where category = 'call' order by track.name, ts"""
    assert tables.execute(asked).fetchall() == [
        ("app 200", "vfs_write", 500_000, 0),
        ("app 200", "jffs2_write_end", 200_000, 1),
        ("app 200", "page program", 0, 2),
        ("gc 90", "erase", 0, 0),
        ("other 201", "vfs_read", 100_000, 0),
    ]
    assert (
        one(tables, "select value from args join slice on slice.id = slice where name = 'erase' and key = 'block'")
        == 600
    )
