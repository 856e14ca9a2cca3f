"""Tables of TOML files that Python reads: their keys checked, with messages that say which key is wrong."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ffslab import _native
from ffslab._native import InputError

Read = TypeVar("Read")


def read_toml(text: str, file_name: str, read: Callable[[dict[str, Any]], Read]) -> Read:
    """What `read` makes of a text. Its messages get the name of the file in front, unless they begin with it.

    Raises `ffslab.InputError` with one line.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The native half says it in the words of `run`, with the line.
        _native.stack_as_written(text, file_name)
        raise InputError(f"{file_name}: not TOML: {error}") from None
    try:
        return read(data)
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith(file_name) else f"{file_name}: {said}") from None


def check_keys(table: Mapping[str, object], known: Sequence[str], where: str = "") -> None:
    """Refuses a key that nobody reads."""
    for key in table:
        if key not in known:
            raise InputError(f"{where}unknown key `{key}`{meant(key, known)}")


def meant(name: str, known: Sequence[str]) -> str:
    """Which of the known names was meant: ": did you mean time_us?", or all of them."""
    near = difflib.get_close_matches(name, known, 1)
    return f": did you mean {near[0]}?" if near else f": known are {', '.join(known)}"


def table_at(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A table, empty when it is absent."""
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise InputError(f"`{key}` must be a table")
    return table


def texts_at(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts, empty when it is absent."""
    texts = data.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"`{key}` must be a list of texts")
    return tuple(texts)


def whole(key: str, value: object, least: int) -> int:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**32:
        raise InputError(f"`{key}` must be a whole number from {least} on, not {value}")
    return value
