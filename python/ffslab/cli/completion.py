"""`ffslab --show-completion SHELL` and `--install-completion SHELL`: the script with which a shell completes ffslab.

Typer's own options of these names guess the shell from the process above, which in a script or a service is none.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script, install

from ffslab._native import InputError
from ffslab.cli.index import COMPLETE
from ffslab.files.os_errors import reason
from ffslab.terminal.printing import say

PROGRAM = "ffslab"
SHOW, INSTALL = "--show-completion", "--install-completion"

# Lets the command answer such a script.
completion_init()


class Shell(StrEnum):
    """Shells that can complete what is typed."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def answer(flag: str, values: list[str]) -> None:
    """Shows or installs the script for the shell that follows the option, or else for the user's."""
    shell = _shell(flag, values)
    if flag == SHOW:
        say(get_completion_script(prog_name=PROGRAM, complete_var=COMPLETE, shell=shell.value))
        return
    try:
        _, path = install(shell=shell.value, prog_name=PROGRAM, complete_var=COMPLETE)
    except OSError as error:
        raise InputError(f"{INSTALL} {shell.value}: {error.filename}: {reason(error)}") from None
    say(f"{shell.value} completes ffslab in new terminals: {path}")


def _shell(flag: str, values: list[str]) -> Shell:
    known = [each.value for each in Shell]
    if len(values) > 1:
        raise InputError(f"{flag}: takes one shell, and {len(values)} words follow it")
    name = values[0] if values else Path(os.environ.get("SHELL", "")).name
    if name not in known:
        said = f" {name}" if values else ""
        raise InputError(f"{flag}{said}: must be one of {', '.join(known)}")
    return Shell(name)
