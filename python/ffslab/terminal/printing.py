"""What is printed: nothing in it acts on a terminal, whoever wrote it (`ffslab.text.quoting`).

The answer goes to the standard output; to the standard error what went wrong, remarks unless `--quiet`, and with
`--verbose` what was done.
"""

from __future__ import annotations

import os
import sys
from enum import IntEnum
from typing import TextIO


class Talk(IntEnum):
    """How much is said beside the answer."""

    QUIET = 0
    USUAL = 1
    VERBOSE = 2


_talk = Talk.USUAL


def talk() -> Talk:
    """How much is said in this process."""
    return _talk


def set_talk(wanted: Talk) -> None:
    """How much is said from now on."""
    global _talk
    _talk = wanted


def say(text: str, to: TextIO | None = None) -> None:
    """Prints text to the standard output, or `to` another stream."""
    from ffslab.text.quoting import printable

    # Flushed here, where typer looks after a closed pipe, and not at the interpreter's end.
    _print(printable(text), sys.stdout if to is None else to)


def ask(question: str) -> str:
    """What a person types after a question on the standard error, without spaces around it.

    Raises `EOFError` when nothing comes.
    """
    from ffslab.text.quoting import printable

    print(printable(question), end=" ", file=sys.stderr, flush=True)
    return input().strip()


def tell(text: str) -> None:
    """Prints a line about what went wrong, or must be known, to the standard error."""
    from ffslab.text.quoting import one_line

    _print(f"ffslab: {one_line(text)}", sys.stderr)


def remark(text: str) -> None:
    """Prints a line that changes nothing about the answer to the standard error, unless `--quiet` was asked for."""
    if _talk >= Talk.USUAL:
        tell(text)


def detail(text: str) -> None:
    """Prints a line about what is done to the standard error when `--verbose` was asked for."""
    if _talk >= Talk.VERBOSE:
        tell(text)


def _print(text: str, to: TextIO) -> None:
    encoding = to.encoding or "utf-8"
    # A terminal that knows no UTF-8 gets escapes, too.
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=to, flush=True)


def close_quietly() -> None:
    """Closes the output after its reader has gone, or the interpreter would complain when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
