"""`ffslab reproduce`: runs what a paper's claims need, judges them, writes the results folder."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ffslab import __version__
from ffslab.answers.reproduction import JudgedClaim, JudgedPaper, ReadingRow
from ffslab.api.experiment import Progress
from ffslab.files import results
from ffslab.report import Opening, page, section, table
from ffslab.report.page import KeyFigure, Part, paragraph
from ffslab.studies.reproduce import driver, kernel, readahead, rtems, rtems_claims, wear_gc, wear_gc_claims
from ffslab.studies.reproduce.claims import Cause, Claims, Verdict
from ffslab.studies.reproduce.figures import Figure
from ffslab.studies.reproduce.rows import Row
from ffslab.studies.reproduce.runs import RUNS, PlannedRun, by_series, machines, run_all, unfinished, write_rows
from ffslab.text.machine_line import line
from ffslab.text.quoting import escape
from ffslab.text.tables import number, text_table

CLAIMS = "claims.json"
FILES = frozenset({CLAIMS, results.REPORT, RUNS})
Series = dict[str, list[Row]]


@dataclass(frozen=True)
class Paper:
    """What a paper's module offers: its runs, its readings, its figures."""

    planned: Callable[[], list[PlannedRun]]
    judge: Callable[[Claims, Series], None]
    figures: Callable[[Series], Iterator[Figure]]


