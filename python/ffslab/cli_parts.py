"""What every verb of the command is made of: options and arguments with their help texts, printing."""

from __future__ import annotations

import typer

from ffslab.help_texts import VERBS

EXIT_NEGATIVE = 1


def say(text: str) -> None:
    """Prints to the standard output."""
    # Flushed here, where typer looks after a closed pipe, and not at the interpreter's end.
    print(text, flush=True)


def option(verb: str, name: str, *flags: str, metavar: str | None = None) -> typer.models.OptionInfo:
    """An option of a verb; `name` is that of its help text."""
    made: typer.models.OptionInfo = typer.Option(
        *flags, help=VERBS[verb].options[name], metavar=metavar, show_default=False
    )
    return made


def argument(verb: str, name: str, metavar: str) -> typer.models.ArgumentInfo:
    """An argument of a verb; `name` is that of its help text."""
    made: typer.models.ArgumentInfo = typer.Argument(help=VERBS[verb].options[name], metavar=metavar)
    return made
