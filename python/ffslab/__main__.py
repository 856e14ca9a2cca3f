"""The command `ffslab`, also as `python -m ffslab`: whatever it is doing, Ctrl-C ends it in one line."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command with the arguments of the process."""
    try:
        # Within the guard: imports are most of what a short command does.
        from ffslab.cli import main as command

        code = command()
    except KeyboardInterrupt:
        print("ffslab: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
