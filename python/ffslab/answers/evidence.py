"""What `ffslab reproduce published --json` prints; `evidence.json` holds it, `ffslab schema evidence` is made of it."""

from __future__ import annotations

from typing import TypedDict


class PublishedCase(TypedDict):
    """A published number beside the simulated one.

    `counted`: false of variants of another case, and of cases that say too little of their set-up; their kind ends
    in `*`, and no sum has them. `simulated`: null when its experiments did not come to their end, which `failure`
    says then. `ratio`: simulated over published; `error`: the same less one. `driver_0`: what comes out on the same
    board with a driver that costs nothing, null where the folder has no such board. `set_up` and `unknown`: what the
    publication says of its machine and its run, and what it leaves open. `not_simulated`: what that run did and ours
    does not.
    """

    id: str
    kind: str
    counted: bool
    quantity: str
    unit: str
    published: float
    simulated: float | None
    ratio: float | None
    error: float | None
    driver_0: float | None
    driver_0_ratio: float | None
    failure: str | None
    board: str
    experiment: str
    set_up: str
    unknown: str
    not_simulated: str
    note: str
    source: str
    reference: str


class KindOfCases(TypedDict):
    """How near all cases of a kind come. Ratios are simulated over published; the worst is the one that is furthest
    from 1 as a factor, and `worst_id` its case. `within_20`: how many are so near, up or down, as a factor of 1.2."""

    kind: str
    cases: int
    median_ratio: float
    worst_ratio: float
    worst_id: str
    within_20: int
    within_25: int


class Evidence(TypedDict):
    """Published measurements beside simulated ones. `all`: every kind that counts, null when no case of them has a
    result; `boards`: on how many these were measured. `answer`: the same in a sentence."""

    title: str
    # On what the runs were made, and how many, in a line.
    machine: str
    ffslab: str
    runs: int
    boards: int
    answer: str
    cases: list[PublishedCase]
    kinds: list[KindOfCases]
    all: KindOfCases | None
