"""The report on the dump of a whole chip: one HTML file with the chip as a map, and what each partition holds."""

from __future__ import annotations

from itertools import cycle

from ffslab._native import __version__
from ffslab.answers.image import Facts
from ffslab.images import Partition, keys
from ffslab.images.inspection import file_rows, sentences
from ffslab.images.layout import layout_text
from ffslab.images.page import FILES_MAX, KEYS_MAX, block_map
from ffslab.report import Opening, page, section, table
from ffslab.report.blocks import maps
from ffslab.report.page import Drawn, KeyFigure, paragraph
from ffslab.text.quoting import quoted
from ffslab.text.tables import number, size

Found = list[tuple[Partition, Facts | None]]

# A cell of the map holds a sector at least, and so much that there are no more cells than this.
CELL_B_MIN = 4096
CELLS_MAX = 4096
COLOURS = ("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")


def html(file: str, found: Found) -> str:
    """The chip first, then a section for each partition that is read."""
    rows = [
        [
            quoted(part.name),
            f"{part.offset_B:#x}",
            size(part.size_B),
            layout_text(part.layout) if part.layout else part.why,
        ]
        for part, _ in found
    ]
    parts = [section("Partitions", table(["partition", "offset", "size", "holds"], rows))]
    parts += [section(quoted(part.name), _held(number, facts)) for number, (part, facts) in enumerate(found) if facts]
    read = [facts for _, facts in found if facts is not None]
    damaged = sum(facts["damage_count"] for facts in read)
    figures = [
        KeyFigure("Partitions", number(len(found)), f"{number(len(read))} of them are read"),
        KeyFigure("Damaged pieces", number(damaged), "in what is read"),
    ]
    answer = f"{len(found)} partitions; {len(read)} of them hold what ffslab reads."
    opening = Opening(
        f"What does {quoted(file)} hold?", f"Looked into by ffslab {__version__}.", answer, figures, chip_map(found)
    )
    return page(file, parts, opening)


def chip_map(found: Found) -> Drawn:
    """Each piece of the chip as a cell in the colour of the partition that holds it."""
    end = max(part.offset_B + part.size_B for part, _ in found)
    cell = CELL_B_MIN
    while end > cell * CELLS_MAX:
        cell *= 2
    codes = [0] * -(-end // cell)
    kinds = [("no partition", "free")]
    for (part, _), colour in zip(found, cycle(COLOURS), strict=False):
        kinds.append((quoted(part.name), colour))
        for at in range(part.offset_B // cell, -(-(part.offset_B + part.size_B) // cell)):
            # Where two share a cell it shows the first one.
            codes[at] = codes[at] or len(kinds) - 1
    metrics: list[dict[str, object]] = [
        {"label": f"the partition, cells of {size(cell)}", "values": codes, "kinds": kinds}
    ]
    return maps("chip", [{"name": "", "metrics": metrics}])


def _held(place: int, facts: Facts) -> list[str | Drawn]:
    said = [f"{line[0].upper()}{line[1:]}." for line in sentences(facts)]
    parts: list[str | Drawn] = [paragraph(" ".join(said))]
    drawn = block_map(facts, f"blocks-{place}")
    parts += [drawn] if drawn is not None else []
    if facts["keys"]:
        parts.append(table(keys.HEAD, keys.rows(facts["keys"][:KEYS_MAX])))
    else:
        head, rows = file_rows(facts)
        parts += [table(head, rows[:FILES_MAX])] if rows else []
        if len(rows) > FILES_MAX:
            parts.append(paragraph(f"The first {FILES_MAX} of {len(rows)} files."))
    return parts
