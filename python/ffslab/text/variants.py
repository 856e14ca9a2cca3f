"""The variants of a run as a table: a row each, a column for each figure of the summary that is one number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ffslab.answers import Columns
from ffslab.answers.summary import FailedVariant, Summary, VariantSummary
from ffslab.text.figures import figures_of

VariantColumns = dict[str, list[object]]

# Keys of the stack that tell which machine it was.
MACHINE = ("system", "board", "part", "kernel", "fs", "device")


def columns_of(summary: Summary) -> VariantColumns:
    """Columns of equal length: `variant`, the axes by their names, the machine, then the figures.

    What a variant does not have is `None`, as all figures of one that failed; a column in which nobody has anything is
    left out.
    """
    rows = [_row(variant) for variant in summary["variants"]] + [_failed(one) for one in summary.get("failed", [])]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _alike([row.get(name) for row in rows]) for name in names}
    return {name: column for name, column in columns.items() if any(value is not None for value in column)}


def repeat_columns(summary: Summary) -> VariantColumns:
    """Columns of equal length: `variant` and its axes, `figure`, then what it is over all runs of the variant."""
    rows = [
        {"variant": one["name"], **one["axes"], "runs": one["runs"], "failed": one["failed"], "figure": name, **spread}
        for one in summary.get("repeats", [])
        for name, spread in one["figures"].items()
    ]
    return {name: _alike([row.get(name) for row in rows]) for name in (rows[0] if rows else {})}


def typical_of(summary: Summary) -> Summary:
    """The summary with one run of each variant, that of the median time, under the name of the variant; one without
    repetitions as it is."""
    if not (repeats := summary.get("repeats")):
        return summary
    ran = {variant["name"]: variant for variant in summary["variants"]}
    named = [(ran[one["typical"]], one) for one in repeats]
    variants: list[VariantSummary] = [{**run, "name": one["name"], "axes": one["axes"]} for run, one in named]
    return {**summary, "variants": variants}


def rows_of(columns: Columns, names: Mapping[str, str]) -> Columns:
    """The rows of some variants of a table, under new names."""
    import numpy as np

    kept = [at for at, name in enumerate(columns["variant"]) if name in names]
    rows: Columns = {
        name: [column[at] for at in kept] if isinstance(column, list) else np.asarray(column)[kept]
        for name, column in columns.items()
    }
    rows["variant"] = [names[str(name)] for name in rows["variant"]]
    return rows


def _alike(values: list[object]) -> list[object]:
    """Values of one column: an axis may mix numbers and words, or hold lists, which a column of a table cannot."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds <= {str} or kinds <= {bool}:
        return values
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def _row(variant: VariantSummary) -> dict[str, object]:
    return _which(variant) | figures_of(variant)


def _failed(variant: FailedVariant) -> dict[str, object]:
    return _which(variant) | {"error": variant["error"]}


def _which(variant: VariantSummary | FailedVariant) -> dict[str, object]:
    """The variant's name, its axes, its machine."""
    row: dict[str, object] = {"variant": variant["name"], **variant["axes"]}
    for key, said in machine_of(variant["stack"]).items():
        row.setdefault(key, said)
    return row


def machine_of(stack: Mapping[str, Any]) -> dict[str, str | None]:
    """Which machine a stack is, as texts; `None`: the stack does not have the key."""
    return {key: _in_words(stack.get(key)) for key in MACHINE}


def _in_words(value: Any) -> str | None:
    """A profile by its name; flash behind a translation layer by what makes it."""
    return f"{value['ftl']} on {value['part']}" if isinstance(value, dict) else value
