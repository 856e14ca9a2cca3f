"""What a test of power cuts found, as people read it on a terminal."""

from __future__ import annotations

from ffslab.answers.crashtest import CrashAnswer, CrashFailure
from ffslab.text.tables import counted

_BLAMED = {
    "application": "the application relies on more than the file system promises",
    "file-system": "the file system breaks its promises",
    "not-promised": "lost, which this file system does not promise to prevent",
}
_LEFT = {
    "nothing": "not begun",
    "partial": "torn",
    "unstable": "unstable bits",
    "cache": "cache lost but for a part",
    "complete": "done",
}


def text_of(answer: CrashAnswer) -> str:
    """A line of what was done, and a paragraph for each failure."""
    share = _percent(answer["points"] / answer["possible"])
    made = f"{counted(answer['points'], 'cut')} ({share} of {answer['possible']})"
    operations = counted(answer["operations"], "operation")
    lines = [
        f"{answer['title']}: {operations} of the flash, {made}, {answer['states']} different media",
        answer["machine"],
    ]
    more = [f"{counted(answer['recoveries'], 'mount')} after cuts"]
    if answer["cuts_of_recoveries"]:
        more.append(f"{counted(answer['cuts_of_recoveries'], 'cut')} of recoveries")
    if answer["cuts_of_second_mounts"]:
        more.append(f"{counted(answer['cuts_of_second_mounts'], 'cut')} of second mounts")
    if answer["told"]:
        more.append(f"the application told {counted(answer['told'], 'thing')}")
    if answer["refused"]:
        more.append(f"{counted(answer['refused'], 'cut')} before there was a file system")
    lines.append("; ".join(more))
    for number, failure in enumerate(answer["failures"], 1):
        lines += ["", *_failure(number, failure)]
    if any(failure["found"] != "file-system" for failure in answer["failures"]):
        lines += ["", f"promised by the file system: {answer['promises']}"]
    lines += ["", "safe against these cuts" if answer["holds"] else "not safe against power cuts"]
    return "\n".join(lines)


def _failure(number: int, failure: CrashFailure) -> list[str]:
    recoveries = f", then recovery at {', '.join(failure['recoveries_cut'])}" if failure["recoveries_cut"] else ""
    lines = [
        f"{number}. {_BLAMED[failure['found']]}: {failure['says']}",
        f"   after {counted(failure['cuts'], 'cut')}, the first at operation {failure['operation']}"
        f" ({_LEFT[failure['torn']]}{recoveries})",
    ]
    if failure["file"]:
        lines.append(f"   kept: ffslab crashtest {failure['file']}")
    return lines


def _percent(share: float) -> str:
    return "all" if share >= 1 else f"{share:.1%}".replace("%", " %")
