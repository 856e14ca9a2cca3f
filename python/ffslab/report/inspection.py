"""The report on an image: one HTML file with the pictures that a terminal cannot show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ffslab import __version__
from ffslab.answers.image import Facts
from ffslab.images import recovery
from ffslab.images.inspection import (
    ERASE_COUNTER,
    HELD,
    bad_blocks_line,
    damage_line,
    fact_text,
    file_rows,
    hits_text,
    layout_text,
    mark_of,
    sentences,
    start_text,
)
from ffslab.report import Opening, figure, page, section, table
from ffslab.report.drawing import colour, new_figure, svg_text, thousands
from ffslab.text.causes import titles
from ffslab.text.quoting import escape, quoted
from ffslab.text.tables import number, size
from ffslab.text.time_table import flash_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

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
    """The whole report: what is the matter first, the facts of the format last."""
    layout = facts["layout"]
    said = [_sentence(line) for line in sentences(facts)]
    parts = [
        section("What this means", _list(said[1:])),
        figure("Erase blocks", "What most of each erase block is, row by row.", block_map(facts)),
        figure("Space", "What each erase block holds, as the file system accounts for it.", space_bars(facts)),
        section("Wear", _figures(_wear_said(facts), [wear_histogram(facts), wear_by_block(facts)])),
        section("Damage", _damage(facts)),
        section("Deleted and overwritten", _lost(facts)),
        section("Files", _files(facts)),
        section("What a mount costs", _mount(facts)),
        section("Superblock", table(["fact", "value"], [[k, fact_text(v)] for k, v in facts["superblock"].items()])),
        section("How that is known", _list(layout["because"] + start_text(facts) + facts["notes"])),
    ]
    setting = f"{size(facts['file_B'])}: {layout_text(layout)}. Looked into by ffslab {__version__}."
    return page(facts["file"], parts, Opening(quoted(facts["file"]), setting, said[0] if said else ""))


def _list(items: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}."


def _figures(said: str, svgs: list[str | None]) -> str:
    drawn = "\n".join(f"<figure>{svg}</figure>" for svg in svgs if svg is not None)
    return f"<p>{escape(said)}</p>\n{drawn}" if drawn else ""


def _wear_said(facts: Facts) -> str:
    if facts["wear"] is None:
        return ""
    if facts["wear"]["kind"] == ERASE_COUNTER:
        return "How often blocks were erased, by UBI's counters."
    return "The sequence numbers of the blocks: the higher, the later a block was begun."


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
    drawing = new_figure(1.0 + min(0.14 * rows, 8.0) if rows > 6 else 1.8)
    axes = drawing.add_subplot()
    colours = ListedColormap([tint for _, tint in KINDS])
    grid = cells.reshape(-1, MAP_COLUMNS)
    axes.imshow(grid, cmap=colours, vmin=-0.5, vmax=len(KINDS) - 0.5, interpolation="nearest", aspect="auto")
    axes.set(xticks=[], ylabel="first block\nof the row")
    step = max(1, rows // 8)
    axes.set_yticks(range(0, rows, step), [str(row * MAP_COLUMNS) for row in range(0, rows, step)])
    there = sorted(set(codes))
    drawing.legend(
        handles=[Patch(color=KINDS[code][1], label=KINDS[code][0]) for code in there],
        loc="outside lower center",
        ncols=len(KINDS),
        fontsize=8,
        frameon=False,
    )
    return svg_text(drawing, "block-map")


def space_bars(facts: Facts) -> str | None:
    """Valid, invalid and free bytes of each erase block, one on top of the other."""
    if facts["space"] is None:
        return None
    drawing = new_figure(2.2)
    axes = drawing.add_subplot()
    held = [np.array([(block[key] or 0) / 1024 for block in facts["blocks"]]) for _, key in HELD]
    _stacked(axes, held)
    most = np.sum(held, axis=0).max() or 1
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="erase block", ylabel="KiB", xlim=(0, len(facts["blocks"])), ylim=(0, most))
    axes.set_yticks(np.linspace(0, most, 3))
    thousands(axes.xaxis, axes.yaxis)
    return svg_text(drawing, "space-bars", axes, 3)


def wear_histogram(facts: Facts) -> str | None:
    """How many blocks have which erase counter, or which sequence number."""
    worn = facts["wear"]
    if worn is None:
        return None
    drawing = new_figure(2.4)
    axes = drawing.add_subplot()
    # A class reaches half a number beyond its least and most: the bar of one number stands on that number.
    edges = [row["from"] - 0.5 for row in worn["histogram"]] + [worn["histogram"][-1]["to"] + 0.5]
    axes.stairs([row["blocks"] for row in worn["histogram"]], edges, fill=True, color=colour(0), edgecolor="#ffffff")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
        thousands(axis)
    axes.set(xlabel=worn["kind"], ylabel="blocks")
    return svg_text(drawing, "wear-histogram")


def wear_by_block(facts: Facts) -> str | None:
    """The same over the blocks."""
    worn = facts["wear"]
    if worn is None:
        return None
    is_erases = worn["kind"] == ERASE_COUNTER
    drawing = new_figure(2.2)
    axes = drawing.add_subplot()
    counted = ((block["erases"] if is_erases else block["sequence"]) for block in facts["blocks"])
    values = [np.nan if count is None else count for count in counted]
    axes.plot(values, linestyle="none", marker=".", markersize=3, color=colour(0))
    axes.set(xlabel="erase block", ylabel=worn["kind"], xlim=(-0.5, max(len(values), 1)))
    if worn["kind"] == ERASE_COUNTER:
        axes.set_ylim(0, 1.08 * worn["max"] + 1)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    thousands(axes.xaxis, axes.yaxis)
    return svg_text(drawing, "wear-by-block")


def _damage(facts: Facts) -> str:
    rows = [[quoted("/" + entry["path"]), "-", "-", entry["error"]] for entry in facts["files"] if entry["error"]]
    rows += [
        [hits_text(it).removeprefix(": ") or "-", str(it["block"]), f"{it['offset']:#x}", it["what"]]
        for it in facts["damage"]
    ]
    said = " ".join(_sentence(line) for line in (damage_line(facts), bad_blocks_line(facts)) if line)
    said = f"<p>{escape(said)}</p>"
    return said + (table(["file", "block", "offset", "what"], rows) if rows else "")


def _lost(facts: Facts) -> str:
    if facts["lost"] is None:
        return ""
    head, rows = recovery.rows(facts)
    more = f"<p>The first {FILES_MAX} of {len(rows)}.</p>" if len(rows) > FILES_MAX else ""
    said = f"<p>{escape(_sentence(recovery.line(facts)))}</p>"
    return said + more + (table(head, rows[:FILES_MAX]) if rows else "") + _list(facts["lost"]["notes"])


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
    title_of = titles(mount)
    rows = [
        [
            f"{title_of[cause['task']]}: {cause['reason']}",
            *(number(cause[key]) for key in ("page_reads", "oob_reads", "page_programs", "erases")),
            number((flash_us(cause) + cause["cpu_us"]) / 1e3),
        ]
        for cause in mount["by_cause"]
        if flash_us(cause) + cause["cpu_us"]
    ]
    if (counts := mount.get("counts")) is not None:
        totals = (counts[key] for key in ("page_reads", "oob_reads", "page_programs", "erases"))
        rows.append(["together", *map(number, totals), number(mount["time_us"] / 1e3)])
    head = ["cause", "page reads", "OOB reads", "programs", "erases", "time, ms"]
    said = f"<p>{number(mount['time_us'] / 1e3)} ms on {escape(mount['machine'])}.</p>"
    return said + (table(head, rows) if rows else "")


SPACE_KINDS = (("valid", "#0072b2"), ("invalid", "#d55e00"), ("free", "#d9d9d9"))


def _stacked(axes: Axes, held: list[NDArray[np.float64]]) -> None:
    """A bar a block: what is valid, invalid and free in it, one on top of the other; blocks alike in one piece."""
    stacked = np.cumsum(np.vstack([np.zeros(len(held[0])), *held]), axis=0)
    starts = np.concatenate([[0], np.flatnonzero(np.any(np.diff(stacked), axis=0)) + 1])
    edges = np.append(starts, len(held[0]))
    for below, above, (label, tint) in zip(stacked, stacked[1:], SPACE_KINDS, strict=False):
        axes.stairs(above[starts], edges, baseline=below[starts], fill=True, color=tint, label=label)
