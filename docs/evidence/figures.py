"""Simulates all published cases and studies, and writes docs/evidence.md with a chart for each kind of case, and what
answers say of times on boards that nobody measured (evidence.toml).

python docs/evidence/figures.py [--out FOLDER] [--id GLOB]
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from ffslab.answers.evidence import Evidence, KindOfCases, PublishedCase
from ffslab.studies.reproduce import PAPERS, campaign, published
from ffslab.studies.reproduce.published import words
from ffslab.studies.reproduce.published.study import kind_of
from ffslab.text import times

DOCS = Path(__file__).resolve().parent.parent
PAGE, CHARTS = "evidence.md", "evidence"
TIMES = ("s", "ms")
# What a mark's colour says: how far the simulated number is off, as a factor; the rest is further off.
CLASSES = ((1.25, "within 25 %", "#2f6b3a"), (2.0, "within a factor of 2", "#f0c05a"))
BEYOND = ("further off", "#c0504d")
# What each kind holds, as a title.
TITLES = {
    "raw read": "Reads of the raw device",
    "raw program": "Programs of the raw device",
    "raw erase": "Erases of the raw device",
    "attach": "UBI attach",
    "mount": "Mounts",
    "file write": "Writes of files",
    "file read": "Reads of files",
    "latency": "Single calls",
    "counts": "Counts of flash operations",
    "simulated elsewhere": "What another simulator gives",
}
# Below the title of a kind.
TOLD = {
    "counts": "What another team counted on its board; no time is in these.\n\n",
    "simulated elsewhere": (
        "littlefs-benchmarks runs littlefs 2 on a simulator of its own, whose times are those of a data sheet and "
        "whose CPU takes none. That is no board, so it counts in no sum; it shows that calls, flash operations and "
        "times of the chip add up as they do elsewhere. On NAND it programs quarters of a page, which ffslab's "
        "littlefs does not, so only NOR is here.\n\n"
    ),
}
INTRODUCTION = """# Evidence: published measurements beside simulations

    ffslab reproduce published

{answer}

What other people measured on their boards (lines of mtd_speedtest, boot logs, benchmarks), and what ffslab gives for
the same machine when it knows data sheets alone. No constant was fitted to a case, but rules
were made with these numbers in sight.
The controllers `atmel-pio` and `ts72xx` have a `driver.load_ns_per_B` that was estimated with their boards in sight;
the three boards here say their own, counted in cycles of their buses (boot loader, board file). How near a kind comes
says what such a time of ffslab is worth on a board that nobody calibrated. One that was
([calibration](calibrating-your-board.md)) does better: six of these boards have a published log of mtd_speedtest, one
of them (`etic`) a boot log as well, and the profiles that `ffslab calibrate --speedtest LOG --bootlog LOG` makes of
these give back 19 of 19 numbers in them within 2 %. Two numbers that went into none, UBIFS of another AM335x with the
raw speeds of `etic` (`am335x-raw`), are 9 % and 3 % off. Each run says in its last lines which board it has. `python
docs/evidence/figures.py` writes this page.

