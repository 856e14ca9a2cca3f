"""Advice for a boot: roots become images, layouts machines, and limits of flash and memory decide first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.answers.advice import Advice
from ffslab.studies.advise import Question
from ffslab.studies.advise.boot_memory import of_ubi, of_ubifs, root_at
from helpers.command import ROOT

QUESTION = """\
title = "Which root?"

[stack]
board = "luckfox-pico-max"
kernel = "6.1"
fastmap = true
partition_blocks = 160

[[stack.mount]]
at = "/overlay"
fs = "ubifs"
volume_B = "1 MiB"

[[setup]]
step = "mount"

[[setup]]
step = "umount"

[[setup]]
step = "ubi_detach"

[[measure]]
step = "stage"
name = "U-Boot"
runs = "u-boot"

[[measure]]
step = "ubi_attach"

[[measure]]
step = "ubi_read"
volume = "kernel"

[[measure]]
step = "stage"
name = "kernel"

[[measure]]
step = "mount"

[question]
name = "boot"
per_day = 1
minimise = "time_us"
limits = ["flash_B <= 16 MiB", "ram_B <= 4 MiB"]
search.runs = 12
search.repeat = 1

[question.boot]
description = "flash.toml"
root_blocks = 64

[question.axes]
root = ["root.sqfs", "rootfs", "root.erofs"]
fm_autoconvert = [false, true]
layout = ["one UBI", "two UBIs"]
"""
FLASH = """\
[[partition]]
name = "ubi"

[[partition.volume]]
vol_name = "kernel"
image = "kernel.img"

[[partition.volume]]
vol_name = "v"
vol_flags = "autoresize"

[[partition.volume]]
vol_name = "overlay"
vol_flags = "autoresize"
fs = "ubifs"
"""


def question_in(folder: Path) -> Path:
    for name in ("root.sqfs", "root.erofs"):
        (folder / name).write_bytes((ROOT / "experiments/mounts" / name).read_bytes())
    (folder / "rootfs").mkdir()
    (folder / "rootfs/init").write_bytes(bytes(range(256)) * 256)
    (folder / "kernel.img").write_bytes(b"kernel" * 40_000)
    (folder / "flash.toml").write_text(FLASH, encoding="utf-8")
    path = folder / "question.toml"
    path.write_text(QUESTION, encoding="utf-8")
    return path


@pytest.fixture
def question(tmp_path: Path) -> Path:
    return question_in(tmp_path)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Advice:
    return Question.from_file(question_in(tmp_path_factory.mktemp("boot"))).answer()


def test_a_boot_is_advised_within_flash_and_memory(answered: Advice) -> None:
    assert answered["holds"] and answered["points"] == 12
    choice = answered["choice"]
    figures = {name: found["median"] for name, found in choice["figures"].items()}
    assert choice["axes"]["layout"] == "one UBI" and "years" not in figures
    changes = {(one["axis"], one["value"]): one["wanted_ratio"] for one in answered["changes"]}
    assert min(ratio for ratio in changes.values() if ratio is not None) >= 1
    # What an answer rests on: stages, and how sure times are.
    assert answered["why"][0].startswith("boot: U-Boot ")
    notes = "\n".join(answered["notes"])
    assert "Times: board luckfox-pico-max was not measured" in notes and "cpu_time_scale" in notes


def test_the_same_question_has_the_same_answer_from_any_folder(answered: Advice, question: Path) -> None:
    again = Question.from_file(question).answer()
    assert json.dumps(again) == json.dumps(answered)


def test_memory_is_that_of_the_image(tmp_path: Path) -> None:
    # By hand, in KiB: metadata, four blocks, and of gzip a state, of zstd a window and what waits before it, too.
    expected = {(128, 1): 64 + 4 * 128 + 42, (1024, 1): 64 + 4 * 1024 + 42, (1024, 6): 64 + 4 * 1024 + 156 + 1024 + 256}
    for (block_kib, compressor), kib in expected.items():
        head = bytearray((ROOT / "experiments/mounts/root.sqfs").read_bytes())
        head[12:16], head[20:22] = (block_kib * 1024).to_bytes(4, "little"), compressor.to_bytes(2, "little")
        (tmp_path / "image").write_bytes(head)
        found = root_at(tmp_path / "image")
        assert (found.fs, found.memory_bytes) == ("squashfs", kib * 1024)
    # By hand: a block, 28 B of each, and a LEB for fastmaps; three LEBs of UBIFS.
    assert of_ubi(160, 131_072, 126_976, fastmap=True) == 131_072 + 160 * 28 + 126_976
    assert of_ubifs(126_976) == 3 * 126_976


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"rootfs"', '"nothing"', "nothing: there is no such root: name a folder"),
        ('"rootfs"', '"kernel.img"', "kernel.img: is no root that a boot is compared with"),
        ('"two UBIs"', '"three UBIs"', 'three UBIs: must be "one UBI" or "two UBIs"'),
        ("root_blocks = 64", "", "say how many blocks the first has: root_blocks = 96"),
        ("root_blocks = 64", "rot_blocks = 64", "unknown key `rot_blocks`"),
        ('description = "flash.toml"', "", "say what stands on the flash beside the root"),
        ('description = "flash.toml"', 'description = "gone.toml"', "gone.toml"),
        ('"flash_B <= 16 MiB"', '"years >= 10"', "no figure is called years"),
        ('root = ["root.sqfs", "rootfs", "root.erofs"]', "", "name the roots"),
    ],
)
def test_what_is_wrong_with_a_boot_is_one_line(question: Path, old: str, new: str, said: str) -> None:
    question.write_text(QUESTION.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=r"question\.toml: ") as refused:
        Question.from_file(question)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_two_ubis_keep_two_reserves_and_a_ubifs_root_needs_one(question: Path) -> None:
    (boot,) = Question.from_file(question).workloads
    assert boot.boot is not None
    one, two = (
        boot.boot.made(boot.experiment, {"root": "root.sqfs", "layout": layout}) for layout in ("one UBI", "two UBIs")
    )
    # Fastmap buffer and `peb_buf` are of each UBI.
    assert two.figures["flash_B"] > one.figures["flash_B"]
    assert two.figures["ram_B"] - one.figures["ram_B"] == 131_072 + 126_976
    with pytest.raises(InputError, match="a UBIFS as the root holds the data, too"):
        boot.boot.made(boot.experiment, {"root": "rootfs", "layout": "two UBIs"})
