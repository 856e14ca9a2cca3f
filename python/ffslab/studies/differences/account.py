"""What a variant did, by reason, by step and by file: as much as is needed to say why another run differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from ffslab.text.failures import fell_short_or_lost
from ffslab.text.figures import known_figures

if TYPE_CHECKING:
    from ffslab.answers import Columns
    from ffslab.answers.summary import CauseSummary, VariantSummary

# Calls on them are few words, such as "log"; those of a directory with thousands of files are not.
FILES_MAX = 1000
# Of requests.parquet, what files are told by.
COLUMNS = ("variant", "file", "op", "bytes", "latency_us", "page_reads", "page_programs", "erases")


class Part(TypedDict):
    """A part of what was done. Of a file, flash operations are those during the calls on it."""

    name: str
    page_reads: int
    page_programs: int
    erases: int
    time_us: float
    written_B: int


class Account(TypedDict):
    """Figures as the columns of variants.parquet, what they consist of, the keys of the machine, and what was not done
    (absent: nothing is known of that kind)."""

    figures: dict[str, float]
    reasons: list[Part]
    steps: list[Part]
    files: list[Part]
    stack: dict[str, Any]
    not_done: NotRequired[str]


def account_of(variant: VariantSummary, files: Mapping[str, list[Part]]) -> Account:
    """The account of a variant. `files`: what was done on the files of each, `files_of`; empty: nothing is known."""
    figures = {
        name: float(value)
        for name, value in known_figures(variant).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    why = fell_short_or_lost(variant)
    titles = {row["task"]: row["title"] for row in variant["causes"]["tasks"]}
    account: Account = {
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
        "files": files.get(variant["name"], []),
        "stack": dict(variant["stack"]),
    }
    if why is not None:
        account["not_done"] = why
    return account


def _of_cause(cause: CauseSummary, titles: dict[str, str]) -> Part:
    return {
        "name": f"{cause['reason']} ({titles.get(cause['task'], cause['task'])})",
        "page_reads": cause["page_reads"],
        "page_programs": cause["page_programs"],
        "erases": cause["erases"],
        "time_us": cause["busy_us"] + cause["driver_us"] + cause["cpu_us"],
        "written_B": 0,
    }


def files_of(requests: Columns) -> dict[str, list[Part]]:
    """Of each variant in these rows of requests.parquet: what was done during the calls on each file, in the order of
    their first calls; of a variant with too many of them nothing."""
    import pandas as pd

    rows = pd.DataFrame({name: requests[name] for name in COLUMNS})
    rows = rows[rows["file"] != ""]
    rows = rows.assign(written_B=rows["bytes"].where(rows["op"].isin(["write", "append"]), 0))
    sums = rows.groupby(["variant", "file"], sort=False).agg(
        page_reads=("page_reads", "sum"),
        page_programs=("page_programs", "sum"),
        erases=("erases", "sum"),
        time_us=("latency_us", "sum"),
        written_B=("written_B", "sum"),
    )
    found: dict[str, list[Part]] = {}
    for variant, file, reads, programs, erases, time_us, written in sums.reset_index().itertuples(index=False):
        found.setdefault(variant, []).append(
            {
                "name": f'"{file}"',
                "page_reads": int(reads),
                "page_programs": int(programs),
                "erases": int(erases),
                "written_B": int(written),
                "time_us": float(time_us),
            }
        )
    return {variant: files for variant, files in found.items() if len(files) <= FILES_MAX}
