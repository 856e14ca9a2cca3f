"""The `[stack]` table of an experiment, written from the options of a verb."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """A machine with one partition. `kernel` and `read_ahead_KiB` are the board's if `None`."""

    board: str
    kernel: str | None
    fs: str
    partition_blocks: int
    read_ahead_KiB: int | None = None  # noqa: N815

    def lines(self) -> list[str]:
        """Lines of TOML."""
        lines = ["[stack]", f"board = {quoted(self.board)}"]
        if self.kernel is not None:
            lines.append(f"kernel = {quoted(self.kernel)}")
        lines += [f"fs = {quoted(self.fs)}", f"partition_blocks = {self.partition_blocks}"]
        if self.read_ahead_KiB is not None:
            lines.append(f"read_ahead_KiB = {self.read_ahead_KiB}")
        return lines


def quoted(text: str) -> str:
    """A text in TOML."""
    # A JSON string is a valid basic string of TOML.
    return json.dumps(text, ensure_ascii=False)
