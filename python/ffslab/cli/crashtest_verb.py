"""`ffslab crashtest`: is a product safe against power cuts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.cli.result_options import Jobs, Json
from ffslab.cli.terminal import say


def crashtest(
    test: Annotated[Path, argument("TEST.toml", "A workload, a judge, and which cuts; or a failure that was kept.")],
    points: Annotated[str, option("--points N", "How many cuts at most, or all.")] = "all",
    seed: Annotated[
        int | None,
        option(
            "--seed N",
            "Seed of what chance decides: the content of files, where an operation is torn. [default: the test's]",
            least=0,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option("--out DIR", "Folder to write; for failure-N.toml and failure-N.img. [default: crashtest/NAME]"),
    ] = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Cut the power of a workload at every flash operation and judge what a mount then shows. See docs/power-cuts.md.

    Exit code 1: a cut was found after which something is wrong.

    Example: ffslab crashtest examples/crashtest/settings.toml
    """
    from ffslab.cli.progress import progress_of_parts
    from ffslab.files import results
    from ffslab.studies.crashtest.file import CrashTest, points_of
    from ffslab.studies.crashtest.keep import keep
    from ffslab.studies.crashtest.run import answer_of
    from ffslab.studies.crashtest.run import crashtest as judged
    from ffslab.studies.crashtest.shrink import same_kind, shrunk
    from ffslab.studies.crashtest.text import text_of

    asked = CrashTest.from_file(test)
    if seed is not None:
        asked = replace(asked, seed=seed)
    most = points_of(points)
    with progress_of_parts("power cuts") as show:
        outcome = judged(
            asked, points=most, jobs=jobs, progress=None if show is None else lambda share: show(share, "power cuts")
        )
        answer = answer_of(outcome)
        folder = out or Path("crashtest") / test.name.removesuffix(".toml")
        for number, failure in enumerate(answer["failures"] if asked.cut is None else [], 1):
            smaller = shrunk(
                outcome, failure, jobs=jobs, progress=None if show is None else lambda share: show(share, "shrinking")
            )
            kept = same_kind(smaller, failure) if smaller else None
            failure["file"] = str(keep(smaller if smaller and kept else outcome, kept or failure, folder, number))
    say(results.dump_json(answer).rstrip() if json else text_of(answer))
    if not answer["holds"]:
        raise typer.Exit(EXIT_NEGATIVE)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "crashtest")(crashtest)
