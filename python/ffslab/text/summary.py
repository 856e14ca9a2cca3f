"""The table that `ffslab run` prints, and the rows that the report shows."""

from __future__ import annotations

from collections.abc import Callable

from ffslab.answers import Operation
from ffslab.answers.summary import Summary, VariantSummary
from ffslab.api.variants import typical_of
from ffslab.text.energy import energy_mj
from ffslab.text.mounts import alignment as mounts_alignment
from ffslab.text.mounts import mounts_cells
from ffslab.text.programs import alignment as programs_alignment
from ffslab.text.programs import programs_cells
from ffslab.text.repeats import repeats_cells, repeats_said
from ffslab.text.slowest import SHOWN_MAX, alignment, slowest_cells
from ffslab.text.tables import number, percent, text_table
from ffslab.text.time_table import axis_texts, causes_table, variant_heads, variants_table
from ffslab.text.words import sentences

# With more variants than this a variant is a row instead of a column.
COLUMNS_MAX = 6


def _of_setup(variant: VariantSummary, counter: Operation) -> float:
    """What of the totals is for what the setup had left in memory."""
    left = variant.get("of_setup")
    return left["totals"][counter] if left else 0.0


def _formatting(variant: VariantSummary, counter: Operation) -> float:
    """What of the totals made a new partition usable."""
    made = variant.get("formatting")
    return made[counter] if made else 0.0


ROWS: list[tuple[str, Callable[[VariantSummary], float | None], int]] = [
    ("virtual time, ms", lambda v: v["time_us"] / 1e3, 1),
    ("requests", lambda v: v["latency_us"]["n"], 0),
    ("latency mean, us", lambda v: v["latency_us"].get("mean"), 1),
    ("latency p50, us", lambda v: v["latency_us"].get("p50"), 1),
    ("latency p99, us", lambda v: v["latency_us"].get("p99"), 1),
    ("latency max, us", lambda v: v["latency_us"].get("max"), 1),
    ("latency sum, ms", lambda v: v["latency_us"]["sum"] / 1e3 if v["latency_us"]["n"] else None, 1),
    ("page reads", lambda v: v["totals"]["page_reads"], 0),
    ("page programs", lambda v: v["totals"]["page_programs"], 0),
    ("block erases", lambda v: v["totals"]["erases"], 0),
    ("of the setup: page programs", lambda v: _of_setup(v, "page_programs"), 0),
    ("of the setup: block erases", lambda v: _of_setup(v, "erases"), 0),
    ("of formatting: page programs", lambda v: _formatting(v, "page_programs"), 0),
    ("of formatting: block erases", lambda v: _formatting(v, "erases"), 0),
    ("OOB reads", lambda v: v["totals"]["oob_reads"], 0),
    ("OOB programs", lambda v: v["totals"]["oob_programs"], 0),
    ("chip busy, ms", lambda v: v["totals"]["busy_us"] / 1e3, 1),
    ("read amplification", lambda v: v["read_amplification"], 2),
    ("write amplification", lambda v: v["write_amplification"], 2),
    ("erases per block, mean", lambda v: v["erases_per_block"]["mean"], 2),
    ("erases per block, sd", lambda v: v["erases_per_block"]["sd"], 2),
    ("energy CPU, mJ", lambda v: energy_mj(v, "cpu"), 2),
    ("energy memory, mJ", lambda v: energy_mj(v, "memory"), 2),
    ("energy total, mJ", energy_mj, 2),
]
# What RTEMS counts instead of pages of a chip, and what goes wrong on a chip that ages.
COUNTERS = {
    "block cache reads": "bdbuf_read",
    "block cache hits": "read_hits",
    "device read requests": "dev_read_requests",
    "device write requests": "dev_write_requests",
    "device read, KiB": "dev_read_bytes",
    "device written, KiB": "dev_write_bytes",
    "of the setup: written, KiB": "dev_write_bytes_of_setup",
    "flash reads": "flash_read_ops",
    "flash writes": "flash_write_ops",
    "flash erases": "flash_erases",
    "memory blocks": "imfs_memfile_blocks",
    # Of a translation layer.
    "pages that the host wrote": "ftl_host_pages",
    "pages written with the rest of a block": "ftl_padded_pages",
    "pages that collection moved": "ftl_gc_pages",
    "of these while nobody waited": "ftl_idle_pages",
    "other pages that were moved": "ftl_other_moved_pages",
    "pages of trims": "ftl_trim_pages",
    "map pages read": "ftl_map_read_pages",
    "map pages written": "ftl_map_written_pages",
    "map entries in RAM": "ftl_map_hits",
    "map entries missed": "ftl_map_misses",
    "pages folded from the SLC cache": "ftl_folded_pages",
    "pages copied inside the chip": "ftl_copied_back_pages",
    "checkpoint pages": "ftl_checkpoint_pages",
    "blocks collected": "ftl_collected_blocks",
    "switch merges": "ftl_switch_merges",
    "partial merges": "ftl_partial_merges",
    "full merges": "ftl_full_merges",
    "failed programs of the layer": "ftl_failed_programs",
    # Of a chip that ages.
    "corrected bits": "corrected_bits",
    "frames at the ECC threshold": "threshold_frames",
    "uncorrectable frames": "uncorrectable_frames",
    "read retries": "read_retries",
    "failed programs": "failed_programs",
    "failed erases": "failed_erases",
    "grown bad blocks": "grown_bad_blocks",
    "blocks that UBI scrubbed": "scrubs",
    "blocks that UBI tested": "tortures",
}


