"""`ffslab diff`: two results of `ffslab run`, what differs and why."""

from __future__ import annotations

from typing import Annotated

import typer

from ffslab.cli.parts import argument, verb
from ffslab.cli.result_options import Json, Page, with_page
from ffslab.terminal.printing import say


def diff(
    before: Annotated[
        str, argument("A", "A results folder, or a variant of it by a part of its name: FOLDER@fs=jffs2.")
    ],
    after: Annotated[str, argument("B", "The one that is compared with it.")],
    out: Page = None,
    json: Json = False,
) -> None:
    """Compare two results: what changed, and what it comes from. See docs/experiments.md.

    That is told as a step, a reason or a file. Variants of the same name stand beside each other, and of two results
    with one variant each these.

    Example: ffslab diff results/before results/after
    """
    from ffslab.files import results
    from ffslab.studies.differences.results import Side, compared
    from ffslab.studies.differences.text import text_of

    if out is not None:
        results.check_report(out)
    found = compared(Side.of(before), Side.of(after))
    if out is not None:
        from ffslab.studies.differences import page as difference

        results.write_report(out, difference.html(found))
    say(results.dump_json(found).rstrip() if json else with_page(text_of(found), out))


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "diff")(diff)
