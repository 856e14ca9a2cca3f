"""Kinds of power cuts: unstable bits, a write cache that is lost out of order; and a recorded trace as the workload."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ffslab import InputError
from ffslab.studies.crashtest import CrashTest, Cuts, crashtest
from ffslab.studies.crashtest.keep import keep
from ffslab.studies.crashtest.run import Outcome, answer_of
from test_crashtest import EXAMPLES, UBIFS, WRITES, of_steps

SYNCED = {"step": "append", "file": "b", "request_B": 3000, "count": 8, "sync": "fsync"}


def found(outcome: Outcome) -> set[str]:
    return {failure["found"] for failure in outcome.failures}


def unstable(fs: str) -> Outcome:
    test = replace(of_steps(WRITES[1], SYNCED, WRITES[-1], fs=fs), cuts=Cuts(tears=0, unstable=3, second_mount=True))
    return crashtest(test, points=160)


def test_a_file_system_that_trusts_one_read_loses_what_it_read_well_and_one_that_writes_it_anew_does_not() -> None:
    """No file system promises it: those that lose something are not blamed."""
    found_of = {fs: found(unstable(fs)) for fs in ("jffs2", "yaffs2", "ubifs")}
    assert found_of == {"jffs2": {"not-promised"}, "yaffs2": {"not-promised"}, "ubifs": set()}


def test_a_torn_page_that_recovery_dropped_is_back_while_blocks_are_formatted_and_not_on_a_settled_partition() -> None:
    """A fault of Linux, which `tests/referee` asks the kernel for."""
    fresh = CrashTest.from_file(EXAMPLES / "first-boot.toml")
    outcome = crashtest(fresh)
    assert [failure["says"] for failure in outcome.failures] == [
        "cannot be mounted a second time: the volume holds no valid UBIFS: damaged nodes"
    ]
    assert "a recovery has emptied and UBI has not yet erased" in " ".join(answer_of(outcome)["faults_met"])
    settled = crashtest(replace(fresh, initial="settled"))
    assert not settled.failures
    # Whoever says nothing has no formatting beside the workload.
    assert CrashTest({"fs": "ubifs"}, {}).initial == "settled"
    assert settled.points.operations < 100


def disk(program: str, **cuts: Any) -> Outcome:
    test = CrashTest.from_file(EXAMPLES / "disk-no-flush.toml")
    return crashtest(replace(test, program=f"disk.py:{program}", cuts=replace(test.cuts, **cuts)))


def test_a_header_that_may_arrive_before_what_it_names_is_found_by_cuts_of_the_cache_alone(tmp_path: Path) -> None:
    assert found(disk("slots_right")) == set()
    assert found(disk("slots_no_flush", cache=0)) == set()
    outcome = disk("slots_no_flush")
    (failure,) = [failure for failure in outcome.failures if failure["torn"] == "cache"][:1]
    assert found(outcome) == {"application"} and "not whole" in failure["says"]
    # What is kept fails again.
    again = crashtest(CrashTest.from_file(keep(outcome, failure, tmp_path, 1)))
    assert [failure["says"] for failure in again.failures] == [failure["says"]]


def test_cuts_of_a_cache_do_not_depend_on_the_number_of_threads() -> None:
    test = CrashTest.from_file(EXAMPLES / "disk-no-flush.toml")
    assert crashtest(test, points=60, jobs=1).judged == crashtest(test, points=60, jobs=2).judged


def test_a_device_without_a_write_cache_has_none_to_lose() -> None:
    with pytest.raises(InputError, match="buffer_pages"):
        crashtest(replace(of_steps(*WRITES), cuts=Cuts(cache=1)))


STRACE = """\
1 100.000100 openat(AT_FDCWD, "new", O_WRONLY|O_CREAT, 0644) = 3 <0.000010>
1 100.000200 write(3, "{text}", {bytes}) = {bytes} <0.000010>
{fsync}1 100.000400 close(3) = 0 <0.000010>
1 100.000500 rename("new", "saved") = 0 <0.000010>
1 100.000600 openat(AT_FDCWD, ".", O_RDONLY|O_DIRECTORY) = 4 <0.000010>
1 100.000700 fsync(4) = 0 <0.000010>
1 100.000800 close(4) = 0 <0.000010>
"""


@pytest.mark.parametrize(("fsync", "holds"), [("1 100.000300 fsync(3) = 0 <0.000010>\\n", True), ("", False)])
def test_a_recorded_trace_is_a_workload(tmp_path: Path, fsync: str, holds: bool) -> None:
    text = "x" * 3000
    (tmp_path / "saves.strace").write_text(
        STRACE.format(text=text, bytes=len(text), fsync=fsync.replace("\\n", "\n")), encoding="utf-8"
    )
    (tmp_path / "judge.py").write_text(
        "def check(files, told):\n    return None if len(files.get('saved', bytes(3000))) == 3000 else 'half'\n",
        encoding="utf-8",
    )
    test = CrashTest(
        stack=UBIFS,
        judge={"kind": "python", "function": "judge.py:check"},
        steps=({"step": "replay", "file": "saves.strace", "think": "none"},),
        folder=tmp_path,
    )
    outcome = crashtest(test)
    assert answer_of(outcome)["operations"] > 3
    assert answer_of(outcome)["holds"] is holds
    assert holds or found(outcome) == {"application"}
