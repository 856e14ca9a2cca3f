"""The list of kept runs as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab.text.tables import counted, number, size, text_table

if TYPE_CHECKING:
    import pandas as pd

KEY_DIGITS = 12
COLUMNS = ("key", "fs", "part", "title", "variant", "page programs", "erases", "ended")
COLUMNS_OF_LIVES = ("key", "fs", "part", "workload", "variant", "years", "ended by")


def listing(table: pd.DataFrame, lives: pd.DataFrame, folder: Path, size_B: int, rows_max: int | None) -> str:  # noqa: N803
    """A line for each run, and for each life; `rows_max`: no more runs than so many, `None`: all."""
    shown = table if rows_max is None else table.head(rows_max)
    lines = text_table(COLUMNS, [_cells(row) for row in shown.to_dict("records")], "lllllrrl")
    more = f"\n{len(table) - len(shown)} more: --all lists them" if len(shown) < len(table) else ""
    said = [f"{lines}{more}"] if len(table) else []
    if len(lives):
        said.append(text_table(COLUMNS_OF_LIVES, [_life_cells(row) for row in lives.to_dict("records")], "lllllrl"))
    kept = counted(len(table), "run") + (
        f" and {'one life' if len(lives) == 1 else f'{len(lives)} lives'}" if len(lives) else ""
    )
    return "\n".join([*said, f"{kept}, {size(size_B)} in {folder}"])


def shown(row: Mapping[str, object]) -> str:
    """A line for each column of a run that says something."""
    said = {name: value for name, value in row.items() if value is not None and value != "" and name != "summary"}
    rows = [[name, number(value, 3) if isinstance(value, float) else str(value)] for name, value in said.items()]
    return text_table(["column", "value"], rows, "ll")


def _text(row: dict[object, object], name: str) -> str:
    value = row[name]
    return "" if value is None or value != value else str(value)


def _cells(row: dict[object, object]) -> tuple[str, ...]:
    numbers = [f"{float(_text(row, name)):.0f}" if _text(row, name) else "" for name in ("page_programs", "erases")]
    texts = [_text(row, name) for name in ("fs", "part", "title", "variant")]
    return (_text(row, "key")[:KEY_DIGITS], *texts, *numbers, _text(row, "error") or "yes")


def _life_cells(row: dict[object, object]) -> tuple[str, ...]:
    texts = [_text(row, name) for name in ("fs", "part", "workload", "variant")]
    return (_text(row, "key")[:KEY_DIGITS], *texts, f"{row['years']:.2f}", _text(row, "ended_by"))
