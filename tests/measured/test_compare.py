"""`ffslab trace compare`: a board's traces beside a replay of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab._native import InputError
from ffslab.api.machine import Machine
from ffslab.measured.compare import comparison, page, verb
from ffslab.measured.compare.alignment import offset_s
from ffslab.measured.compare.board_logs import read_calls
from ffslab.measured.compare.content import insert_writes
from ffslab.measured.compare.sessions import Session, traced_machine, with_inferred
from ffslab.measured.compare.tables import text
from ffslab.measured.compare.trace_folder import recordings, runs_before
from ffslab.measured.threads import is_background, task_of
from helpers.command import ROOT
from helpers.compare_logs import PACE_S, vfs_log

BOARD = ROOT.parent / "shared" / "board"
needs_board = pytest.mark.skipif(not BOARD.is_dir(), reason="the measurements of the board are not here")


def test_sqlite_writes_what_the_trace_says(tmp_path: Path) -> None:
    calls = read_calls(vfs_log(tmp_path))
    assert [call.op for call in calls[:3]] == ["open", "open", "write"]
    assert calls[0].t_s == 0 and calls[1].t_s == pytest.approx(PACE_S)
    whole = with_inferred(calls)
    ops = [call.op for call in whole if call.inferred]
    # Journal, directory, journal header, data base; then the journal is deleted.
    assert ops == ["fsync", "fsync", "fsync", "fsync", "unlink"] * 3
    assert with_inferred(whole) == whole, "what is there is not inferred again"


def test_the_same_inserts_are_the_same_bytes() -> None:
    """Journals hold random numbers of SQLite's, whose generator is one for the whole process."""
    assert insert_writes(128, 3) == insert_writes(128, 3)


def test_texts_do_not_shrink_by_repetition() -> None:
    import zlib

    _, inserts = insert_writes(4096, 1)
    overflow = [write.data for write in inserts[0] if not write.journal and write.offset >= 2048]
    stored = [len(zlib.compress(data, 3)) for data in overflow[1:-1]]
    # 5.95 bits a letter: what the board programs says 819 B of 1024 B.
    assert all(790 < count < 850 for count in stored)


def test_a_replay_says_what_each_call_did(tmp_path: Path) -> None:
    vfs_log(tmp_path)
    [recording] = recordings(tmp_path)
    assert (recording.workload, recording.timed, runs_before(recording)) == ("INSERT", True, 0)
    session = Session(traced_machine(partition_blocks=20), 128, 100)
    made = list(session.run(with_inferred(recording.calls)))
    for one in (call for call in made if call.call.op == "write"):
        pages = one.after["work"]["page_write"]
        assert pages["count"] - one.before["work"]["page_write"]["count"] == 1
        assert pages["bytes"] - one.before["work"]["page_write"]["bytes"] == one.call.bytes
    assert made[-1].after["functions"]["write_end"]["calls"] == sum(one.call.op == "write" for one in made) + 4


def test_tracers_cost_what_the_profile_says(tmp_path: Path) -> None:
    vfs_log(tmp_path)
    [recording] = recordings(tmp_path)

    def mean_us(traced: bool) -> float:
        machine = traced_machine(partition_blocks=20, traced=traced)
        writes = [made for made in Session(machine, 128, 100).run(recording.calls) if made.call.op == "write"]
        return sum(made.latency_us for made in writes) / len(writes)

    # A call, write_begin and write_end.
    assert mean_us(True) - mean_us(False) == pytest.approx(91.36 + 2 * 3.182, abs=0.01)


def test_the_table_and_the_json_agree(tmp_path: Path) -> None:
    vfs_log(tmp_path)
    printed = verb.run([tmp_path], [], traced_machine(partition_blocks=20), json=True)
    [row] = [row for row in json.loads(printed)["times"] if row["call"] == "vfs_write"]
    assert row["measured_mean_us"] == pytest.approx(200)
    assert row["mean_error_pct"] == pytest.approx(100 * (row["simulated_mean_us"] / 200 - 1))
    told = verb.run([tmp_path], [128], traced_machine(partition_blocks=20), json=False)
    assert f"{row['simulated_mean_us']:,.1f}" in told and "inferred" in told


