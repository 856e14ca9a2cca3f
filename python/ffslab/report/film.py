"""The film of erase blocks: each operation and what blocks hold, as differences, for `assets/film.js`.

An event is a difference of time and of block from the one before, a kind and three details, each as planes of bytes
(all low bytes, then all second ones ...), which deflate makes small: 1 to 4 bytes an event. The page says how large.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ffslab.answers.summary import VariantSummary
from ffslab.files import films
from ffslab.files.arrow import filled, numbers_of
from ffslab.report.charts import SCRIPTS, Axis, Line, chart, thinned, wants_log
from ffslab.report.page import Drawn
from ffslab.text.causes import titles
from ffslab.text.tables import number, size

if TYPE_CHECKING:
    import pyarrow as pa

    from ffslab.files.results import Results

KINDS = ("read", "program", "erase", "holds")
# Films of more variants would make a page of many megabytes.
FILMS_MAX = 3
LATENCIES_MAX = 4_000
# How the reasons begin for which blocks are made free: garbage collection, and what littlefs and YAFFS2 call it.
COLLECTING = ("gc ", "compaction", "relocation")
# A share of a block is told in so many parts.
PARTS = 255
# Files that most events are about have numbers of their own, from 1 on; all others share the last. 0: nobody's.
FILES_MAX = 250
OTHER_FILES = "other files"


def drawn(run: Results, variants: Sequence[VariantSummary]) -> list[tuple[str, Drawn]]:
    """For each of these variants that has a film: its name and size in a sentence, and what the page holds of it."""
    # Of several variants each that came to its end has a film under its number.
    tables = [run.films[name] for name in sorted(run.films, key=_number)]
    names = [one["name"] for one in run.summary["variants"]]
    if len(tables) != len(names):
        return []
    of = dict(zip(names, tables, strict=True))
    wanted = [variant for variant in variants if variant["flash"] is not None][:FILMS_MAX]
    return [_film(run, variant, of[variant["name"]], f"film-{at}") for at, variant in enumerate(wanted)]


def _number(name: str) -> int:
    number_text = name.partition("/")[0]
    return int(number_text) if number_text.isdigit() else 0


def _film(run: Results, variant: VariantSummary, table: pa.Table, name: str) -> tuple[str, Drawn]:
    flash = variant["flash"]
    assert flash is not None
    block_bytes = flash["page_B"] * flash["pages_per_block"]
    title_of = titles(variant)
    packed, facts = _packed(table, block_bytes)
    rows = np.asarray(run.block_columns["variant"], dtype=object) == variant["name"]
    before = np.asarray(run.block_columns["erases_total"])[rows] - np.asarray(run.block_columns["erases_main"])[rows]
    data: dict[str, object] = {
        **facts,
        "causes": [f"{reason} ({title_of.get(task, task)})" for task, reason in facts["causes"]],
        "collects": [reason.startswith(COLLECTING) for _, reason in facts["causes"]],
        "behind": [task != "caller" for task, _ in facts["causes"]],
        "blocks": len(before),
        "pages": flash["pages_per_block"],
        "erases": [int(one) for one in before],
        "packed": packed,
    }
    plot, latency = _latency(run, variant, name)
    html = (
        f'<figure class="film" data-film="{name}" data-count="{len(before)}" data-events="{table.num_rows}">{latency}'
        '<div class="deck"></div>'
        '<canvas tabindex="0" role="img" aria-label="Film of erase blocks; arrow keys go through them"></canvas>'
        '<p class="said" role="status"></p><ul class="keys"></ul></figure>'
    )
    events = table.num_rows
    said = f"{variant['name']}: " if len(run.summary["variants"]) > 1 else ""
    said += f"{number(events)} events of {number(len(before))} blocks in {size(len(packed))}."
    return said, Drawn(html, {name: data, **plot}, (*SCRIPTS, "blocks.js", "film.js"))


def _packed(table: Any, block_bytes: int) -> tuple[str, dict[str, Any]]:
    """All events in base64, and what is needed to read them."""
    words, kinds = _codes(table["what"])
    kinds = np.array([KINDS.index(word) for word in words])[kinds]
    at_us = numbers_of(table["at_us"])
    (tasks, task), (reasons, reason) = (_codes(filled(table[name], "")) for name in ("task", "reason"))
    pairs, cause = np.unique(task * len(reasons) + reason, return_inverse=True)
    known = [(tasks[pair // len(reasons)], reasons[pair % len(reasons)]) for pair in pairs]
    valid, free, page = (numbers_of(filled(table[name], 0)) for name in ("valid_B", "free_B", "page"))
    holds = kinds == KINDS.index("holds")
    # Of an operation cause and page, of what a block holds the parts of it that are valid and free.
    first = np.where(holds, np.rint(PARTS * valid / block_bytes), cause).astype(np.uint8)
    second = np.where(holds, np.rint(PARTS * free / block_bytes), page).astype(np.uint16)
    # In thousands of a microsecond, unless the film is longer than 4 s without an event.
    gap_us = float(np.diff(at_us, prepend=0.0).max(initial=0.0))
    unit_us = max(0.001, gap_us / (2**32 - 1) * 1.001)
    at = np.rint(at_us / unit_us).astype(np.int64)
    block = numbers_of(table["block"])
    planes = [
        _planes(np.diff(at, prepend=0), "<u4"),
        _planes(np.diff(block, prepend=0) + (1 << 31), "<u4"),
        kinds.astype(np.uint8).tobytes(),
        first.tobytes(),
        _planes(second, "<u2"),
    ]
    files, file = _files(table)
    planes.append(file.tobytes())
    packed = base64.b64encode(zlib.compress(b"".join(planes), 6)).decode("ascii")
    return packed, {"events": len(at), "unit_us": unit_us, "causes": known, "files": files}


def _files(table: Any) -> tuple[list[str], Any]:
    """Names of files and structures for which blocks are written, from number 1 on, and the number in each event."""
    if films.WRITTEN_FOR not in table.column_names:
        return [], np.zeros(table.num_rows, dtype=np.uint8)
    words, codes = _codes(filled(table[films.WRITTEN_FOR], ""))
    events = np.bincount(codes, minlength=len(words))
    named = [int(at) for at in np.argsort(-events, kind="stable") if words[at]]
    if not named:
        return [], np.zeros(table.num_rows, dtype=np.uint8)
    kept = sorted(named[:FILES_MAX], key=lambda at: words[at])
    numbers = np.zeros(len(words), dtype=np.uint8)
    numbers[named] = len(kept) + 1
    numbers[kept] = np.arange(1, len(kept) + 1)
    names = [words[at] for at in kept] + ([OTHER_FILES] if len(named) > len(kept) else [])
    return names, numbers[codes]


def _planes(values: Any, kind: str) -> bytes:
    """All low bytes, then all second ones, and so on."""
    raw = np.asarray(values).astype(kind).view(np.uint8)
    return raw.reshape(-1, np.dtype(kind).itemsize).T.tobytes()


def _codes(column: Any) -> tuple[list[str], Any]:
    """The words of a column of texts, and of each row the place of its word."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), numbers_of(encoded.indices).astype(np.int64)


def _latency(run: Results, variant: VariantSummary, name: str) -> tuple[dict[str, object], str]:
    """The chart of the calls above the film, on the film's clock; nothing when there are none."""
    columns = run.request_columns
    rows = np.asarray(columns["variant"], dtype=object) == variant["name"]
    if not rows.any():
        return {}, ""
    start, latency = (np.asarray(columns[key], dtype=float)[rows] for key in ("start_us", "latency_us"))
    x, y = thinned(start / 1e6, latency, LATENCIES_MAX)
    line = Line("", x, y, "dots", {"colour": "s0", "size": 4, "faint": True})
    log = wants_log([y])
    made = chart(f"{name}-latency", "", Axis("s", "s", linear=True), Axis("latency, us", log=log), [line], 11)
    return dict(made.data), made.html
