"""Python functions that a test names: programs and judges."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ffslab._native import InputError
from ffslab.files.os_errors import reason


def function_at(name: str, folder: Path, *, may_assert: bool = False) -> Callable[..., Any]:
    """What "FILE.py:NAME" or "MODULE:NAME" names; files stand in `folder`.

    Whatever it raises, an exit included, becomes an `ffslab.InputError` that says where: what a test says of a function
    that did not come to its end would be wrong. `may_assert`: an assertion that does not hold is its answer.
    Raises `ffslab.InputError` when it is not there.
    """
    where, _, called = name.rpartition(":")
    module = _of_file(folder / where) if where.endswith(".py") else _of_module(where)
    found = getattr(module, called, None)
    if not callable(found):
        raise InputError(f'"{name}": {where} has no function called {called}')

    def guarded(*arguments: object) -> object:
        try:
            return found(*arguments)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            if may_assert and isinstance(error, AssertionError):
                raise
            raise InputError(f"{name}: {_line_in(module, error)}{_said(error)}") from error

    return guarded


def _line_in(module: object, error: BaseException) -> str:
    """The line of the user's file that was at work, as "settings.py:12: "; empty: the call itself failed."""
    file = getattr(module, "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{Path(file).name}:{lines[-1]}: " if file and lines else ""


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "it leaves the interpreter (SystemExit): return from the function"
    if isinstance(error, OSError):
        return f"{error.filename}: {reason(error)}" if error.filename else reason(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _of_file(path: Path) -> object:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"ffslab_crashtest_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    # What it defines may be asked for by its module (dataclasses do).
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file raises
        raise InputError(f"{path}: {_line_in(module, error)}{_said(error)}") from error
    return module


def _of_module(name: str) -> object:
    if not name:
        raise InputError('a function is named with its file or module, as "settings.py:run"')
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever a user's module raises
        raise InputError(f"{name}: cannot be imported: {_said(error)}") from error