STRACE = """\
7 1700000000.000000 openat(AT_FDCWD, "/data/a", O_RDWR|O_CREAT, 0644) = 3 <0.000050>
7 1700000000.100000 write(3, "x"..., 4096) = 4096 <0.000300>
7 1700000000.200000 pwrite64(3, "x"..., 4096, 4096) = 4096 <0.000500>
7 1700000000.300000 fsync(3) = 0 <0.002000>
7 1700000000.350000 fchown(3, 0, 0) = 0 <0.000020>
7 1700000000.400000 close(3) = 0 <0.000010>
"""


def test_any_recording_is_compared_call_by_call(tmp_path: Path) -> None:
    source = tmp_path / "app.strace"
    source.write_text(STRACE, encoding="utf-8")
    machine = Machine("omap3evm", partition_blocks=64, settings={"fs": "ubifs"})
    found = verb.compared_with([source], [], machine)
    rows = {row.call: row for row in found.times}
    assert list(rows) == ["open", "write", "sync", "close"]
    assert (rows["write"].measured_n, rows["write"].simulated_n) == (2, 2)
    assert rows["write"].measured_mean_us == pytest.approx(400) and rows["write"].session == "app.strace"
    assert any("times no chown (1)" in note for note in found.notes)
    # Tracers run as the board's profile says, unless that is set otherwise.
    bare = verb.compared_with([source], [], replace(machine, settings={"fs": "ubifs", "traced": False}))
    assert found.traced and not bare.traced
    plain = {row.call: row for row in bare.times}
    assert rows["close"].simulated_mean_us - plain["close"].simulated_mean_us == pytest.approx(91.36, abs=0.01)
    printed = text(found)
    assert "OpenFlash" not in printed and "over runs" not in printed and "app.strace  write" in printed
    assert "OpenFlash" not in page.html(found)


@pytest.mark.parametrize(
    ("sources", "record_bytes", "message"),
    [
        (["app.strace", "."], [], "is a recording, and .* a folder of traces: compare them one by one"),
        (["app.strace"], [128], "is a recording, whose records have no size: leave --record-B out"),
        (["calls.csv"], [], "its calls have no durations"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, sources: list[str], record_bytes: list[int], message: str
) -> None:
    (tmp_path / "app.strace").write_text(STRACE, encoding="utf-8")
    (tmp_path / "calls.csv").write_text("op,file,offset_B,size_B,start_us\nwrite,a,0,10,0\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        verb.compared_with([tmp_path / source for source in sources], record_bytes, Machine("omap3evm"))


def test_threads_of_the_kernel_are_known_by_their_names() -> None:
    tasks = [task_of(name) for name in ("jffs2_gcd_mtd0", "sync_supers", "kworker/u2:1", "ubi_bgt0d", "insert", "sync")]
    assert tasks == ["jffs2_gc_thread", "kworker", "kworker", "ubi_thread", "caller", "caller"]
    assert is_background("sync") and is_background("jffs2_gcd_mtd5") and not is_background("insert")


def test_clocks_are_brought_together() -> None:
    starts = [10.0, 20.5, 20.6, 31.25]
    found, share = offset_s(starts, [0.01] * 4, [t - 7.5 + 0.001 for t in starts])
    assert found == pytest.approx(7.5, abs=0.009) and share == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.0;read;3;0;x;/mnt/flash/test.db;0.1\n", "vfs/128_run1.csv:1: expected"),
        ("", "there is no system call in it"),
        ("1.0;write;3;0;77;/mnt/flash/test.db;0.1\n", "not the writes of 100 INSERTs"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    place = tmp_path / "vfs" / "128_run1.csv"
    place.parent.mkdir()
    place.write_text(text)
    with pytest.raises(InputError, match=message):
        comparison.compare(recordings(tmp_path), traced_machine())


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no log of system calls"):
        recordings(tmp_path)


@needs_board
def test_select_as_on_the_board() -> None:
    compared = comparison.compare(recordings(BOARD / "select"), traced_machine())
    for row in compared.times:
        assert abs(row.mean_error) < 5 and abs(row.total_error) < 8, row
    for reads in (row for row in compared.flash if row.operation == "reads" and row.task == "select"):
        assert reads.error is not None and abs(reads.error) < 10, reads


@needs_board
def test_flash_operations_of_inserts_as_on_the_board() -> None:
    compared = comparison.compare(recordings(BOARD / "insert_capture_b", record_bytes=[128]), traced_machine())
    for row in (row for row in compared.flash if row.task == "all"):
        assert row.error is not None and abs(row.error) < 10, row
