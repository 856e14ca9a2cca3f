"""Flame graphs: stacks by time, energy, operations and wear, their files, and the difference of two runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ffslab import InputError, Run
from ffslab.answers import Columns
from ffslab.report import flame as drawn
from ffslab.text import stacks as text
from helpers.command import Command

COLUMNS: Columns = {
    "variant": ["base"] * 3,
    "task": ["program", "program", "flusher"],
    "call": ["write", "write", "in the background"],
    "reason": ["file data", "", "file data"],
    "operation": ["page program", "idle", "block erase"],
    "time_ns": np.array([700, 0, 1000]),
    "energy_uJ": np.array([0.0004, 0.0004, 0.0004]),
    "operations": np.array([2, 0, 1]),
    "erases": np.array([0, 0, 1]),
}


def test_stacks_of_each_weight() -> None:
    program, background = ("program", "write", "file data", "page program"), ("flusher", "in the background")
    assert text.collapsed(COLUMNS) == {program: 700, (*background, "file data", "block erase"): 1000}
    assert text.collapsed(COLUMNS, "wear") == {(*background, "file data", "block erase"): 1}
    assert text.collapsed(COLUMNS, "operations")[program] == 2
    # 0.4 nJ three times are 1 nJ, not 0.
    assert text.collapsed(COLUMNS, "energy") == {("program", "write", "other", "idle"): 1}
    with pytest.raises(InputError, match='"none": there is base'):
        text.collapsed(COLUMNS, variant="none")


def test_text_and_difference() -> None:
    before: dict[text.Stack, int] = {("a", "b; c"): 3, ("a", "d"): 1}
    after: dict[text.Stack, int] = {("a", "d"): 2, ("e",): 5}
    assert text.collapsed_text({("a", "d"): 1}) == "a;d 1\n"
    assert text.difference_text(before, after).splitlines() == ["a;b; c 3 0", "a;d 1 2", "e 0 5"]


def test_files_of_a_run(ffslab: Command, tmp_path: Path, small: Path) -> None:
    assert ffslab("run", small, "--out", "drawn", "--timeline", "t.pftrace").returncode == 0
    assert ffslab("run", small, "--out", "plain").returncode == 0
    run = Run.load(tmp_path / "drawn")
    assert run.stacks is not None
    for weight, column in (("time", "time_ns"), ("operations", "operations"), ("wear", "erases")):
        ran = ffslab("trace", "flame", "drawn", "--out", f"{weight}.folded", "--weight", weight)
        assert (ran.returncode, ran.stderr) == (0, "")
        lines = (tmp_path / f"{weight}.folded").read_text().splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == run.stacks[column].sum()
        # Several variants: each is a frame.
        assert {line.split(";")[0] for line in lines} <= {variant["name"] for variant in run.summary["variants"]}
    assert all(len(line.split(";")) == 5 for line in (tmp_path / "operations.folded").read_text().splitlines())
    # A run that kept no stacks is made again.
    ran = ffslab("trace", "flame", "plain", "--out", "again.folded", "--weight", "operations")
    assert ran.returncode == 0 and "the run is made again" in ran.stderr
    assert (tmp_path / "again.folded").read_bytes() == (tmp_path / "operations.folded").read_bytes()


def test_speedscope_and_what_it_cannot_do(ffslab: Command, tmp_path: Path, small: Path) -> None:
    assert ffslab("run", small, "--out", "a", "--timeline", "t.pftrace").returncode == 0
    assert ffslab("trace", "flame", "a", "--out", "a.json", "--weight", "operations").returncode == 0
    file = json.loads((tmp_path / "a.json").read_text())
    run = Run.load(tmp_path / "a")
    assert run.stacks is not None
    assert len(file["profiles"]) == len(run.summary["variants"])
    for profile, variant in zip(file["profiles"], run.summary["variants"], strict=True):
        mine = run.stacks[run.stacks["variant"] == variant["name"]]
        assert profile["endValue"] == sum(profile["weights"]) == mine["operations"].sum()
        assert max(max(sample) for sample in profile["samples"]) < len(file["shared"]["frames"])
    refused = ffslab("trace", "flame", "a", "--out", "b.json", "--against", "a")
    assert refused.returncode == 2 and "speedscope has no differences" in refused.stderr
    refused = ffslab("trace", "flame", "a", "--out", "b.svg")
    assert refused.returncode == 2 and "flamegraph.pl draws one" in refused.stderr
    assert not (tmp_path / "b.svg").exists()
    ran = ffslab("trace", "flame", "a", "--out", "d.folded", "--against", "a", "--weight", "operations")
    assert ran.returncode == 0
    for line in (tmp_path / "d.folded").read_text().splitlines():
        before, after = line.split(" ")[-2:]
        assert before == after


def test_the_widest_stack_is_a_share_of_its_own_variant() -> None:
    stacks: Columns = {
        "variant": ["a", "a", "b", "c"], "task": ["t"] * 4, "call": ["write", "read", "write", "write"],
        "reason": ["r"] * 4, "operation": ["program"] * 4, "time_ns": np.array([3_000_000, 1_000_000, 2_000_000, 1]),
        "energy_uJ": np.zeros(4), "operations": np.ones(4), "erases": np.zeros(4),
    }  # fmt: skip
    page = drawn.html("Three", stacks, ["a", "b", "c"], against=False)
    assert "Most time with a went to t, write, r, program: 3.0 ms, 75 % of what is not idle." in page
    # What nothing has is no column.
    assert "erases</th>" not in page and "operations</th>" in page
