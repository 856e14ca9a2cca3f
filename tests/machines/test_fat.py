"""FAT by the crate fatfs on a bare program: files, programs, causes, settings, images that the tools of others read."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.studies.crashtest import CrashTest, crashtest
from ffslab.studies.crashtest.run import answer_of
from helpers.command import ROOT, Command
from helpers.small_work import FIO, MACHINE, POSTMARK, STRACE, is_used_by_a_shell, small_requests, spent_by

NOR: dict[str, Any] = {
    "system": "bare",
    "fs": "fat",
    "board": "licheepi-nano",
    "part": "w25q128jv",
    "erase_block_KiB": 4,
    "partition_blocks": 128,
}
NAND: dict[str, Any] = {"system": "bare", "fs": "fat", "board": "omap3evm", "partition_blocks": 64}
LEVELLED: dict[str, Any] = {"translation": "wear-levelling"}
PAGE_MAP: dict[str, Any] = {"translation": "page-map"}


@pytest.mark.parametrize(
    ("medium", "keys"),
    [(NOR, {}), (NOR, LEVELLED), (NAND, {}), (NAND, PAGE_MAP), (NAND, {"cache_sectors": 1, "tables": 1})],
    ids=str,
)
def test_files_are_there_after_a_mount_and_a_power_cut(medium: dict[str, Any], keys: dict[str, Any]) -> None:
    stack = ffslab.Stack.of(medium | {"fat": keys})
    stack.mount()
    stack.mkdir("d")
    for number in range(6):
        stack.write_file(f"d/f{number}", bytes([number]) * (700 + number * 300))
    fd = stack.open("d/f1", "rdwr")
    stack.pwrite(fd, b"changed", 2500)
    stack.pwrite(fd, b"begin", 0)
    assert stack.fstat(fd).size_bytes == 2507
    with pytest.raises(OSError, match="busy"):
        stack.unlink("d/f1")
    stack.close(fd)
    with pytest.raises(OSError, match="file exists"):
        stack.rename("d/f1", "d/f2")
    stack.rename("d/f1", "New name of a file.text")
    stack.unlink("d/f0")
    stack.umount()
    stack.mount()
    assert sorted(stack.listdir()) == ["New name of a file.text", "d"]
    assert stack.read_file("NEW NAME OF A FILE.TEXT") == b"begin" + b"\x01" * 995 + bytes(1500) + b"changed"
    stack.cut_power_after(1, torn="nothing")
    with pytest.raises(ffslab.PowerCut):
        stack.write_file("lost", b"lost" * 1000)
    stack.crash()
    stack.mount()
    assert stack.read_file("d/f5") == b"\x05" * 2200


@pytest.mark.parametrize(
    ("verb", "name", "text"),
    [("fio", "job.fio", FIO), ("postmark", "mail.pmrc", POSTMARK), ("replay", "app.strace", STRACE)],
    ids=["fio", "postmark", "replay"],
)
def test_programs_run_on_fat(verb: str, name: str, text: str, ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = ffslab(verb, name, "--fs", "fat", *MACHINE, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    (variant,) = summary["variants"]
    causes = spent_by(variant)
    # The file of a fio job is made before.
    expected = {"user data", "read"} if verb == "fio" else {"allocation table", "directory entry"}
    assert expected <= set(causes) and "other" not in causes, set(causes)
    assert variant["totals"]["page_programs"] > 0 and variant["totals"]["erases"] > 0


def test_a_mount_of_fat_is_used_by_a_shell(tmp_path: Path) -> None:
    is_used_by_a_shell(tmp_path, "fat")


def test_images_are_those_of_others(ffslab: Command, tmp_path: Path) -> None:
    stack = mounted_stack()
    stack.write_file("A long name.txt", b"text" * 2000)
    stack.write_file("short", b"1")
    stack.unlink("short")
    stack.umount()
    image = tmp_path / "fat.img"
    image.write_bytes(stack.image())
    if shutil.which("fsck.fat"):
        found = subprocess.run(["fsck.fat", "-n", str(image)], capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout
    stack.mount()
    stack.mkdir("d")
    stack.write_file("d/below.txt", b"below" * 500)
    stack.umount()
    image.write_bytes(stack.image())
    assert ffslab("inspect", str(image)).returncode == 0
    done = ffslab("extract", str(image), str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/A long name.txt").read_bytes() == b"text" * 2000
    assert (tmp_path / "out/d/below.txt").read_bytes() == b"below" * 500


def mounted_stack() -> ffslab.Stack:
    stack = ffslab.Stack.of(NOR | {"fat": {"sector_size_B": 512}})
    stack.mount()
    return stack


EXPERIMENT = f"""
title = "FAT"
[stack]
system = "bare"
fs = "fat"
board = "{{board}}"
partition_blocks = {{blocks}}
{{more}}
{small_requests(160)}
[axes]
{{axes}}
"""


def test_keys_are_axes_and_each_operation_has_a_cause(tmp_path: Path) -> None:
    text = EXPERIMENT.format(
        board="esp32-devkitc",
        blocks=128,
        more="erase_block_KiB = 4",
        axes='"fat.translation" = ["none", "wear-levelling"]\n"fat.cache_sectors" = [1, 4]',
    )
    run = ffslab.Experiment(text, "fat.toml", tmp_path).run()
    variants = {json.dumps(variant["axes"]): spent_by(variant) for variant in run.summary["variants"]}
    assert len(variants) == 4
    for axes, causes in variants.items():
        assert {"user data", "directory entry", "allocation table", "read"} <= set(causes), axes
        assert "other" not in causes and ("wear levelling move" in causes) == ("wear-levelling" in axes), axes
    few, many = (
        sum(cause["erases"] for cause in variants[json.dumps(run.summary["variants"][number]["axes"])].values())
        for number in (0, 1)
    )
    assert few >= many > 0


def test_a_page_map_spares_erases(tmp_path: Path) -> None:
    text = EXPERIMENT.format(board="omap3evm", blocks=64, more="", axes='"fat.translation" = ["none", "page-map"]')
    none, mapped = (
        spent_by(variant) for variant in ffslab.Experiment(text, "map.toml", tmp_path).run().summary["variants"]
    )
    erases = [sum(cause["erases"] for cause in causes.values()) for causes in (none, mapped)]
    assert erases[1] * 20 < erases[0], erases
    # What FAT writes keeps its cause below the map.
    assert mapped["user data"]["page_programs"] > 200 and "FTL host write" not in mapped


@pytest.mark.parametrize(
    ("medium", "keys", "told"),
    [
        (NOR, {"sector_size_B": 1000}, "fat.sector_size_B = 1000: 512, 1024, 2048 or 4096"),
        (NOR, {"cluster_size_B": 3000}, "fat.cluster_size_B = 3000: 0, or a power of two from 4096 to 524288"),
        (NOR, {"tables": 3}, "fat.tables = 3: 1 or 2"),
        (NOR, {"root_entries": 0}, "fat.root_entries = 0: 1 to 65535"),
        (NOR, {"cache_sectors": 0}, "fat.cache_sectors = 0: 1 to 1024"),
        (NOR, {"update_accessed_date": True}, "clock = true"),
        (NOR, {"update_rate": 4}, 'fat.translation = "wear-levelling" alone'),
        (NOR, PAGE_MAP, "NAND with pages"),
        (NAND, LEVELLED, "NOR with erase blocks"),
        (NAND, PAGE_MAP | {"spare": 1.5}, "fat.spare = 1.5: a share"),
        (NAND, {"translation": "dhara"}, "ffslab foreign build dhara"),
        (NAND | {"fs": "littlefs"}, {}, "fat"),
    ],
)
def test_settings_that_cannot_be_are_refused(medium: dict[str, Any], keys: dict[str, Any], told: str) -> None:
    with pytest.raises(ffslab.InputError, match=re.escape(told)):
        ffslab.Stack.of(medium | {"fat": keys})


def test_volumes_that_cannot_be_are_refused() -> None:
    stack = ffslab.Stack.of(NOR | {"fat": {"fat_type": "FAT32"}})
    with pytest.raises(ffslab.InputError, match="FAT32 was asked for, and so many clusters make FAT12"):
        stack.mount()
    stack = ffslab.Stack.of(NOR | {"partition_blocks": 8})
    with pytest.raises(ffslab.InputError, match="no FAT can be made"):
        stack.mount()
    stack = ffslab.Stack.of(NAND | {"partition_blocks": 30, "fat": PAGE_MAP})
    with pytest.raises(ffslab.InputError, match=r"blocks of its own.* spare = 0\.\d+ at least"):
        stack.mount()


def table_rows(summary: dict[str, Any]) -> list[str]:
    """The rows of docs/fat.md, from the results of its experiment."""
    rows = []
    for variant in summary["variants"]:
        sets, appends = variant["steps"]
        times = [step["latency_us"][name] / 1000 for step in (sets, appends) for name in ("mean", "max")]
        counts = [sets["counts"][name] + appends["counts"][name] for name in ("page_programs", "erases")]
        axes = variant["axes"]
        cells = [f'`"{axes["fat.translation"]}"`', str(axes["fat.cache_sectors"])]
        rows.append("| " + " | ".join([*cells, *(f"{ms:,.2f}" for ms in times), *(f"{n:,}" for n in counts)]) + " |")
    return rows


def test_what_a_translation_costs_is_true(ffslab: Command, tmp_path: Path) -> None:
    experiment = ROOT / "experiments/bare/fat.toml"
    summary = json.loads(ffslab("run", str(experiment), "--json", "--out", str(tmp_path / "out")).stdout)
    written = (ROOT / "docs/fat.md").read_text(encoding="utf-8")
    for row in table_rows(summary):
        assert row in written, row


def test_fat_is_not_blamed_for_what_it_does_not_promise() -> None:
    steps: list[dict[str, object]] = [
        {"step": "mount"},
        {"step": "open", "file": "a", "flags": ["wronly", "create"]},
        {"step": "append", "file": "a", "request_B": 1500, "count": 6, "sync": "fsync"},
        {"step": "close", "file": "a"},
        {"step": "unlink", "file": "a"},
    ]
    outcome = crashtest(
        CrashTest(stack=NAND | {"fat": PAGE_MAP}, judge={"kind": "synced"}, steps=tuple(steps)), points=60
    )
    answer = answer_of(outcome)
    assert answer["operations"] > 10
    assert {failure["found"] for failure in outcome.failures} <= {"not-promised"}
    # Who signs for the product has lost what it had synced.
    assert answer["holds"] == (not outcome.failures)


def test_a_life_on_fat_is_predicted(ffslab: Command, tmp_path: Path) -> None:
    work = """
[[setup]]
step = "mount"
[[measure]]
step = "set"
keys = 4
bytes = 100
count = 2000
files = "overwritten"
"""
    file = tmp_path / "life.toml"
    stack = "\n".join(f"{key} = {json.dumps(value)}" for key, value in NAND.items())
    file.write_text(f'title = "A life"\n[stack]\n{stack}\n[stack.fat]\ntranslation = "page-map"\n{work}')
    done = ffslab("lifetime", str(file), "--reckon", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["workloads"]
    assert row["lifetime_years"]["levelled"]["estimate"] > 0
