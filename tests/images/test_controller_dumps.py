"""Dumps of chips that a controller wrote: its ECC is found from the dump alone, and its files are read."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab.images import read_image, read_partitions
from helpers.command import Command
from helpers.controller_ecc import dump, flip, gpmi, qualcomm, software
from helpers.dumps import contents, expected, saved, ubi_of_large_pages
from helpers.flipped_bits import fat, tree
from helpers.jffs2_images import experiment, run, step
from helpers.yaffs2_images import Layout, build

CONTROLLERS = {
    "software BCH of Linux": (64, software),
    "Freescale GPMI (i.MX)": (64, gpmi),
    "Qualcomm NANDc": (128, qualcomm),
}


def said(path: Path) -> list[str]:
    ((part, _),) = read_partitions(path)
    assert part.layout
    return part.layout["undone"]


@pytest.mark.parametrize(("name", "oob_B", "write"), [(name, *row) for name, row in CONTROLLERS.items()])
def test_files_of_a_controllers_dump_are_read_and_its_corrected_bits_counted(
    tmp_path: Path,
    name: str,
    oob_B: int,  # noqa: N803
    write: Callable[[bytes, bytes], bytes],
) -> None:
    image = dump(ubi_of_large_pages(tmp_path), (2048, 0, oob_B), write)
    flipped = flip(image, 2048 + oob_B, 3, seed=4)
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    assert read_image(path).complaints == []
    told = said(path)[0]
    assert f"as {name} has it" in told
    assert f"corrected {flipped} bits: " in told
    assert "in block 0," in told


@pytest.mark.parametrize(("oob_B", "write"), CONTROLLERS.values(), ids=CONTROLLERS)
def test_fat_on_pages_with_a_controllers_ecc_is_read_without_the_oob_areas(
    tmp_path: Path,
    oob_B: int,  # noqa: N803
    write: Callable[[bytes, bytes], bytes],
) -> None:
    """Its files came out with the OOB areas among their data, and exit code 0."""
    image = dump(fat(tmp_path), (2048, 0, oob_B), write)
    flipped = flip(image, 2048 + oob_B, 3, seed=4)
    path = saved(tmp_path, image)
    whole = expected(tmp_path)
    assert contents(path) == {name: whole[name] for name in whole if name != "link"}
    told = " ".join(said(path))
    assert f"corrected {flipped} bits: {flipped} in block 0" in told
    assert f"FAT stands on pages of 2048 + {oob_B} B" in told
    # More wrong bits than the codes correct; that of two bits takes them for others.
    for bit in range(9):
        image[512 + 50 * bit] ^= 0x10
    complaints = " ".join(read_image(saved(tmp_path, image)).complaints)
    assert "block 0 page 0 sector 1" in complaints or write is gpmi


def test_yaffs2_has_its_tags_beside_the_code_and_what_is_beyond_it_is_named(tmp_path: Path, ffslab: Command) -> None:
    (tree(tmp_path / "root") / "log").write_bytes(random.Random(3).randbytes(150_000))
    image = dump(build(tmp_path / "root", Layout(block_pages=8)), (2048, 64, 64), software)
    flipped = flip(image, 2112, 3, seed=5)
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    shown = ffslab("inspect", path)
    assert shown.returncode == 0, shown.stdout
    assert f"it has corrected {flipped} bits" in " ".join(shown.stdout.split())
    assert "no check sums here" not in shown.stdout, "the ECC is one"
    # Five wrong bits in the second sector of a page that has no other.
    for bit in range(5):
        image[10 * 2112 + 512 + 50 * bit] ^= 0x10
    shown = ffslab("extract", saved(tmp_path, image), "--out", tmp_path / "out")
    assert shown.returncode == 1
    assert "block 1 page 2 sector 1" in " ".join((shown.stdout + shown.stderr).split())


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_images_of_simulated_software_bch_hold_its_code(tmp_path: Path, fs: str) -> None:
    steps = [step("mount"), step("mkdir", dir="etc"), step("create", file="etc/noise", bytes=300_000), step("umount")]
    text = experiment([*steps, step("save_image", file="nand.bin", oob=True)], fs=fs, ecc="bch", ecc_strength_bits=4)
    image = bytearray(run(text, tmp_path).images["nand.bin"])
    path = saved(tmp_path, image)
    whole = contents(path)
    assert list(whole) == ["etc/noise"]
    assert "as software BCH of Linux has it" in said(path)[0]
    assert said(path)[0].endswith("it has corrected no bit")
    flipped = flip(image, 2112, 3, seed=6)
    assert contents(saved(tmp_path, image)) == whole
    assert f"corrected {flipped} bits: " in said(path)[0]
    assert read_image(path).complaints == []
