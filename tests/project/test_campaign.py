"""The standing campaign (docs/campaign.md): it draws the same again, finds a seeded defect, makes it small, counts."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from campaign import apart, driver, history, kernel
from campaign.calls import Calls
from campaign.case import Case, Fault, Verdict, fewer, shrunk
from campaign.files import Files, Node, Promises
from campaign.kernel import OnKernel

MACHINE = {"system": "linux", "fs": "jffs2", "board": "omap3evm", "partition_blocks": 24}


def case(*ops: Any) -> Case:
    return {"machine": MACHINE, "seed": 1, "initial": "settled", "ops": list(ops)}


def test_the_same_seed_draws_the_same_cases() -> None:
    def drawn() -> list[tuple[str, object]]:
        return [(kind.name, kind.draw(draw)) for _, kind, draw in islice(driver.draws(3, driver.KINDS), 2)]

    first = drawn()
    assert drawn() == first
    names = [kind.name for _, kind, _ in islice(driver.draws(3, driver.KINDS), 300)]
    assert set(names) == set(driver.KINDS)
    assert names != [kind.name for _, kind, _ in islice(driver.draws(4, driver.KINDS), 300)]


@pytest.mark.parametrize("number", range(3))
def test_what_a_real_kernel_is_to_run_runs_in_the_simulation(number: int, tmp_path: Path) -> None:
    case = OnKernel().draw(random.Random(number))
    assert case == OnKernel().draw(random.Random(number))
    (tmp_path / "a.toml").write_text(kernel.toml(case), encoding="utf-8")
    ran = kernel.ffslab("run", "a.toml", "--out", "simulated", at=tmp_path)
    assert ran.returncode == 0 or "EEXIST" in ran.stderr, ran.stderr


def test_a_counter_that_is_off_is_a_fault_unless_it_hangs_on_the_tick() -> None:
    counters = {name: {"expected": 100, "simulated": 100} for name in kernel.COUNTERS}
    case: dict[str, Any] = {"counters": counters}
    counters["page_reads"]["simulated"] = 101
    assert kernel.misses(json.dumps({"cases": [case]})) == []
    counters["page_reads"]["simulated"] = 102
    assert kernel.misses(json.dumps({"cases": [case]})) == ["page_reads 102 / 100"]
    case["ranges"] = {"counters": {"page_reads": {"min": 98, "max": 102, "inside": True}}}
    assert kernel.misses(json.dumps({"cases": [case]})) == []


def test_a_seeded_defect_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file system that does not cut files off, or a model that does: who compares them cannot know which."""
    calls, whole = Calls(), case(
        *([["write", "a", 0, 5000, "text", 1], ["mkdir", "d0"], ["sync"], ["write", "b", 100, 10, "zero", 2]] * 4),
        *([["truncate", "a", 100], ["rename", "b", "c"], ["look"], ["unlink", "c"]] * 4),
    )  # fmt: skip
    assert calls.run(whole, tmp_path).fault is None
    monkeypatch.setattr(Node, "cut", lambda _node, _size: None)
    found = calls.run(whole, tmp_path)
    assert found.fault is not None and found.fault.what == "tree"

    def fails(smaller: Case) -> bool:
        fault = calls.run(smaller, tmp_path).fault
        return fault is not None and fault.what == "tree"

    small = shrunk(calls, whole, fails)
    assert [op[0] for op in small["ops"]] == ["write", "truncate"]
    assert set(small["machine"]) == {"system", "fs"}


def test_what_was_synced_must_be_there() -> None:
    files, promises = Files(), Promises()
    files.create("a").put(b"old", 0)
    files.change("mkdir", "d")
    files.create("d/b")
    assert list(promises.broken_by({"x": b""})) == []
    promises.all_synced(files)
    promises.changed.add("a")
    promises.moved.add("d")
    # Behind the sync `a` was written, and `d` renamed with all that is in it.
    assert list(promises.broken_by({"a": b"ne", "e": None})) == ["e is there, which nobody made"]
    assert list(promises.broken_by({"d/b": b"?"})) == ["a is gone, which was synced"]
    promises.file_synced(files, files.names["a"])
    assert list(promises.broken_by({"a": b"odd"})) == ["a: byte 1 of 3 is 6464 instead of 6c64, which was synced"]


def test_names_are_those_of_posix() -> None:
    files = Files()
    files.create("a")
    for folder in ("d", "d/e"):
        files.change("mkdir", folder)
    files.change("link", "a", "d/b")
    asked = (
        ("write", "a/x", ""), ("mkdir", "x/y", ""), ("rmdir", "d", ""), ("rename", "d", "d/e/f"), ("rename", "a", "d"),
        ("rename", "d/e", "a"), ("link", "d", "x"), ("link", "a", "d/b"), ("unlink", "d", ""),
    )  # fmt: skip
    said = [files.why_not(*each) for each in asked]
    assert said == ["ENOTDIR", "ENOENT", "ENOTEMPTY", "EINVAL", "EISDIR", "ENOTDIR", "EPERM", "EEXIST", "EISDIR"]
    files.rename("a", "d/b")
    assert sorted(files.names) == ["a", "d/b"], "two names of one file both stay"
    files.rename("d", "x")
    assert (sorted(files.names), sorted(files.folders)) == (["a", "x/b"], ["x", "x/e"])


class Broken:
    """A kind whose cases go wrong in the way that they say."""

    name, weight = "broken", 1

    def draw(self, draw: random.Random) -> Case:
        return {"machine": {}, "parts": [draw.randrange(9) for _ in range(8)]}

    def run(self, case: Case, folder: Path) -> Verdict:
        parts = case["parts"]
        if 3 in parts:
            raise ZeroDivisionError("three")
        return Verdict(Fault("odd", "five") if 5 in parts else None, Counter(calls=len(parts)))

    def smaller(self, case: Case) -> Iterator[Case]:
        parts = case["parts"]
        for left in fewer(parts):
            yield {**case, "parts": left}


def test_faults_are_kept_once_with_what_runs_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No process beside: this one has threads by now.
    monkeypatch.setattr(apart, "run", lambda kind, make, wait_s=0: (made := make(), apart.here(kind, made)))
    monkeypatch.setattr(driver, "KINDS", {"broken": Broken()})
    running = driver.Campaign(1, driver.KINDS, tmp_path)
    running.until(float("inf"), most=40)
    kept = dict(history.faults(tmp_path))
    assert sorted(kept) == sorted(running.found) and running.counts["known"] > 2
    assert sorted(str(one["case"]["parts"]) for one in kept.values()) == ["[3]", "[5]"]
    for name in kept:
        fault = driver.replay(tmp_path / name)
        assert fault is not None and fault.what == kept[name]["fault"]["what"]
    # The next campaign knows them.
    again = driver.Campaign(2, driver.KINDS, tmp_path)
    again.until(float("inf"), most=20)
    assert again.found == [] and again.number_of["broken"] == 20


def test_the_page_is_what_the_command_makes() -> None:
    assert history.PAGE.read_text(encoding="utf-8") == history.page(history.lines(), history.faults())
