"""`ffslab advise`: which settings to take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import EXIT_NEGATIVE, argument, verb
from ffslab.cli.result_options import Batch, Jobs, Json, Page, Scheduler, with_page
from ffslab.cli.sweep_verb import workers_of
from ffslab.terminal.printing import say


def advise(
    question: Annotated[
        Path, argument("QUESTION.toml", "The work of a day, what may vary, the limits, and what is wanted.")
    ],
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    batch: Batch = None,
    out: Page = None,
    json: Json = False,
) -> None:
    """Tell which settings to take for a day's work, within limits. See docs/advise.md.

    Exit code 1: nothing that was tried is within all limits, or was seen long enough.

    Example: ffslab advise experiments/questions/logger.toml
    """
    from ffslab.cli.renamed import tell_old_form
    from ffslab.files import results
    from ffslab.studies.advise import Question
    from ffslab.studies.advise.text import text_of
    from ffslab.terminal.progress import progress_of_parts

    if out is not None:
        results.check_report(out)
    asked = Question.from_file(question)
    tell_old_form("advise", question)
    with progress_of_parts(question.name) as show:
        advice = asked.answer(workers=workers_of(scheduler, batch, jobs), progress=show)
    if out is not None:
        from ffslab.studies.advise import page

        results.write_report(out, page.html(advice))
    say(results.dump_json(advice).rstrip() if json else with_page(text_of(advice), out))
    if not advice["holds"]:
        raise typer.Exit(EXIT_NEGATIVE)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "advise")(advise)
