"""The results folder of `ffslab uflip`: complete or absent, and the same bytes from every machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ffslab.files.results import check_free, dump_json, replace

if TYPE_CHECKING:
    import pandas as pd

    from ffslab.studies.uflip.study import UflipResult

ANSWER = "uflip.json"
POINTS, POINTS_CSV, CALLS = "points.parquet", "points.csv", "calls.parquet"
REPORT = "report.html"
FILES = frozenset({ANSWER, POINTS, POINTS_CSV, CALLS, REPORT})


def check(folder: Path) -> None:
    """Refuses a place where results must not be written. Call it before a long run."""
    check_free(folder, FILES, ANSWER)


def save(result: UflipResult, folder: Path) -> Path:
    """Writes the answer, its points, the calls in which phases were looked for, and the report; returns the folder."""
    check(folder)
    return replace(folder, lambda fresh: _write(result, fresh))


def _write(result: UflipResult, folder: Path) -> None:
    from ffslab.studies.uflip.page import html

    (folder / ANSWER).write_text(dump_json(result.answer), encoding="utf-8")
    points = points_table(result)
    points.to_parquet(folder / POINTS, index=False)
    points.to_csv(folder / POINTS_CSV, index=False, lineterminator="\n")
    calls_table(result).to_parquet(folder / CALLS, index=False)
    (folder / REPORT).write_text(html(result), encoding="utf-8")


def points_table(result: UflipResult) -> pd.DataFrame:
    """One row per device and experiment: response times in microseconds."""
    import pandas as pd

    devices = result.answer["devices"]
    return pd.DataFrame([{"device": device["name"], **point} for device in devices for point in device["points"]])


def calls_table(result: UflipResult) -> pd.DataFrame:
    """One row per call in which phases were looked for: device, pattern, number from 0, response time in
    microseconds."""
    import pandas as pd

    parts = [
        pd.DataFrame({"device": name, "pattern": pattern, "call": range(len(times)), "latency_us": times})
        for name, by_pattern in result.series_us.items()
        for pattern, times in by_pattern.items()
    ]
    return pd.concat(parts, ignore_index=True)
