"""The table that `ffslab run` prints, and the rows that the report shows."""

from __future__ import annotations

from ffslab.answers.summary import Summary, VariantSummary
from ffslab.text import machine_line
from ffslab.text.boot import alignment as boot_alignment
from ffslab.text.boot import boot_cells
from ffslab.text.figures import Place, table_of
from ffslab.text.headline import headline_of
from ffslab.text.mounts import alignment as mounts_alignment
from ffslab.text.mounts import mounts_cells
from ffslab.text.programs import alignment as programs_alignment
from ffslab.text.programs import programs_cells
from ffslab.text.repeats import repeats_cells, repeats_said
from ffslab.text.slowest import SHOWN_MAX, alignment, slowest_cells
from ffslab.text.tables import percent, text_table
from ffslab.text.time_table import axis_texts, causes_table, variant_heads, variants_table
from ffslab.text.variants import typical_of
from ffslab.text.words import sentences

# With more variants than this a variant is a row instead of a column.
COLUMNS_MAX = 6


# Told even where nothing was done: that nothing was is the answer.
ALWAYS = frozenset({"time_us", "page_reads", "page_programs", "erases"})


def summary_cells(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a quantity a row, a variant a column; two variants are compared in a last column.

    Rows that are zero or missing in every variant are left out.
    """
    variants = summary["variants"]
    head = variant_heads(variants)
    if len(variants) == 2:
        head.append("change")
    rows = []
    for told in table_of(variants, Place.TERMINAL):
        values = told.values
        if not told.is_there and (told.figure.key not in ALWAYS or not _has_chip(variants)):
            continue
        cells = told.row()
        if len(values) == 2:
            cells.append(_change(values[0], values[1]))
        rows.append(cells)
    return head, rows


def _has_chip(variants: list[VariantSummary]) -> bool:
    return any(variant.get("flash", {}) is not None for variant in variants)


def main_cells(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the main table: variants as columns; many of them in pairs, or else as rows."""
    variants = summary["variants"]
    if len(variants) <= COLUMNS_MAX:
        return summary_cells(summary)
    return pairs_cells(variants) or variant_rows(variants)


def summary_text(summary: Summary, initial: str | None = None) -> str:
    """Title, machine, who failed, tables and what they mean, for a terminal. `initial`: what the experiment says."""
    tables = []
    repeated = summary
    if summary.get("repeats"):
        head, rows = repeats_cells(summary)
        tables += [text_table(head, rows, "llrrrr"), "\n".join(repeats_said(summary))]
        summary = typical_of(summary)
    variants = summary["variants"]
    opening = [summary["title"], machine_line.of_summary(repeated, initial)]
    if failures := headline_of(summary).failures:
        opening.append("\n".join(failures))
    if not variants:
        return "\n\n".join(opening)
    tables.append(aligned(*main_cells(summary)))
    if len(variants) <= COLUMNS_MAX:
        tables.append(aligned(*(causes_table(variants[0]) if len(variants) == 1 else variants_table(variants))))
        head, rows = boot_cells(variants)
        tables += [text_table(head, rows, boot_alignment(head))] if rows else []
        head, rows = slowest_cells(variants, SHOWN_MAX if len(variants) == 1 else 1)
        tables += [text_table(head, rows, alignment(head))] if rows else []
        head, rows = programs_cells(variants)
        tables += [text_table(head, rows, programs_alignment(head))] if rows else []
        head, rows = mounts_cells(variants)
        tables += [text_table(head, rows, mounts_alignment(head))] if rows else []
    return "\n\n".join([*opening, *tables, "\n".join(sentences(summary))])


def aligned(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    return text_table(head, rows, "l" + "r" * (len(head) - 1))


def variant_rows(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """A variant a row: what the axes chose, then the main quantities; those that are zero everywhere are left out."""
    axes = list(variants[0]["axes"])
    shown = [told for told in table_of(variants, Place.ROWS) if told.is_there]
    columns = [axis_texts(variants, axis) for axis in axes] + [told.row()[1:] for told in shown]
    head = [*axes, *(told.row()[0] for told in shown)]
    return head, [[column[at] for column in columns] for at in range(len(variants))]


def pairs_cells(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]] | None:
    """Rows of two variants that differ only in the first axis with two values; `None` without such an axis."""
    axes = list(variants[0]["axes"])
    texts = {axis: axis_texts(variants, axis) for axis in axes}
    values = {axis: list(dict.fromkeys(texts[axis])) for axis in axes}
    halves = [axis for axis in axes if len(values[axis]) == 2]
    if not halves:
        return None
    compared, others = halves[0], [axis for axis in axes if axis != halves[0]]
    first, second = values[compared]
    pairs: dict[tuple[str, ...], dict[str, int]] = {}
    for at in range(len(variants)):
        key = tuple(texts[axis][at] for axis in others)
        pairs.setdefault(key, {})[texts[compared][at]] = at
    shown = [told for told in table_of(variants, Place.PAIRS) if told.is_there]
    head = list(others)
    rows = [list(key) for key in pairs]
    for i, (figure, found, _) in enumerate(shown):
        unit = figure.unit(found)
        # The name of the axis stands once: it is long, and the columns are many.
        axis = "" if i else f"{compared}="
        head += [f"{unit.labelled(figure.name)}\n{axis}{first}", second, "change"]
        for row, pair in zip(rows, pairs.values(), strict=True):
            # A pair of which a variant failed has one half.
            before, after = (found[pair[side]] if side in pair else None for side in (first, second))
            row += [unit.cell(before), unit.cell(after), _change(before, after)]
    return head, rows


def _change(first: float | None, second: float | None) -> str:
    if first is None or second is None or first == 0:
        return ""
    return percent(second / first - 1)
