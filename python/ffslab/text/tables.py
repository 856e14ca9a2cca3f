"""Plain text tables: aligned columns, a rule below the head; made for terminals and for grep alike."""

from __future__ import annotations

from collections.abc import Sequence


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


def percent(fraction: float, digits: int = 1) -> str:
    """A signed fraction in per cent."""
    return f"{fraction * 100:+,.{digits}f} %"
