"""What a variant did, by reason, by step and by file: as much as is needed to say why another run differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

from ffslab.api.variants import figures_of

if TYPE_CHECKING:
    from ffslab.answers import Columns
    from ffslab.answers.summary import CauseSummary, VariantSummary

# Calls on them are few words, such as "log"; those of a directory with thousands of files are not.
FILES_MAX = 1000


class Part(TypedDict):
    """A part of what was done. Of a file, flash operations are those during the calls on it."""

    name: str
    page_reads: int
    page_programs: int
    erases: int
    time_us: float
    written_B: int


class Account(TypedDict):
    """Figures as the columns of variants.parquet, what they consist of, and the keys of the machine."""

    figures: dict[str, float]
    reasons: list[Part]
    steps: list[Part]
    files: list[Part]
    stack: dict[str, Any]


def account_of(variant: VariantSummary, requests: Columns | None) -> Account:
    """The account of a variant. `requests`: its rows of requests.parquet; `None`: nothing is known of files."""
    figures = {
        name: float(value)
        for name, value in figures_of(variant).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    titles = {row["task"]: row["title"] for row in variant["causes"]["tasks"]}
    return {
        "figures": figures,
        "reasons": [_of_cause(cause, titles) for cause in variant["by_cause"]],
        "steps": [
            {
                "name": step["step"],
                "page_reads": step["counts"]["page_reads"],
                "page_programs": step["counts"]["page_programs"],
                "erases": step["counts"]["erases"],
                "time_us": step["elapsed_us"],
                "written_B": 0,
            }
            for step in variant["steps"]
        ],
        "files": _files(variant["name"], requests) if requests is not None else [],
        "stack": dict(variant["stack"]),
    }


def _of_cause(cause: CauseSummary, titles: dict[str, str]) -> Part:
    return {
        "name": f"{cause['reason']} ({titles.get(cause['task'], cause['task'])})",
        "page_reads": cause["page_reads"],
        "page_programs": cause["page_programs"],
        "erases": cause["erases"],
        "time_us": cause["busy_us"] + cause["driver_us"] + cause["cpu_us"],
        "written_B": 0,
    }


def _files(variant: str, requests: Columns) -> list[Part]:
    """What was done during the calls on each file, in the order of their first calls; too many of them are none."""
    import pandas as pd

    columns = ("variant", "file", "op", "bytes", "latency_us", "page_reads", "page_programs", "erases")
    rows = pd.DataFrame({name: requests[name] for name in columns})
    rows = rows[(rows["variant"] == variant) & (rows["file"] != "")]
    if not 0 < rows["file"].nunique() <= FILES_MAX:
        return []
    rows = rows.assign(written_B=rows["bytes"].where(rows["op"].isin(["write", "append"]), 0))
    sums = rows.groupby("file", sort=False).agg(
        page_reads=("page_reads", "sum"),
        page_programs=("page_programs", "sum"),
        erases=("erases", "sum"),
        time_us=("latency_us", "sum"),
        written_B=("written_B", "sum"),
    )
    counts = ("page_reads", "page_programs", "erases", "written_B")
    return [
        cast(
            "Part",
            {
                "name": f'"{file}"',
                **{name: int(row[name]) for name in counts},
                "time_us": float(row["time_us"]),
            },
        )
        for file, row in sums.iterrows()
    ]
