"""The smallest test of power cuts, with comments: what `ffslab crashtest --new` writes.

Its text is `smallest.toml.in`.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from ffslab._native import InputError
from ffslab.files.results import write_text


def write_smallest(file: Path) -> None:
    """Writes the test.

    Raises `ffslab.InputError` when the file is there already, or cannot be written.
    """
    if file.exists():
        raise InputError(f"{file}: is there already, and would be lost: name another file")
    text = files("ffslab.studies.crashtest").joinpath("smallest.toml.in").read_text(encoding="utf-8")
    write_text(file, Template(text).safe_substitute(file=file))
