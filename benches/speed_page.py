"""The page of how fast commands were from commit to commit, drawn from `benches/history.csv`.

python benches/speed_page.py > docs/speed.md
"""

from __future__ import annotations

import csv
from itertools import groupby
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HISTORY, PAGE = ROOT / "benches/history.csv", ROOT / "docs/speed.md"
# So long is the bar of a command that takes as long as it did in the first commit.
BAR = 20
HEAD = """# Speed from commit to commit

CPU time of commands as a person types them, two commits in turn on one machine, each as the median of some rounds
(`make bench-compare REV=COMMIT`, which adds to `benches/history.csv`). Seconds of different machines do not compare,
ratios do. A row has moved only if it did so in nearly all rounds.

This page is written by `python benches/speed_page.py > docs/speed.md`.
"""


def _bar(ratio: float) -> str:
    return "█" * round(BAR * ratio)


def _table(head: list[str], right: int, rows: list[list[str]]) -> list[str]:
    """A table of Markdown, of which the last columns but one have numbers."""
    rule = ["-" if number == 0 or number > right else "-:" for number in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def page(history: Path = HISTORY) -> str:
    """The page as Markdown: all comparisons together as bars, then each, the latest first."""
    with history.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    ratios: dict[str, list[float]] = {}
    for line in lines:
        ratios.setdefault(line["row"], []).append(float(line["ratio"]))
    overall = [[row, f"{prod(each):.2f}", str(len(each)), _bar(prod(each))] for row, each in ratios.items()]
    first = lines[0]["before"] if lines else "the first commit"
    text = [HEAD, f"## Since {first}", "", "The product of all ratios: less than 1 is faster.", ""]
    text += _table(["command", "ratio", "comparisons", ""], 2, overall)
    pairs = [(pair, list(rows)) for pair, rows in groupby(lines, lambda line: (line["before"], line["now"]))]
    for (before, now), rows in reversed(pairs):
        cells = [[row["row"], row["before_s"], row["now_s"], row["ratio"], row["verdict"]] for row in rows]
        text += ["", f"## {now}, beside {before}", ""]
        text += _table(["CPU time, s", before, now, "ratio", "beyond the noise"], 3, cells)
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    print(page(), end="")