A ratio is the simulated number over the published one, an error the same less one. Of speeds a ratio above 1 is too
fast, of times too slow. Kinds with \\* are variants of a case above, or say too little of their set-up: no sum has
them. The cases, their boards and experiments are in `python/ffslab/studies/reproduce/published/cases`; [other
folders](reproduce.md#measurements-of-other-boards) of the same form are judged by the same command.
"""
PAPERS_TOLD = """## The tables of four papers

[Published studies, done again](reproduce.md) have tables and claims of their own. Their numbers in the same form,
without orders and trends; what each is, and why it differs, is what `ffslab reproduce PAPER` says. They are not counted
above: the board of the first three is the one whose profile the same group measured, and the fourth paper states no
number but of orders.
"""


def main() -> None:
    """Simulates, and writes the page with its charts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--id", metavar="GLOB", help="only cases whose id matches, and no studies")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        only = None if given.id is None else [given.id]
        evidence = published.reproduce(Path(folder) / "published", only=only)
        studies = {} if only else {name: list(numbers_of(name, Path(folder) / name)) for name in PAPERS}
    (given.out / CHARTS).mkdir(exist_ok=True)
    # The same bytes again when nothing changed.
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "ffslab", "svg.fonttype": "none", "font.family": "sans-serif"})
    for kind, rows in by_title(evidence).items():
        picture([row for row in rows if row["ratio"]], given.out / CHARTS / f"{slug(kind)}.svg")
    (given.out / PAGE).write_text(page(evidence, studies), encoding="utf-8")
    file = times.FILE if given.out == DOCS else given.out / times.FILE.name
    file.write_text(of_times(evidence), encoding="utf-8")
    print(evidence["answer"])


def of_times(evidence: Evidence) -> str:
    """Between which shares of the measured times eight of ten simulated ones of each kind are; a speed is a time upside
    down."""
    counted = [row for row in evidence["cases"] if row["counted"] and row["ratio"]]
    told = ["# Written by docs/evidence/figures.py; see ffslab.text.times."]
    for kind, kinds in times.KINDS.items():
        ratios = [
            row["ratio"] if row["unit"] in TIMES else 1 / row["ratio"]
            for row in counted
            if row["kind"] in kinds and (row["unit"] in TIMES or row["unit"].endswith("/s"))
        ]
        tenths = statistics.quantiles(ratios, n=10, method="inclusive")
        told.append(f'"{kind}" = {{ times = {len(ratios)}, low = {tenths[0]:.2g}, high = {tenths[-1]:.2g} }}')
    return "\n".join(told) + "\n"


class Numbers(NamedTuple):
    """A number of a published study: claim and reading, as both are told, and ours over the published one."""

    what: str
    published: str
    ours: str
    ratio: float


def numbers_of(study: str, folder: Path) -> Iterator[Numbers]:
    """The numbers of a published study; those that are 0 have no ratio."""
    for claim in campaign.reproduce(study, folder)["claims"]:
        for reading in claim["readings"]:
            stated, ours = reading["published_value"], reading["our_value"]
            if stated and ours is not None:
                what = f"{claim['id']}, {reading['what']}"
                yield Numbers(what, reading["published"], reading["ours"], ours / stated)


def by_title(evidence: Evidence) -> dict[str, list[PublishedCase]]:
    """The cases of each kind, with the variants behind them."""
    found: dict[str, list[PublishedCase]] = {}
    for row in sorted(evidence["cases"], key=lambda row: not row["counted"]):
        found.setdefault(row["kind"].rstrip("*"), []).append(row)
    order = [kind for kind in TITLES if kind in found]
    return {kind: found[kind] for kind in [*order, *(kind for kind in found if kind not in TITLES)]}


def slug(kind: str) -> str:
    return kind.replace(" ", "-")


def page(evidence: Evidence, studies: dict[str, list[Numbers]]) -> str:
    """The page in Markdown."""
    parts = [INTRODUCTION.format(answer=f"**{evidence['answer']}**"), kinds_table(words.kinds_of(evidence))]
    for kind, rows in by_title(evidence).items():
        title = TITLES.get(kind, kind)
        picture_said = f"{title}: simulated over published, a mark for each case"
        parts.append(
            f"## {title}\n\n{TOLD.get(kind, '')}![{picture_said}]({CHARTS}/{slug(kind)}.svg)\n\n{cases_table(rows)}\n"
        )
    found = {name: numbers for name, numbers in studies.items() if numbers}
    if found:
        sums = (kind_of(name, {one.what: one.ratio for one in numbers}) for name, numbers in found.items())
        parts.append(f"{PAPERS_TOLD}\n{kinds_table([one for one in sums if one is not None], 'study')}")
    for name, numbers in found.items():
        rows = [[one.what, one.published, one.ours, words.error(one.ratio - 1)] for one in numbers]
        table = markdown(["claim and reading", "published", "simulated", "error"], rows, "lrrr")
        parts.append(f"### {name}\n\n{table}")
    return "\n".join(parts)


