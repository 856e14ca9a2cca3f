"""The report on an image: one HTML file with the pictures that a terminal cannot show."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ffslab._native import __version__
from ffslab.answers.image import Facts
from ffslab.images import keys, recovery
from ffslab.images.inspection import (
    ERASE_COUNTER,
    HELD,
    bad_blocks_line,
    damage_line,
    fact_text,
    file_rows,
    hits_text,
    mark_of,
    sentences,
    start_text,
)
from ffslab.images.layout import layout_text
from ffslab.report import Opening, page, section, table
from ffslab.report.blocks import maps
from ffslab.report.charts import Axis, Ground, Line, chart, multiples, steps
from ffslab.report.page import Drawn, KeyFigure, paragraph
from ffslab.text.causes import titles
from ffslab.text.durations import duration
from ffslab.text.quoting import escape, quoted
from ffslab.text.tables import number, size
from ffslab.text.time_table import flash_us

# What most of a block is, and its colour of the style sheet.
KINDS = (
    ("valid", "s0"),
    ("invalid", "s1"),
    ("free", "free"),
    ("bad", "ink"),
    ("unknown", "s4"),
    ("damaged", "s3"),
)
FILES_MAX = 500
KEYS_MAX = 2000


def html(facts: Facts) -> str:
    """The whole report: what is the matter first, the facts of the format last."""
    layout = facts["layout"]
    said = [_sentence(line) for line in sentences(facts)]
    parts = [
        section("What this means", _list(said[1:])),
        section("Space", _space(facts)),
        section("Wear", _wear(facts)),
        section("Damage", _damage(facts)),
        section("Deleted and overwritten", _lost(facts)),
        section("Keys and values", _keys(facts)),
        section("Files", "" if facts["keys"] else _files(facts)),
        section("What a mount costs", _mount(facts)),
        section("Superblock", table(["fact", "value"], [[k, fact_text(v)] for k, v in facts["superblock"].items()])),
        section("How that is known", _list(layout["because"] + start_text(facts) + facts["notes"])),
    ]
    setting = f"{size(facts['file_B'])}: {layout_text(layout)}. Looked into by ffslab {__version__}."
    answer = said[0] if said else ""
    setting = f"{quoted(facts['file'])}, {setting}"
    question = f"What does {quoted(Path(facts['file']).name)} hold?"
    opening = Opening(question, setting, answer, _key_figures(facts), block_map(facts))
    return page(facts["file"], parts, opening)


def _key_figures(facts: Facts) -> list[KeyFigure]:
    """Damage, room, and wear or the cost of a mount."""
    blocks = number(len(facts["blocks"]))
    damaged = sum(bool(block["damage_count"]) for block in facts["blocks"])
    within = f"in {damaged:,} of {blocks} blocks" if damaged else f"in {blocks} blocks" if facts["blocks"] else ""
    made = [KeyFigure("Damaged pieces", number(facts["damage_count"]), within)]
    if (held := facts["space"]) is not None and (known := sum(held[key] for _, key in HELD)):
        valid, invalid, free = (held[key] for _, key in HELD)
        beside = f"{size(invalid)} garbage, {size(free)} free"
        made.append(KeyFigure("Valid data", f"{100 * valid / known:.0f} %", beside))
    if (worn := facts["wear"]) is not None and worn["kind"] == ERASE_COUNTER:
        made.append(KeyFigure("Erases of the most worn block", number(worn["max"]), f"on average {worn['mean']:,.1f}"))
    elif facts["mount"] is not None:
        beside = f"on {facts['mount']['machine']}"
        made.append(KeyFigure("A mount takes", duration(facts["mount"]["time_us"]), beside))
    return made


def _list(items: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}."


def block_map(facts: Facts, data: str = "blocks") -> Drawn | None:
    """Each erase block as a cell: what most of it is, or that it is bad or damaged; what it holds, how it is worn."""
    blocks = facts["blocks"]
    if not blocks:
        return None
    names = [kind for kind, _ in KINDS]
    codes = [names.index("damaged" if block["damage_count"] else mark_of(block)) for block in blocks]
    metrics: list[dict[str, object]] = [{"label": "what most of it is", "values": codes, "kinds": KINDS}]
    if facts["space"] is not None:
        sums = [sum(block[key] or 0 for _, key in HELD) for block in blocks]
        for name, key in HELD:
            held = [block[key] for block in blocks]
            shares = [
                round(100 * part / of) if of and part is not None else None for part, of in zip(held, sums, strict=True)
            ]
            metrics.append({"label": f"{name}, %", "values": shares})
    if (worn := facts["wear"]) is not None:
        is_erases = worn["kind"] == ERASE_COUNTER
        values = [block["erases"] if is_erases else block["sequence"] for block in blocks]
        metrics.append({"label": worn["kind"], "values": values})
    return maps(data, [{"name": "", "metrics": metrics}])


def _space(facts: Facts) -> list[str | Drawn]:
    """Valid, invalid and free bytes of each erase block, one on top of the other."""
    if facts["space"] is None:
        return []
    edges = np.arange(len(facts["blocks"]) + 1)
    inks = dict(KINDS)
    # What is valid is at the bottom.
    lines = [
        Line(name, edges, np.append(held, held[-1]), "step", {"colour": inks[name], "wide": 0})
        for name, key in reversed(HELD)
        for held in [np.array([(block[key] or 0) / 1024 for block in facts["blocks"]])]
    ]
    x, y = Axis("erase block", "block", linear=True), Axis("KiB", linear=True)
    said = paragraph("What each erase block holds, as the file system accounts for it.")
    return [said, chart("space", "", x, y, lines, 14, Ground(stacked=True))]


def _wear(facts: Facts) -> list[str | Drawn]:
    """How many blocks have which erase counter, or which sequence number; and that of each block."""
    worn = facts["wear"]
    if worn is None:
        return []
    is_erases = worn["kind"] == ERASE_COUNTER
    # A class reaches half a number beyond its least and most: the bar of one number stands on that number.
    edges = [row["from"] - 0.5 for row in worn["histogram"]] + [worn["histogram"][-1]["to"] + 0.5]
    counts = [row["blocks"] for row in worn["histogram"]]
    bar = Line("", *steps(edges, counts), "step", {"colour": "s0", "filled": True})
    counted = [(block["erases"] if is_erases else block["sequence"]) for block in facts["blocks"]]
    at = [block for block, count in enumerate(counted) if count is not None]
    dots = Line("", at, [count for count in counted if count is not None], "dots", {"colour": "s0", "size": 5})
    block = Axis("erase block", "block", linear=True)
    said = (
        "How often blocks were erased, by UBI's counters."
        if is_erases
        else "The sequence numbers of the blocks: the higher, the later a block was begun."
    )
    of_block = Axis(worn["kind"], linear=not is_erases, free=not is_erases)
    return [
        paragraph(said),
        multiples(
            [
                chart(
                    "wear-histogram",
                    "How many blocks",
                    Axis(worn["kind"], linear=True, free=True),
                    Axis("blocks"),
                    [bar],
                ),
                chart("wear-by-block", "Each block", block, of_block, [dots]),
            ]
        ),
    ]


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


def _keys(facts: Facts) -> str:
    shown = keys.rows(facts["keys"][:KEYS_MAX])
    more = f"<p>The first {KEYS_MAX} of {len(facts['keys'])}.</p>" if len(facts["keys"]) > KEYS_MAX else ""
    return f"<p>{escape(keys.counted(facts))}.</p>{more}{table(keys.HEAD, shown)}" if shown else ""


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
    said = f"<p>{duration(mount['time_us'])} on {escape(mount['machine'])}.</p>"
    return said + (table(head, rows) if rows else "")
