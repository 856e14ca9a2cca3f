"""Simulations against measurements: `ffslab validate` and `ffslab.validate`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ffslab import _native
from ffslab.answers.validation import CaseReport, CounterRange, RangeSummary, SummaryRow, ValidationReport
from ffslab.text.tables import percent, text_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ffslab.api.run import Progress


# The tick counter's phases repeat after 128 ticks; with more of them than this a tick has several.
PHASES_MAX = 1024


def compare(
    path: str | Path,
    only: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    phases: int = 1,
) -> ValidationReport:
    """Runs the cases of a file and returns simulated beside expected values (crates/validate/README.md has the format).

    `phases`: at how many phases of its tick counter a case is simulated, and of its wall clock if it does not say where
    that stood; the first is that of the case, and `ranges` holds the least and the largest value of each counter.
    """
    report: ValidationReport = json.loads(_native.validate(Path(path), only, jobs or 0, phases, progress))
    return report


def write_experiments(cases: Path, only: str | None, folder: Path) -> list[Path]:
    """Writes the cases of a file as experiments into a folder, and returns the files.

    Raises `ffslab.InputError` when a case is none, or a file is there already.
    """
    from ffslab.files.results import write_new_text

    written = []
    for name, text in _native.case_experiments(cases, only):
        path = folder / f"{re.sub(r'[^A-Za-z0-9.=-]+', '-', name)}.toml"
        folder.mkdir(parents=True, exist_ok=True)
        write_new_text(path, f"# The measured case {name} of {cases.name}.\n{text}")
        written.append(path)
    return written


def validate(path: str | Path, only: str | None = None, jobs: int | None = None, phases: int = 1) -> pd.DataFrame:
    """Runs the measured cases of a file, one row per compared value.

    Columns: id, family, fs, counter (latencies are `latency_<what>_us`), expected, simulated, and error: the
    signed relative error as a fraction, missing when the expected value is 0 and the simulated is not. A case that
    could not be run has one row that holds its error text in `failure`; one that does not count, because not all that
    it did is recorded, says so in `not_counted`. With several `phases` there are the columns
    min and max, of the counters that have a range.
    """
    import pandas as pd

    rows = []
    for case in compare(path, only, jobs, phases=phases)["cases"]:
        head: dict[str, object] = {"id": case["id"], "family": case["family"], "fs": case["fs"]}
        head["not_counted"] = case["not_counted"]
        if case["error"] is not None:
            rows.append({**head, "failure": case["error"]})
        for counter, expected, simulated in compared(case):
            error = relative_error(expected, simulated)
            values = {"counter": counter, "expected": expected, "simulated": simulated, "error": error}
            found = range_of(case, counter)
            rows.append({**head, **values, **({"min": found["min"], "max": found["max"]} if found else {})})
    columns = ["id", "family", "fs", "counter", "expected", "simulated", "error", "failure", "not_counted"]
    columns += ["min", "max"] if phases > 1 else []
    return pd.DataFrame(rows, columns=columns)


# Groups of a case's values, with what is put before and after their names; as in the summary that `lab` makes.
Group = Literal["counters", "latency_us", "latency_unlink_us", "erases_per_block", "facts"]
GROUPS: tuple[tuple[Group, str, str], ...] = (
    ("counters", "", ""),
    ("latency_us", "latency_", "_us"),
    ("latency_unlink_us", "latency_unlink_", "_us"),
    ("erases_per_block", "erases_per_block_", ""),
    ("facts", "", ""),
)
# What is printed and what `--max-error` judges: counts, and time by its mean. The rest is in the JSON.
HEADLINES = frozenset(
    {
        *("page_reads", "oob_reads", "page_programs", "oob_programs", "erases", "partial_page_reads", "reprograms"),
        *("bdbuf_read", "bdbuf_get", "bdbuf_release", "bdbuf_release_modified", "bdbuf_syncdev"),
        *("bdbuf_set_block_size", "read_hits", "read_misses", "imfs_memfile_blocks"),
        *("dev_read_requests", "dev_read_buffers", "dev_read_bytes"),
        *("dev_write_requests", "dev_write_buffers", "dev_write_bytes"),
        *("flash_read_ops", "flash_read_bytes", "flash_write_ops", "flash_write_bytes", "flash_erases"),
        "latency_mean_us",
    }
)


def compared(case: CaseReport) -> Iterator[tuple[str, float, float]]:
    """Name, expected and simulated value of everything that was compared in one case."""
    for group, before, after in GROUPS:
        for name, pair in case[group].items():
            yield f"{before}{name}{after}", pair["expected"], pair["simulated"]


def range_of(case: CaseReport, counter: str) -> CounterRange | None:
    """The range of a counter over phases, of a case that has ranges."""
    ranges = case.get("ranges")
    return ranges["counters"].get(counter) if ranges else None


def headlines(case: CaseReport) -> list[tuple[str, float, float]]:
    """The counters and the mean latency of a case."""
    return [values for values in compared(case) if values[0] in HEADLINES]


def relative_error(expected: float, simulated: float) -> float | None:
    """Signed error as a fraction of the expected value; `None` when that is 0 and the simulated value is not."""
    if expected == 0:
        return 0.0 if simulated == 0 else None
    return (simulated - expected) / expected


def beyond(report: ValidationReport, max_error_percent: float) -> list[str]:
    """The cases with a counter or mean latency further off than the limit, or with no result at all: one line each."""
    found = []
    for case in report["cases"]:
        if case["error"] is not None:
            found.append(f"{case['id']}: {case['error']}")
            continue
        if case["not_counted"] is not None:
            continue
        for name, expected, simulated in headlines(case):
            error = relative_error(expected, simulated)
            if error is None or abs(error) * 100 > max_error_percent:
                found.append(f"{case['id']}: {name} {_pair(expected, simulated)}")
                break
    return found


def text(report: ValidationReport) -> str:
    """A line per case, then the summary per family and counter."""
    lines = ["# id: counter simulated/expected signed error (what is 0 in both is left out)"]
    lines += [_case_line(case) for case in report["cases"]]
    summary = report["summary"]
    happened = _happened(report)
    ranges = summary["ranges"]
    has_ranges = ranges["cases_with_ranges"] > 0
    rows = [
        _summary_row(row, has_ranges)
        for row in summary["rows"]
        if (row["fs"], row["family"], row["counter"]) in happened
    ]
    if rows:
        head = ["fs", "family", "counter", "cases", "exact", "median error", "95th percentile", "worst", "worst case"]
        inside = ["inside"] if has_ranges else []
        lines += ["", text_table([*head, *inside], rows, "lllrrrrrl" + "r" * len(inside))]
    lines.append(f"\n{summary['cases']} cases, {summary['failed']} could not be run")
    lines.append(_met_line(ranges))
    if summary["uncounted_cases"] > 0:
        why = next(case["not_counted"] for case in report["cases"] if case["not_counted"] is not None)
        lines.append(f"{summary['uncounted_cases']} of them do not count in the table: {why}")
    return "\n".join(lines)


def _happened(report: ValidationReport) -> set[tuple[str, str, str]]:
    """File system, family and counter of the table's rows: those of which some case has, or should have, any."""
    return {
        (case["fs"], family, name)
        for case in report["cases"]
        for name, expected, simulated in headlines(case)
        if expected or simulated
        for family in (case["family"], "all")
    }


