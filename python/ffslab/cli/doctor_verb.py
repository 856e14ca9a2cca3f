"""`ffslab doctor`: what is installed, and what is missing for what."""

from __future__ import annotations

import typer

from ffslab.cli.parts import EXIT_NEGATIVE, verb
from ffslab.cli.result_options import Json
from ffslab.terminal.printing import say


def doctor(json: Json = False) -> None:
    """Tell what is installed, and what is missing for what. The package that brings it is named.

    Exit code 1: something is missing that verbs of every day need.

    Example: ffslab doctor
    """
    from ffslab.cli.doctor import looked, text_of
    from ffslab.files import results

    answer = looked()
    say(results.dump_json(answer).rstrip() if json else text_of(answer))
    if not answer["is_well"]:
        raise typer.Exit(EXIT_NEGATIVE)


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "doctor")(doctor)
