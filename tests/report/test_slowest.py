"""The slowest calls: each with what it waited for, which adds up to how long it took."""

from pathlib import Path

import pytest

import ffslab
from ffslab.text.durations import duration
from ffslab.text.slowest import call_text, slowest_cells, waits_text
from ffslab.text.summary import summary_text

# A full partition of JFFS2, which must collect and erase while the program writes.
FULL = """
title = "slow writes"
[stack]
board = "omap3evm"
fs = "{fs}"
partition_blocks = 96
[[setup]]
step = "mount"
[[setup]]
step = "sleep"
us = "30 s"
[[setup]]
step = "saturate"
[[measure]]
step = "open"
file = "target"
flags = ["wronly", "create"]
[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = 1200
range_B = "4 MiB"
[[measure]]
step = "fsync"
file = "target"
"""


def run_of(fs: str) -> ffslab.Run:
    return ffslab.Experiment.from_toml(FULL.format(fs=fs)).run()


@pytest.fixture(scope="module")
def full() -> ffslab.Run:
    return run_of("jffs2")


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_what_a_call_waited_for_is_all_of_its_latency(fs: str) -> None:
    run = run_of(fs)
    variant = run.summary["variants"][0]
    slowest = variant["slowest"]
    latencies = run.requests["latency_us"].sort_values(ascending=False)
    assert [call["latency_us"] for call in slowest] == pytest.approx(latencies[: len(slowest)].tolist())
    for call in slowest:
        waited = sum(wait["time_us"] for wait in call["waited_for"])
        # Reading the clock is a part of the latency, too.
        assert waited + call["idle_us"] == pytest.approx(call["latency_us"], abs=0.002)
        times = [wait["time_us"] for wait in call["waited_for"]]
        assert times == sorted(times, reverse=True)


def test_a_row_has_the_main_cause_and_the_operations(full: ffslab.Run) -> None:
    rows, variant = full.requests, full.summary["variants"][0]
    for call in variant["slowest"]:
        row = rows[(rows["step"] == call["step"]) & (rows["i"] == call["i"])].iloc[0]
        main = call["waited_for"][0]
        assert (row["cause"], row["cause_task"]) == (main["reason"], main["task"])
        assert row["cause_us"] == pytest.approx(main["time_us"])
        assert row["erases"] == sum(wait["erases"] for wait in call["waited_for"])
        assert row["flash_us"] == pytest.approx(sum(wait["flash_us"] for wait in call["waited_for"]))
    # The calls are most of the run, and nothing is counted for two of them.
    assert 0 < rows["erases"].sum() <= variant["totals"]["erases"]
    assert 0 < rows["page_programs"].sum() <= variant["totals"]["page_programs"]


def test_the_worst_write_of_a_full_partition_waits_for_collection(full: ffslab.Run) -> None:
    variant = full.summary["variants"][0]
    # The sync at the end, which erases all that is left to erase, is slower.
    worst = next(call for call in variant["slowest"] if call["op"] == "write")
    told = waits_text(worst, variant)
    assert "erase read-back" in told and "erase" in told and " %: " in told, told
    assert call_text(worst).startswith("write 4 KiB of target")
    head, rows = slowest_cells(full.summary["variants"], 3)
    assert head == ["slowest calls so far", "took", "began after", "waited for"] and len(rows) == 3


def test_calls_beyond_the_kept_rows_are_among_the_slowest() -> None:
    few = ffslab.Experiment.from_toml("requests_kept = 10\n" + FULL.format(fs="jffs2")).run()
    all_kept, kept = (run_of("jffs2").summary["variants"][0], few.summary["variants"][0])
    assert kept["requests_kept"] == 10
    assert kept["slowest"] == all_kept["slowest"]


def test_the_report_and_the_table_show_them(full: ffslab.Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    full.report(page)
    text = page.read_text()
    assert "<h2>Slowest calls</h2>" in text and "erase read-back" in text
    assert "slowest calls" in summary_text(full.summary)


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0.0, "0.0 us"),
        (999.94, "999.9 us"),
        (999.96, "1.0 ms"),
        (11_757.067, "11.8 ms"),
        (2_300_000.0, "2.3 s"),
        (59_999_600.0, "1 min 0 s"),
        (63_000_000.0, "1 min 3 s"),
        (3_603_000_000.0, "1 h 0 min 3 s"),
        (2 * 86_400e6 + 3 * 3_600e6 + 59e6, "2 d 3 h 0 min"),
    ],
)
def test_times_are_said_as_people_say_them(us: float, said: str) -> None:
    assert duration(us) == said


def test_calls_about_keys_name_operation_and_key() -> None:
    """They were told as writes of a file "key####" at an offset, which is the number of the key."""
    steps = ('"set"\nbytes = 64', '"get"', '"delete"')
    keys = "\n".join(f"[[measure]]\nstep = {step}\nkeys = 40\ncount = 3" for step in steps)
    store = (
        'title = "keys"\n[stack]\nsystem = "bare"\nfs = "sequential-storage"\nboard = "licheepi-nano"\n'
        'part = "w25q128jv"\nerase_block_KiB = 4\npartition_blocks = 4\n[[setup]]\nstep = "mount"\n'
    )
    run = ffslab.Experiment.from_toml(f'{store}{keys}\n[[measure]]\nstep = "iterate"\n').run()
    _, rows = slowest_cells(run.summary["variants"])
    assert {"set 64 B of key0002", "get 64 B of key0001", "delete key0000", "iterate"} <= {row[0] for row in rows}
