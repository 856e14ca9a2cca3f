"""What a setup leaves in memory: told on the terminal, in the summary and in the report, and no part of a lifetime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from helpers.command import Command

LEFT = """\
title = "Left"
[stack]
board = "omap3evm"
fs = "ubifs"
partition_blocks = 96
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "f"
bytes = "2 MiB"
END
[[measure]]
step = "sleep"
us = "60 s"
[[measure]]
step = "create"
file = "g"
bytes = "256 KiB"
[[measure]]
step = "sync"
"""
SYNC = '[[setup]]\nstep = "sync"'


def run(ffslab: Command, folder: Path, end: str) -> tuple[str, dict[str, Any]]:
    (folder / "left.toml").write_text(LEFT.replace("END", end), encoding="utf-8")
    ran = ffslab("run", "left.toml", "--out", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    (variant,) = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))["variants"]
    return ran.stdout, dict(variant)


def test_what_a_setup_leaves_is_told_everywhere(ffslab: Command, tmp_path: Path) -> None:
    said, variant = run(ffslab, tmp_path, "")
    left = variant["of_setup"]
    own = [cause for cause in variant["by_cause"] if cause["reason"] == "left by the setup"]
    assert left["pages"] == 512
    assert left["totals"]["page_programs"] == sum(cause["page_programs"] for cause in own) > 1_000
    assert "Of the setup 512 dirty pages" in said
    assert "of the setup: page programs" in said
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Of the setup 512 dirty pages" in report
    assert "of the setup: page programs" in report
    programs = variant["totals"]["page_programs"] - left["totals"]["page_programs"]
    assert variant["write_amplification"] == pytest.approx(programs * 2048 / (256 << 10))


def test_a_setup_that_is_synced_leaves_nothing(ffslab: Command, tmp_path: Path) -> None:
    said, variant = run(ffslab, tmp_path, SYNC)
    assert variant["of_setup"] is None
    assert "the setup" not in said


def test_a_lifetime_leaves_out_what_the_setup_left(ffslab: Command, tmp_path: Path) -> None:
    _, variant = run(ffslab, tmp_path, "")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    erases = np.array(pq.read_table(tmp_path / "out" / "blocks.parquet")["erases_main"])
    # The run is too short for erases of the kind, so two of three are said to be.
    taken = int(erases.sum()) * 2 // 3
    summary["variants"][0]["of_setup"]["totals"]["erases"] = taken
    (tmp_path / "out" / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    ran = ffslab("lifetime", "out", "--json")
    (found,) = json.loads(ran.stdout)["workloads"]
    assert found["erases"] == pytest.approx(erases.sum() - taken)
    assert all("left by the setup" not in cause["cause"] for cause in found["causes"])
    assert sum(cause["share_of_programs"] for cause in found["causes"]) == pytest.approx(1)
    programs = f"{variant['of_setup']['totals']['page_programs']:,}"
    assert f"of the setup, taken off: {programs} page programs" in ffslab("lifetime", "out").stdout
