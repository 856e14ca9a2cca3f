"""Columns as Arrow has them, and back.

Whatever pyarrow is asked to convert, it imports pandas first, to look whether it is a series; that takes longer than a
small run. So columns are handed over as the memory that Arrow keeps them in (Arrow Columnar Format, "Physical Memory
Layout"): values, for texts the ends of each, and a bit for each row that says whether it has a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

# The ends of texts are 32 bits wide.
TEXT_BYTES_MAX = (1 << 31) - 1


def table_of(columns: Mapping[str, Any], schema: pa.Schema | None = None) -> pa.Table:
    """A table of columns of equal length: arrays of numpy, or lists of numbers, truths or texts, `None` where there is
    nothing. Without a schema the types are those that `pyarrow.table` finds."""
    import pyarrow as pa

    types = {} if schema is None else {field.name: field.type for field in schema}
    names = list(columns) if schema is None else schema.names
    arrays = [_array(columns[name], types.get(name)) for name in names]
    return pa.Table.from_arrays(arrays, names=names if schema is None else None, schema=schema)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """A column of numbers as an array; rows without a value are NaN."""
    name = str(column.type).replace("double", "float64")
    if column.null_count or name not in ("int32", "int64", "uint32", "uint64", "float64"):
        numbers: np.ndarray[Any, Any] = column.to_numpy()
        return numbers
    dtype = np.dtype(name)
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype.itemsize)
        for chunk in getattr(column, "chunks", [column])
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def filled(column: pa.ChunkedArray, value: float | str) -> pa.ChunkedArray:
    """The column with `value` in the rows that have none."""
    return column.fill_null(_array([value], column.type)[0])


def _array(values: Any, wanted: pa.DataType | None) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, np.ndarray) and wanted is None and values.dtype.kind in "iuf":
        memory = np.ascontiguousarray(values)
        return pa.Array.from_buffers(pa.from_numpy_dtype(memory.dtype), len(memory), [None, pa.py_buffer(memory)])
    rows = list(values)
    kind = wanted or _type_of(rows)
    if kind in (pa.int64(), pa.float64(), pa.bool_()):
        return _of_numbers(rows, kind)
    if kind == pa.string() and sum(map(len, filter(None, rows))) * 4 <= TEXT_BYTES_MAX:
        return _of_texts(rows)
    return pa.array(rows, wanted)


def _type_of(rows: Sequence[object]) -> pa.DataType | None:
    """The type of what is there; `None`: one of others."""
    import pyarrow as pa

    kinds = frozenset(type(row) for row in rows if row is not None)
    known: list[tuple[set[type], pa.DataType]] = [
        ({str}, pa.string()),
        ({bool}, pa.bool_()),
        ({int}, pa.int64()),
        ({float}, pa.float64()),
        ({int, float}, pa.float64()),
    ]
    return next((kind for types, kind in known if kinds == types), None)


def _of_numbers(rows: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    there, nulls = _validity(rows)
    if kind == pa.bool_():
        memory = np.packbits(np.array([row or False for row in rows], dtype=bool), bitorder="little")
    else:
        dtype = "int64" if kind == pa.int64() else "float64"
        memory = np.array([0 if row is None else row for row in rows], dtype)
    return pa.Array.from_buffers(kind, len(rows), [there, pa.py_buffer(memory)], nulls)


def _of_texts(rows: Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    there, nulls = _validity(rows)
    texts = [b"" if row is None else row.encode() for row in rows]
    ends = np.fromiter(accumulate(map(len, texts), initial=0), dtype="int32", count=len(texts) + 1)
    memory = [there, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(rows), memory, nulls)


def _validity(rows: Sequence[object]) -> tuple[pa.Buffer | None, int]:
    """The bits that say which rows have a value, none if all have, and how many have not."""
    import pyarrow as pa

    there = np.array([row is not None for row in rows], dtype=bool)
    nulls = len(rows) - int(there.sum())
    return (pa.py_buffer(np.packbits(there, bitorder="little")) if nulls else None), nulls
