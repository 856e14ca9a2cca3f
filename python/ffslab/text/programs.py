"""What each of several programs did that ran at the same time, and how long they waited for one another."""

from __future__ import annotations

from ffslab.answers.summary import VariantSummary
from ffslab.steady import variant_needs_us
from ffslab.text.figures import TOO_SHORT
from ffslab.text.units import column

# Columns of text; the others are numbers.
TEXTS = frozenset({"variant", "program", "mostly for"})


def programs_cells(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a program a row. Where the measured steps run alone, no rows."""
    several = len(variants) > 1
    of = [(variant["name"], program) for variant in variants for program in variant.get("programs", [])]
    programs = [program for _, program in of]
    latency, waited = [one["latency_us"] for one in programs], [one["waited"] for one in programs]
    mostly = [one["by_program"][0]["program"] if one["by_program"] else "-" for one in waited]
    columns = [
        *([["variant", *(name for name, _ in of)]] if several else []),
        ["program", *(one["name"] for one in programs)],
        column("requests", "count", [one["n"] for one in latency]),
        column("mean", "time", [one["mean"] for one in latency]),
        column("p99", "time", [one["p99"] for one in latency]),
        _longest(variants),
        column("read", "size", [one["read_B"] for one in programs]),
        column("written", "size", [one["written_B"] for one in programs]),
        column("waited", "count", [one["calls"] for one in waited]),
        column("sum", "time", [one["sum_us"] for one in waited]),
        column("max", "time", [one["max_us"] for one in waited]),
        ["mostly for", *mostly],
    ]
    head, *rows = ([*row] for row in zip(*columns, strict=True))
    return head, rows


def _longest(variants: list[VariantSummary]) -> list[str]:
    """The slowest call of each program, where enough was seen to tell it."""
    known = [
        (variant_needs_us(variant) is None, program["latency_us"]["max"])
        for variant in variants
        for program in variant.get("programs", [])
    ]
    head, *cells = column("max", "time", [longest if is_steady else None for is_steady, longest in known])
    return [head, *(cell if is_steady else TOO_SHORT for cell, (is_steady, _) in zip(cells, known, strict=True))]


def alignment(head: list[str]) -> str:
    """One letter per column, as `text_table` takes them: l for left, r for right."""
    return "".join("l" if name in TEXTS else "r" for name in head)
