"""Runs the workload of a test once, and judges every cut of it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from ffslab._native import InputError, __version__
from ffslab.studies.crashtest import programs
from ffslab.studies.crashtest.file import CrashTest, Cut
from ffslab.studies.crashtest.functions import function_at
from ffslab.studies.crashtest.judges import judge_of
from ffslab.studies.crashtest.machine import WatchedStack
from ffslab.studies.crashtest.points import Points, points_of
from ffslab.studies.crashtest.programs import ProgramRecording
from ffslab.studies.crashtest.resume import Kept
from ffslab.text.machine_line import Seen, line
from ffslab.text.tables import counted

if TYPE_CHECKING:
    from ffslab._native import CrashRecording
    from ffslab.answers.crashtest import CrashAnswer, CrashFailure

Progress = Callable[[float], object]
# Cuts that are made at once. Media that are equal are mounted once within a batch; they mostly follow each other.
BATCH = 1000

# Of glibc's mallopt(3): from which size on an allocation is its own mapping (the most that it takes), and how much
# free memory at the end is kept.
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
_OWN_MAPPING_BYTES, _KEPT_BYTES = 32 << 20, 1 << 30

# An empty partition gets its file system before the workload.
_MADE = ({"step": "mount"}, {"step": "umount"})


class _Finding(TypedDict):
    point: int
    found: str
    says: str
    recoveries_cut: list[str]


class _Judged(TypedDict):
    points: int
    states: int
    recoveries: int
    cuts_of_recoveries: int
    cuts_of_second_mounts: int
    findings: list[_Finding]
    # Not there if there is none.
    faults_met: list[str]


@dataclass(frozen=True)
class Outcome:
    """What was found, and what it was found with."""

    test: CrashTest
    recording: CrashRecording | ProgramRecording
    points: Points
    judged: _Judged

    @property
    def failures(self) -> list[CrashFailure]:
        """What is wrong, the same at several cuts once, in the order of the first cuts."""
        found: dict[tuple[str, str], CrashFailure] = {}
        for finding in self.judged["findings"]:
            if finding["found"] == "refused":
                continue
            key = (finding["found"], _without_numbers(finding["says"]))
            if key in found:
                is_plainer = self.test.on_chip and len(finding["recoveries_cut"]) < len(found[key]["recoveries_cut"])
                # The check of a program tells most where it was not cut itself.
                told = self._failure(finding) if is_plainer else found[key]
                found[key] = {**told, "cuts": found[key]["cuts"] + 1}
            else:
                found[key] = self._failure(finding)
        return list(found.values())

    def _failure(self, finding: _Finding) -> CrashFailure:
        cut = self.points.cuts[finding["point"]]
        return {
            "found": finding["found"],
            "says": finding["says"],
            "cuts": 1,
            "operation": cut.operation,
            "torn": cut.torn,
            "seed": cut.seed,
            "during": self.recording.during(cut.operation) if isinstance(self.recording, ProgramRecording) else "",
            "recoveries_cut": finding["recoveries_cut"],
            "file": None,
        }


def _keep_freed_memory() -> None:
    """Each cut builds a machine and frees it: what the next one takes again does not go back to the kernel meanwhile,
    whose page faults were a quarter of the time. Other C libraries than glibc decide by themselves."""
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def crashtest(
    test: CrashTest,
    *,
    points: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Outcome:
    """Runs a test: its workload, and every cut that it asks for, `points` of them at most.

    The result does not depend on `jobs`, the number of threads. Cuts are made in batches of `BATCH`; what is judged is
    kept in `folder` until the end, so that a test that was interrupted goes on where it was.

    Raises `ffslab.InputError` when the workload cannot be run, or the judge is none.
    """
    _check_cache(test)
    _keep_freed_memory()
    recording = recorded(test)
    judge, seen = None, None
    if not isinstance(recording, ProgramRecording):
        with _told_of(test):
            judge, seen = judge_of(test, recording)
    chosen = points_of(test, recording.operations(), points)
    if test.cut is not None and test.cut.operation > chosen.operations + 1:
        last = f"the workload has {chosen.operations} programs and erases"
        raise InputError(f"{test.file_name}: [cut]: operation {test.cut.operation}: {last}")
    wanted = {
        "recovery_cuts": test.cuts.recovery,
        "depth": test.cuts.depth,
        "second_mount": test.cuts.second_mount,
        "jobs": jobs or os.cpu_count() or 1,
    }
    kept = Kept.of(folder, test, recording, chosen) if folder is not None and len(chosen.cuts) > BATCH else None
    judged = cast("_Judged", kept and kept.read()) or _Judged(
        points=0, states=0, recoveries=0, cuts_of_recoveries=0, cuts_of_second_mounts=0, findings=[], faults_met=[]
    )
    is_whole = judged["points"] == 0 and any(cut.operation > chosen.operations for cut in chosen.cuts)
    while judged["points"] < len(chosen.cuts):
        at = judged["points"]
        rows = [(cut.operation, cut.torn, cut.seed) for cut in chosen.cuts[at : at + BATCH]]
        shown = _of_batch(progress, at, len(rows), len(chosen.cuts))
        with _told_of(test):
            fresh: _Judged = json.loads(recording.judge(rows, json.dumps(wanted), judge, shown))
        judged = _together(judged, fresh)
        if kept is not None:
            kept.write(judged)
    if kept is not None:
        kept.remove()
    # Of single cuts, and of the rest of a test that was interrupted, nobody can say so.
    if seen is not None and is_whole and test.cut is None:
        with _told_of(test):
            seen.check()
    if chosen.operations == 0 and not judged["findings"]:
        raise InputError(
            f"{test.file_name}: its workload programs and erases nothing, so there is no power cut to judge: "
            "let it write, and sync what it writes"
        )
    return Outcome(test, recording, chosen, judged)


@contextmanager
def _told_of(test: CrashTest, where: str = "") -> Iterator[None]:
    """What is wrong is told with the file that says it, once."""
    try:
        yield
    except InputError as error:
        is_told = str(error).startswith(f"{test.file_name}: ")
        raise InputError(str(error) if is_told else f"{test.file_name}: {where}{error}") from None


def _check_cache(test: CrashTest) -> None:
    """Refuses cuts of a write cache where there is none."""
    is_asked = test.cuts.cache or (test.cut is not None and test.cut.torn == "cache")
    device = test.stack.get("device", {})
    has_cache = isinstance(device, Mapping) and (device.get("buffer_pages") or device.get("card"))
    if is_asked and not has_cache:
        raise InputError(
            f"{test.file_name}: [crashtest.cuts]: `cache` is of a device with a write cache: "
            "give buffer_pages in [stack.device], or leave `cache` out"
        )


def _of_batch(progress: Progress | None, at: int, cuts: int, all_cuts: int) -> Progress | None:
    """Tells of a batch that begins after `at` cuts how much of all that is."""
    return None if progress is None else lambda share: progress((at + share * cuts) / all_cuts)


def _together(judged: _Judged, fresh: _Judged) -> _Judged:
    """What is judged so far, and of the next batch, whose points are counted from there."""
    at = judged["points"]
    findings: list[_Finding] = [{**finding, "point": finding["point"] + at} for finding in fresh["findings"]]
    return {
        "points": at + fresh["points"],
        "states": judged["states"] + fresh["states"],
        "recoveries": judged["recoveries"] + fresh["recoveries"],
        "cuts_of_recoveries": judged["cuts_of_recoveries"] + fresh["cuts_of_recoveries"],
        "cuts_of_second_mounts": judged["cuts_of_second_mounts"] + fresh["cuts_of_second_mounts"],
        "findings": [*judged["findings"], *findings],
        "faults_met": [*judged["faults_met"], *fresh.get("faults_met", [])],
    }


def recorded(test: CrashTest) -> CrashRecording | ProgramRecording:
    """The workload with all that it did to the flash.

    Raises `ffslab.InputError` when it does not come to its end.
    """
    if test.on_chip is not None:
        with _told_of(test):
            return programs.recorded(test)
    if test.command:
        from ffslab.mount.recording import recorded as recorded_on_mount

        with _told_of(test):
            return recorded_on_mount(
                test.stack,
                test.command,
                seed=test.seed,
                options=test.mount,
                folder=test.folder,
                initial=test.initial,
            )
    with _told_of(test, "[stack]: "):
        stack = WatchedStack.watched(test.stack, test.seed, test.folder, test.initial)
    at = "setup"
    try:
        for number, step in enumerate(test.setup or _MADE, 1):
            at = f"setup step {number} ({step['step']})"
            stack.run_step(step)
        at = "before the workload"
        stack.begin_recording(test.mount)
        if not (test.steps and test.steps[0]["step"] == "mount") and not stack.is_mounted:
            stack.mount(*test.mount)
        if test.program is not None:
            at = "program"
            function_at(test.program, test.folder)(stack)
        for number, step in enumerate(test.steps, 1):
            at = f"step {number} ({step['step']})"
            stack.run_step(step)
    except (InputError, OSError) as error:
        # The session numbers its steps by itself.
        why = re.sub(r"^(setup|measure) step \d+ \([^)]*\): ", "", str(error))
        raise InputError(f"{test.file_name}: {at}: {why}") from None
    return stack.end_recording()


def answer_of(outcome: Outcome) -> CrashAnswer:
    """What is told of a test."""
    judged, failures = outcome.judged, outcome.failures
    return {
        "ffslab": __version__,
        "title": outcome.test.title,
        "machine": _machine(outcome),
        "axes_not_varied": list(outcome.test.axes),
        "holds": not any(failure["found"] != "tolerated" for failure in failures),
        "promises": outcome.recording.promises(),
        "operations": outcome.points.operations,
        "points": judged["points"],
        "possible": outcome.points.possible,
        "states": judged["states"],
        "wrong": len({finding["point"] for finding in judged["findings"] if finding["found"] != "refused"}),
        "recoveries": judged["recoveries"],
        "cuts_of_recoveries": judged["cuts_of_recoveries"],
        "cuts_of_second_mounts": judged["cuts_of_second_mounts"],
        "told": len(outcome.recording.told()),
        "refused": sum(finding["found"] == "refused" for finding in judged["findings"]),
        "faults_met": sorted({*outcome.recording.faults_met(), *judged["faults_met"]}),
        "failures": failures,
    }


def _machine(outcome: Outcome) -> str:
    test = outcome.test
    operations = counted(outcome.points.operations, "operation") + " of the flash"
    if isinstance(outcome.recording, ProgramRecording):
        return f"{outcome.recording.journal.about}; {operations}"
    begun = f'"{test.filled or test.initial}"'
    stack = WatchedStack.watched(test.stack, test.seed, test.folder, test.initial).keys
    return line([Seen(stack, begun)], operations)


def only(test: CrashTest, failure: CrashFailure) -> CrashTest:
    """The test with this cut alone."""
    return replace(test, cut=Cut(failure["operation"], failure["torn"], failure["seed"]))


def _without_numbers(text: str) -> str:
    return "".join("0" if letter.isdigit() else letter for letter in text)
