"""A folder of runs: found by their keys, added, listed, removed, merged, verified. What is in it: `ffslab.store`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ffslab._native import InputError, __version__
from ffslab.files.interruption import caught_signals, uninterrupted
from ffslab.files.os_errors import reason
from ffslab.files.workplace import remove_tree
from ffslab.store import rows
from ffslab.store.kept import KeptRun
from ffslab.store.lives import LIVES, KeptLives
from ffslab.store.tables import read_tables, tables_name, write_tables

if TYPE_CHECKING:
    import pandas as pd

    from ffslab.answers.lives import VariantLife

VARIABLE = "FFSLAB_STORE"
MANIFEST, RUNS, TABLES = "manifest.json", "runs", "tables"
# Of the store that every verb uses, as with initial states; one that a person named holds what he put there.
USUAL_BYTES_MAX = 4 << 30


class _Place(NamedTuple):
    """Where a run stands. `calls`: how many it measured; `requests_kept`: for how many it kept rows, `None`: all."""

    part: Path
    requests_kept: int | None
    calls: int
    has_tables: bool

    def serves(self, requests_kept: int, with_tables: bool) -> bool:
        """Whether a run that keeps so many rows of requests would say the same: it kept as many, or all and no more."""
        alike = self.calls <= requests_kept if self.requests_kept is None else self.requests_kept == requests_kept
        return alike and (self.has_tables or not with_tables)


@dataclass
class Store:
    """The store in `folder`, which is made when something is kept. `bytes_max`: beyond it the runs that were not used
    for longest go.

    Raises `ffslab.InputError` when the folder holds something else, or a store of a later format.
    """

    folder: Path
    bytes_max: int | None = None

    def __post_init__(self) -> None:
        self.folder = Path(self.folder)
        self.lives = KeptLives(self.folder / LIVES, _put)
        self._known: dict[Path, dict[str, list[_Place]]] = {}
        try:
            # Another process may be about to make the store: hidden files come before its manifest.
            if self.folder.is_dir() and any(not path.name.startswith(".") for path in self.folder.iterdir()):
                self._check_manifest()
            elif self.folder.exists() and not self.folder.is_dir():
                raise InputError(f"{self.folder}: is not a folder: a store of runs is one")
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be read: {reason(error)}") from None

    @classmethod
    def usual(cls) -> Store | None:
        """The store of all verbs: the folder that `FFSLAB_STORE` names, or else one in the user's cache folder; `None`:
        the variable is empty, nothing is to be kept."""
        named = os.environ.get(VARIABLE)
        if named == "":
            return None
        if named is not None:
            return cls(Path(named))
        caches = os.environ.get("XDG_CACHE_HOME")
        folder = (Path(caches) if caches else Path("~/.cache").expanduser()) / "ffslab" / "store"
        return cls(folder, USUAL_BYTES_MAX)

    def _check_manifest(self) -> None:
        path = self.folder / MANIFEST
        if not path.is_file():
            raise InputError(f"{self.folder}: not a store of runs (no {MANIFEST}): name a new or empty folder")
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["format"]
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path}: is damaged: remove the folder, or put back the file of another store") from None
        if found != rows.FORMAT:
            raise InputError(f"{path}: its format is {found}, this version of ffslab reads {rows.FORMAT}")

    # Finding

    def find(self, keys: Collection[str], requests_kept: int, *, with_tables: bool = True) -> dict[str, KeptRun]:
        """Of the runs with these keys those that are there, and say what a run would say that keeps rows for so many
        requests. A run that did not come to its end serves any of them.

        A file that cannot be read is as if it were not there; `verify` tells of it.
        """
        found: dict[str, KeptRun] = {}
        for part, some in self._standing(keys, requests_kept, with_tables).items():
            for run in self._read(part, some - found.keys(), requests_kept, with_tables):
                found.setdefault(run.key, run)
            rows.touch(part)
        return found

    def figures(self, keys: Collection[str], requests_kept: int) -> pd.DataFrame:
        """A row for each of these runs that `find` would find without tables: `key`, `error`, every figure."""
        import pyarrow as pa

        names = ["key", "error", "requests_kept", *rows.FIGURES]
        parts = self._standing(keys, requests_kept, False)
        tables = [table for part in parts if (table := rows.table_of(part, names, rows.schema()))]
        frame = pa.concat_tables(tables or [rows.schema().empty_table().select(names)]).to_pandas()
        alike = frame["requests_kept"] == requests_kept
        all_kept = frame["requests_kept"].isna() & (frame["requests"].isna() | (frame["requests"] <= requests_kept))
        found: pd.DataFrame = frame[frame["key"].isin(set(keys)) & (alike | all_kept)].drop_duplicates("key")
        return found.drop(columns="requests_kept").set_index("key")

    def has(self, keys: Collection[str], requests_kept: int, *, with_tables: bool = False) -> set[str]:
        """The keys among these that `find` would find."""
        return set().union(*self._standing(keys, requests_kept, with_tables).values())

    def _standing(self, keys: Collection[str], requests_kept: int, with_tables: bool) -> dict[Path, set[str]]:
        """Of these keys those that serve, by the files in which they stand."""
        standing: dict[Path, set[str]] = {}
        for part, places in self._index().items():
            for key in places.keys() & keys:
                if any(place.serves(requests_kept, with_tables) for place in places[key]):
                    standing.setdefault(part, set()).add(key)
        return standing

    def parts(self) -> list[Path]:
        """The files of runs, in the order of their names."""
        return sorted((self.folder / RUNS).glob("*.parquet")) if self.folder.is_dir() else []

    def _index(self) -> dict[Path, dict[str, list[_Place]]]:
        """Where each key stands; files of other programs that have come since are read, too."""
        here = self.parts()
        for part in here:
            if part not in self._known:
                self._known[part] = _places_of(part)
        for gone in self._known.keys() - set(here):
            del self._known[gone]
        return self._known

    def _read(self, part: Path, keys: set[str], requests_kept: int, with_tables: bool) -> Iterator[KeptRun]:
        for row in _rows_of(part, ["key", "title", "has_tables", "summary"]):
            if row["key"] not in keys:
                continue
            run = KeptRun(row["key"], row["title"], msgspec.json.decode(row["summary"]))
            place = _Place(part, run.requests_kept, run.calls, row["has_tables"])
            if not place.serves(requests_kept, with_tables):
                continue
            if with_tables and run.ended:
                tables = read_tables(self.folder / TABLES / tables_name(run))
                if tables is None:
                    continue
                run = KeptRun(run.key, run.title, run.said, tables)
            yield run

    # Adding

    def keep(self, runs: Sequence[KeptRun]) -> None:
        """Adds runs, all in one file.

        Raises `ffslab.InputError` when it cannot be written; what was there before is whole then.
        """
        if not runs:
            return
        with self._writing():
            for run in runs:
                if run.tables is not None and run.ended:
                    write_tables(self.folder / TABLES / tables_name(run), run.tables)
            self._add(rows.part_of(runs))
        self.make_room()

    def add(self, part: bytes) -> None:
        """Adds a file of runs that a worker has made (`rows.part_of`); room is made by `make_room`, when all are there.

        Raises `ffslab.InputError` when it cannot be written.
        """
        with self._writing():
            self._add(part)

    def keep_life(self, key: str, workload: str, life: VariantLife) -> None:
        """Adds the life of a variant; `ffslab.store.lives.life_key` makes its key.

        Raises `ffslab.InputError` when it cannot be written.
        """
        with self._writing():
            self.lives.keep(key, workload, life)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The store is there, and what cannot be written is told."""
        try:
            with caught_signals():
                self._make()
                yield
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written: {reason(error)}") from None

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # The manifest comes first: another process takes a folder with something else in it for none of ours.
        manifest = self.folder / MANIFEST
        if not manifest.exists():
            text = {
                "format": rows.FORMAT,
                "made_by": f"ffslab {__version__}",
                "runs": f"{RUNS}/*.parquet",
                "lives": f"{LIVES}/*.parquet",
            }
            _put(manifest, (json.dumps({**text, "columns": rows.ABOUT}, indent=2) + "\n").encode())
        for name in (RUNS, TABLES):
            (self.folder / name).mkdir(exist_ok=True)

    def _add(self, content: bytes) -> Path:
        part = self.folder / RUNS / f"{rows.name_of(content)}.parquet"
        # One that was damaged takes the content that its name promises.
        if not part.exists() or part.read_bytes() != content:
            _put(part, content)
        return part

    # Keeping house

    def table(self) -> pd.DataFrame:
        """A row for each run, without the text of its summary."""
        import pandas as pd

        names = [name for name in rows.schema().names if name != "summary"]
        frames = [pd.DataFrame(list(_rows_of(part, names)), columns=names) for part in self.parts()]
        frames = [frame for frame in frames if len(frame)]
        everything = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=names)
        return everything.drop_duplicates(["key", "requests_kept"], ignore_index=True)

    def rows(self, key: str) -> list[dict[str, object]]:
        """All columns of the runs whose keys begin so."""
        names = rows.schema().names
        found = {row["key"]: row for part in self.parts() for row in _rows_of(part, names)}
        return [dict(row) for name, row in found.items() if name.startswith(key)]

    def unknown(self, keys: Iterable[str]) -> list[str]:
        """Those of `keys` with which the key of no run and no life begins."""
        held = [row["key"] for part in self.parts() for row in _rows_of(part, ["key"])]
        held += [str(key) for key in self.lives.table()["key"]]
        return [key for key in keys if not any(one.startswith(key) for one in held)]

    def remove(self, keys: Collection[str] | None = None) -> int:
        """Removes the runs and lives whose keys begin so, or all; how many they were."""
        gone = self.lives.remove(keys)
        for part in self.parts():
            kept_rows: list[rows.Row] = []
            some_gone: list[rows.Row] = []
            for row in _rows_of(part, rows.schema().names):
                goes = keys is None or any(row["key"].startswith(key) for key in keys)
                (some_gone if goes else kept_rows).append(row)
            if not some_gone:
                continue
            if kept_rows:
                self._add(rows.file_of(kept_rows, rows.schema()))
            part.unlink(missing_ok=True)
            for row in some_gone:
                self._remove_tables(row["key"])
            gone += len(some_gone)
        return gone

    def _remove_tables(self, key: str) -> None:
        for folder in (self.folder / TABLES).glob(f"{key}-*"):
            remove_tree(folder)

    def merge(self, other: Store) -> int:
        """Adds what another store has and this one has not; how many runs and lives came."""
        # No run is twice in a table.
        before = len(self.table())
        self._make()
        lives = self.lives.merge(other.lives)
        for tables in sorted((other.folder / TABLES).iterdir() if (other.folder / TABLES).is_dir() else []):
            place = self.folder / TABLES / tables.name
            if not place.exists() and not tables.name.startswith("."):
                beside = place.with_name(f".{tables.name}.{os.urandom(4).hex()}")
                shutil.copytree(tables, beside)
                beside.rename(place)
        for part in other.parts():
            self._add(part.read_bytes())
        return len(self.table()) - before + lives

    def verify(self) -> list[str]:
        """What is wrong with the store, a line each; an empty list: nothing."""
        wrong = self.lives.verify()
        for part in self.parts():
            content = part.read_bytes()
            if rows.name_of(content) != part.stem:
                wrong.append(f"{part}: its content is not what was written")
                continue
            for row in _rows_of(part, ["key", "title", "has_tables", "summary"]):
                run = KeptRun(row["key"], row["title"], msgspec.json.decode(row["summary"]))
                place = self.folder / TABLES / tables_name(run)
                if row["has_tables"] and run.ended and read_tables(place) is None:
                    wrong.append(f"{place}: the tables of run {run.key[:12]} are missing or damaged")
        return wrong

    def bytes(self) -> int:
        """How much room it takes."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def make_room(self) -> None:
        """Beyond `bytes_max`, removes files of runs, with their tables, and lives, beginning with what was not used for
        longest; never the newest."""
        if (bytes_max := self.bytes_max) is None:
            return
        try:
            total = self.bytes()
            oldest = sorted([*self.parts(), *self.lives.parts()], key=lambda part: part.stat().st_mtime_ns)
            for part in oldest[:-1]:
                if total <= bytes_max:
                    return
                keys = [row["key"] for row in _rows_of(part, ["key"])] if part.parent.name == RUNS else []
                part.unlink(missing_ok=True)
                for key in keys:
                    self._remove_tables(key)
                total = self.bytes()
        except OSError:
            # Another program may do the same at this moment.
            return


def _places_of(part: Path) -> dict[str, list[_Place]]:
    places: dict[str, list[_Place]] = {}
    for row in _rows_of(part, ["key", "requests_kept", "requests", "has_tables", "error"]):
        failed = row["error"] is not None
        place = _Place(part, row["requests_kept"], int(row["requests"] or 0), failed or row["has_tables"])
        places.setdefault(row["key"], []).append(place)
    return places


def _rows_of(part: Path, names: list[str]) -> list[rows.Row]:
    """Rows of a file; none when it cannot be read, or has gone."""
    table = rows.table_of(part, names, rows.schema())
    rows_read: list[rows.Row] = table.to_pylist() if table is not None else []
    return rows_read


def _put(path: Path, content: bytes) -> None:
    """Writes a file that is complete when it is there, also after a power cut."""
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    finally:
        with uninterrupted():
            beside.unlink(missing_ok=True)
