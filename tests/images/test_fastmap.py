"""Images with a fastmap: that of Linux 6.1 with an empty volume (page data of 160 blocks, made as in
tests/referee/test_fastmap.py), and what simulations leave."""

from __future__ import annotations

import lzma
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from ffslab.images import read_image
from ffslab.images.inspection import inspect_image
from helpers.jffs2_images import experiment, run, step

KEPT = Path(__file__).with_name("linux-6.1-fastmap.img.xz")
BLOCK_B = 128 << 10
VID_AT, DATA_AT = 512, 2048
ANCHOR, TABLE = 3, 35
# Behind superblock, header and pools stand the free blocks, whose number the header says.
FREE_AT = DATA_AT + 312 + 32 + 2 * 1048


@pytest.fixture(scope="module")
def kernel_image() -> bytes:
    return lzma.decompress(KEPT.read_bytes())


def facts_of(image: bytes, folder: Path) -> tuple[dict[str, Any], list[str], dict[int, str]]:
    """What is said of the fastmap, all notes, and what each block holds."""
    (folder / "image").write_bytes(image)
    facts = inspect_image(folder / "image")
    assert facts["damage"] == []
    found = facts["superblock"]["fastmap"]
    assert isinstance(found, dict)
    return found, facts["notes"], {each["block"]: each["holds"] for each in facts["blocks"]}


def sealed(header: bytes) -> bytes:
    """A header of UBI with the CRC that it should have."""
    return header[:60] + struct.pack(">I", ~zlib.crc32(header[:60]) & 0xFFFF_FFFF)


def test_the_fastmap_of_a_kernel_fits(kernel_image: bytes, tmp_path: Path) -> None:
    found, notes, holds = facts_of(kernel_image, tmp_path)
    assert found == {
        "anchor": ANCHOR,
        "blocks": 1,
        "crc": "right",
        "state": "fits",
        "pool": 8,
        "pool for moves": 4,
        "free": 144,
        "used": 2,
        "scrub": 0,
        "erase": 1,
        "bad": 0,
        "volumes": 2,
        "older blocks": 0,
    }
    assert not any("fastmap" in note for note in notes)
    assert {block: what for block, what in holds.items() if what != "erased, counted"} == {
        ANCHOR: "fastmap anchor",
        TABLE: "volume table",
        TABLE + 1: "volume table",
    }


def test_a_changed_byte_makes_it_useless(kernel_image: bytes, tmp_path: Path) -> None:
    image = bytearray(kernel_image)
    image[ANCHOR * BLOCK_B + FREE_AT + 3] ^= 1
    found, notes, _ = facts_of(bytes(image), tmp_path)
    assert (found["crc"], found["state"]) == ("wrong", "of no use")
    assert any("scans all blocks" in note for note in notes)


def test_a_leb_that_it_does_not_know_makes_it_stale(kernel_image: bytes, tmp_path: Path) -> None:
    """As if a kernel without fastmap had written, and a tool had put the old fastmap back."""
    image = bytearray(kernel_image)
    outside_pools, in_pool = 60, 98
    header = bytearray(image[TABLE * BLOCK_B + VID_AT :][:64])
    header[40:48] = struct.pack(">Q", 1000)
    for block, state in [(in_pool, "fits"), (outside_pools, "stale")]:
        image[block * BLOCK_B + VID_AT : block * BLOCK_B + VID_AT + 64] = sealed(bytes(header))
        found, notes, _ = facts_of(bytes(image), tmp_path)
        assert (found["crc"], found["state"]) == ("right", state)
        assert any(f"block {block} holds the volume table" in note for note in notes) == (state == "stale")
        header[40:48] = struct.pack(">Q", 1001)


def test_files_are_read_by_headers_and_the_fastmap_is_in_nobodys_way(tmp_path: Path) -> None:
    """What a simulation leaves without a detach; in the last image the anchor is torn."""
    stack = {"fs": "ubifs", "partition_blocks": 100, "max_beb_per1024": 1, "fastmap": True, "fm_autoconvert": True}
    steps = [step("mount"), step("create", file="a", bytes="300 KiB"), step("sync"), step("save_image", file="raw.bin")]
    image = bytearray(run(experiment(steps, **stack), tmp_path).images["raw.bin"])
    found, _, holds = facts_of(bytes(image), tmp_path)
    assert (found["crc"], found["state"]) == ("right", "fits")
    anchor = found["anchor"]
    assert isinstance(anchor, int)
    assert holds[anchor] == "fastmap anchor"
    for _ in range(2):
        (entry,) = (entry for entry in read_image(tmp_path / "image").entries if entry.path == "a")
        assert entry.size_B == 300 << 10
        at = anchor * BLOCK_B + DATA_AT
        image[at : at + 4096] = bytes(4096)
        (tmp_path / "image").write_bytes(image)
