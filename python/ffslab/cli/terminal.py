"""What is printed: nothing in it acts on a terminal, whoever wrote it (`ffslab.text.quoting`)."""

from __future__ import annotations

import sys
from typing import TextIO

from ffslab.text.quoting import one_line, printable


def say(text: str, to: TextIO | None = None) -> None:
    """Prints text to the standard output, or `to` another stream."""
    # Flushed here, where typer looks after a closed pipe, and not at the interpreter's end.
    _print(printable(text), sys.stdout if to is None else to)


def tell(text: str) -> None:
    """Prints a line about what went wrong, or must be known, to the standard error."""
    _print(f"ffslab: {one_line(text)}", sys.stderr)


def _print(text: str, to: TextIO) -> None:
    encoding = to.encoding or "utf-8"
    # A terminal that knows no UTF-8 gets escapes, too.
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=to, flush=True)
