"""`ffslab man`: manual pages of all verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import option, verb
from ffslab.terminal.printing import say


def man(
    out: Annotated[
        Path, option("--out DIR", "Folder to write; the pages are replaced, others stay. [default: man/man1]")
    ] = (Path("man/man1")),
) -> None:
    """Write the manual pages of all verbs. `man -M DIR/.. ffslab-run` reads one, when DIR is called man1.

    Example: ffslab man --out ~/.local/share/man/man1
    """
    from ffslab.cli.man import manuals
    from ffslab.files.results import write_text

    pages = manuals()
    out.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        write_text(out / name, text)
    say(f"{out}: {len(pages)} pages, begin with {out / 'ffslab.1'}")


def add_to(app: typer.Typer) -> None:
    """Makes it a verb of the command."""
    verb(app, "man")(man)
