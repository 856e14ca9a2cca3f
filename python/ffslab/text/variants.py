"""The variants of a run as a table: a row each, a column for each figure of the summary that is one number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ffslab.answers import Columns
from ffslab.answers.summary import FailedVariant, MeanSd, Summary, VariantSummary
from ffslab.registries.profiles import borne_by
from ffslab.steady import variant_needs_us

VariantColumns = dict[str, list[object]]

US_PER_YEAR = 365.25 * 86_400e6
# Keys of the stack that tell which machine it was.
MACHINE = ("system", "board", "part", "kernel", "fs", "device")
_ALONE = ("time_us", "program_us", "idle_us", "setup_time_us", "user_read_B", "user_written_B")
_RATIOS = ("read_amplification", "write_amplification")


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


def figures_of(variant: VariantSummary) -> dict[str, object]:
    """Every figure of the variant that is one number, or `None`."""
    row: dict[str, object] = {}
    figures: dict[str, object] = {**variant}
    row |= {key: figures[key] for key in _ALONE}
    latency = variant["latency_us"]
    row["requests"] = latency["n"]
    row |= {f"latency_{name}_us": value for name, value in latency.items() if name != "n"}
    row |= dict(variant["totals"])
    for about in ("formatting", "of_setup"):
        row |= _operations(variant, about)
    row |= {key: figures[key] for key in _RATIOS}
    row |= {f"erases_per_block_{name}": value for name, value in variant["erases_per_block"].items()}
    if (energy := variant["energy_uJ"]) is not None:
        row |= {f"energy_{rail}_uJ": value for rail, value in energy.items()}
    row |= {f"counter_{name}": value for name, value in variant.get("counters", {}).items()}
    row["years_until_worn_out"] = years_until_worn_out(variant)
    row["needs_us"] = variant_needs_us(variant)
    return row


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


def _operations(variant: VariantSummary, about: str) -> dict[str, object]:
    """Programs and erases that formatting, or the rest of the setup, caused."""
    left = variant["of_setup"]
    counts = variant.get("formatting") if about == "formatting" else left and left["totals"]
    if not counts:
        return {}
    return {f"{about}_page_programs": counts["page_programs"], f"{about}_erases": counts["erases"]}


def years_until_worn_out(variant: VariantSummary) -> float | None:
    """How long the part bears the measured steps one after the other, if all blocks wear alike; `None`: nothing was
    erased, too little was seen of it (`ffslab.steady`), or nothing is known of the part."""
    borne = runs_until_worn_out(variant)
    return borne.runs * variant["time_us"] / US_PER_YEAR if borne is not None else None


class Borne(NamedTuple):
    """How often a part bears a run. `erases`: so many bears each of its blocks, by `source`."""

    runs: float
    erases: int
    source: str


def worn_most(variant: VariantSummary) -> tuple[str, MeanSd]:
    """The mount whose blocks wear most and the erases of each of them; "" where a machine has one mount."""
    mounts = ((mount["at"], mount["erases_per_block"]) for mount in variant.get("mounts", []))
    known = [(at, wear) for at, wear in mounts if wear is not None]
    return max(known, key=lambda one: one[1]["mean"], default=("", variant["erases_per_block"]))


def runs_until_worn_out(variant: VariantSummary) -> Borne | None:
    """How often the part bears the measured steps, if all blocks wear alike; `None` as of the years.

    Of several partitions the one that wears most decides, because wear is levelled within each alone.
    """
    if variant_needs_us(variant) is not None:
        return None
    mean, borne = worn_most(variant)[1]["mean"], borne_by(variant["stack"])
    return Borne(borne[0] / mean, *borne) if borne is not None and mean else None
