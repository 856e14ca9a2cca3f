"""`ffslab reproduce`: runs what a paper's claims need, judges them, writes the results folder."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ffslab import __version__
from ffslab.answers.reproduction import JudgedPaper, ReadingRow
from ffslab.api.experiment import Progress
from ffslab.files import results
from ffslab.report import page, section, table
from ffslab.studies.reproduce import driver, readahead, rtems, rtems_claims, wear_gc, wear_gc_claims
from ffslab.studies.reproduce.claims import Claims, Judged, Verdict
from ffslab.studies.reproduce.figures import Figure
from ffslab.studies.reproduce.rows import Row
from ffslab.studies.reproduce.runs import RUNS, PlannedRun, by_series, run_all, unfinished, write_rows
from ffslab.text.quoting import escape
from ffslab.text.tables import text_table

CLAIMS = "claims.json"
FILES = frozenset({CLAIMS, results.REPORT, RUNS})
Series = dict[str, list[Row]]


@dataclass(frozen=True)
class Paper:
    """What a paper's module offers: its runs, its readings, its figures."""

    planned: Callable[[], list[PlannedRun]]
    judge: Callable[[Claims, Series], None]
    figures: Callable[[Series], Iterator[Figure]]
    # What it runs on.
    setting: str = "board omap3evm, kernel 2.6.37"


PAPERS = {
    "readahead": Paper(readahead.planned, readahead.judge, readahead.figures),
    "driver": Paper(driver.planned, driver.judge, driver.figures),
    "rtems": Paper(rtems.planned, rtems_claims.judge, rtems.figures, "board beaglebone-black, RTEMS of July 2018"),
    "wear-gc": Paper(wear_gc.planned, wear_gc_claims.judge, wear_gc.figures),
}


def reproduce(paper: str, folder: Path, *, jobs: int | None = None, progress: Progress | None = None) -> JudgedPaper:
    """Runs everything that is not there yet, writes `folder` and returns what `claims.json` holds."""
    results.check_free(folder, FILES, CLAIMS)
    of = PAPERS[paper]
    planned, claims = of.planned(), Claims(paper)
    rows = run_all(planned, folder, jobs=jobs, progress=progress)
    series = by_series(planned, rows)
    of.judge(claims, series)
    table_of_claims: JudgedPaper = {
        "paper": paper,
        "title": claims.title,
        "ffslab": __version__,
        "runs": len(planned),
        "claims": [claim.as_dict() for claim in claims],
    }

    def write(fresh: Path) -> None:
        (fresh / CLAIMS).write_text(results.dump_json(table_of_claims), encoding="utf-8")
        (fresh / RUNS).mkdir()
        for run in planned:
            write_rows(fresh / RUNS, run, rows[run.key])
        html = report(claims, list(of.figures(series)), of.setting)
        (fresh / results.REPORT).write_text(html, encoding="utf-8")

    results.replace(folder, write)
    shutil.rmtree(unfinished(folder), ignore_errors=True)
    return table_of_claims


def report(claims: Claims, figures: list[Figure], setting: str) -> str:
    """The HTML report."""
    head = ["claim", "reading", "published", "ours", "holds"]
    drawn = "What our runs gave, in the axes of the publication; its own values stand with each claim below."
    parts = [
        f"<h1>{escape(claims.title)}: published and simulated</h1>",
        f"<p>Simulated by ffslab {escape(__version__)}: {escape(setting)}, in virtual time.</p>",
        f"<p>{escape(_counted(claim.verdict for claim in claims))}.</p>",
        section("Claims", table(["claim", "what", "verdict"], [[*_name(claim), claim.verdict] for claim in claims])),
        section("Figures", f"<p>{drawn}</p>\n" + "\n".join(f"<figure>{figure.svg()}</figure>" for figure in figures)),
    ]
    for claim in claims:
        name, title = _name(claim)
        judged = claim.as_dict()
        body = f"<p>{escape(claim.source)}: <b>{claim.verdict}</b></p>"
        if claim.readings:
            readings = [[r.what, r.published, r.ours, "yes" if r.holds else "no"] for r in claim.readings]
            body += table(head[1:], readings)
        if judged["differs"]:
            body += f"<p>Why it differs: {escape(judged['differs'])}</p>"
        body += "".join(f"<p>{escape(line)}</p>" for line in claim.evidence)
        parts.append(section(f"{name}: {title}", body))
    return page(claims.title, parts)


def text(judged: JudgedPaper, folder: Path) -> str:
    """What the verb prints: a row per reading, what explains the differences, where the report is."""
    rows, notes = [], []
    for claim in judged["claims"]:
        unread: ReadingRow = {"what": claim["title"], "published": "", "ours": "", "holds": True, "number": False}
        readings = claim["readings"] or [unread]
        for i, reading in enumerate(readings):
            first = [claim["id"], claim["verdict"]] if i == 0 else ["", ""]
            mark = "" if reading["holds"] else "no"
            rows.append([*first, reading["what"], reading["published"], reading["ours"], mark])
        if claim["differs"]:
            notes.append(
                "\n".join([f"{claim['id']}: {claim['differs']}", *(f"  {line}" for line in claim["evidence"])])
            )
    head = ["claim", "verdict", "reading", "published", "ours", "holds"]
    summary = _counted(claim["verdict"] for claim in judged["claims"])
    parts = [
        judged["title"],
        text_table(head, rows, "llllll"),
        *notes,
        summary,
        f"Report: {folder / results.REPORT}",
    ]
    return "\n\n".join(parts)


def _counted(verdicts: Iterable[str]) -> str:
    """How many claims have which verdict, in words."""
    counts = Counter(verdicts)
    return "Claims: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])


def _name(claim: Judged) -> tuple[str, str]:
    return claim.id, claim.title
