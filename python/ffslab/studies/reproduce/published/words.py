"""What is said of published measurements beside simulated ones: on a terminal, and in parts of pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ffslab.answers.evidence import Evidence, KindOfCases, PublishedCase
from ffslab.files import results
from ffslab.text.tables import counted, number, text_table

# Digits of numbers of which the published ones rarely have more.
_DIGITS = 4
KINDS_HEAD = ("kind", "cases", "median ratio", "worst", "worst case", "within 20 %", "within 25 %")


def answer_of(cases: Sequence[PublishedCase], every: KindOfCases | None, boards: int) -> str:
    """The same in a sentence, which README quotes."""
    others = sum(not row["counted"] for row in cases)
    if others == len(cases):
        return f"{counted(others, 'published measurement')}, none of which counts in a sum."
    beside = f" ({number(others)} more {'is' if others == 1 else 'are'} not counted)" if others else ""
    if every is None:
        return f"None of {counted(len(cases) - others, 'published measurement')} that count could be simulated."
    n = every["cases"]
    return (
        f"Of {counted(n, 'published measurement')} on {counted(boards, 'board')}{beside}, simulated from data sheets "
        f"alone, {_share(every['within_20'], n)} are within 20 % and {_share(every['within_25'], n)} within 25 %; "
        f"simulated over published is {every['median_ratio']:.2f} in the median and {every['worst_ratio']:.2g} at "
        f"worst ({every['worst_id']})."
    )


def _share(count: int, of: int) -> str:
    return f"{number(count)} ({100 * count / of:.0f} %)"


def text(evidence: Evidence, folder: Path) -> str:
    """What the verb prints: a row a case, a row a kind, what did not run, where the report is."""
    head = case_head(evidence)
    parts = [
        evidence["title"],
        evidence["machine"],
        text_table(head, [case_cells(evidence, row) for row in evidence["cases"]], case_align(evidence)),
        text_table(KINDS_HEAD, [kind_cells(kind) for kind in kinds_of(evidence)], "lrrrlrr"),
        "\n".join(failures(evidence)),
        evidence["answer"],
        f"Report: {folder / results.REPORT}",
    ]
    return "\n\n".join(part for part in parts if part)


def has_driver_0(evidence: Evidence) -> bool:
    """Whether some board was also run with a driver that costs nothing."""
    return any(row["driver_0"] is not None for row in evidence["cases"])


def case_head(evidence: Evidence) -> list[str]:
    """The head of the table of cases."""
    driver = ["driver 0", "ratio"] if has_driver_0(evidence) else []
    return ["case", "kind", "published", "simulated", "ratio", "error", *driver, "quantity"]


def case_align(evidence: Evidence) -> str:
    """A letter a column of that table."""
    return "ll" + "r" * (len(case_head(evidence)) - 3) + "l"


def case_cells(evidence: Evidence, row: PublishedCase) -> list[str]:
    """A row of that table."""
    driver = [value(row["driver_0"]), ratio(row["driver_0_ratio"])] if has_driver_0(evidence) else []
    return [
        row["id"],
        row["kind"],
        value(row["published"]),
        value(row["simulated"]),
        ratio(row["ratio"]),
        error(row["error"]),
        *driver,
        f"{row['quantity']}, {unit(row)}",
    ]


def value(found: float | None) -> str:
    """A number in so many digits as measurements have; "-" when there is none."""
    if found is None:
        return "-"
    return f"{found:,.0f}" if found >= 10 ** (_DIGITS - 1) else f"{found:.{_DIGITS}g}"


def ratio(found: float | None) -> str:
    """Simulated over published."""
    return "-" if found is None else f"{found:.2f}"


def error(found: float | None) -> str:
    """How far ours is from the published number, with its sign."""
    return "-" if found is None else f"{100 * found:+.0f} %"


def unit(row: PublishedCase) -> str:
    """Of a number that is a ratio there is none."""
    return "ratio" if row["unit"] == "1" else row["unit"]


def kinds_of(evidence: Evidence) -> list[KindOfCases]:
    """Every kind, and all that count at the end."""
    return [*evidence["kinds"], *([] if evidence["all"] is None else [evidence["all"]])]


def kind_cells(kind: KindOfCases) -> list[str]:
    """A row of the table of kinds."""
    return [
        kind["kind"],
        number(kind["cases"]),
        ratio(kind["median_ratio"]),
        f"{kind['worst_ratio']:.2g}",
        kind["worst_id"],
        number(kind["within_20"]),
        number(kind["within_25"]),
    ]


def failures(evidence: Evidence) -> Iterator[str]:
    """Cases that could not be simulated."""
    for row in evidence["cases"]:
        if row["failure"] is not None:
            yield f"{row['id']}: not simulated: {row['failure']}"