def kinds_table(kinds: list[KindOfCases], first: str = "kind") -> str:
    head = [first, *words.KINDS_HEAD[1:]]
    return markdown(head, [words.kind_cells(kind) for kind in kinds], "lrrrlrr")


def cases_table(rows: list[PublishedCase]) -> str:
    """A row a case, and what is known of it."""
    head = ["case", "published", "simulated", "error", "what", "set-up; not known", "source"]
    return markdown(head, list(map(cells, rows)), "lrrrlll")


def cells(row: PublishedCase) -> list[str]:
    """A row of that table."""
    told = [
        row["set_up"],
        f"not known: {row['unknown']}" if row["unknown"] else "",
        f"not simulated: {row['not_simulated']}" if row["not_simulated"] else "",
        row["note"],
        row["failure"] or "",
    ]
    source = f"{row['source']}; {row['reference']}" if row["reference"] else row["source"]
    name = row["id"] if row["counted"] else f"{row['id']} *"
    what = f"{row['quantity']}, {words.unit(row)}"
    numbers = [words.value(row["published"]), words.value(row["simulated"]), words.error(row["error"])]
    return [name, *numbers, what, "; ".join(text for text in told if text), linked(source)]


def linked(source: str) -> str:
    """Addresses as links."""
    return re.sub(
        r"(?<![\w/])(?:https?://)?((?:github\.com|elinux\.org|lore\.kernel\.org)/[^\s;,]+)", r"<https://\1>", source
    )


def markdown(head: list[str], rows: list[list[str]], align: str) -> str:
    """A table; a letter a column says whether it is of texts (l) or numbers (r)."""
    rule = "|".join("--:" if side == "r" else "---" for side in align)
    told = ["| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in row) + " |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{rule}|", *told]) + "\n"


def picture(rows: list[PublishedCase], file: Path) -> None:
    """A mark a case on a logarithmic axis of simulated over published; hollow ones are not counted."""
    figure, axes = plt.subplots(figsize=(8.5, 1.1 + 0.19 * len(rows)), layout="constrained")
    low, high = 1 / CLASSES[0][0], CLASSES[0][0]
    axes.axvspan(low, high, color="#e7efe8", lw=0)
    axes.axvline(1, color="#888888", lw=0.8)
    for at, (ratio, row) in enumerate(with_ratio(rows)):
        colour = colour_of(ratio)
        axes.plot([1, ratio], [at, at], color=colour, lw=1.2)
        axes.plot(ratio, at, "o", color=colour, mfc=colour if row["counted"] else "white", ms=5)
    axes.set_xscale("log")
    ratios = [ratio for ratio, _ in with_ratio(rows)]
    least, most = min([0.4, *ratios]) / 1.2, max([2.5, *ratios]) * 1.2
    axes.set_xlim(least, most)
    ticks = [tick for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10) if least <= tick <= most]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), [row["id"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("simulated over published")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    for _, name, colour in (*CLASSES, (0, *BEYOND)):
        axes.plot([], [], "o", color=colour, label=name)
    figure.legend(frameon=False, loc="outside upper right", ncols=3)
    figure.savefig(file, metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def with_ratio(rows: list[PublishedCase]) -> Iterator[tuple[float, PublishedCase]]:
    for row in rows:
        assert row["ratio"] is not None
        yield row["ratio"], row


def colour_of(ratio: float) -> str:
    """By how far off it is, up or down."""
    factor = max(ratio, 1 / ratio)
    return next((colour for most, _, colour in CLASSES if factor <= most), BEYOND[1])


if __name__ == "__main__":
    main()
