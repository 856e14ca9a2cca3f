"""The verbs of the command as they are declared: `VERBS["trace report"].params` are its options and arguments."""

from __future__ import annotations

from collections.abc import Iterator

from typer.core import TyperCommand, TyperGroup

from ffslab.cli.root import made


def _declared(command: object, name: str) -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    assert isinstance(command, TyperCommand | TyperGroup)
    if name:
        yield name, command
    for word, below in getattr(command, "commands", {}).items():
        yield from _declared(below, f"{name} {word}".strip())


VERBS = dict(_declared(made(), ""))


def help_of(name: str, flag: str) -> str:
    """The help of an option."""
    (option,) = (each for each in VERBS[name].params if flag in each.opts)
    return str(getattr(option, "help", None))
