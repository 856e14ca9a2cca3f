"""How the command ends when something is wrong: one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import traceback
from pathlib import Path

import typer

from ffslab._native import InputError
from ffslab.files.os_errors import reason
from ffslab.terminal.printing import tell
from ffslab.text.quoting import quoted

EXIT_BAD_INPUT = 2
EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h


def end_with(error: BaseException) -> int:
    """Says what is wrong in one line; the exit code. What is nobody's error, such as Ctrl-C, is raised again."""
    line, code = _told(error)
    tell(line)
    return code


def _told(error: BaseException) -> tuple[str, int]:
    match error:
        case InputError():
            return str(error), EXIT_BAD_INPUT
        case typer.TyperException():
            return _wrong_use(error), EXIT_BAD_INPUT
        case MemoryError():
            return "there is not enough memory for this: docs/limits.md says what takes how much", EXIT_BAD_INPUT
        case UnicodeEncodeError():
            # Only the caller's bytes cannot be encoded: all text from files was UTF-8 when it was read.
            piece = quoted(str(error.object))
            return f"{piece} is no UTF-8 text: names of files may be any bytes, other values are text", EXIT_BAD_INPUT
        case OSError():
            # A file that was there when it was looked at, a full disk.
            return f"{error.filename or 'the system says'}: {reason(error)}", EXIT_BAD_INPUT
        case ModuleNotFoundError() if (line := _missing(error)) is not None:
            return line, EXIT_BAD_INPUT
        case Exception():
            return f"internal error, please report it: {_bug(error)}", EXIT_BUG
        case _ if type(error).__name__ == "PanicException":  # of the native half, which has no name for it
            return f"internal error, please report it: {_bug(error)}", EXIT_BUG
        case _:
            raise error


def _missing(error: ModuleNotFoundError) -> str | None:
    from ffslab.cli.needs import said_of_import

    said = said_of_import(error)
    return None if said is None else f"this {said}"


def _bug(error: BaseException) -> str:
    """What happened in which line, for a report, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {' '.join(str(error).split())}"


def _wrong_use(error: typer.TyperException) -> str:
    """What was wrong in the call, in one line, and whose help says more."""
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    # What was given is known to the check alone.
    given: list[dict[str, object]] = getattr(error.__cause__, "errors", list)()
    parameter = getattr(error, "param", None)
    if given and parameter is not None and parameter.param_type_name == "option":
        text = f"{max(parameter.opts, key=len)} {quoted(str(given[0]['input']))}: {given[0]['msg']}"
    # Checks of types come from a library whose messages name its own classes.
    text = text.replace("Value error, ", "").replace(", unable to parse string as an integer", "")
    text = (
        text.replace(", unable to parse string as a number", "")
        .replace("Input should be", "must be")
        .replace("valid integer", "whole number")
        .replace("valid number", "number")
    )
    context = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "ffslab"
    return f"{' '.join(text.split()).rstrip('.')} (see {verb} --help)"
