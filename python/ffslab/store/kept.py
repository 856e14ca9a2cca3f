"""One run of a variant, as a store keeps it, and the way from the results of an experiment to such runs and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pyarrow as pa

    from ffslab.answers import Columns
    from ffslab.answers.machine import KeyOf
    from ffslab.answers.summary import FailedVariant, Summary, VariantSummary
    from ffslab.files.results import Results

    Said = VariantSummary | FailedVariant

VARIANT = "variant"


@dataclass(frozen=True)
class Tables:
    """What a run did call by call and block by block, and the files that it saved, by their names."""

    requests: Columns
    blocks: Columns
    images: Mapping[str, bytes] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    films: Mapping[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptRun:
    """`said`: its entry in the summary of the experiment that ran it. `tables`: `None` when only that is kept."""

    key: str
    title: str
    said: Said
    tables: Tables | None = None

    @property
    def ended(self) -> VariantSummary | None:
        """`None`: it did not come to its end."""
        return None if "error" in self.said else self.said

    @property
    def requests_kept(self) -> int | None:
        """For how many requests there is a row; `None`: for all."""
        return self.ended.get("requests_kept") if self.ended else None

    @property
    def calls(self) -> int:
        """How many calls were measured."""
        return self.ended["latency_us"]["n"] if self.ended else 0

    def named(self, variant: KeyOf) -> Said:
        """Its entry under the name that the variant has in another experiment."""
        said: dict[str, Any] = {**self.said, "name": variant["name"], "axes": variant["axes"]}
        return cast("Said", said)


def said_by(summary: Summary) -> list[Said]:
    """The entries of all variants, also of those that did not come to their end."""
    return [*summary["variants"], *summary.get("failed", [])]


def tables_of(run: Results, names: Sequence[str]) -> dict[str, Tables]:
    """The tables of each variant that has some. `names`: all variants, whose numbers stand in the names of files."""
    of_requests, of_blocks = (_by_variant(columns, names) for columns in (run.request_columns, run.block_columns))
    several = len(names) > 1
    return {
        name: Tables(
            *(of_requests[name], of_blocks[name]),
            *(_files_of(files, number, several) for files in (run.images, run.logs, run.films)),
        )
        for number, name in enumerate(names, 1)
    }


def _by_variant(columns: Columns, names: Iterable[str]) -> dict[str, Columns]:
    """The rows of each variant, which stand one after the other."""
    rows = {name: slice(0, 0) for name in names}
    first = 0
    for name, group in groupby(cast("list[str]", columns[VARIANT])):
        behind = first + sum(1 for _ in group)
        rows[name] = slice(first, behind)
        first = behind
    return {
        name: {column: values[part] for column, values in columns.items() if column != VARIANT}
        for name, part in rows.items()
    }


def _files_of(files: Mapping[str, Any], number: int, several: bool) -> dict[str, Any]:
    before = f"{number}/" if several else ""
    return {name.removeprefix(before): held for name, held in files.items() if name.startswith(before)}


def joined(tables: Mapping[str, Tables], names: Sequence[str]) -> Tables:
    """The tables of variants by their names, in their order, as an experiment has them; the reverse of `tables_of`."""
    images: dict[str, bytes] = {}
    logs: dict[str, str] = {}
    films: dict[str, pa.Table] = {}
    for name, one in tables.items():
        before = f"{names.index(name) + 1}/" if len(names) > 1 else ""
        images |= {f"{before}{file}": image for file, image in one.images.items()}
        logs |= {f"{before}{file}": text for file, text in one.logs.items()}
        films |= {f"{before}{file}": film for file, film in one.films.items()}
    requests = _stacked({name: one.requests for name, one in tables.items()}, "i")
    blocks = _stacked({name: one.blocks for name, one in tables.items()}, "block")
    return Tables(requests, blocks, images, logs, films)


def _stacked(parts: Mapping[str, Columns], counted_by: str) -> Columns:
    """One table of the tables of variants. `counted_by`: a column that each of them has."""
    import numpy as np

    stacked: Columns = {VARIANT: [name for name, part in parts.items() for _ in range(len(part[counted_by]))]}
    for column in next(iter(parts.values())):
        values = [part[column] for part in parts.values()]
        texts = [some for some in values if isinstance(some, list)]
        if len(texts) == len(values):
            stacked[column] = [text for some in texts for text in some]
        else:
            stacked[column] = np.concatenate([np.asarray(some) for some in values])
    return stacked
