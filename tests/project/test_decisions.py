"""Policies beside victims: at each decision a named rule, the same as a score and the same in Python count alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ffslab
from ffslab import InputError
from ffslab.api.policies import decisions, forget, known
from helpers.command import Command

DISK = """
title = "A small disk"
[stack]
system = "bare"
fs = "block-device"
device = { ftl = "dftl", part = "k9f1g08u0a", blocks = 40, spare = 0.3, map_cache_entries = 128, buffer_pages = 0 }
[[measure]]
step = "open"
file = "disk"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "disk"
op = "write"
pattern = "random"
request_B = "2 KiB"
count = 4000
[[measure]]
step = "fsync"
file = "disk"
"""

FILES = """
title = "Some files"
[stack]
board = "omap3evm"
kernel = "2.6.37"
compression = "none"
fs = "ubifs"
partition_blocks = 64
[[measure]]
step = "mount"
[[measure]]
step = "mkdir"
dir = "data"
[[measure]]
step = "create_many"
dir = "data"
name = "file####.bin"
count = 12
bytes = "60 KiB"
[[measure]]
step = "sleep"
us = "60 s"
[[measure]]
step = "drop_caches"
[[measure]]
step = "open"
file = "data/file0003.bin"
flags = ["rdonly"]
[[measure]]
step = "requests"
file = "data/file0003.bin"
op = "read"
pattern = "sequential"
request_B = "4 KiB"
count = 15
"""


def coldest(full: Any) -> int | None:
    """`threshold(3)`: the least worn block, once the most worn one leads it by 3 erases."""
    at = int(full.erases.argmin())
    return at if full.most[at] - full.erases[at] >= 3 else None


# An experiment, its decision, a rule that has a name, the same as a score, the same in Python.
ALIKE = [
    (DISK, "free", "fifo", "waited", lambda free: int(free.waited.argmax())),
    (DISK, "levelling", "threshold(3)", "most - erases - 2", coldest),
    (DISK, "map_eviction", "lru", "idle", lambda entries: entries.idle.argmax()),
    (DISK, "stream", "none", "-page", lambda page: page.writes < 0),
    (FILES, "read_ahead", "sequential-only(16)", "sequential * (4 - asked)", lambda of: of.sequential * (4 - of.asked)),
    (FILES, "write_back", "largest-first", "dirty_pages", lambda files: int(files.dirty_pages.argmax())),
]


def results(text: str, decision: str, rules: list[str]) -> list[tuple[Any, ...]]:
    """Time and flash operations of a run under each rule, and the erases of each block."""
    run = ffslab.Experiment(text).with_axes({f"policy.{decision}": rules}).run()
    counters = run.variants[["time_us", "page_reads", "page_programs", "erases"]]
    erases = run.blocks.groupby("variant", sort=False)["erases_main"].apply(tuple)
    return list(zip(counters.itertuples(index=False, name=None), erases, strict=True))


@pytest.mark.parametrize(("text", "decision", "named", "score", "own"), ALIKE, ids=[case[1] for case in ALIKE])
def test_name_score_and_python_are_three_ways_to_say_the_same(
    text: str, decision: str, named: str, score: str, own: Callable[[Any], Any]
) -> None:
    asked = 0

    def counting(shown: Any) -> Any:
        nonlocal asked
        asked += 1
        return own(shown)

    name = ffslab.policy(counting, "own", decision=decision)
    try:
        by_name, by_score, by_python = results(text, decision, [named, score, name])
    finally:
        forget(name, decision=decision)
    assert by_name == by_score == by_python
    assert asked > 0


def test_rules_change_what_happens() -> None:
    """None of the comparisons above is one of rules that nobody asks."""
    for text, decision, *_ in ALIKE:
        others = {"free": "block", "levelling": "0", "map_eviction": "uses", "stream": "400 - age"}
        others |= {"read_ahead": "16", "write_back": "-dirty_pages"}
        if decision in ("write_back", "levelling"):
            continue  # Files of one size, and blocks that wear alike: what is chosen shows in no sum.
        own, other = results(text, decision, ["kernel", others[decision]])
        assert own != other, decision


def test_wrong_answers_end_the_run_with_their_reason() -> None:
    wrong: list[tuple[str, Callable[[Any], Any], str]] = [
        ("free", lambda free: len(free), r"policy own: it answered \d+; a position from 0 to \d+ or None is needed"),
        (
            "map_eviction",
            lambda entries: entries.colour,
            "AttributeError: map_eviction has no column colour; there are",
        ),
        ("stream", lambda page: "hot", r"policy own: .*TypeError"),
        ("levelling", lambda full: -1, r"policy own: it answered -1; a position"),
    ]
    for decision, own, says in wrong:
        name = ffslab.policy(own, "own", decision=decision)
        try:
            with pytest.raises(Exception, match=says):
                results(DISK, decision, [name])
        finally:
            forget(name, decision=decision)
    name = ffslab.policy(lambda read: -3, "own", decision="read_ahead")
    try:
        with pytest.raises(Exception, match="policy own: it answered -3; a number from 0 on or None is needed"):
            results(FILES, "read_ahead", [name])
    finally:
        forget(name, decision="read_ahead")


def test_a_decision_that_there_is_not() -> None:
    with pytest.raises(InputError, match="there is no decision `victims`; there are victim, free, levelling"):
        ffslab.policy(lambda shown: 0, decision="victims")


def test_each_mount_has_an_object_of_its_own() -> None:
    made = []

    class Rotates:
        def __init__(self) -> None:
            made.append(self)
            self.turn = 0

        def choose(self, free: Any) -> int:
            self.turn += 1
            return self.turn % len(free)

    name = ffslab.policy(Rotates, "rotates", decision="free")
    try:
        first, second = results(DISK, "free", [name, "fifo"])
    finally:
        forget(name, decision="free")
    assert first != second
    assert made
    assert all(rule.turn > 0 for rule in made)


def test_the_verb_explains_each_decision(ffslab: Command) -> None:
    for decision in decisions():
        shown = ffslab("policy", "show", decision["key"])
        assert shown.returncode == 0, shown.stderr
        names = [each["name"] for each in known() if each["decision"] == decision["key"]]
        columns = [column["name"] for column in decision["columns"]]
        assert names
        assert columns
        assert all(word in shown.stdout for word in [*names, *columns, decision["score"]])