def _counter(name: str, unit: float) -> Callable[[VariantSummary], float | None]:
    return lambda v: v.get("counters", {}).get(name, 0) / unit


ROWS += [(label, _counter(name, 1024 if "KiB" in label else 1), 0) for label, name in COUNTERS.items()]
ALWAYS = frozenset({"virtual time, ms", "page reads", "page programs", "block erases"})


def summary_cells(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a quantity a row, a variant a column; two variants are compared in a last column.

    Rows that are zero or missing in every variant are left out.
    """
    variants = summary["variants"]
    head = variant_heads(variants)
    if len(variants) == 2:
        head.append("change")
    rows = []
    for label, value_of, digits in ROWS:
        values = [value_of(variant) for variant in variants]
        if not any(values) and (label not in ALWAYS or not _has_chip(variants)):
            continue
        cells = [label, *(number(value, digits) for value in values)]
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


def summary_text(summary: Summary) -> str:
    """Title, tables and what they mean, for a terminal."""
    tables = []
    if summary.get("repeats"):
        head, rows = repeats_cells(summary)
        tables += [text_table(head, rows, "llrrrr"), "\n".join(repeats_said(summary))]
        summary = typical_of(summary)
    variants = summary["variants"]
    tables.append(aligned(*main_cells(summary)))
    if len(variants) <= COLUMNS_MAX:
        tables.append(aligned(*(causes_table(variants[0]) if len(variants) == 1 else variants_table(variants))))
        head, rows = slowest_cells(variants, SHOWN_MAX if len(variants) == 1 else 1)
        tables += [text_table(head, rows, alignment(head))] if rows else []
        head, rows = programs_cells(variants)
        tables += [text_table(head, rows, programs_alignment(head))] if rows else []
        head, rows = mounts_cells(variants)
        tables += [text_table(head, rows, mounts_alignment(head))] if rows else []
    return "\n\n".join([summary["title"], *tables, "\n".join(sentences(summary))])


def aligned(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    return text_table(head, rows, "l" + "r" * (len(head) - 1))


# What stays of ROWS when a variant is a row.
ROW_LABELS = (
    *("virtual time, ms", "requests", "latency mean, us", "latency p99, us", "page reads", "page programs"),
    *("block erases", "of the setup: page programs", "write amplification", "energy total, mJ"),
    *("device read requests", "device write requests"),
)
# What is compared when each row is a pair of variants.
PAIR_LABELS = (
    *("latency mean, us", "page reads", "page programs", "block erases", "energy total, mJ"),
    *("device read requests", "device write requests"),
)


def variant_rows(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """A variant a row: what the axes chose, then the main quantities; those that are zero everywhere are left out."""
    axes = list(variants[0]["axes"])
    shown = [row for row in ROWS if row[0] in ROW_LABELS and any(row[1](variant) for variant in variants)]
    head = [*axes, *(label for label, _, _ in shown)]
    rows = []
    texts = [axis_texts(variants, axis) for axis in axes]
    for at, variant in enumerate(variants):
        chosen = [column[at] for column in texts]
        rows.append([*chosen, *(number(value_of(variant), digits) for _, value_of, digits in shown)])
    return head, rows


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
    pairs: dict[tuple[str, ...], dict[str, VariantSummary]] = {}
    for at, variant in enumerate(variants):
        key = tuple(texts[axis][at] for axis in others)
        pairs.setdefault(key, {})[texts[compared][at]] = variant
    shown = [row for row in ROWS if row[0] in PAIR_LABELS and any(row[1](variant) for variant in variants)]
    head = list(others)
    for i, (label, _, _) in enumerate(shown):
        # The name of the axis stands once: it is long, and the columns are many.
        axis = "" if i else f"{compared}="
        head += [f"{label}\n{axis}{first}", second, "change"]
    rows = []
    for key, pair in pairs.items():
        cells = list(key)
        for _, value_of, digits in shown:
            before, after = value_of(pair[first]), value_of(pair[second])
            cells += [number(before, digits), number(after, digits), _change(before, after)]
        rows.append(cells)
    return head, rows


def _change(first: float | None, second: float | None) -> str:
    if first is None or second is None or first == 0:
        return ""
    return percent(second / first - 1)
