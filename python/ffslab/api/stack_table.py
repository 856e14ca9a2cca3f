"""The `[stack]` table of an experiment, written from the options of a verb."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ffslab._native import InputError
from ffslab.files.inputs import toml_of

Value = str | int | bool

# The system of a table that names none, and what it is then.
LINUX = "linux"
LINUX_BOARD = "omap3evm"
LINUX_PARTITION_BLOCKS = 400


def machine_keys(system: str, board: str | None, partition_blocks: int | None) -> dict[str, Value | None]:
    """The keys of a machine whose owner says nothing but this; `None` leaves the choice to its system."""
    if system == LINUX:
        return {"board": board or LINUX_BOARD, "partition_blocks": partition_blocks or LINUX_PARTITION_BLOCKS}
    return {"system": system, "board": board, "partition_blocks": partition_blocks}


@dataclass(frozen=True)
class Stack:
    """A machine with one partition or device. What is `None` is left to the system and its board.

    `settings`: any other keys of the table.
    """

    board: str | None
    kernel: str | None
    fs: str
    partition_blocks: int | None
    read_ahead_KiB: int | None = None  # noqa: N815
    system: str = LINUX
    settings: Mapping[str, Value] = field(default_factory=dict)

    def keys(self) -> dict[str, Value]:
        """The table."""
        machine = machine_keys(self.system, self.board, self.partition_blocks)
        given = {**machine, "kernel": self.kernel, "fs": self.fs, "read_ahead_KiB": self.read_ahead_KiB}
        return {key: value for key, value in {**given, **self.settings}.items() if value is not None}

    def lines(self) -> list[str]:
        """Lines of TOML."""
        # Of these values JSON and TOML write the same.
        return ["[stack]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in self.keys().items())]


def settings_of(texts: Iterable[str]) -> dict[str, Value]:
    """What `--set KEY=VALUE` says, several times; a value is a number, true or false, or else a text."""
    return dict(_setting(text) for text in texts)


def _setting(text: str) -> tuple[str, Value]:
    key, equals, value = text.partition("=")
    if not equals or not key.replace("_", "a").isalnum():
        raise InputError(f'--set "{text}": must be KEY=VALUE, as compression=zlib')
    try:
        parsed = toml_of(f"value = {value}", key)["value"]
    except InputError:
        parsed = value
    return key, parsed if isinstance(parsed, str | int | bool) else value


def quoted(text: str) -> str:
    """A text in TOML."""
    # A JSON string is a valid basic string of TOML.
    return json.dumps(text, ensure_ascii=False)
