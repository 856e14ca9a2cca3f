"""The shape of a file that a command wrote: what a reader relies on, without its numbers."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

HEADING = re.compile(r"<h([1-3])[^>]*>(.*?)</h\1>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
# What a page shows when a figure is missing that it was to show.
NOT_SHOWN = re.compile(r">\s*(?:NaN|nan|None|undefined|Infinity)\s*<")


def _columns(path: Path) -> str:
    import pyarrow.parquet as pq

    return ", ".join(pq.read_table(path).column_names)


def _headings(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>"), f"{path.name} is cut off"
    assert not (found := NOT_SHOWN.search(text)), f"{path.name} shows {found[0]}"
    return "; ".join(html.unescape(" ".join(TAG.sub("", found[1]).split())) for found in HEADING.findall(text))


def _keys(path: Path) -> str:
    read = json.loads(path.read_text(encoding="utf-8"))
    return ", ".join(read) if isinstance(read, dict) else f"a list of {len(read)}"


def _head(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return ", ".join(next(csv.reader(file), []))


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().rstrip()


OF_SUFFIX: dict[str, Callable[[Path], str]] = {
    ".parquet": _columns,
    ".html": _headings,
    ".json": _keys,
    ".csv": _head,
    ".toml": _first_line,
    ".md": _first_line,
    ".1": _first_line,
    ".xml": lambda path: " ".join(re.findall(r"<(\w+)", path.read_text(encoding="utf-8"))[:4]),
    ".folded": lambda path: "a flame graph" if ";" in _first_line(path) else "empty",
}


def shape(path: Path) -> str:
    """In one line; of a file of another kind whether something is in it."""
    of = OF_SUFFIX.get(path.suffix)
    return of(path) if of else "empty" if path.stat().st_size == 0 else "a file"
