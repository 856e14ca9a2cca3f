"""The list of kept runs as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ffslab.text.tables import counted, size, text_table

if TYPE_CHECKING:
    import pandas as pd

KEY_DIGITS = 12
COLUMNS = ("key", "fs", "part", "title", "variant", "page programs", "erases", "ended")


def listing(table: pd.DataFrame, folder: Path, size_B: int, rows_max: int | None) -> str:  # noqa: N803
    """A line for each run; `rows_max`: no more than so many, `None`: all."""
    shown = table if rows_max is None else table.head(rows_max)
    lines = text_table(COLUMNS, [_cells(row) for row in shown.to_dict("records")], "lllllrrl")
    more = f"\n{len(table) - len(shown)} more: --all lists them" if len(shown) < len(table) else ""
    room = f"{counted(len(table), 'run')}, {size(size_B)} in {folder}"
    return f"{lines}{more}\n{room}" if len(table) else room


def _cells(row: dict[object, object]) -> tuple[str, ...]:
    def text(name: str) -> str:
        value = row[name]
        return "" if value is None or value != value else str(value)

    numbers = [f"{float(text(name)):.0f}" if text(name) else "" for name in ("page_programs", "erases")]
    ended = text("error") or "yes"
    return (text("key")[:KEY_DIGITS], text("fs"), text("part"), text("title"), text("variant"), *numbers, ended)
