"""What the tests of stores of a user's own tree do alike: a machine, the work on it, what that leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import ffslab

# What content_file names: each write goes on where the last one ended.
VALUES = bytes(range(1, 240))
VALUE_B = 60
# So many of the first keys are changed, and then so many deleted.
CHANGED, DELETED = 10, 3


def nor(fs: str) -> dict[str, Any]:
    """A store on four erase blocks of NOR."""
    return {
        "system": "bare",
        "fs": fs,
        "board": "licheepi-nano",
        "part": "w25q128jv",
        "erase_block_KiB": 4,
        "partition_blocks": 4,
    }


def refuses(stack: dict[str, Any], own: dict[str, Any], told: str) -> None:
    """A machine with a store of these settings is not made, for this reason."""
    with pytest.raises(ffslab.InputError, match=re.escape(told)):
        ffslab.Stack.of(stack | {str(stack["fs"]).replace("-", "_"): own})


@dataclass(frozen=True)
class Work:
    """So many keys are set, the first of them `count` times more, some are deleted; after a crash all are read."""

    keys: int
    count: int

    @property
    def left(self) -> int:
        """Keys that are there at the end."""
        return self.keys - DELETED

    @property
    def steps(self) -> str:
        return f"""
[[setup]]
step = "mount"
[[measure]]
step = "set"
keys = {self.keys}
bytes = {VALUE_B}
content_file = "values.bin"
[[measure]]
step = "set"
keys = {self.keys}
bytes = {VALUE_B}
count = {self.count}
pattern = "listed"
order = {list(range(CHANGED))}
content_file = "values.bin"
[[measure]]
step = "delete"
keys = {self.keys}
count = {DELETED}
[[measure]]
step = "crash"
[[measure]]
step = "mount"
[[measure]]
step = "get"
keys = {self.keys}
[[measure]]
step = "iterate"
[[measure]]
step = "save_image"
file = "after.bin"
"""

    def experiment(self, stack: dict[str, Any], library: str, keys: str = "") -> str:
        """The work with a library. `keys`: more of the store's table."""
        quoted = {key: f'"{value}"' if isinstance(value, str) else value for key, value in stack.items()}
        lines = "\n".join(f"{key} = {value}" for key, value in quoted.items())
        table = str(stack["fs"]).replace("-", "_")
        return f'title = "A store"\n[stack]\n{lines}\n[stack.{table}]\nlibrary = "{library}"\n{keys}\n{self.steps}'

    def writes(self) -> Iterator[tuple[int, bytes]]:
        """Each value that is set, by the number of its key."""
        for call, number in enumerate([*range(self.keys), *(change % CHANGED for change in range(self.count))]):
            yield number, bytes(VALUES[(call * VALUE_B + at) % len(VALUES)] for at in range(VALUE_B))
