"""The command `ffslab`, also as `python -m ffslab`: whatever it is doing, Ctrl-C and SIGTERM end it in one line."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import NoReturn

from ffslab.files.interruption import catch_signals, exit_code, has_come


def main() -> NoReturn:
    """Runs the command with the arguments of the process."""
    try:
        # Within the guard: imports are most of what a short command does.
        catch_signals()
        from ffslab.cli.program import main as command

        code = command()
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt) and not has_come():
            raise
        # A second Ctrl-C changes nothing any more. It may have come already, in the midst of ending worker processes,
        # which would wait for work for ever.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if "multiprocessing" in sys.modules:
            import multiprocessing

            for worker in multiprocessing.active_children():
                worker.terminate()
        # A terminal that has gone takes no words.
        with contextlib.suppress(OSError):
            print("ffslab: interrupted", file=sys.stderr, flush=True)
        code = exit_code()
    sys.exit(code)


if __name__ == "__main__":
    main()
