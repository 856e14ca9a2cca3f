"""Python functions that a test names: programs and judges."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ffslab._native import InputError


def function_at(name: str, folder: Path) -> Callable[..., Any]:
    """What "FILE.py:NAME" or "MODULE:NAME" names; files stand in `folder`.

    Raises `ffslab.InputError` when it is not there.
    """
    where, _, called = name.rpartition(":")
    module = _of_file(folder / where) if where.endswith(".py") else _of_module(where)
    found = getattr(module, called, None)
    if not callable(found):
        raise InputError(f'"{name}": {where} has no function called {called}')
    return found  # type: ignore[no-any-return]


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
    except Exception as error:  # whatever a user's file raises
        raise InputError(f"{path}: {type(error).__name__}: {error}") from error
    return module


def _of_module(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"{name}: cannot be imported: {error}") from None
