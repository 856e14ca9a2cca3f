"""The results folder: complete or absent.

It is written beside its final place and renamed at the end. A folder that `ffslab` wrote earlier is replaced; any
other folder that holds something is refused, so that a mistyped `--out` destroys nothing.
"""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from ffslab._native import InputError, __version__
from ffslab.answers import Columns
from ffslab.answers.summary import Summary
from ffslab.files.interruption import uninterrupted
from ffslab.files.os_errors import reason
from ffslab.files.tables import BLOCKS, IMAGES, LOGS, REQUESTS, STACKS, read_columns, read_run, write_columns, write_run
from ffslab.files.workplace import work_file, workplace
from ffslab.text.quoting import machine_exact
from ffslab.text.variants import VariantColumns, columns_of, rows_of, typical_of

if TYPE_CHECKING:
    import pyarrow as pa

RESOLVED = "resolved.toml"
SUMMARY = "summary.json"
VARIANTS, VARIANTS_CSV = "variants.parquet", "variants.csv"
REPORT = "report.html"
FILES = frozenset({RESOLVED, SUMMARY, REQUESTS, BLOCKS, STACKS, VARIANTS, VARIANTS_CSV, REPORT})


class Results:
    """What a folder of results holds, but for the page that is made of it.

    `summary`: dictionary of plain values, one entry per variant (what `summary.json` holds).
    `resolved_toml`: the experiment with every default and profile value written out.
    `images`: what `save_image` steps kept, by file name; with several variants the name begins with the variant's
    number, from 1: "2/nand.bin".
    `logs`: what jobs wrote (`write_iolog` of fio), by file name as with images.
    `films`: what happened to each erase block (`film = true`), a table of pyarrow a variant, by file name as with
    images.
    """

    def __init__(
        self,
        summary: Summary,
        requests: Columns,
        blocks: Columns,
        resolved_toml: str,
        images: dict[str, bytes] | None = None,
        logs: dict[str, str] | None = None,
        stacks: Columns | None = None,
        films: dict[str, pa.Table] | None = None,
    ) -> None:
        self.summary = summary
        self.resolved_toml = resolved_toml
        self.request_columns = requests
        self.block_columns = blocks
        self.images = images or {}
        self.logs = logs or {}
        self.stack_columns = stacks
        self.films = films or {}

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The results that `ffslab run` or `save` wrote to a folder.

        Raises `ffslab.InputError` when it is none, or one of another version that this one cannot read.
        """
        folder = Path(folder)
        if not (folder / SUMMARY).is_file():
            raise InputError(f"{folder}: not a results folder (no {SUMMARY}): name one that `ffslab run` wrote")
        try:
            summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
            requests, blocks, images, logs, films = read_run(folder)
            stacks = read_columns(folder / STACKS) if (folder / STACKS).is_file() else None
            resolved = (folder / RESOLVED).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder}: cannot be read: {reason(error)}") from None
        except ValueError as error:
            raise InputError(f"{folder}: is damaged: {error}") from None
        if summary.get("version") != __version__:
            by = summary.get("version", "an unknown version")
            raise InputError(f"{folder}: was written by ffslab {by}, this is {__version__}: run its {RESOLVED} again")
        return cls(summary, requests, blocks, resolved, images, logs, stacks, films)

    def typical(self) -> Self:
        """Of an experiment with `repeat`: one run of each variant, that of the median time, under the variant's name.
        Any other run as it is."""
        repeats = self.summary.get("repeats")
        if not repeats:
            return self
        names = {one["typical"]: one["name"] for one in repeats}
        requests, blocks = (rows_of(columns, names) for columns in (self.request_columns, self.block_columns))
        stacks = None if self.stack_columns is None else rows_of(self.stack_columns, names)
        return type(self)(typical_of(self.summary), requests, blocks, self.resolved_toml, stacks=stacks)

    @property
    def variant_columns(self) -> VariantColumns:
        """The columns of `variants`."""
        return columns_of(self.summary)


def dump_json(value: object) -> str:
    """JSON as this package writes it everywhere."""
    plain = json.dumps(value, ensure_ascii=False)
    try:
        text = msgspec.json.format(plain, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError):
        # What is no JSON to all: NaN, infinity, halves of surrogate pairs. The library alone takes five times as long.
        text = json.dumps(value, indent=2, ensure_ascii=False)
    return machine_exact(text) + "\n"


def check_free(folder: Path, names: frozenset[str] = FILES | {IMAGES, LOGS}, mark: str = SUMMARY) -> None:
    """Refuses a place where results must not be written. Call it before a long run.

    `names`: what a folder of this kind may hold; `mark`: what each of them holds.
    """
    if folder.is_dir():
        held = {entry.name for entry in folder.iterdir()}
        foreign_names = held - names
        if held and (foreign_names or mark not in held):
            foreign = min(foreign_names) if foreign_names else f"no {mark}"
            raise InputError(f"{folder}: not a results folder ({foreign}): name a new or empty one with --out")
    elif folder.exists() or folder.is_symlink():
        raise InputError(f"{folder}: is not a folder: name a new or empty one with --out")
    _check_can_make(folder)


def save(run: Results, folder: Path, page: Callable[[Path], object]) -> Path:
    """Writes the results of `run` to `folder` and returns it. `page` writes their page to a file."""
    check_free(folder)
    return replace(folder, lambda fresh: _write(run, fresh, page))


def replace(folder: Path, write: Callable[[Path], object]) -> Path:
    """Lets `write` fill a new folder, which then takes the place of `folder`, or leaves what was there."""
    try:
        with workplace(folder) as place:
            fresh, old = place / "fresh", place / "old"
            fresh.mkdir()
            write(fresh)
            # Between the two there is no folder: nothing may come between them.
            with uninterrupted():
                if folder.exists():
                    folder.rename(old)
                try:
                    fresh.rename(folder)
                except OSError:
                    if old.exists():
                        old.rename(folder)
                    raise
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {reason(error)}") from None
    return folder


def check_report(path: Path) -> None:
    """Refuses a name that a report cannot have. Call it before long work."""
    if path.suffix != ".html":
        raise InputError(f"{path}: a report is an HTML file: give it a name that ends in .html")
    if path.is_dir():
        raise InputError(f"{path}: is a folder: name a file that ends in .html")
    _check_can_make(path)


def _check_can_make(path: Path) -> None:
    """Refuses a path beside which nothing can be written: that shows before hours of work, not behind them."""
    above = next(place for place in path.absolute().parents if os.path.lexists(place))
    if not above.is_dir():
        raise InputError(f"{path}: cannot be written: {above} is not a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        refused = errno.EROFS if os.statvfs(above).f_flag & os.ST_RDONLY else errno.EACCES
        raise InputError(f"{path}: cannot be written: {os.strerror(refused).lower()}")


def write_report(path: Path, text: str) -> None:
    """Writes an HTML file, complete or not at all."""
    check_report(path)
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Writes a file, complete or not at all.

    Raises `ffslab.InputError` when that cannot be done.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with work_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None


def write_new_text(path: Path, text: str) -> None:
    """Writes a file that is not there yet, complete or not at all.

    Raises `ffslab.InputError` when there is one, or it cannot be written.
    """
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{path}: is there already, and would be lost: name another file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None
    try:
        with file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None


def _write(run: Results, folder: Path, page: Callable[[Path], object]) -> None:
    (folder / RESOLVED).write_text(run.resolved_toml, encoding="utf-8")
    (folder / SUMMARY).write_text(dump_json(run.summary), encoding="utf-8")
    write_run(folder, run.request_columns, run.block_columns, run.images, run.logs, run.films)
    if run.stack_columns is not None:
        write_columns(run.stack_columns, folder / STACKS)
    write_columns(run.variant_columns, folder / VARIANTS)
    _write_csv(run.variant_columns, folder / VARIANTS_CSV)
    page(folder / REPORT)


def _write_csv(columns: VariantColumns, path: Path) -> None:
    """As pandas writes a table: "" for what is not there, numbers of a column that has a fraction or a gap with one."""
    written = [_csv_column(column) for column in columns.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*written, strict=True))


def _csv_column(column: list[object]) -> list[object]:
    numbers = all(value is None or type(value) in (int, float) for value in column)
    if numbers and not all(type(value) is int for value in column):
        column = [float(value) if isinstance(value, int) else value for value in column]
    return ["" if value is None or value != value else value for value in column]
