"""The verb `ffslab steps`: the reference of what experiment files may say."""

from __future__ import annotations

from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import argument, verb
from ffslab.terminal.printing import say

Markdown = Annotated[bool, typer.Option("--markdown", help="Print the whole reference as a page of Markdown.")]


def add_to(app: typer.Typer) -> None:
    """Adds the verb to the command."""

    @verb(app, "steps")
    def steps(
        name: Annotated[str | None, argument("NAME", "A step, or a table of the list.")] = None,
        markdown: Markdown = False,
    ) -> None:
        """List the steps of experiments, or explain one. Its keys, units and defaults are told, with an example.

        Example: ffslab steps requests
        """
        from ffslab.registries import vocabulary
        from ffslab.text import vocabulary as text

        if markdown and name is not None:
            raise InputError(f"{name}: --markdown prints the whole reference: leave one of them out")
        if markdown:
            say(text.markdown().rstrip())
        elif name is None:
            say(text.listing())
        else:
            say(text.entry_text(vocabulary.entry(name)))
