"""The native half of ffslab (crates/python). Private: use the objects of `ffslab`."""

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

__version__: str

class InputError(ValueError):
    """What the user gave cannot be run: the text says what is wrong, where, and what would be right."""

Columns: TypeAlias = dict[str, np.ndarray[Any, Any] | list[str]]

def run_experiment(
    text: str,
    file_name: str,
    base_dir: str | PathLike[str],
    progress: Callable[[float], object] | None,
    tables: dict[str, str],
) -> tuple[str, Columns, Columns, str, dict[str, bytes], dict[str, str]]:
    """Summary (JSON), columns of requests and of erase blocks, resolved experiment (TOML), saved images, logs.

    `tables`: recordings as CSV, by the name that `replay` steps give.
    """

def validate(
    path: str | PathLike[str],
    only: str | None,
    jobs: int,
    progress: Callable[[float], object] | None,
) -> str:
    """The comparison with the measured cases (JSON). `jobs` 0: one thread per core."""

TreeRow: TypeAlias = tuple[str, str, int, int, tuple[int, int], int, int, int, int, bytes, str | None]

def read_tree(
    path: str | PathLike[str], *, fs: str, page_bytes: int, oob_bytes: int, block_bytes: int, oob: bool, endian: str
) -> tuple[list[TreeRow], list[str]]:
    """The files of an image, as the fields of `ffslab.images.ImageEntry`, and notes. `fs`, `endian` may be "auto"."""

def trace_table(path: str | PathLike[str], root: str | None) -> tuple[dict[str, Any], str, list[str]]:
    """A recording as columns, the root of its paths, and notes on what is not in it."""

def schema() -> str:
    """JSON Schema of experiment files."""

def profiles() -> str:
    """The built-in profiles (JSON list)."""

def profile(name: str) -> str:
    """One profile with units, sources and status (JSON)."""
