"""The command `ffslab`, also as `python -m ffslab`: whatever it is doing, Ctrl-C and SIGTERM end it in one line."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn

from ffslab.files.interruption import catch_signals, exit_code, has_come


def main() -> NoReturn:
    """Runs the command with the arguments of the process."""
    _open_closed_streams()
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
        _forget_interrupt()
        code = exit_code()
    sys.exit(_flushed(code))


def _flushed(code: int) -> int:
    """The exit code. What nobody could take stays in the stream, and the interpreter would complain at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or 2
    return code


def _forget_interrupt() -> None:
    """A signal that breaks off Python text run by C code (imports of extensions do that) stays in CPython's mind even
    when somebody handles it: `python -m` then ends by SIGINT instead of with the exit code. The next text that C code
    runs makes it forget (`run_eval_code_obj` in Python/pythonrun.c)."""
    import ctypes

    ctypes.pythonapi.PyRun_SimpleString(b"")


def _open_closed_streams() -> None:
    """Puts something in the place of standard streams that the caller closed (`>&-`, some daemons), whose numbers the
    next files that are opened would get: there is nothing to read, what is wrong is told to nobody, and an answer that
    nobody gets is an error."""
    # What is printed to a descriptor that can only be read fails.
    for number, (name, mode, flags) in enumerate((
        ("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY),
    )):  # fmt: skip
        if getattr(sys, name) is None and os.open(os.devnull, flags) == number:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