PAPERS = {
    "readahead": Paper(readahead.planned, readahead.judge, readahead.figures),
    "driver": Paper(driver.planned, driver.judge, driver.figures),
    "rtems": Paper(rtems.planned, rtems_claims.judge, rtems.figures),
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
        (fresh / RUNS).mkdir()
        for run in planned:
            write_rows(fresh / RUNS, run, rows[run.key])
        html = report(table_of_claims, list(of.figures(series)))
        (fresh / results.REPORT).write_text(html, encoding="utf-8")

    results.replace(folder, write)
    shutil.rmtree(unfinished(folder), ignore_errors=True)
    return table_of_claims


def report(judged: JudgedPaper, figures: list[Figure]) -> str:
    """The HTML report."""
    drawn = "What our runs gave, in the axes of the publication; its own values stand with each claim below."
    claims = [
        [claim["id"], claim["title"], claim["verdict"], "" if (cause := claim["cause"]) is None else Cause(cause).who]
        for claim in judged["claims"]
    ]
    # The first one stands on the first screen.
    pictures = [figure.drawn(f"figure-{at}") for at, figure in enumerate(figures)]
    parts: list[Part] = [
        *(f"<p>{escape(line)}</p>" for line in _about_real(judged)),
        section("Claims", table(["claim", "what", "verdict", "who differs"], claims)),
        section("Figures", [paragraph(drawn), *pictures[1:]]) if pictures[1:] else None,
    ]
    for claim in judged["claims"]:
        body = f"<p>{escape(claim['source'])}: <b>{claim['verdict']}</b>{escape(_why(claim))}</p>"
        if claim["readings"]:
            body += table(_head(judged)[2:], [_cells(judged, reading) for reading in claim["readings"]])
        if claim["differs"]:
            body += f"<p>Why it differs: {escape(claim['differs'])}</p>"
        body += "".join(f"<p>{escape(line)}</p>" for line in [*_elsewhere(claim), *claim["evidence"]])
        parts.append(section(f"{claim['id']}: {claim['title']}", body))
    opening = Opening(
        f"{judged['title']}: published and simulated",
        f"Simulated by ffslab {__version__} in virtual time.",
        _counted(judged) + ".",
        _key_figures(judged),
        pictures[0] if pictures else None,
        judged["machine"],
    )
    return page(judged["title"], parts, opening)


def _key_figures(judged: JudgedPaper) -> list[KeyFigure]:
    """How many claims come out as published, and how many readings as on the real kernel."""
    claims = judged["claims"]
    same = sum(claim["verdict"] == Verdict.REPRODUCED for claim in claims)
    made = [KeyFigure("Claims that come out as published", number(same), f"of {number(len(claims))}")]
    agree = [one for claim in claims for r in claim["readings"] if (one := r["agrees_with_real_kernel"]) is not None]
    if agree:
        made.append(
            KeyFigure("Readings as on the real kernel", number(sum(agree)), f"of {number(len(agree))} measured")
        )
    made.append(KeyFigure("Runs", number(judged["runs"]), "all simulated; their figures are beside this file"))
    return made


def text(judged: JudgedPaper, folder: Path) -> str:
    """What the verb prints: a row per reading, what explains the differences, where the report is."""
    head, rows, notes = _head(judged), [], []
    for claim in judged["claims"]:
        cells = [_cells(judged, reading) for reading in claim["readings"]]
        for i, row in enumerate(cells or [[claim["title"], *[""] * (len(head) - 3)]]):
            rows.append([*([claim["id"], claim["verdict"]] if i == 0 else ["", ""]), *row])
        if claim["differs"]:
            lines = [f"{claim['id']}{_why(claim)}: {claim['differs']}", *(f"  {line}" for line in claim["evidence"])]
            notes.append("\n".join(lines))
    parts = [
        judged["title"],
        judged["machine"],
        text_table(head, rows, "l" * len(head)),
        *_about_real(judged),
        *notes,
        _counted(judged),
        f"Report: {folder / results.REPORT}",
    ]
    return "\n\n".join(parts)


def _about_real(judged: JudgedPaper) -> Iterator[str]:
    if judged["set_up"] is not None:
        yield (
            "The column Linux 2.6.37 is the real kernel, measured on an emulated ARM board whose flash counts exactly, "
            f"in this set-up: {judged['set_up']}. Its processor is not the board's, so times differ where the CPU "
            "takes much of them."
        )


def _head(judged: JudgedPaper) -> list[str]:
    real, who = ([], []) if judged["set_up"] is None else (["Linux 2.6.37"], ["who differs"])
    return ["claim", "verdict", "reading", "published", *real, "ffslab", "holds", *who]


def _cells(judged: JudgedPaper, reading: ReadingRow) -> list[str]:
    ours = [reading["ours"], "yes" if reading["holds"] else "no"]
    if judged["set_up"] is None:
        return [reading["what"], reading["published"], *ours]
    real, cause = reading["real_kernel"], reading["cause"]
    who = "" if cause is None else Cause(cause).who
    return [reading["what"], reading["published"], "" if real is None else real["text"], *ours, who]


def _why(claim: JudgedClaim) -> str:
    return "" if claim["cause"] is None else f" ({claim['cause']})"


def _elsewhere(claim: JudgedClaim) -> Iterator[str]:
    """What the real kernel gave in other set-ups, of readings that do not hold in ours."""
    for reading in claim["readings"]:
        if not reading["holds"] and reading["other_set_ups"]:
            others = reading["other_set_ups"].items()
            texts = (f"{name}: {real['text']}{' (holds)' if real['holds'] else ''}" for name, real in others)
            yield f"{reading['what']}, Linux 2.6.37 in other set-ups: {'; '.join(texts)}"


def _counted(judged: JudgedPaper) -> str:
    """How many claims have which verdict, and why those that are not reproduced are not."""
    verdicts = Counter(claim["verdict"] for claim in judged["claims"])
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict])
    if judged["set_up"] is None:
        return f"Claims: {counts}"
    causes = Counter(claim["cause"] for claim in judged["claims"])
    why = "; ".join(f"{causes[cause]} because {cause}" for cause in Cause if causes[cause])
    agree = [r["agrees_with_real_kernel"] for claim in judged["claims"] for r in claim["readings"]]
    measured = [same for same in agree if same is not None]
    return (
        f"Claims: {counts}. Those that are not reproduced: {why}. Of {len(measured)} readings that were measured on "
        f"the real kernel, ffslab gives the same in {sum(measured)}"
    )
