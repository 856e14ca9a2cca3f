"""Trace reports: numbers that are known beforehand, on a session counted by hand and on a real board's captures."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from ffslab.measured.tracereport.columns import Names
from ffslab.measured.tracereport.header import VFSMON, Chip
from ffslab.measured.tracereport.operations import mapped_blocks
from ffslab.measured.tracereport.page import html
from ffslab.measured.tracereport.plots import block_maps, response_times
from ffslab.measured.tracereport.reader import read_log
from ffslab.measured.tracereport.recording import load
from ffslab.measured.tracereport.sentences import sentences
from ffslab.measured.tracereport.summary import summarize
from ffslab.measured.tracereport.wear import YEAR_S, Endurance
from helpers.command import ROOT, SMALL, Command
from helpers.trace_logs import FLASH, VFS, log_text, write_session

Summary = Any
BOARD = Path(os.environ.get("FFSLAB_SHARED", ROOT / ".." / "shared")) / "board"
BOARD_CHIP = Chip(2048, 64, 64, 2048)
needs_board = pytest.mark.skipif(not BOARD.is_dir(), reason="the board's captures are not in ../shared/board")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "session")


@pytest.fixture
def summary(session: Path) -> Summary:
    return summarize(load([session]), Endurance(100_000, "test"))[0]


def counted(row: Summary) -> dict[str, int]:
    """Counts that are not 0, by the letters of the log."""
    letters = {"page_reads": "R", "page_programs": "W", "erases": "E", "oob_reads": "r", "oob_programs": "w"}
    return {letter: row[key] for key, letter in letters.items() if row[key]}


# ---- the session counted by hand ----------------------------------------------------------------------------


def test_operations_are_counted_by_task_phase_and_partition(summary: Summary) -> None:
    found = summary["operations"]
    assert counted(found["totals"]) == {"R": 66, "W": 5, "E": 1, "r": 1}
    assert {(row["task"], row["background"]): counted(row) for row in found["by_task"]} == {
        ("jffs2_gcd_mtd1", True): {"R": 64, "E": 1},
        ("app", False): {"R": 2, "W": 4, "r": 1},
        ("kworker/0:1", True): {"W": 1},
    }
    assert [(row["first_s"], row["last_s"]) for row in found["by_task"]] == [
        (101.00035, 102.000063),
        (100.5, 105.0),
        (106.0, 106.0),
    ]
    assert [(row["phase"], counted(row)) for row in found["by_phase"]] == [
        ("start", {"R": 65, "W": 2, "E": 1}),
        ("second phase", {"R": 1, "W": 3, "r": 1}),
    ]
    assert [(row["partition"], counted(row)) for row in found["by_partition"]] == [
        ("mtd0 root", {"W": 1}),
        ("mtd1 the data", {"R": 66, "W": 4, "E": 1, "r": 1}),
    ]
    assert found["reads_of_erased"] == [
        {"task": "jffs2_gcd_mtd1", "page_reads_of_erased_blocks": 64, "erases": 1}
    ]  # fmt: skip


def test_operations_belong_to_the_calls_during_which_their_thread_made_them(summary: Summary) -> None:
    found = summary["causes"]
    assert found["joined_by"] == "process id"
    assert {row["class"]: counted(row) for row in found["classes"]} == {
        "in calls": {"R": 1, "W": 3, "r": 1},
        "background threads": {"R": 64, "W": 1, "E": 1},
        "outside recorded calls": {"R": 1, "W": 1},
    }
    assert counted(found["background_beside_calls"]) == {"E": 1}
    rows = {(row["task"], row["outermost"], row["innermost"]): counted(row) for row in found["rows"]}
    assert rows == {
        ("app", "vfs_write", "jffs2_write_end"): {"W": 2},
        ("app", "vfs_write", "vfs_write"): {"W": 1},
        ("app", "vfs_read", "page_cache_ra_unbounded"): {"R": 1, "r": 1},
        ("app", None, None): {"R": 1, "W": 1},
        ("jffs2_gcd_mtd1", None, None): {"R": 64, "E": 1},
        ("kworker/0:1", None, None): {"W": 1},
    }
    per_call = {row["function"]: row for row in found["per_call"]}
    assert (per_call["vfs_write"]["calls"], per_call["vfs_write"]["calls_with_operations"]) == (3, 2)
    assert per_call["vfs_write"]["page_programs"] == {"mean": 1.0, "max": 2}
    assert [(row["inode"], counted(row)) for row in found["inodes"]] == [(17, {"R": 1, "W": 2, "r": 1}), (18, {"W": 1})]


def test_amplification_counts_what_calls_returned(summary: Summary) -> None:
    written, read = 4096 + 100, 1024  # the third write failed; read-ahead is no read of the program
    found = summary["amplification"]
    assert (found["write"]["calls_B"], found["read"]["calls_B"]) == (written, read)
    assert found["write"]["factor"] == pytest.approx(5 * 2048 / written)
    assert found["write"]["factor_in_calls"] == pytest.approx(3 * 2048 / written)
    assert found["read"]["factor"] == pytest.approx(66 * 2048 / read)
    assert found["read"]["factor_in_calls"] == pytest.approx(2048 / read)


def test_response_times_by_level(summary: Summary) -> None:
    rows = {(row["level"], row["function"]): row for row in summary["response_times"]}
    writes = rows["vfsmon", "vfs_write"]
    assert [writes[key] for key in ("n", "sum_us", "min_us", "p50_us", "p99_us", "max_us")] == [
        3,
        800,
        100,
        200,
        500,
        500,
    ]
    assert rows["funcmon", "jffs2_write_end"]["mean_us"] == 350


def test_a_call_under_way_at_the_end_has_operations_but_no_duration(tmp_path: Path) -> None:
    (tmp_path / "flashmon.log").write_text(log_text("flashmon", ["150;W;5;app;200;2048"]), encoding="utf-8")
    calls = ["149;;vfs_write;app;200;17;0;4096;", "140;7;vfs_write;app;200;17;0;4096;4096"]
    (tmp_path / "vfsmon.log").write_text(log_text("vfsmon", calls), encoding="utf-8")
    summary = summarize(load([tmp_path]))[0]
    assert counted(summary["causes"]["classes"][0]) == {"W": 1}
    (row,) = summary["response_times"]
    assert (row["n"], row["under_way"], row["max_us"]) == (1, 1, 7.0)


def test_the_cost_of_the_probes_is_told(session: Path, summary: Summary) -> None:
    shares = {log["source"]: log["overhead_percent"] for log in summary["logs"]}
    # 74 events, marker included, of 700 ns each, in 100 s.
    assert shares["flashmon"] == pytest.approx(len(FLASH) * 700e-9 / 100 * 100)


def test_wear_and_lifetime(summary: Summary) -> None:
    (row,) = summary["wear"]  # nothing was erased on mtd0
    assert (row["partition"], row["blocks"], row["erases"], row["busiest_block"]) == ("mtd1 the data", 512, 1, 600)
    life = row["lifetime_years"]
    # 1 erase in the 100 s of the log.
    assert life["levelled"]["estimate"] == pytest.approx(100_000 * 512 * 100 / YEAR_S)
    assert life["busiest_block"]["estimate"] == pytest.approx(100_000 * 100 / YEAR_S)
    for limit in life.values():
        assert limit["low"] < limit["estimate"] < limit["high"]


def test_what_is_asked_first_is_said_in_sentences(summary: Summary) -> None:
    said = sentences(summary)
    assert "66 page reads: 97 % by background threads, 97 % of blocks that were just erased." in said
    assert "5 page programs: 20 % by background threads." in said
    slowest = max(summary["response_times"], key=lambda row: row["sum_us"])
    assert said[0].startswith(f"{slowest['function']} takes ")
    (life,) = (text for text in said if "would last" in text)
    assert life.startswith("mtd1 the data would last 0.317 years (its busiest block) to 162 years")
    assert not sentences(summary | {"wear": [], "response_times": [], "operations": None, "amplification": {}})


def test_the_longest_call_of_each_function_is_in_the_picture(session: Path) -> None:
    """The axis was that of the first function that was drawn: what took longer was cut off."""
    recording = load([session])
    calls = recording.calls(VFSMON)
    assert calls is not None
    # The function with the largest sum is drawn first; another one has the longest call.
    first = int(np.argmax(np.bincount(calls.function)))
    assert (calls.function == first).sum() >= 3
    calls.duration_ns[:] = 1_000
    calls.duration_ns[calls.function == first] = 40_000_000
    calls.duration_ns[int(np.flatnonzero(calls.function != first)[0])] = 110_000_000
    (picture,) = [one for one in response_times(recording) if "times-vfsmon" in one.data]
    spec: Any = picture.data["times-vfsmon"]
    drawn = [np.frombuffer(base64.b64decode(line["x"]), dtype="<f4") for line in spec["series"]]
    assert max(line.max() for line in drawn) == 110_000


def test_the_command_writes_text_page_summary_and_blocks(ffslab: Command, session: Path, tmp_path: Path) -> None:
    ran = ffslab("trace", "report", session, "--endurance", "100000")
    assert (ran.returncode, ran.stderr) == (0, "")
    for words in ("Flash operations by task", "Which operations belong to calls", "Estimated lifetime", "the data"):
        assert words in ran.stdout
    folder = tmp_path / "results" / "trace-session"
    assert {path.name for path in folder.iterdir()} == {"report.html", "summary.json", "blocks.parquet"}
    blocks = pq.read_table(folder / "blocks.parquet").to_pandas()
    assert len(blocks) == 1024
    assert blocks[["page_reads", "page_programs", "erases"]].sum().tolist() == [66, 5, 1]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'data-(?:chart|blocks)="([^"]*)"', page) == [
        "over-time-0", "over-time-1", "over-time-2", "where", "blocks", "times-vfsmon", "times-funcmon"
    ]  # fmt: skip
    assert "src=" not in page.replace('src="data:', "").replace('xlink:href="data:', "")
    again = ffslab("trace", "report", session, "--endurance", "100000", "--json")
    assert again.stdout == (folder / "summary.json").read_text(encoding="utf-8")
    assert page == (folder / "report.html").read_text(encoding="utf-8"), "two runs, different bytes"


def test_parts_know_their_geometry_and_endurance(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("1.000000000;E;2047;gc\n11.000000000;E;2046;gc\n", encoding="utf-8")
    shown = json.loads(ffslab("trace", "report", "old.log", "--part", "mt29f2g08aac", "--json").stdout)
    (row,) = shown["wear"]
    assert (shown["chip"]["blocks"], row["endurance_erases"]) == (2048, 100_000)
    assert "data sheet" in row["endurance_source"]
    assert row["lifetime_years"]["levelled"]["estimate"] == pytest.approx(100_000 * 2048 / 2 * 10 / YEAR_S)
    nor = ffslab("trace", "report", "old.log", "--part", "w25q128jv")
    assert nor.returncode == 2 and "--part w25q128jv: has no pages, as logs of NAND have" in nor.stderr


# ---- logs of others -----------------------------------------------------------------------------------------


def test_the_map_shows_the_partition_that_was_worked_on(tmp_path: Path) -> None:
    """Eight of 1024 blocks: a map of the whole chip would be grey but for a corner."""
    own = ("mtd0 offset_B=0 size_B=67108864 name=root", "mtd1 offset_B=67108864 size_B=1048576 name=small")
    lines = ["100.5;R;32768;app;200;2048", "100.6;R;33000;app;200;2048"]
    (tmp_path / "flashmon.log").write_text(log_text("flashmon", lines, partitions=own), encoding="utf-8")
    recording = load([tmp_path])
    summary, table = summarize(recording)
    assert table is not None and len(table) == 1024
    shown = mapped_blocks(recording, table)
    assert shown == range(512, 520)
    drawn = block_maps(table, shown)
    assert drawn is not None
    held: Any = drawn.data["blocks"]
    assert held[0]["first"] == 512
    assert held[0]["metrics"][0]["values"] == [1, None, None, 1, None, None, None, None]
    assert "Erase blocks 512 to 519 of the chip" in html(recording, summary, table, "t")
    # What is in no partition is not hidden.
    table[600, 0] = 1
    assert mapped_blocks(recording, table) == range(1024)


def test_the_spatial_view_of_flashmon(tmp_path: Path) -> None:
    (tmp_path / "flashmon").write_text("3 2 1\n0 0 0\n5 0 2\n", encoding="utf-8")
    summary, blocks = summarize(load([tmp_path / "flashmon"]))
    assert blocks is not None and blocks.tolist() == [[3, 2, 1], [0, 0, 0], [5, 0, 2]]
    assert summary["wear"][0]["erases"] == 3
    assert "lifetime_years" not in summary["wear"][0]  # no times


def test_markers_without_a_time_stand_where_the_log_has_them(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("1.5;R;1;app\n---\n2.5;R;2;app\n2.5;W;3;app\n", encoding="utf-8")
    phases = summarize(load([tmp_path / "log"]))[0]["operations"]["by_phase"]
    assert [counted(row) for row in phases] == [{"R": 1}, {"R": 1, "W": 1}]


@needs_board
@pytest.mark.parametrize(
    ("capture", "totals", "checks"),
    [
        ("insert_capture_b/flash/128_run1", (472, 423, 5), (320, 5)),
        ("insert_capture_b/flash/4096_run1", (1649, 2153, 14), (896, 14)),
        ("insert_capture_b/flash/128_run2", None, (640, 10)),
    ],
)
def test_jffs2_checks_each_block_that_it_erased(
    capture: str, totals: tuple[int, ...] | None, checks: tuple[int, int]
) -> None:
    """Each erase by the garbage collection thread is accompanied by 64 page reads of that block."""
    summary, _ = summarize(load([BOARD / f"{capture}.csv.gz"], BOARD_CHIP))
    found = summary["operations"]
    if totals is not None:
        assert tuple(found["totals"][key] for key in ("page_reads", "page_programs", "erases")) == totals
    tasks = {row["task"]: row["background"] for row in found["by_task"]}
    assert tasks == {"insert": False, "jffs2_gcd_mtd5": True, "sync_supers": True}
    (row,) = found["reads_of_erased"]
    assert (row["task"], row["page_reads_of_erased_blocks"], row["erases"]) == ("jffs2_gcd_mtd5", *checks)


@needs_board
def test_reads_of_the_real_board_lie_in_jffs2_readpage() -> None:
    """Two monitors with clocks of their own: brought together, every read of the program has its call."""
    logs = [BOARD / "select" / level / "128_run2.csv" for level in ("flash", "ffs")]
    found = summarize(load(logs, BOARD_CHIP, {"funcmon": -142.99555}))[0]["causes"]
    assert found["joined_by"] == "time alone"
    rows = {(row["task"], row["innermost"]): counted(row) for row in found["rows"]}
    assert rows["select", "jffs2_readpage"] == {"R": 82}
    assert ("select", None) not in rows


# ---- simulated runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fs", ["jffs2", "ubifs"])
def test_the_logs_of_a_simulated_run_say_what_its_summary_says(ffslab: Command, tmp_path: Path, fs: str) -> None:
    text = SMALL.replace("[stack]", "probe_logs = true\n[stack]").partition("[axes]")[0].replace("jffs2", fs)
    text = text.replace("partition_blocks = 32", "partition_blocks = 120")
    if fs == "ubifs":
        made = '[[setup]]\nstep = "ubi_attach"\n[[setup]]\nstep = "ubi_make_volume"\n'
        text = text.replace("[[setup]]", made + "[[setup]]", 1)
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "run.toml", "--json")
    assert ran.returncode == 0, ran.stderr
    (variant,) = json.loads(ran.stdout)["variants"]
    folder = tmp_path / "results" / "run"
    summary, blocks = summarize(load([folder]))
    assert (summary["flaws"], summary["notes"]) == ([], [])
    totals = summary["operations"]["totals"]
    assert totals["page_programs"] > 100
    for key in ("page_reads", "page_programs", "erases", "oob_reads", "oob_programs"):
        assert totals[key] == variant["totals"][key], key
    for way, moved in (("read", "user_read_B"), ("write", "user_written_B")):
        amplified: Any = summary["amplification"]
        assert amplified[way]["calls_B"] == variant[moved]
        # The logs of a system do not know which operations are of a setup or of formatting: the factor is that of all.
        pages = totals["page_reads" if way == "read" else "page_programs"]
        assert amplified[way]["factor"] == pytest.approx(pages * 2048 / variant[moved], abs=0.005)
    sums = sum(row["sum_us"] for row in summary["response_times"])
    assert sums == pytest.approx(variant["latency_us"]["sum"], abs=0.01)
    assert blocks is not None
    erases = pq.read_table(folder / "blocks.parquet").to_pandas()["erases_main"]
    assert blocks[: len(erases), 2].tolist() == erases.tolist()
    phases = [row["phase"] for row in summary["operations"]["by_phase"]]
    assert phases == ['open "target"', 'requests "target"', 'requests "target" (2)', 'close "target"', "sync"]


def test_the_manual_shows_what_the_commands_print(ffslab: Command) -> None:
    """Every line of the tables in docs/trace-report.md, made by the commands that stand above them."""
    run = ffslab("run", ROOT / "examples/trace/half-full.toml")
    assert run.returncode == 0, run.stderr
    logs = "results/half-full/logs"
    shown = ffslab("trace", "report", f"{logs}/1", "--part", "mt29f2g08aac").stdout
    shown += ffslab("trace", "diff", f"{logs}/1", f"{logs}/2").stdout
    manual = (ROOT / "docs" / "trace-report.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n)+", manual.partition("## What a report says")[2], re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    assert len(lines) > 15
    printed = {line.strip() for line in shown.splitlines()}
    assert [line for line in lines if line not in printed] == []


# ---- large logs ---------------------------------------------------------------------------------------------


def test_logs_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the pieces does not matter to what is read, markers and line numbers included."""
    path = tmp_path / "flashmon.log"
    path.write_text(log_text("flashmon", FLASH), encoding="utf-8")
    calls = tmp_path / "vfsmon.log"
    calls.write_text(log_text("vfsmon", VFS), encoding="utf-8")
    whole = [read_log(log, Names(), Names()) for log in (path, calls)]
    for size in (700, 1000):
        monkeypatch.setattr("ffslab.measured.tracereport.lines.CHUNK_B", size)
        pieces = [read_log(log, Names(), Names()) for log in (path, calls)]
        for one, other in zip(whole, pieces, strict=True):
            assert (one.markers, one.foot, one.flaws) == (other.markers, other.foot, other.flaws)
            for a, b in ((one.flash, other.flash), (one.calls, other.calls)):
                assert a is None or b is None or all((vars(a)[key] == vars(b)[key]).all() for key in vars(a))
