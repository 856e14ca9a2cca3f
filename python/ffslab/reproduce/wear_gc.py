"""The wear-levelling and garbage-collection study: which runs its claims need, what is read off them, its figures."""

from __future__ import annotations

from collections.abc import Iterator

from ffslab.reproduce.claims import Claims
from ffslab.reproduce.figures import Figure
from ffslab.reproduce.runs import PlannedRun, Row


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    return []


def judge(claims: Claims, series: dict[str, list[Row]]) -> None:
    """Puts our readings beside every claim."""


def figures(series: dict[str, list[Row]]) -> Iterator[Figure]:
    """The paper's figures with our values, same axes."""
    yield from ()
