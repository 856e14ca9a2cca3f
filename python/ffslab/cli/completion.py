"""`ffslab --show-completion SHELL` and `--install-completion SHELL`: the script with which a shell completes ffslab.

Typer's own options of these names guess the shell from the process above, which in a script or a service is none.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script, install

from ffslab._native import InputError
from ffslab.cli.terminal import say
from ffslab.files.os_errors import reason

PROGRAM = "ffslab"
# In it a shell's script asks what could be typed next.
VARIABLE = "_FFSLAB_COMPLETE"
SHOW, INSTALL = "--show-completion", "--install-completion"

# Lets the command answer such a script.
completion_init()


class Shell(StrEnum):
    """Shells that can complete what is typed."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def with_shell(arguments: list[str]) -> list[str]:
    """The arguments, with the user's shell behind an option for completion that names none."""
    shell = Path(os.environ.get("SHELL", "")).name
    if arguments and arguments[-1] in (SHOW, INSTALL) and shell in [known.value for known in Shell]:
        return [*arguments, shell]
    return arguments


def _show(shell: Shell | None) -> None:
    if shell is not None:
        say(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value))
        raise typer.Exit


def _install(shell: Shell | None) -> None:
    if shell is not None:
        try:
            _, path = install(shell=shell.value, prog_name=PROGRAM, complete_var=VARIABLE)
        except OSError as error:
            raise InputError(f"{INSTALL} {shell.value}: {error.filename}: {reason(error)}") from None
        say(f"{shell.value} completes ffslab in new terminals: {path}")
        raise typer.Exit


ShowCompletion = Annotated[
    Shell | None,
    typer.Option(
        SHOW,
        metavar="SHELL",
        help="Print the script with which bash, zsh or fish completes ffslab.",
        callback=_show,
        is_eager=True,
    ),
]
InstallCompletion = Annotated[
    Shell | None,
    typer.Option(INSTALL, metavar="SHELL", help="Install it for bash, zsh or fish.", callback=_install, is_eager=True),
]