def _case_line(case: CaseReport) -> str:
    if case["error"] is not None:
        return f"{case['id']}: not run: {case['error']}"
    seen = [values for values in headlines(case) if values[1] or values[2]]
    parts = [f"{name} {_pair(expected, simulated)}{_range(case, name)}" for name, expected, simulated in seen]
    return f"{case['id']}: {', '.join(parts)}"


def _range(case: CaseReport, counter: str) -> str:
    """Least and largest value over phases and over boots, where they differ, and whether the other side is inside."""
    boots = case.get("boots")
    ranges = [("", range_of(case, counter)), ("boots ", boots["counters"].get(counter) if boots else None)]
    return "".join(
        f" [{of}{found['min']} to {found['max']}, {'inside' if found['inside'] else 'outside'}]"
        for of, found in ranges
        if found is not None and found["min"] != found["max"]
    )


def _met_line(ranges: RangeSummary) -> str:
    met = f"page reads, programs and erases within 1 %: {ranges['cases_within_1_percent']} of {ranges['cases']} cases"
    if not ranges["cases_with_ranges"]:
        return met
    return (
        f"{met}; within 1 % or inside the range over phases or boots: {ranges['cases_within_1_percent_or_inside']} "
        f"({ranges['cases_with_ranges']} cases have ranges)"
    )


def _summary_row(row: SummaryRow, with_ranges: bool) -> list[str]:
    errors = (row["median_error_percent"], row["p95_error_percent"], row["worst_error_percent"])
    worst = row["worst_id"] if row["worst_error_percent"] else ""
    return [
        row["fs"],
        row["family"],
        row["counter"],
        str(row["n"]),
        f"{row['exact_share'] * 100:.0f} %",
        *(f"{error:.2f} %" for error in errors),
        worst,
        *([_share(row)] if with_ranges else []),
    ]


def _share(row: SummaryRow) -> str:
    share = row.get("inside_share")
    return "" if share is None else f"{share * 100:.0f} %"


def _pair(expected: float, simulated: float) -> str:
    error = relative_error(expected, simulated)
    return f"{_plain(simulated)}/{_plain(expected)} {percent(error) if error is not None else 'expected none'}"


def _plain(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.1f}"
