"""The command `ffslab`: finds the verb that is called, loads it alone, and says how it ended.

Exit codes: 0 done, 1 negative answer, 2 bad input (one line on stderr), 70 a bug in ffslab, 130 interrupted.
`--help` needs none of the packages: it prints the table of `ffslab.cli.index`.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command with the arguments of the process; its exit code. Ctrl-C is a `KeyboardInterrupt`."""
    arguments = sys.argv[1:]
    # What follows `--help` does not matter, as everywhere in the command.
    asks = arguments[:1] in ([], ["--help"], ["-h"]) or arguments in (["help"], ["help", "more"])
    from ffslab.cli.index import COMPLETE

    if COMPLETE not in os.environ and asks:
        return _print_help(more=arguments[1:] == ["more"])
    from ffslab.cli.root import run

    return run(arguments or ["--help"])


def _print_help(*, more: bool) -> int:
    from shutil import get_terminal_size

    from ffslab.cli.index import help_text, more_text
    from ffslab.terminal.printing import close_quietly

    width = help_width(get_terminal_size().columns)
    try:
        print(more_text(width) if more else help_text(width), end="", flush=True)
    except BrokenPipeError:
        close_quietly()
    return 0


def help_width(columns: int) -> int:
    """How wide help is printed on a terminal of so many columns, as for the help of a verb."""
    return max(min(columns, 80) - 2, 50)
