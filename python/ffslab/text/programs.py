"""What each of several programs did that ran at the same time, and how long they waited for one another."""

from __future__ import annotations

from ffslab.answers.summary import ProgramSummary, VariantSummary
from ffslab.text.tables import number

# Columns of text; the others are numbers.
TEXTS = frozenset({"variant", "program", "mostly for"})


def programs_cells(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a program a row. Where the measured steps run alone, no rows."""
    several = len(variants) > 1
    head = [
        *(["variant"] if several else []),
        *("program", "requests", "mean, us", "p99, us", "max, us", "read, KiB", "written, KiB"),
        *("waited", "sum, ms", "max, ms", "mostly for"),
    ]
    rows = []
    for variant in variants:
        for program in variant.get("programs", []):
            cells = _cells(program)
            rows.append([variant["name"], *cells] if several else cells)
    return head, rows


def alignment(head: list[str]) -> str:
    """Of each column, as for `text_table`."""
    return "".join("l" if name in TEXTS else "r" for name in head)


def _cells(program: ProgramSummary) -> list[str]:
    latency, waited = program["latency_us"], program["waited"]
    by_program = waited["by_program"]
    return [
        program["name"],
        number(latency["n"]),
        *(number(latency[key]) for key in ("mean", "p99", "max")),
        number(program["read_B"] / 1024),
        number(program["written_B"] / 1024),
        number(waited["calls"]),
        number(waited["sum_us"] / 1e3),
        number(waited["max_us"] / 1e3),
        by_program[0]["program"] if by_program else "-",
    ]
