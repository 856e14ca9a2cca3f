"""The report on an image: one HTML file with the pictures that a terminal cannot show."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ffslab import __version__
from ffslab.inspection import fact_text, file_rows, layout_text, mark_of, size
from ffslab.report import page, plots, section, table
from ffslab.report.drawing import colour, new_figure, svg_text
from ffslab.text_table import number

Facts = dict[str, Any]

MAP_COLUMNS = 64
KINDS = (
    ("valid", "#0072b2"),
    ("invalid", "#d55e00"),
    ("free", "#d9d9d9"),
    ("bad", "#000000"),
    ("unknown", "#f5e663"),
    ("damaged", "#cc79a7"),
)
FILES_MAX = 500


def html(facts: Facts) -> str:
    """The whole report."""
    layout = facts["layout"]
    parts = [
        f"<h1>{escape(facts['file'])}</h1>",
        f"<p>{escape(size(facts['file_B']))}: {escape(layout_text(layout))}. Looked into by ffslab {__version__}.</p>",
        section("How that is known", _list(layout["because"] + facts["notes"])),
        section("Superblock", table(["fact", "value"], [[k, fact_text(v)] for k, v in facts["superblock"].items()])),
        section("Space", _figures([block_map(facts), space_bars(facts)])),
        section("Wear", _figures([wear_histogram(facts), wear_by_block(facts)])),
        section("Damage", _damage(facts)),
        section("Files", _files(facts)),
        section("What a mount costs", _mount(facts)),
    ]
    return page(facts["file"], parts)


def _list(items: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def _figures(svgs: list[str | None]) -> str:
    return "\n".join(f"<figure>{svg}</figure>" for svg in svgs if svg is not None)


def block_map(facts: Facts) -> str | None:
    """Each erase block as a cell, row by row: what most of it is, or that it is bad or damaged."""
    blocks = facts["blocks"]
    if not blocks:
        return None
    names = [kind for kind, _ in KINDS]
    codes = [names.index("damaged" if block["damage_count"] else mark_of(block)) for block in blocks]
    cells = np.full(-(-len(codes) // MAP_COLUMNS) * MAP_COLUMNS, np.nan)
    cells[: len(codes)] = codes
    rows = len(cells) // MAP_COLUMNS
    figure = new_figure(1.0 + min(0.14 * rows, 8.0) if rows > 6 else 1.8)
    axes = figure.add_subplot()
    colours = ListedColormap([colour for _, colour in KINDS])
    grid = cells.reshape(-1, MAP_COLUMNS)
    axes.imshow(grid, cmap=colours, vmin=-0.5, vmax=len(KINDS) - 0.5, interpolation="nearest", aspect="auto")
    axes.set(xticks=[], ylabel="first block\nof the row", title="Erase blocks: what most of each is")
    step = max(1, rows // 8)
    axes.set_yticks(range(0, rows, step), [str(row * MAP_COLUMNS) for row in range(0, rows, step)])
    there = sorted(set(codes))
    figure.legend(
        handles=[Patch(color=KINDS[code][1], label=KINDS[code][0]) for code in there],
        loc="outside lower center",
        ncols=len(KINDS),
        fontsize=8,
        frameon=False,
    )
    return svg_text(figure, "block-map")


def space_bars(facts: Facts) -> str | None:
    """Valid, invalid and free bytes of each erase block, one on top of the other."""
    if facts["space"] is None:
        return None
    figure = new_figure(2.2)
    axes = figure.add_subplot()
    bottom = np.zeros(len(facts["blocks"]))
    edges = np.arange(len(bottom) + 1)
    for kind, label, tint in plots.SPACE_KINDS:
        held = np.array([(block[f"{kind}_B"] or 0) / 1024 for block in facts["blocks"]])
        axes.stairs(bottom + held, edges, baseline=bottom, fill=True, color=tint, label=label)
        bottom = bottom + held
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="erase block", ylabel="KiB", xlim=(0, len(bottom)), ylim=(0, bottom.max() or 1))
    sums = ", ".join(f"{kind} {size(facts['space'][f'{kind}_B'])}" for kind in ("valid", "invalid", "free"))
    axes.set_title(sums, fontsize=9)
    return svg_text(figure, "space-bars", axes, 3)


def wear_histogram(facts: Facts) -> str | None:
    """How many blocks have which erase counter, or which sequence number."""
    worn = facts["wear"]
    if worn is None:
        return None
    figure = new_figure(2.4)
    axes = figure.add_subplot()
    edges = [row["from"] for row in worn["histogram"]] + [worn["histogram"][-1]["to"] + 1]
    axes.stairs([row["blocks"] for row in worn["histogram"]], edges, fill=True, color=colour(0))
    mean = f"mean {number(worn['mean'])}"
    axes.set(xlabel=worn["kind"], ylabel="blocks", title=f"least {worn['min']}, {mean}, most {worn['max']}")
    return svg_text(figure, "wear-histogram")


def wear_by_block(facts: Facts) -> str | None:
    """The same over the blocks."""
    worn = facts["wear"]
    if worn is None:
        return None
    key = "erases" if worn["kind"] == "erase counter" else "sequence"
    figure = new_figure(2.2)
    axes = figure.add_subplot()
    values = [np.nan if block[key] is None else block[key] for block in facts["blocks"]]
    axes.plot(values, linestyle="none", marker=".", markersize=3, color=colour(0))
    axes.set(xlabel="erase block", ylabel=worn["kind"], xlim=(0, max(len(values), 1)))
    return svg_text(figure, "wear-by-block")


def _damage(facts: Facts) -> str:
    rows = [["/" + entry["path"], "-", "-", entry["error"]] for entry in facts["files"] if entry["error"]]
    rows += [["-", str(it["block"]), f"{it['offset']:#x}", it["what"]] for it in facts["damage"]]
    bad = facts["bad_blocks"]
    blocks = "not known, the image has no OOB areas" if bad is None else ", ".join(map(str, bad)) or "none"
    said = f"<p>{facts['damage_count']} pieces. Bad blocks: {escape(blocks)}.</p>"
    return said + (table(["file", "block", "offset", "what"], rows) if rows else "")


def _files(facts: Facts) -> str:
    head, rows = file_rows(facts)
    more = f"<p>The first {FILES_MAX} of {len(rows)} files.</p>" if len(rows) > FILES_MAX else ""
    note = (
        "<p>Pieces: runs of neighbouring pages that a reader meets from a file's start to its end. Page reads and time:"
        " with nothing in memory, on the machine below.</p>"
    )
    return note + more + table(head, rows[:FILES_MAX]) if rows else ""


def _mount(facts: Facts) -> str:
    mount = facts["mount"]
    if mount is None:
        return ""
    rows = [
        [
            f"{cause['task']}: {cause['reason']}",
            *(number(cause[key]) for key in ("page_reads", "oob_reads", "page_programs", "erases")),
            number((cause["busy_us"] + cause["driver_us"] + cause["cpu_us"]) / 1e3),
        ]
        for cause in mount["by_cause"]
    ]
    if mount.get("counts"):
        totals = (mount["counts"][key] for key in ("page_reads", "oob_reads", "page_programs", "erases"))
        rows.append(["together", *map(number, totals), number(mount["time_us"] / 1e3)])
    head = ["cause", "page reads", "OOB reads", "programs", "erases", "time, ms"]
    said = f"<p>{number(mount['time_us'] / 1e3)} ms on {escape(mount['machine'])}.</p>"
    return said + (table(head, rows) if rows else "")
