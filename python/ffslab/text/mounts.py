"""What was done on each of several mounts of a machine."""

from __future__ import annotations

from ffslab.answers.summary import MountSummary, VariantSummary
from ffslab.steady import variant_needs_us
from ffslab.text.figures import TOO_SHORT
from ffslab.text.tables import number

# Columns of text; the others are numbers.
TEXTS = frozenset({"variant", "mount", "file system"})


def mounts_cells(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a mount a row. Where a machine has one, no rows."""
    several = len(variants) > 1
    head = [
        *(["variant"] if several else []),
        *("mount", "file system", "blocks", "size, MiB", "free, MiB", "read, KiB", "written, KiB"),
        *("programs", "write amplification", "erases", "erases per block"),
    ]
    rows = []
    for variant in variants:
        for mount in variant.get("mounts", []):
            cells = _cells(mount, is_short=variant_needs_us(variant) is not None)
            rows.append([variant["name"], *cells] if several else cells)
    return head, rows


def alignment(head: list[str]) -> str:
    """One letter per column, as `text_table` takes them: l for left, r for right."""
    return "".join("l" if name in TEXTS else "r" for name in head)


def _cells(mount: MountSummary, *, is_short: bool) -> list[str]:
    first, blocks, wear = mount["first_block"], mount["blocks"], mount["erases_per_block"]
    last = "volume" if first is None or blocks is None else f"{first}-{first + blocks - 1}"
    return [
        mount["at"],
        mount["fs"],
        last,
        number(mount["size_B"] / 2**20),
        _or_dash(None if mount["free_B"] is None else mount["free_B"] / 2**20),
        number(mount["user_read_B"] / 1024),
        number(mount["user_written_B"] / 1024),
        _or_dash(mount["page_programs"]),
        TOO_SHORT if is_short and mount["write_amplification"] else _or_dash(mount["write_amplification"]),
        _or_dash(mount["erases"]),
        _or_dash(None if wear is None else wear["mean"], 2),
    ]


def _or_dash(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else number(value, digits)
