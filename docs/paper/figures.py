"""Simulates all kept measured cases and writes what the paper says of them: fidelity.svg and the table in paper.md.

python docs/paper/figures.py [--out FOLDER] [--id GLOB]
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from ffslab.answers.validation import CaseReport
from ffslab.file_systems import title
from ffslab.measured.validation import compare, headlines, relative_error

HERE = Path(__file__).resolve().parent
MEASURED = HERE.parent.parent / "tests" / "measured"
# Files of cases, and where they were measured. A case of `reference.jsonl.gz` names its kernel.
FILES = {
    "linux-2.6.37.jsonl.gz": "Linux 2.6.37, emulated board",
    "linux-6.1.jsonl.gz": "Linux 6.1, exact counters",
    "reference.jsonl.gz": "Debian's Linux {kernel}",
    "yaffs2.jsonl.gz": "the YAFFS2 core, four ages",
    "rtems.json.gz": "RTEMS 2018",
}
# Of Linux what wears and what takes time; RTEMS above the flash, where it counts buffers.
FLASH = ("page_reads", "page_programs", "erases")
# What the worst counter of a case is off by, in percent: at most so much.
CLASSES = ((0.0, "every count equal", "#2f6b3a"), (1.0, "within 1 %", "#7fb685"), (5.0, "within 5 %", "#f0c05a"))
BEYOND = ("further off", "#c0504d")
TABLE = re.compile(r"(<!-- table: python docs/paper/figures.py -->\n\n).*?(<!-- end -->)", re.DOTALL)

# Measured on, file system; the error in percent of the worst count of each case.
Errors = dict[tuple[str, str], list[float]]


def worst_percent(case: CaseReport) -> float | None:
    """How far the worst count of a case is off; `None`: no case that counts."""
    if case["error"] is not None or case["not_counted"] is not None:
        return None
    counted = [(name, *pair) for name, *pair in headlines(case) if not name.startswith("latency")]
    if any(name in FLASH for name, *_ in counted):
        counted = [row for row in counted if row[0] in FLASH]
    errors = [relative_error(expected, simulated) for _, expected, simulated in counted]
    # What should be nothing and is not has no percentage: it is as wrong as can be.
    return max((100.0 if error is None else 100 * abs(error) for error in errors), default=None)


def measured(only: str | None) -> Errors:
    """Simulates the cases whose id matches."""
    found: Errors = {}
    for name, place in FILES.items():
        for case in compare(MEASURED / name, only)["cases"]:
            kernel = case["id"].partition("/")[0].removeprefix("linux-")
            error = worst_percent(case)
            if error is not None and case["fs"] != "none":
                found.setdefault((place.format(kernel=kernel), title(case["fs"])), []).append(error)
    return found


def shares(errors: list[float]) -> Iterator[float]:
    """Per class the share of the cases in it, in percent; then that of those beyond all."""
    below = 0
    for most, _, _ in CLASSES:
        until = sum(error <= most for error in errors)
        yield 100 * (until - below) / len(errors)
        below = until
    yield 100 * (len(errors) - below) / len(errors)


def table(found: Errors) -> str:
    """The table of the paper, in Markdown."""
    lines = [
        "| measured on | file system | cases | every count equal | all within 1 % | all within 5 % |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for (place, fs), errors in found.items():
        cells = [f"{100 * sum(error <= most for error in errors) / len(errors):.0f} %" for most, _, _ in CLASSES]
        lines.append(f"| {place} | {fs} | {len(errors)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def picture(found: Errors, file: Path) -> None:
    """A bar for each row of the table: how far the worst count of its cases is off."""
    # The same bytes again when nothing changed.
    mpl.rcParams.update(
        {"font.size": 10, "svg.hashsalt": "ffslab", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.3 * len(found)), layout="constrained")
    classes = [(name, colour) for _, name, colour in CLASSES] + [BEYOND]
    for row, errors in enumerate(found.values()):
        begin = 0.0
        for share, (_, colour) in zip(shares(errors), classes, strict=True):
            axes.barh(row, share, left=begin, color=colour, height=0.75)
            begin += share
    axes.set_yticks(range(len(found)), [f"{place}: {fs} ({len(found[place, fs])})" for place, fs in found])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the measured cases (their number in brackets), %")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    for name, colour in classes:
        axes.barh(0, 0, color=colour, label=name)
    figure.legend(frameon=False, loc="outside upper right", ncols=len(classes))
    figure.savefig(file, metadata={"Date": None}, facecolor="white")


def main() -> None:
    """Simulates, draws, and puts the table into the paper."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--id", metavar="GLOB", help="only cases whose id matches")
    given = parser.parse_args()
    found = measured(given.id)
    used = os.times()
    picture(found, given.out / "fidelity.svg")
    text = (HERE / "paper.md").read_text(encoding="utf-8")
    (given.out / "paper.md").write_text(
        TABLE.sub(lambda old: f"{old[1]}{table(found)}\n\n{old[2]}", text), encoding="utf-8"
    )
    count = sum(map(len, found.values()))
    print(f"{count:,} cases simulated in {used.user + used.system:.0f} s of CPU time")


if __name__ == "__main__":
    main()
