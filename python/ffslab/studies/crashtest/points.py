"""Which cuts are made: all, or some that are spread evenly."""

from __future__ import annotations

from dataclasses import dataclass

from ffslab.studies.crashtest.file import CrashTest, Cut

# Seeds of torn operations: enough ways of each operation.
_WAYS = 64


@dataclass(frozen=True)
class Points:
    """Cuts in the order of their operations. `possible`: how many there are of this kind."""

    cuts: list[Cut]
    possible: int
    operations: int

    @property
    def coverage(self) -> float:
        """The share of all cuts that are made."""
        return len(self.cuts) / self.possible


def points_of(test: CrashTest, operations: int, most: int | None = None) -> Points:
    """The cuts of a workload of so many programs and erases, and the one after the last.

    Each is before an operation, or torn, unstable, or of a cache that is lost, in each way that is asked for.
    """
    if test.cut is not None:
        return Points([test.cut], 1, operations)
    ways = 1 + sum(_ways(test).values())
    possible = operations * ways + 1
    wanted = min(possible, most or possible, test.cuts.points or possible)
    chosen = operations if wanted == possible else max(1, (wanted - 1) // ways)
    cuts = [cut for i in range(chosen) for cut in _cuts_at(test, 1 + i * operations // chosen)] if operations else []
    return Points([*cuts, Cut(operations + 1)], possible, operations)


def _cuts_at(test: CrashTest, operation: int) -> list[Cut]:
    first = (test.seed * 1_000_003 + operation) * _WAYS
    torn = (Cut(operation, word, first + way) for word, ways in _ways(test).items() for way in range(ways))
    return [Cut(operation), *torn]


def _ways(test: CrashTest) -> dict[str, int]:
    """In how many ways each kind of cut is made."""
    return {"partial": test.cuts.tears, "unstable": test.cuts.unstable, "cache": test.cuts.cache}
