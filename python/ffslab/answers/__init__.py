"""What the native half answers, as types for mypy: at runtime a result is what `json.loads` makes of it.

The modules are made by tools/native_types.py from the JSON Schemas of the Rust types that write the results;
`ffslab schema NAME` prints these, and they also say what each key means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np

# A value whose shape nothing says: what an axis varies, a fact of a superblock.
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
# A table by columns: numbers, or texts.
Columns: TypeAlias = "dict[str, np.ndarray[tuple[int], np.dtype[np.int64 | np.uint64 | np.float64]] | list[str]]"
# Those of the counts of flash operations that tables and plots show.
Operation: TypeAlias = Literal["page_reads", "oob_reads", "page_programs", "oob_programs", "erases"]
