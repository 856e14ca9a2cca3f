"""`ffslab ci`: whether budgets of flash operations, wear and time are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.cli.result_options import Jobs, Json
from ffslab.terminal.printing import say, tell


def ci(
    budgets: Annotated[
        Path, argument("BUDGETS.toml", "Experiments, limits of their figures, and allowed changes.")
    ] = Path("ffslab-budgets.toml"),
    update: Annotated[
        bool, option("--update", "Write what is measured to the baseline file, and hold it for right.")
    ] = False,
    junit: Annotated[Path | None, option("--junit FILE", "Write a test report for build servers (JUnit XML).")] = None,
    benchmark: Annotated[
        Path | None, option("--benchmark FILE", "Write figures for github-action-benchmark (customSmallerIsBetter).")
    ] = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Check budgets of flash operations, wear and time. What a change comes from is told. See docs/budgets.md.

    Exit code 1: a rule does not hold, or the runs are too short for its verdict.

    Example: ffslab ci examples/ci/ffslab-budgets.toml
    """
    from ffslab.files import results
    from ffslab.files.inputs import check_is_input
    from ffslab.studies import budgets as kept
    from ffslab.studies.budgets import reports
    from ffslab.studies.budgets.text import text_of
    from ffslab.terminal.progress import progress_bar

    check_is_input(budgets, "experiment", "file of budgets (docs/budgets.md says what it holds)")
    asked = kept.Budgets.from_file(budgets)
    needed = any(budget.changes for budget in asked.budgets)
    # A baseline that cannot be read is told before anything runs.
    baseline = kept.Baseline.from_file(asked.baseline) if not update and (needed or asked.baseline.exists()) else None
    with progress_bar("budgets") as progress:
        found = kept.measured(asked, jobs=jobs, progress=progress)
    unfinished = [why for budget in found.values() for one in budget.values() if (why := one.get("not_done"))]
    if update and unfinished:
        tell(f"{asked.baseline}: not written, because not all was done")
        update = False
    if update:
        baseline = kept.Baseline.of(found)
        baseline.save(asked.baseline)
    answer = kept.checked(asked, found, baseline)
    for path, text in ((junit, reports.junit), (benchmark, reports.benchmark)):
        if path is not None:
            results.write_text(path, text(answer))
    say(results.dump_json(answer).rstrip() if json else text_of(answer))
    if update and not json:
        say(f"baseline: {asked.baseline}")
    if not answer["holds"]:
        raise typer.Exit(EXIT_NEGATIVE)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "ci")(ci)
