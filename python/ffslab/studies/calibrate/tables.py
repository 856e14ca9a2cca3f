"""CSV files whose columns say their unit: `time_us`, `power_cpu_mW`. Readers take every unit of the right kind."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ffslab._native import InputError
from ffslab.files.inputs import read_text

if TYPE_CHECKING:
    from ffslab.studies.calibrate.observations import Numbers

# Unit at the end of a column's name -> (kind, its size in the unit that is reckoned in: us, mW, uJ).
UNITS = {
    "s": ("time", 1e6),
    "ms": ("time", 1e3),
    "us": ("time", 1.0),
    "ns": ("time", 1e-3),
    "W": ("power", 1e3),
    "mW": ("power", 1.0),
    "uW": ("power", 1e-3),
    "J": ("energy", 1e6),
    "mJ": ("energy", 1e3),
    "uJ": ("energy", 1.0),
}


# No board measures so much of anything, in any unit; sums of squares of what is smaller are still numbers.
NUMBER_END = 1e15
# A table of measurements has some ten. A frame with a million of them takes minutes, or more than a GiB.
COLUMNS_MAX = 1000


def read(path: Path) -> pd.DataFrame:
    """The table of a CSV file: commas or semicolons, lines that begin with # are comments.

    Errors: a file that cannot be read, or that is no table.
    """
    text = read_text(path, "table")
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    separator = ";" if ";" in head else ","
    if head.count(separator) >= COLUMNS_MAX:
        raise InputError(f"{path}: its first line has more than {COLUMNS_MAX} columns: it is no table of measurements")
    try:
        frame = pd.read_csv(io.StringIO(text), sep=separator, comment="#", skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: {_no_table(error)}") from None
    frame.columns = frame.columns.str.strip()
    if frame.empty:
        raise InputError(f"{path}: holds no rows")
    return frame


def column(frame: pd.DataFrame, name: str, kind: str) -> str | None:
    """The column called `name` and a unit of `kind`; None when there is none."""
    return next((c for c in frame.columns if c.startswith(f"{name}_") and unit(c, name)[0] == kind), None)


def unit(column: str, name: str) -> tuple[str, float]:
    """Kind and size of the unit in which `column`, called `name`, is written; ("", 0) when it is none."""
    return UNITS.get(column.removeprefix(f"{name}_"), ("", 0.0))


def numbers(path: Path, frame: pd.DataFrame, column: str) -> pd.Series[float]:
    """The values of `column`, NaN where it is empty.

    Errors: what is no number or too large, with its row.
    """
    values = pd.to_numeric(frame[column], errors="coerce")
    refused = {"no number": values.isna() & frame[column].notna(), "too large": values.abs() >= NUMBER_END}
    for what, wrong in refused.items():
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            given = frame[column][row]
            shown = repr(given) if isinstance(given, str) else str(given)
            raise InputError(f"{path}: row {row + 1} below the head: {column} = {shown} is {what}")
    return values.astype(float)


def quantity(path: Path, frame: pd.DataFrame, column: str, name: str) -> Numbers:
    """The values of `column` in us, mW or uJ. Errors: those of `numbers`."""
    return np.asarray(numbers(path, frame, column) * unit(column, name)[1], dtype=np.float64)


def required(path: Path, frame: pd.DataFrame, name: str, kind: str) -> Numbers:
    """The values of the column called `name` and a unit of `kind`.

    Errors: there is none; what is no number, or missing.
    """
    found = column(frame, name, kind)
    if found is None:
        units = ", ".join(f"{name}_{unit}" for unit, (of, _) in UNITS.items() if of == kind)
        raise InputError(f"{path}: no column for {name}: one of {units} is needed; it has {', '.join(frame.columns)}")
    values = quantity(path, frame, found, name)
    if pd.isna(values).any():
        raise InputError(f"{path}: row {int(pd.isna(values).argmax()) + 1} below the head: {found} is empty")
    return values


def _no_table(error: Exception) -> str:
    """What the reader of tables found, without its own vocabulary."""
    said = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if said is None:
        return "is no table: expected a line with the names of the columns, then rows"
    expected, line, found = said.groups()
    return f"is no table: line {line} has {found} columns, the lines before it {expected}"
