"""`ffslab diff`: two results, what differs and what it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.command import Command

EXPERIMENT = """
title = "writes"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 40
[axes]
fs = ["jffs2", "yaffs2"]
[[setup]]
step = "mount"
[[setup]]
step = "open"
file = "log"
flags = ["wronly", "create"]
[[measure]]
step = "append"
file = "log"
request_B = 1000
count = 100
sync = "fsync"
"""


@pytest.fixture
def results(ffslab: Command, tmp_path: Path) -> Path:
    """Two results: b writes half as much at once, and twice as often."""
    for name, text in (("a", EXPERIMENT), ("b", EXPERIMENT.replace("1000", "500").replace("100\n", "200\n"))):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        assert ffslab("run", f"{name}.toml", "--out", name).returncode == 0
    return tmp_path


def test_what_differs_is_told_with_what_it_comes_from(ffslab: Command, results: Path) -> None:
    found = json.loads(ffslab("diff", "a", "b", "--json").stdout)
    assert [pair["before"] for pair in found["pairs"]] == ["fs=jffs2", "fs=yaffs2"]
    summaries = [json.loads((results / name / "summary.json").read_text())["variants"] for name in ("a", "b")]
    for pair, before, after in zip(found["pairs"], *summaries, strict=True):
        figures = {one["figure"]: one for one in pair["figures"]}
        assert figures["time_us"]["before"] == before["time_us"] and figures["time_us"]["after"] == after["time_us"]
        programs = figures["page_programs"]
        assert programs["change"] == pytest.approx(after["totals"]["page_programs"] / programs["before"] - 1)
        assert figures["requests"]["before"] == 100 and "user_written_B" not in figures
        assert any(line.startswith('steps: append "log"') for line in pair["why"]["page_programs"])
    text = ffslab("diff", "a", "b").stdout
    assert "page programs: reasons: " in text and "virtual time, " in text


def test_the_same_result_does_not_differ(ffslab: Command, results: Path) -> None:
    ran = ffslab("diff", "a", "a")
    assert ran.returncode == 0 and ran.stdout.count("no difference") == 2


def test_two_variants_of_one_result(ffslab: Command, results: Path) -> None:
    ran = ffslab("diff", "a@jffs2", "a@fs=yaffs2")
    assert ran.returncode == 0 and "machine: fs yaffs2 instead of jffs2" in ran.stdout, ran.stderr


def test_a_table_of_the_machine_is_told_by_its_keys(ffslab: Command, results: Path) -> None:
    assert (
        ffslab(
            "run",
            "a.toml",
            "--fs",
            "jffs2",
            "--set",
            "policy.victim=greedy",
            "--set",
            "compression=zlib",
            "--out",
            "collected",
        ).returncode
        == 0
    )
    ran = ffslab("diff", "a@jffs2", "collected")
    assert ran.returncode == 0 and "policy victim=greedy" in ran.stdout, ran.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a@ffs2", "b"), '2 variants are called "ffs2"'),
        (("a@ubifs", "b"), 'no variants are called "ubifs"'),
        (("a", "c"), "not a results folder"),
        (("a@jffs2", "b@yaffs2", "c"), "c"),
    ],
)
def test_what_is_wrong_is_said(ffslab: Command, results: Path, words: tuple[str, ...], said: str) -> None:
    ran = ffslab("diff", *words)
    assert ran.returncode == 2 and said in ran.stderr
