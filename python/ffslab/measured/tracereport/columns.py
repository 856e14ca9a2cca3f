"""The events of logs in columns of numpy: some 30 bytes an event, so millions of them are a table and no burden."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ffslab.answers.trace_report import OperationKey

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Mask = NDArray[np.bool_]

# A field that the log leaves empty.
UNKNOWN = -1
# The same where -1 is an answer (EPERM).
NO_RESULT = -(2**63)
# Types of flash operations: letter in the log, key of results, name. The position is the code in `Flash.kind`.
OPERATIONS: tuple[tuple[str, OperationKey, str], ...] = (
    ("R", "page_reads", "page reads"),
    ("W", "page_programs", "page programs"),
    ("E", "erases", "erases"),
    ("r", "oob_reads", "OOB reads"),
    ("w", "oob_programs", "OOB programs"),
    ("C", "page_buffer_hits", "page-buffer hits"),
)
LETTERS = "".join(letter for letter, _, _ in OPERATIONS)
READ, PROGRAM, ERASE, OOB_READ, OOB_PROGRAM, HIT = range(len(OPERATIONS))


@dataclass
class Names:
    """Texts that occur again and again, as numbers in the order of their first occurrence."""

    texts: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The number of a text, a new one if it is new."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


@dataclass(frozen=True)
class Flash:
    """Flash operations in the order of time. `address`: page of the chip, or block of it for an erase."""

    t_ns: Ints
    kind: NDArray[np.uint8]
    address: Small
    task: Small
    pid: Small
    moved_B: Small  # noqa: N815

    def __len__(self) -> int:
        return len(self.t_ns)

    def block(self, pages_per_block: int) -> Small:
        """The erase block of each operation."""
        return np.where(self.kind == ERASE, self.address, self.address // pages_per_block).astype(np.int32)


@dataclass(frozen=True)
class Calls:
    """Calls of functions in the order of their starts. `asked_B`: what was asked for; `result`: what was returned.

    `under_way`: the call had not returned at the end of the log, where its duration is cut off.
    """

    t_ns: Ints
    duration_ns: Ints
    function: Small
    task: Small
    pid: Small
    inode: Ints
    asked_B: Ints  # noqa: N815
    result: Ints
    under_way: Mask

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def end_ns(self) -> Ints:
        """When each call returned."""
        return self.t_ns + self.duration_ns


@dataclass(frozen=True)
class Marker:
    """A line that somebody wrote into the log while it grew."""

    t_ns: int
    text: str
