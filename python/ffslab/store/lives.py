"""Whole lives in a store: one file for each, `lives/KEY-HASH.parquet`, which is complete when it is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ffslab.store.rows import DIGITS, file_of, name_of, table_of, touch
from ffslab.text.variants import MACHINE, machine_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ffslab.answers.lives import VariantLife

LIVES = "lives"
TEXTS = ("key", "ffslab", "workload", "variant", "axes", *MACHINE, "ended_by")


def life_key(variant_key: str, asked: Mapping[str, object]) -> str:
    """The key of the life of a variant: what determines its run, and what was asked of the life."""
    return hashlib.sha256(f"{variant_key} {json.dumps(asked, sort_keys=True)}".encode()).hexdigest()


def schema() -> pa.Schema:
    """Names and types of the columns."""
    import pyarrow as pa

    fields = [pa.field(name, pa.string()) for name in TEXTS]
    return pa.schema([*fields, pa.field("years", pa.float64()), pa.field("life", pa.string())])


@dataclass(frozen=True)
class KeptLives:
    """The lives in the folder `folder`. `put`: writes a file that is complete when it is there."""

    folder: Path
    put: Callable[[Path, bytes], None]

    def parts(self) -> list[Path]:
        """The files, in the order of their names."""
        return sorted(self.folder.glob("*.parquet")) if self.folder.is_dir() else []

    def find(self, key: str) -> VariantLife | None:
        """The life under this key. A file that cannot be read is as if it were not there."""
        for part in sorted(self.folder.glob(f"{key[:DIGITS]}-*.parquet")):
            for row in _rows_of(part, ["key", "life"]):
                if row["key"] == key:
                    touch(part)
                    return cast("VariantLife", msgspec.json.decode(row["life"]))
        return None

    def keep(self, key: str, workload: str, life: VariantLife) -> None:
        """Adds a life.

        Raises `OSError` when it cannot be written.
        """
        from ffslab._native import __version__

        stack = cast("dict[str, Any]", life["stack"])
        row = {
            "key": key,
            "ffslab": __version__,
            "workload": workload,
            "variant": life["name"],
            "axes": msgspec.json.encode(life["axes"]).decode(),
            **machine_of(stack),
            "ended_by": life["ended"]["by"],
            "years": life["years"],
            "life": msgspec.json.encode(life).decode(),
        }
        content = file_of([row], schema())
        self.folder.mkdir(parents=True, exist_ok=True)
        self.put(self.folder / f"{key[:DIGITS]}-{name_of(content)}.parquet", content)

    def table(self) -> pd.DataFrame:
        """A row for each life, without its course."""
        import pandas as pd

        names = [*TEXTS, "years"]
        rows = [row for part in self.parts() for row in _rows_of(part, names)]
        return pd.DataFrame(rows, columns=names).drop_duplicates("key", ignore_index=True)

    def remove(self, keys: Collection[str] | None = None) -> int:
        """Removes the lives whose keys begin so, or all; how many they were."""
        gone = 0
        for part in self.parts():
            if keys is None or any(part.name.startswith(key[:DIGITS]) for key in keys):
                part.unlink(missing_ok=True)
                gone += 1
        return gone

    def merge(self, other: KeptLives) -> int:
        """Adds what another store has and this one has not; how many lives came."""
        here = {part.name for part in self.parts()}
        new = [part for part in other.parts() if part.name not in here]
        if new:
            self.folder.mkdir(parents=True, exist_ok=True)
        for part in new:
            self.put(self.folder / part.name, part.read_bytes())
        return len(new)

    def verify(self) -> list[str]:
        """What is wrong, a line each."""
        return [
            f"{part}: its content is not what was written"
            for part in self.parts()
            if name_of(part.read_bytes()) != part.stem.rpartition("-")[2]
        ]


def _rows_of(part: Path, names: list[str]) -> list[dict[str, Any]]:
    table = table_of(part, names, schema())
    rows: list[dict[str, Any]] = table.to_pylist() if table is not None else []
    return rows
