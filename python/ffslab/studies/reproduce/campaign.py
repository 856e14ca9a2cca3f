"""`ffslab reproduce`: runs what a paper's claims need, judges them, writes the results folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import __version__
from ffslab.answers.reproduction import JudgedPaper
from ffslab.api.run import Progress
from ffslab.files import results
from ffslab.store import Store
from ffslab.studies.reproduce import (
    driver,
    driver_figures,
    kernel,
    readahead,
    readahead_figures,
    rtems,
    rtems_claims,
    rtems_figures,
    wear_gc,
    wear_gc_claims,
    wear_gc_figures,
)
from ffslab.studies.reproduce.claims import Claims
from ffslab.studies.reproduce.figures import Figure
from ffslab.studies.reproduce.page import report
from ffslab.studies.reproduce.rows import Row
from ffslab.studies.reproduce.runs import PlannedRun, machines, run_all
from ffslab.text.machine_line import line

CLAIMS, RUNS = "claims.json", "runs.json"
FILES = frozenset({CLAIMS, results.REPORT, RUNS})
# The rows of runs as earlier versions kept them.
BEFORE = frozenset({"runs"})
Series = dict[str, list[Row]]


@dataclass(frozen=True)
class Paper:
    """What a paper's module offers: its runs, its readings, its figures."""

    planned: Callable[[], list[PlannedRun]]
    judge: Callable[[Claims, Series], None]
    figures: Callable[[Claims, Series], Iterator[Figure]]


PAPERS = {
    "readahead": Paper(readahead.planned, readahead.judge, readahead_figures.figures),
    "driver": Paper(driver.planned, driver.judge, driver_figures.figures),
    "rtems": Paper(rtems.planned, rtems_claims.judge, rtems_figures.figures),
    "wear-gc": Paper(wear_gc.planned, wear_gc_claims.judge, wear_gc_figures.figures),
}


def reproduce(
    paper: str,
    folder: Path,
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> JudgedPaper:
    """Runs everything that the store (`Store.usual()` without one) does not hold, writes `folder` and returns what
    `claims.json` holds."""
    results.check_free(folder, FILES | BEFORE, CLAIMS)
    of = PAPERS[paper]
    planned, claims = of.planned(), Claims(paper)
    series = run_all(planned, jobs=jobs, store=store, progress=progress)
    of.judge(claims, series)
    real = kernel.judged(paper, of.judge)
    # The first set-up is ours.
    set_up = next(iter(real), None)
    if set_up is not None:
        claims.put_beside(real, set_up)
    table_of_claims: JudgedPaper = {
        "paper": paper,
        "title": claims.title,
        "machine": line(machines(planned), f"{len(planned):,} runs"),
        "ffslab": __version__,
        "set_up": set_up,
        "runs": len(planned),
        "claims": [claim.as_dict() for claim in claims],
    }

    def write(fresh: Path) -> None:
        (fresh / CLAIMS).write_text(results.dump_json(table_of_claims), encoding="utf-8")
        (fresh / RUNS).write_text(json.dumps(series) + "\n", encoding="utf-8")
        html = report(table_of_claims, list(of.figures(claims, series)))
        (fresh / results.REPORT).write_text(html, encoding="utf-8")

    results.replace(folder, write)
    return table_of_claims
