"""Plain text tables: aligned columns, a rule below the head; made for terminals and for grep alike."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """`align` has one letter a column: l (text) or r (numbers). Cells of the head may have several lines."""
    heads = [cell.split("\n") for cell in head]
    height = max(map(len, heads))
    lines = [[*[""] * (height - len(cell)), *cell] for cell in heads]
    cells = [*(list(line) for line in zip(*lines, strict=True)), *([*row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    rule = ["-" * width for width in widths]
    if align[-1] == "l":
        rule[-1] = "-" * max(map(len, heads[-1]))
    cells.insert(height, rule)
    return "\n".join(_line(row, widths, align) for row in cells)


def _line(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = (
        cell.ljust(width) if side == "l" else cell.rjust(width)
        for cell, width, side in zip(row, widths, align, strict=True)
    )
    return "  ".join(padded).rstrip()


def number(value: float | None, digits: int = 1) -> str:
    """A number for people: thousands separated, whole numbers without decimals; "-" when there is none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def counted(count: int, what: str, several: str | None = None) -> str:
    """How many of them: "1 erase", "1,024 erases". `several`: the plural that is not made with an s."""
    return f"{number(count)} {what if count == 1 else several or f'{what}s'}"


def few(value: float) -> str:
    """A number of three digits, or all of a large one's: "0.0566", "1,440"."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def at_most(value: float) -> str:
    """A number of two digits, rounded down, so that who takes it stays below: "0.05", "19", "1,700"."""
    return f"{Context(prec=2, rounding=ROUND_FLOOR).create_decimal(repr(value)):,f}"


def at_least(value: float) -> str:
    """A number of three digits, rounded up, so that who takes it has enough: "1.02", "14.3"."""
    return f"{Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(value)):,f}"


def size(count_bytes: float) -> str:
    """Bytes for people: "512 B", "4.0 KiB"."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count_bytes >= factor:
            return f"{count_bytes / factor:,.1f} {unit}"
    return f"{int(count_bytes)} B"


def percent(fraction: float, digits: int = 1) -> str:
    """A signed fraction in per cent."""
    return f"{fraction * 100:+,.{digits}f} %"
