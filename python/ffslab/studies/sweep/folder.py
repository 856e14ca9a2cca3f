"""The results folder of a study: complete or absent, and the same bytes from every machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ffslab.files.results import check_free, dump_json, replace

if TYPE_CHECKING:
    from ffslab.studies.sweep.answers import Answered

ANSWER = "study.json"
POINTS, POINTS_CSV, RUNS = "points.parquet", "points.csv", "runs.parquet"
REPORT = "report.html"
FILES = frozenset({ANSWER, POINTS, POINTS_CSV, RUNS, REPORT})


def check(folder: Path) -> None:
    """Refuses a place where results must not be written. Call it before a long run."""
    check_free(folder, FILES, ANSWER)


def save(result: Answered, folder: Path, page: str) -> Path:
    """Writes the results of a study and its page, and returns the folder."""
    check(folder)
    return replace(folder, lambda fresh: _write(result, fresh, page))


def _write(result: Answered, folder: Path, page: str) -> None:
    (folder / ANSWER).write_text(dump_json(result.answer), encoding="utf-8")
    result.points.to_parquet(folder / POINTS, index=False)
    result.points.to_csv(folder / POINTS_CSV, index=False, lineterminator="\n")
    result.runs.to_parquet(folder / RUNS, index=False)
    (folder / REPORT).write_text(page, encoding="utf-8")
