"""Several mounts of one machine: what the command, the results folder and the report tell of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ffslab import Experiment
from ffslab.text.mounts import alignment, mounts_cells
from ffslab.text.tables import text_table
from helpers.command import ROOT, Command

CAMERA = "experiments/mounts/camera.toml"
VOLUMES = "experiments/mounts/volumes.toml"


def test_a_root_waits_for_the_data_partition(ffslab: Command, tmp_path: Path) -> None:
    ran = ffslab("run", CAMERA, "--out", tmp_path / "out", cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    head, rows = mounts_cells(summary["variants"])
    table = text_table(head, rows, alignment(head))
    assert table in ran.stdout
    assert table in (ROOT / "experiments/mounts/README.md").read_text(encoding="utf-8")
    assert "<h2>Mounts" in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    for variant, fs in zip(summary["variants"], ("jffs2", "yaffs2", "ubifs"), strict=True):
        root, data = variant["mounts"]
        assert [(mount["at"], mount["fs"]) for mount in (root, data)] == [("/", "ubifs"), ("/data", fs)]
        assert (root["first_block"], data["first_block"], data["blocks"]) == (0, 100, 80)
        main, settings, clips = variant["programs"]
        assert (root["user_written_B"], data["user_written_B"]) == (settings["written_B"], clips["written_B"])
        assert root["user_read_B"] == main["read_B"]
        assert root["page_programs"] + data["page_programs"] == variant["totals"]["page_programs"]
        assert root["erases"] + data["erases"] == variant["totals"]["erases"]
    again = ffslab("run", tmp_path / "out/resolved.toml", "--out", tmp_path / "again")
    assert again.returncode == 0
    assert (tmp_path / "again/summary.json").read_bytes() == (tmp_path / "out/summary.json").read_bytes()


def test_each_partition_has_its_lifetime(ffslab: Command, tmp_path: Path) -> None:
    # Three times as long as the shipped one, in which no garbage collection went round.
    text = (ROOT / CAMERA).read_text(encoding="utf-8").replace("count = 800", "count = 2400")
    text = text.replace("count = 40\n", "count = 120\n").replace('["jffs2", "yaffs2", "ubifs"]', '["jffs2"]')
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    assert ffslab("run", "a.toml", "--out", tmp_path / "out").returncode == 0
    ran = ffslab("lifetime", tmp_path / "out", "--years", "5", "--json")
    assert ran.returncode == 1, "no partition is known to last"
    rows = json.loads(ran.stdout)["workloads"]
    assert [row["variant"] for row in rows] == ["/data.fs=jffs2: /", "/data.fs=jffs2: /data"]
    root, data = rows
    assert [len(row["erases_per_day"]["by_block"]) for row in (root, data)] == [100, 80]
    assert (root["erases"], root["verdict"]["answer"]) == (1, "too short"), "three quarters of a minute tell nothing"
    assert root["needs_us"] > root["time_us"], "by its own page programs, not by those of both"
    assert data["erases"] > 0 and data["verdict"]["answer"] == "no"
    assert 100 <= data["busiest_block"] < 180


def test_volumes_wear_the_blocks_of_both(ffslab: Command, tmp_path: Path) -> None:
    ran = ffslab("run", VOLUMES, "--out", tmp_path / "out", cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")
    variant = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))["variants"][0]
    root, data = variant["mounts"]
    assert (root["blocks"], data["blocks"], data["erases"], data["write_amplification"]) == (180, None, None, None)
    assert root["write_amplification"] is None, "the programs of both, the bytes of one"
    assert data["user_written_B"] > 0
    head, rows = mounts_cells([variant])
    table = text_table(head, rows, alignment(head))
    assert table in ran.stdout and table in (ROOT / "experiments/mounts/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('at = "/data"', 'at = "/../data"', "a directory below / is needed"),
        ("partition_blocks = 80", "", "its size is missing"),
        ("partition_blocks = 80", "partition_blocks = 80\nhz = 100", "hz belongs to the machine"),
        ("partition_blocks = 80", 'volume_B = "2 MiB"', "give it a partition of its own"),
        ("partition_blocks = 80", "partition_blocks = 4000", "is not on the chip"),
        ("partition_blocks = 80", "partition_blocks = 80\nsumary = true", "sumary"),
        ('"/data.fs"', '"/dat.fs"', "did you mean `/data`"),
    ],
)
def test_mistakes_get_one_line(ffslab: Command, tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (ROOT / CAMERA).read_text(encoding="utf-8")
    assert old in text
    changed = text.replace(old, new, 1)
    if old.startswith("at"):
        changed = changed.split("[axes]")[0]
    (tmp_path / "a.toml").write_text(changed, encoding="utf-8")
    ran = ffslab("run", "a.toml")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr and ran.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def test_mounts_from_python() -> None:
    camera = Experiment.from_toml((ROOT / CAMERA).read_text(encoding="utf-8"))
    run = camera.with_axes({"/data.partition_blocks": [70, 90]}).run()
    blocks = [variant["mounts"][1]["blocks"] for variant in run.summary["variants"]]
    assert blocks == [70, 90] * 3
