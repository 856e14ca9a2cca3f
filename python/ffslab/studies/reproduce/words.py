"""What is said of a study that was done again: on a terminal, and in parts of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ffslab.answers.reproduction import JudgedClaim, JudgedPaper, ReadingRow
from ffslab.files import results
from ffslab.studies.reproduce.claims import Cause, Verdict
from ffslab.text.tables import text_table


def text(judged: JudgedPaper, folder: Path) -> str:
    """What the verb prints: a row per reading, what explains the differences, where the report is."""
    head = columns(judged)
    rows, notes = [], []
    for claim in judged["claims"]:
        told = [cells(judged, reading) for reading in claim["readings"]]
        for i, row in enumerate(told or [[claim["title"], *[""] * (len(head) - 3)]]):
            rows.append([*([claim["id"], claim["verdict"]] if i == 0 else ["", ""]), *row])
        if claim["differs"]:
            lines = [f"{claim['id']}{why(claim)}: {claim['differs']}", *(f"  {line}" for line in claim["evidence"])]
            notes.append("\n".join(lines))
    parts = [
        judged["title"],
        judged["machine"],
        text_table(head, rows, "l" * len(head)),
        *about_real(judged),
        *notes,
        counted(judged),
        f"Report: {folder / results.REPORT}",
    ]
    return "\n\n".join(parts)


def about_real(judged: JudgedPaper) -> Iterator[str]:
    """What the column of the real kernel is, if there is one."""
    if judged["set_up"] is not None:
        yield (
            "The column Linux 2.6.37 is the real kernel, measured on an emulated ARM board whose flash counts exactly, "
            f"in this set-up: {judged['set_up']}. Its processor is not the board's, so times differ where the CPU "
            "takes much of them."
        )


def columns(judged: JudgedPaper) -> list[str]:
    """Of the table on a terminal; that of a page has no claim and verdict."""
    real, who = ([], []) if judged["set_up"] is None else (["Linux 2.6.37"], ["who differs"])
    return ["claim", "verdict", "reading", "published", *real, "ffslab", "holds", *who]


def cells(judged: JudgedPaper, reading: ReadingRow) -> list[str]:
    """The cells of a reading, one for each column of the table."""
    ours = [reading["ours"], "yes" if reading["holds"] else "no"]
    if judged["set_up"] is None:
        return [reading["what"], reading["published"], *ours]
    real, cause = reading["real_kernel"], reading["cause"]
    who = "" if cause is None else Cause(cause).who
    return [reading["what"], reading["published"], "" if real is None else real["text"], *ours, who]


def why(claim: JudgedClaim) -> str:
    """Behind a verdict: its cause."""
    return "" if claim["cause"] is None else f" ({claim['cause']})"


def elsewhere(claim: JudgedClaim) -> Iterator[str]:
    """What the real kernel gave in other set-ups, of readings that do not hold in ours."""
    for reading in claim["readings"]:
        if not reading["holds"] and reading["other_set_ups"]:
            others = reading["other_set_ups"].items()
            texts = (f"{name}: {real['text']}{' (holds)' if real['holds'] else ''}" for name, real in others)
            yield f"{reading['what']}, Linux 2.6.37 in other set-ups: {'; '.join(texts)}"


def answer(judged: JudgedPaper) -> str:
    """The same in one line: what comes out, and who differs where it does not."""
    verdicts = Counter(claim["verdict"] for claim in judged["claims"])
    claims, same, shape = len(judged["claims"]), verdicts[Verdict.REPRODUCED], verdicts[Verdict.SHAPE_ONLY]
    said = f"{same} of {claims} claims {'comes' if same == 1 else 'come'} out as published"
    if shape:
        said += f", {shape} more in shape but not in every number"
    if not_run := verdicts[Verdict.NOT_RUN]:
        said += f"; {not_run} were not yet run"
    causes = Counter(claim["cause"] for claim in judged["claims"])
    if judged["set_up"] is None or not (kernel := causes[Cause.KERNEL] + causes[Cause.SET_UP]):
        return f"{said}."
    set_up = causes[Cause.SET_UP]
    kernel_too = f" ({set_up} of them as published in another set-up)" if set_up else ""
    return (
        f"{said}. Of the others, {kernel} come out on the real kernel as in ffslab{kernel_too}; "
        f"ffslab differs from the real kernel in {causes[Cause.OURS] or 'none'}."
    )


def counted(judged: JudgedPaper) -> str:
    """How many claims have which verdict, and why those that are not reproduced are not."""
    verdicts = Counter(claim["verdict"] for claim in judged["claims"])
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict])
    if judged["set_up"] is None:
        return f"Claims: {counts}"
    causes = Counter(claim["cause"] for claim in judged["claims"])
    because = "; ".join(f"{causes[cause]} because {cause}" for cause in Cause if causes[cause])
    agree = [r["agrees_with_real_kernel"] for claim in judged["claims"] for r in claim["readings"]]
    measured = [same for same in agree if same is not None]
    return (
        f"Claims: {counts}. Those that are not reproduced: {because}. Of {len(measured)} readings that were measured "
        f"on the real kernel, ffslab gives the same in {sum(measured)}"
    )
