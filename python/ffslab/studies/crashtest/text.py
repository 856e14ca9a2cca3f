"""What a test of power cuts found, as people read it on a terminal."""

from __future__ import annotations

from ffslab.answers.crashtest import CrashAnswer, CrashFailure
from ffslab.text.tables import counted, number

# Who is to blame, and what that means.
BLAMED = {
    "application": ("the application", "it relies on more than the file system promises"),
    "file-system": ("the file system", "it breaks its promises"),
    "not-promised": ("the choice of the file system", "it does not promise to prevent that"),
    "tolerated": ("nobody", "the judge of the test does without what this file system never promised to keep"),
    "program": ("the program", "its own check does not accept what the cut leaves"),
}
# What to change then. A cache's own words hold for what was lost with it.
_CHANGES = {
    "application": (
        "fsync(2) a file before it replaces another or something names it, fsync the directory after a rename, and say "
        "that something is done only behind that"
    ),
    "cache": "flush the device's write cache between what must be there first and what names it",
    "file-system": (
        "nothing that the application can do: take another version or file system, and report this one with the files "
        "that are kept"
    ),
    "known": "nothing that the application can do: take a version in which that is mended, or another file system",
    "not-promised": (
        "take a file system that promises what fsync(2) says, or keep two copies with check sums and believe the "
        "newer one that is whole"
    ),
    "tolerated": "nothing, if the judge asks for all that must stay",
    "program": (
        "write data before what names it, let one program that a tear cannot fake say that they are whole, take that "
        "back before they are changed, and let each start finish or undo what it finds half done"
    ),
}
LEFT = {
    "nothing": "not begun",
    "partial": "torn",
    "unstable": "unstable bits",
    "cache": "cache lost but for a part",
    "complete": "done",
}


def verdict(answer: CrashAnswer) -> str:
    """Whether it is safe, and of how many cuts, in a sentence."""
    share = answer["points"] / answer["possible"]
    every = (
        "all that are possible" if share >= 1 else f"{share * 100:.1f} % of {number(answer['possible'])} possible ones"
    )
    is_one = answer["possible"] == 1
    cuts = "this power cut" if is_one else f"{counted(answer['points'], 'power cut')} ({every})"
    if not answer["wrong"]:
        return f"safe: nothing is wrong after {cuts}"
    after = f"after {cuts}" if is_one else f"after {number(answer['wrong'])} of {cuts}"
    if answer["holds"]:
        return f"safe for the judge of the test, though what was synced and never promised is lost {after}"
    if all(failure["found"] in ("not-promised", "tolerated") for failure in answer["failures"]):
        return f"not safe: what was synced is lost {after}, which this file system never promised to keep"
    return f"not safe: something is wrong {after}"


def blamed(answer: CrashAnswer) -> list[str]:
    """Who is to blame for what is wrong, each in a line."""
    found = dict.fromkeys(failure["found"] for failure in answer["failures"])
    return [f"{who} ({why})" for who, why in map(BLAMED.__getitem__, found)]


def to_change(answer: CrashAnswer) -> list[str]:
    """What to change, each in a line."""
    found = {_kind(failure, answer["faults_met"]) for failure in answer["failures"]}
    return [text for name, text in _CHANGES.items() if name in found]


def _kind(failure: CrashFailure, faults_met: list[str]) -> str:
    """Which of `_CHANGES` helps."""
    if (failure["found"], failure["torn"]) == ("application", "cache"):
        return "cache"
    return "known" if failure["found"] == "file-system" and faults_met else failure["found"]


def is_of_program(answer: CrashAnswer) -> bool:
    """Whether a program on libffslab was judged, below which no file system stands."""
    return not answer["promises"]


def looks_of(answer: CrashAnswer) -> tuple[str, str]:
    """How a medium is looked at, once and more often."""
    return ("run of the check", "runs of the check") if is_of_program(answer) else ("mount", "mounts")


def recoveries_of(answer: CrashAnswer) -> str:
    """What is cut behind a cut."""
    return "the checks' own operations" if is_of_program(answer) else "recoveries"


def where(failure: CrashFailure) -> str:
    """What of the operation is left, and what that is."""
    during = f", {failure['during']}" if failure["during"] else ""
    then = "recovery" if not failure["during"] else "the check"
    recoveries = f", then {then} at {', '.join(failure['recoveries_cut'])}" if failure["recoveries_cut"] else ""
    return f"{LEFT[failure['torn']]}{during}{recoveries}"


def done(answer: CrashAnswer) -> list[str]:
    """What was done to find that out."""
    operations = counted(answer["operations"], "operation")
    lines = [
        f"{operations} of the flash, {counted(answer['states'], 'different medium', 'different media')}, "
        f"{counted(answer['recoveries'], *looks_of(answer))}"
    ]
    if answer["cuts_of_recoveries"]:
        lines.append(counted(answer["cuts_of_recoveries"], "cut") + f" of {recoveries_of(answer)}")
    if answer["cuts_of_second_mounts"]:
        lines.append(counted(answer["cuts_of_second_mounts"], "cut") + " of second mounts")
    if answer["told"]:
        lines.append(f"the application told {counted(answer['told'], 'thing')}")
    if answer["refused"]:
        lines.append(counted(answer["refused"], "cut") + " before there was a file system")
    if answer["axes_not_varied"]:
        lines.append(f"{', '.join(answer['axes_not_varied'])} of [axes] not varied, the machine is that of [stack]")
    return lines


def text_of(answer: CrashAnswer) -> str:
    """The verdict, who is to blame, what to change; a paragraph for each failure; what was done."""
    lines = [f"{answer['title']}: {verdict(answer)}", answer["machine"]]
    lines += [f"to blame: {line}" for line in blamed(answer)]
    lines += [f"to change: {line}" for line in to_change(answer)]
    lines += [f"known fault that was met: {fault}" for fault in answer["faults_met"]]
    for at, failure in enumerate(answer["failures"], 1):
        lines += ["", *_failure(at, failure)]
    lines.append("")
    if any(failure["found"] not in ("file-system", "program") for failure in answer["failures"]):
        lines.append(f"promised by the file system: {answer['promises']}")
    return "\n".join([*lines, "; ".join(done(answer))])


def _failure(at: int, failure: CrashFailure) -> list[str]:
    lines = [
        f"{at}. {failure['says']}",
        f"   after {counted(failure['cuts'], 'cut')}, the first at operation {failure['operation']} ({where(failure)})",
    ]
    if failure["file"]:
        lines.append(f"   kept: ffslab crashtest {failure['file']}")
    return lines
