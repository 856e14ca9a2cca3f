"""One flipped bit of an image is told, or the answer has said what the format cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab.images import read_partitions
from helpers.command import Command
from helpers.flipped_bits import IMAGES, flips, jffs2, static_volume

# So many flips of each image; `tools/flip_bits.py` flips every bit.
SAMPLE = 60


@pytest.mark.parametrize("name", IMAGES)
def test_no_flipped_bit_changes_files_in_silence(name: str, tmp_path: Path) -> None:
    image = IMAGES[name](tmp_path)
    every = 8 * len(image) // SAMPLE
    found = list(flips(name, image, tmp_path / "flipped.bin", range(every // 2, 8 * len(image), every)))
    assert [flip for flip in found if flip.kind == "silent"] == []
    assert any(flip.kind != "without effect" for flip in found), "the sample meets something"


@pytest.mark.parametrize(
    ("at", "bit", "what"),
    [(0, 0, "bytes that are no node"), (3, 5, "marked as obsolete"), (5, 0, "a node header with a wrong CRC")],
)
def test_a_node_whose_head_is_hit_is_told_with_block_and_inode(
    ffslab: Command, tmp_path: Path, at: int, bit: int, what: str
) -> None:
    """Its magic number, the bit that marks it as obsolete, its length: a mount passes over it without a word."""
    image = bytearray(jffs2(tmp_path))
    node = image.index(b"\x85\x19\x01\xe0")
    image[node + at] ^= 1 << bit
    path = tmp_path / "hit.jffs2"
    path.write_bytes(image)
    ran = ffslab("extract", path, tmp_path / "files", "--block-KiB", "8")
    assert ran.returncode == 1
    at_node = f"block 0, offset {node:#x}: "
    (told,) = [line for line in ran.stderr.splitlines() if at_node in line]
    assert what in told
    looked = ffslab("inspect", path, "--block-KiB", "8").stdout
    (hit,) = [line for line in looked.splitlines() if at_node in line]
    assert what in hit
    assert "inode" in hit or ": /" in hit, "the file is known"


def test_the_only_node_of_a_file_that_is_marked_as_obsolete_is_told(tmp_path: Path) -> None:
    """A mount passes over the node, and then over the name that leads to nothing. All flips of an image showed it."""
    image = jffs2(tmp_path)
    inodes = [at for at in range(0, len(image), 4) if image.startswith(b"\x85\x19\x02\xe0", at)]
    found = flips("JFFS2", image, tmp_path / "flipped.bin", (8 * (at + 3) + 5 for at in inodes))
    assert {flip.kind for flip in found} == {"told"}


def test_data_of_a_static_volume_that_are_not_those_of_its_check_sum_are_told(tmp_path: Path) -> None:
    """The headers of UBI have a CRC of them. Squashfs has none: a hit superblock made a file of it, without a word."""
    image = static_volume(tmp_path)
    at = image.index(b"hsqs")
    found = list(flips("UBI, static volume", image, tmp_path / "flipped.bin", range(8 * at, 8 * (at + 96), 5)))
    assert {flip.kind for flip in found} == {"told"}
    (tmp_path / "hit.ubi").write_bytes(image[:at] + b"x" + image[at + 1 :])
    ((_, tree),) = read_partitions(tmp_path / "hit.ubi")
    assert tree is not None
    (told,) = tree.complaints
    assert f"block 2, offset {at:#x}: data with a wrong CRC (LEB 0 of static volume 0)" in told


def test_a_static_volume_of_which_a_block_is_erased_is_told(tmp_path: Path) -> None:
    """The other blocks say how many there are. What was there became a file of 0xFF, without a word."""
    image = static_volume(tmp_path)
    size = 1024
    (tmp_path / "erased.ubi").write_bytes(image[: 2 * size] + b"\xff" * size + image[3 * size :])
    (tmp_path / "cut.ubi").write_bytes(image[: 3 * size])
    for name, block, missing in (("erased.ubi", 3, 0), ("cut.ubi", 2, 1)):
        told = [line for _, tree in read_partitions(tmp_path / name) if tree for line in tree.complaints]
        assert any(
            f"block {block}, offset " in line and f"2 LEBs by this header, and no block holds LEB {missing}" in line
            for line in told
        ), told
