"""The page of `ffslab crashtest`: safe or not, of how many cuts, who is to blame, what to change."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ffslab._native import __version__
from ffslab.answers.crashtest import CrashAnswer, CrashFailure
from ffslab.report.bars import Piece, Row, bars
from ffslab.report.page import Drawn, KeyFigure, Opening, Section, bullets, folded, page, paragraph, section, verbatim
from ffslab.studies.crashtest.text import BLAMED, LEFT, blamed, done, is_of_program, to_change, verdict, where
from ffslab.text.tables import counted, number

# What a simulated cut is, for readers of the page alone.
MEANT = (
    "A cut is the end of the power at one program or erase of the flash: before it, in its middle, or behind it. What "
    "is left is mounted on a new machine, and the judge of the test looks at the files. Safe means: after each of "
    "these cuts the judge agrees, and what was synced is there."
)
MEANT_OF_PROGRAM = (
    "A cut is the end of the power at one program or erase of the flash: before it, in its middle, or behind it. The "
    "program's own check begins on a chip that holds what is left. Safe means: after each of these cuts it ends with 0."
)


def html(answer: CrashAnswer, machine: str, before: Sequence[Sequence[str]]) -> str:
    """The whole page. `machine`: on what it ran. `before`: of each failure the last calls before its first cut."""
    promised = [] if is_of_program(answer) else [f"promised by the file system: {answer['promises']}"]
    failures = enumerate(zip(answer["failures"], before, strict=True), 1)
    parts = [
        section("What to change", _sentences(to_change(answer))),
        *([section("Known faults that were met", _sentences(answer["faults_met"]))] if answer["faults_met"] else []),
        *(_failure(at, failure, calls) for at, (failure, calls) in failures),
        section("What was done", _sentences([*done(answer), *promised])),
        section("What this means", paragraph(MEANT_OF_PROGRAM if is_of_program(answer) else MEANT)),
        section("The data", folded("As JSON", verbatim(json.dumps(answer, indent=1)))),
    ]
    opening = Opening(
        answer["title"],
        f"{machine}. Judged by ffslab {__version__}.",
        _sentence(verdict(answer)) + "".join(f" To blame is {line}." for line in blamed(answer)),
        _figures(answer, before),
        Drawn(_cuts(answer), {}),
    )
    return page(f"Power cuts of {answer['title']}", parts, opening)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _sentences(texts: Sequence[str]) -> str:
    return bullets([_sentence(text) for text in texts])


def _figures(answer: CrashAnswer, before: Sequence[Sequence[str]]) -> list[KeyFigure]:
    every = answer["points"] >= answer["possible"]
    made = "all possible ones" if every else f"of {number(answer['possible'])} possible ones"
    figures = [
        KeyFigure(
            "Cuts with something wrong", number(answer["wrong"]), f"of {counted(answer['points'], 'cut')}, {made}"
        )
    ]
    if answer["failures"]:
        first = min(range(len(answer["failures"])), key=lambda at: answer["failures"][at]["operation"])
        failure = answer["failures"][first]
        who, why = BLAMED[failure["found"]]
        where = f"{failure['operation']} of {number(answer['operations'])}"
        figures.append(KeyFigure("To blame", who, why))
        figures.append(
            KeyFigure("First at operation", where, failure["during"] or _last(before[first]) or LEFT[failure["torn"]])
        )
    else:
        looked = "the check ran on each" if is_of_program(answer) else "each was mounted, and judged"
        figures.append(KeyFigure("Different media", number(answer["states"]), looked))
        if not is_of_program(answer):
            told = counted(answer["told"], "thing") if answer["told"] else "nothing"
            figures.append(KeyFigure("The application told", told, "to which it was held"))
    return figures


def _last(calls: Sequence[str]) -> str:
    """The call that was under way, without its times."""
    return f"in the call: {calls[-2].strip().split('  ', 2)[-1]}" if len(calls) > 1 else ""


def _cuts(answer: CrashAnswer) -> str:
    """One bar of all cuts: what was left of them."""
    right = answer["points"] - answer["wrong"] - answer["refused"]
    pieces = [Piece("nothing wrong", "good", right, counted(right, "cut"))]
    if answer["wrong"]:
        pieces.append(Piece("something wrong", "bad", answer["wrong"], counted(answer["wrong"], "cut")))
    if answer["refused"]:
        pieces.append(Piece("no file system yet", "free", answer["refused"], counted(answer["refused"], "cut")))
    return bars([Row(answer["title"], pieces)])


def _failure(at: int, failure: CrashFailure, calls: Sequence[str]) -> Section | None:
    who, why = BLAMED[failure["found"]]
    lines = [
        f"To blame: {who} ({why}).",
        f"After {counted(failure['cuts'], 'cut')}, the first at operation {failure['operation']} ({where(failure)}).",
    ]
    if failure["file"]:
        again = f"Again: ffslab crashtest {failure['file']}."
        image = failure["file"].removesuffix(".toml") + ".img"
        lines.append(again if failure["during"] else f"{again} What the flash held: ffslab inspect {image}.")
    said = "operations until" if failure["during"] else "calls before"
    what = "" if failure["during"] else ": when, operations of the flash, what"
    told = paragraph(f"The last {said} the first of these cuts{what}.")
    return section(f"{at}. {failure['says']}", bullets(lines) + (told + verbatim("\n".join(calls)) if calls else ""))
