"""Dumps of formats that have no check sums for what they hold: it is said once, and what shows for all that is told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.images import read_image, read_partitions
from ffslab.images.layout import layout_notes
from helpers.command import Command
from helpers.dumps import BLOCK_B, contents, expected, saved, ubinized
from helpers.flipped_bits import tree, ubi, volume
from helpers.yaffs2_images import Layout, build


def notes(path: Path) -> list[str]:
    ((part, _),) = read_partitions(path)
    assert part.layout
    return layout_notes(part.layout)


def test_a_volume_that_nothing_checks_is_said_to_be_so(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.bin"
    kernel.write_bytes(random.Random(1).randbytes(40_000))
    held = volume(tmp_path)
    (said,) = notes(saved(tmp_path, ubinized(tmp_path, {"root": held, "kernel": kernel})))
    assert "no check sums over the data of dynamic volumes" in said
    assert notes(saved(tmp_path, ubinized(tmp_path, {"root": held}))) == [], "UBIFS has check sums"


def test_a_volume_of_ubifs_without_the_start_of_its_superblock_is_no_raw_one(tmp_path: Path) -> None:
    image = bytearray(ubi(tmp_path))
    image[image.index(b"\x31\x18\x10\x06")] ^= 1
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    assert read_image(path).complaints


@pytest.mark.parametrize("extra", [False, True], ids=["plain tags", "extra tags"])
def test_a_flipped_bit_of_tags_without_an_ecc_shows(tmp_path: Path, extra: bool) -> None:
    """Whatever is read then is the same, or told. High bits would make huge files of holes."""
    tree(tmp_path / "root")
    image = build(tmp_path / "root", Layout(ecc=False, extra=extra))
    path = saved(tmp_path, image)
    assert read_image(path).complaints == []
    (said,) = notes(path)
    assert "no check sums here" in said
    files = [(entry.path, entry.kind, entry.data) for entry in read_image(path).entries]
    silent = []
    for page in range(0, len(image), 2112):
        for bit in (word + bit for word in range(0, 128, 32) for bit in range(12)):
            flipped = bytearray(image)
            flipped[page + 2050 + bit // 8] ^= 1 << bit % 8
            try:
                read = read_image(saved(tmp_path, flipped))
            except InputError:
                continue
            same = [(entry.path, entry.kind, entry.data) for entry in read.entries] == files
            if not same and not read.complaints:
                silent.append((page // 2112, bit))
    assert silent == []


def test_what_extract_tells_is_the_exit_code_of_inspect_too(tmp_path: Path, ffslab: Command) -> None:
    """Files that are read by their nodes alone are doubtful, though no node is damaged."""
    image = bytearray(ubi(tmp_path))
    image[: 2 * BLOCK_B] = b"\xff" * 2 * BLOCK_B
    path = saved(tmp_path, image)
    for verb in ("extract", "inspect"):
        assert ffslab(verb, path).returncode == 1


def test_a_volume_without_ubi_is_inspected(tmp_path: Path, ffslab: Command) -> None:
    held = volume(tmp_path)
    told = ffslab("inspect", held)
    assert told.returncode == 0
    assert "no damage was found" in told.stdout
