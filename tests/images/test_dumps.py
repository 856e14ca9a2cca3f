"""Dumps as they come from devices: UBI with several volumes, behind a header of its maker, OOB areas of any size."""

from __future__ import annotations

import random
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.images import read_image, read_partitions
from helpers.dumps import (
    BLOCK_B,
    WORN_SECTORS,
    big_endian,
    contents,
    expected,
    lzma1,
    moved,
    pieces,
    recoded,
    saved,
    ubi_of_large_pages,
    ubinized,
    wear_levelled,
    with_oob,
    yaffs1,
)
from helpers.flipped_bits import fat, jffs2, tree, ubi, volume
from helpers.jffs2_images import tool
from helpers.yaffs2_images import Layout, build


def test_each_volume_of_ubi_has_its_folder_and_other_ones_are_files(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.bin"
    kernel.write_bytes(random.Random(1).randbytes(40_000) + b"\x01")
    held = volume(tmp_path)
    found = contents(saved(tmp_path, ubinized(tmp_path, {"root0": held, "data0": held, "kernel": kernel})))
    files = expected(tmp_path)
    both = {f"{name}/{path}": data for name in ("root0", "data0") for path, data in files.items()}
    assert found == {**both, "kernel": kernel.read_bytes()}
    alone = saved(tmp_path, ubinized(tmp_path, {"kernel": kernel}))
    assert contents(alone) == {"kernel": kernel.read_bytes()}, "no volume of UBIFS at all"
    # Its three erase blocks are the last ones; nothing shows whether it had any.
    cut = saved(tmp_path, ubinized(tmp_path, {"root": held, "kernel": kernel})[: -3 * BLOCK_B])
    ((part, _),) = read_partitions(cut)
    assert part.layout and "no erase block here is of volume kernel: empty, or cut off" in str(part.layout["unchecked"])


def test_a_superblock_that_says_impossible_sizes_is_told(tmp_path: Path) -> None:
    image = bytearray(ubi(tmp_path))
    at = 2 * BLOCK_B + 1024
    # Bytes of a LEB (`struct ubifs_sb_node`).
    struct.pack_into("<I", image, at + 36, 0)
    struct.pack_into("<I", image, at + 4, zlib.crc32(bytes(image[at + 8 : at + 4096]), 0xFFFF_FFFF) ^ 0xFFFF_FFFF)
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    assert "its files are read by its nodes" in read_image(path).complaints[0]


@pytest.mark.parametrize("page_B, oob_B", [(2048, 64), (512, 16)])
def test_fat_on_pages_with_oob_areas_is_read_without_them(tmp_path: Path, page_B: int, oob_B: int) -> None:  # noqa: N803
    plain = fat(tmp_path)
    files = contents(saved(tmp_path, plain))
    path = saved(tmp_path, with_oob(plain, page_B, oob_B, b"\xff" * 6))
    (part, found), *_ = read_partitions(path)
    assert found is not None
    assert found.complaints == []
    assert {entry.path: entry.data for entry in found.entries if entry.kind == "file"} == files
    assert part.layout is not None
    assert f"pages of {page_B} + {oob_B} B" in part.layout["undone"][0]


@pytest.mark.parametrize("before_B", [48, 512, 4096, 40_960])
def test_ubi_begins_where_its_first_header_stands(tmp_path: Path, before_B: int) -> None:  # noqa: N803
    path = saved(tmp_path, b"Z" * before_B + ubi(tmp_path))
    assert contents(path) == expected(tmp_path)
    assert read_image(path).complaints == []


@pytest.mark.parametrize("oob_B", [18, 24, 40])
def test_the_size_of_oob_areas_follows_from_the_distance_of_headers(tmp_path: Path, oob_B: int) -> None:  # noqa: N803
    assert contents(saved(tmp_path, with_oob(ubi(tmp_path), 512, oob_B))) == expected(tmp_path)


def test_a_volume_whose_update_was_interrupted_is_read_and_told(tmp_path: Path) -> None:
    image = bytearray(ubi(tmp_path))
    for block in (0, 1):
        at = block * BLOCK_B + 1024
        record = bytearray(image[at : at + 172])
        record[13] = 1
        record[168:] = struct.pack(">I", zlib.crc32(bytes(record[:168])) ^ 0xFFFF_FFFF)
        image[at : at + 172] = record
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    (told,) = read_image(path).complaints
    assert "volume rootfs has the update marker" in told


def test_bytes_that_are_no_marks_of_bad_blocks_hide_nothing(tmp_path: Path) -> None:
    """A controller that lays data and ECC out in turns has an ECC where marks are looked for."""
    image = with_oob(jffs2(tmp_path), 512, 16, b"")
    path = saved(tmp_path, image)
    found = {entry.path: entry.data for entry in read_image(path, block_KiB=8).entries if entry.kind == "file"}
    assert found == expected(tmp_path)


@pytest.mark.parametrize("at", [4, 8, 28])
def test_tags_of_yaffs2_are_looked_for_at_other_places(tmp_path: Path, at: int) -> None:
    tree(tmp_path / "root")
    image = build(tmp_path / "root", Layout(tags_offset=2048 + at, ecc=False))
    assert contents(saved(tmp_path, image)) == expected(tmp_path)


def test_of_one_header_the_size_counts_that_divides_the_image(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/empty").touch()
    page = build(tmp_path / "root", Layout(page_B=4096, oob_B=128, tags_offset=4096, ecc=False))
    read = read_image(saved(tmp_path, page.ljust(64 * (4096 + 128), b"\xff")))
    assert [entry.path for entry in read.entries] == ["", "empty"]
    assert read.complaints == []


@pytest.mark.parametrize(
    ("image", "word"),
    [
        (b"\x1f\x8b\x08" + bytes(600), "gzip data"),
        (b"hsqs" + bytes(600), "squashfs"),
        (b"\xff" * 5000, "erased flash"),
        (b":10000000" + b"55424923" * 4 + b"A0\n", "Intel HEX"),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, image: bytes, word: str) -> None:
    with pytest.raises(InputError, match=word):
        read_image(saved(tmp_path, image))


def hamming(step: bytes) -> bytes:
    """The code of Linux for 256 B, bit by bit."""
    pairs = [0] * 22
    for at, byte in enumerate(step):
        for bit in range(8):
            if byte >> bit & 1:
                where = at << 3 | bit
                for digit in range(11):
                    pairs[2 * digit + (where >> digit & 1)] ^= 1
    packed = [sum(pairs[first + k] << k for k in range(8)) for first in (14, 6)]
    return bytes(~byte & 0xFF for byte in (*packed, sum(pairs[k] << (k + 2) for k in range(6))))


def with_hamming(image: bytes, at: int = 40) -> bytearray:
    """Pages of 2048 + 64 B whose OOB area holds the code of their data."""
    out = bytearray(image)
    for start in range(0, len(image), 2112):
        codes = b"".join(hamming(image[start + step : start + step + 256]) for step in range(0, 2048, 256))
        out[start + 2048 + at : start + 2048 + at + 24] = codes
    return out


@pytest.mark.parametrize("at", [40, 33])
def test_wrong_bits_are_corrected_by_the_ecc_of_their_page(tmp_path: Path, at: int) -> None:
    tree(tmp_path / "root")
    image = with_hamming(build(tmp_path / "root", Layout(ecc=False)), at)
    draw = random.Random(5)
    flipped = range(0, len(image), 2 * 2112)
    for start in flipped:
        image[start + draw.randrange(2048)] ^= 1 << draw.randrange(8)
    read = read_image(saved(tmp_path, image))
    assert {entry.path: entry.data for entry in read.entries if entry.kind == "file"} == expected(tmp_path)
    assert read.complaints == []
    ((part, _),) = read_partitions(saved(tmp_path, image))
    assert part.layout and any(f"corrected {len(flipped)} bits" in said for said in part.layout["undone"])
    image[2112 * 3] ^= 3
    (told,) = read_image(saved(tmp_path, image)).complaints
    assert "more wrong bits than their ECC corrects" in told


def test_an_ecc_that_is_not_known_is_told(tmp_path: Path) -> None:
    tree(tmp_path / "root")
    image = bytearray(build(tmp_path / "root", Layout(ecc=False)))
    draw = random.Random(5)
    for start in range(0, len(image), 2112):
        image[start + 2048 + 36 : start + 2112] = draw.randbytes(28)
    (told,) = read_image(saved(tmp_path, image)).complaints
    assert "an ECC that is not known here" in told


@pytest.mark.parametrize(("piece_B", "spare_B"), [(512, 16), (512, 26), (1024, 40)])
def test_pages_in_pieces_are_put_together(tmp_path: Path, piece_B: int, spare_B: int) -> None:  # noqa: N803
    image = with_oob(ubi_of_large_pages(tmp_path), piece_B, spare_B, b"")
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    ((part, read),) = read_partitions(path)
    assert read and read.complaints == []
    assert part.layout and f"{2048 // piece_B} x ({piece_B} + {spare_B}) B" in part.layout["undone"][0]


# ---- YAFFS2 and YAFFS1 as few drivers have them ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "oob_B"),
    [
        (pieces((2, 8), (18, 24), (34, 40), (50, 56)), 64),
        (pieces((2, 16), (18, 32)), 128),
        (pieces((1, 8), (16, 24), (32, 40), (48, 56)), 64),
        (pieces((4, 6), (19, 21), (34, 36), (49, 51), (64, 128)), 128),
        (pieces((2, 30)), 112),
        (pieces((17, 45)), 218),
    ],
)
def test_tags_in_pieces_and_odd_areas_are_found(tmp_path: Path, places: list[int], oob_B: int) -> None:  # noqa: N803
    tree(tmp_path / "root")
    path = saved(tmp_path, moved(build(tmp_path / "root", Layout()), places, oob_B))
    assert contents(path) == expected(tmp_path)
    assert read_image(path).complaints == []


@pytest.mark.parametrize("at", [0, 2])
def test_big_endian_yaffs2_is_read(tmp_path: Path, at: int) -> None:
    tree(tmp_path / "root")
    image = build(tmp_path / "root", Layout(ecc=False, extra=False))
    path = saved(tmp_path, big_endian(image, at))
    assert contents(path) == expected(tmp_path)
    assert read_image(path).complaints == []


def test_yaffs1_is_read_with_the_newest_of_two_pages(tmp_path: Path) -> None:
    tree(tmp_path / "root")
    image = build(tmp_path / "root", Layout(ecc=False, extra=False))
    path = saved(tmp_path, yaffs1(image))
    assert contents(path) == expected(tmp_path)
    assert read_image(path).complaints == []


# ---- layers and formats of others -----------------------------------------------------------------------------


def test_the_wear_levelling_of_esp_idf_is_undone(tmp_path: Path) -> None:
    count, image = WORN_SECTORS, wear_levelled(fat(tmp_path))
    read = read_image(saved(tmp_path, image))
    found = {entry.path.lower(): entry.data for entry in read.entries if entry.kind == "file"}
    assert found == expected(tmp_path)
    assert read.complaints == []
    broken = image[: (count + 1) * 4096] + b"\0" * 4096 + image[(count + 2) * 4096 :]
    (told,) = read_image(saved(tmp_path, broken)).complaints
    assert "one of the two states" in told


@pytest.mark.parametrize(
    ("magic", "compressor", "pack"), [(0x1985, 8, lzma1), (0x1984, 6, zlib.compress)], ids=["LZMA", "old magic"]
)
def test_jffs2_of_others_is_read(tmp_path: Path, magic: int, compressor: int, pack: Callable[[bytes], bytes]) -> None:
    read = read_image(saved(tmp_path, recoded(jffs2(tmp_path), magic, compressor, pack)), block_KiB=8)
    assert {entry.path: entry.data for entry in read.entries if entry.kind == "file"} == expected(tmp_path)
    assert read.complaints == []


def test_a_compressor_that_is_not_known_is_no_damage(tmp_path: Path) -> None:
    read = read_image(saved(tmp_path, recoded(jffs2(tmp_path), 0x1985, 119, zlib.compress)), block_KiB=8)
    (told,) = [entry.error for entry in read.entries if entry.error]
    assert "compressor 119 is not known" in told
    assert read.complaints


# ---- UBIFS ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page_B", "leb_B"), [(512, 16_384), (8, 16_256), (2048, 126_976)])
def test_a_volume_alone_is_read_whatever_its_size_of_lebs(tmp_path: Path, page_B: int, leb_B: int) -> None:  # noqa: N803
    image = tmp_path / "alone.ubifs"
    make = ("-r", tree(tmp_path / "root"), "-m", page_B, "-e", leb_B, "-c", 60, "-o", image)
    subprocess.run([tool("mkfs.ubifs"), *map(str, make)], check=True, capture_output=True)
    assert contents(image) == expected(tmp_path)
    assert read_image(image).complaints == []


NODES = {"superblock": 6, "master": 7, "index": 9, "commit start": 10}


@pytest.mark.parametrize("kind", ["superblock", "master", "index", "commit start", "volume table"])
def test_what_a_mount_refuses_is_read_by_its_nodes(tmp_path: Path, kind: str) -> None:
    image = bytearray(ubi(tmp_path))
    if kind == "volume table":
        image[: 2 * BLOCK_B] = b"\xff" * 2 * BLOCK_B
    else:
        starts = [
            at
            for block in range(2 * BLOCK_B, len(image), BLOCK_B)
            for at in range(block + 1024, block + BLOCK_B - 24, 8)
            if image[at : at + 4] == b"\x31\x18\x10\x06" and image[at + 20] == NODES[kind]
        ]
        image[starts[0] + 28] ^= 16
    path = saved(tmp_path, image)
    assert contents(path) == expected(tmp_path)
    told = read_image(path).complaints
    assert told
    assert not any("Damage" in line or "Corrupt" in line for line in told)


def test_a_volume_that_was_made_for_other_sizes_is_read_and_told(tmp_path: Path) -> None:
    other = tmp_path / "other.ubifs"
    make = ("-r", tree(tmp_path / "root"), "-m", 512, "-e", 15_872, "-c", 38, "-j", "60KiB", "-o", other)
    subprocess.run([tool("mkfs.ubifs"), *map(str, make)], check=True, capture_output=True)
    path = saved(tmp_path, ubinized(tmp_path, {"rootfs": other}))
    assert contents(path) == expected(tmp_path)
    assert "mkfs.ubifs -e 15360" in read_image(path).complaints[0]


def test_a_signature_is_not_needed(tmp_path: Path) -> None:
    """A volume that is made to say it is signed: what it holds is what a mount with a key would show."""
    image = bytearray(ubi(tmp_path))
    for at in range(2 * BLOCK_B, len(image), BLOCK_B):
        node = image[at + 1024 : at + 1024 + 4096]
        if node[:4] == b"\x31\x18\x10\x06" and node[20] == NODES["superblock"]:
            node[28] |= 0x20
            struct.pack_into("<I", node, 4, zlib.crc32(node[8:]) ^ 0xFFFF_FFFF)
            image[at + 1024 : at + 1024 + 4096] = node
    ((part, read),) = read_partitions(saved(tmp_path, image))
    assert part.layout and "its signature is not checked" in str(part.layout["unchecked"])
    assert read and {entry.path: entry.data for entry in read.entries if entry.kind == "file"} == expected(tmp_path)
    assert read.complaints == []


# ---- what the user says of a dump -----------------------------------------------------------------------------


def test_of_several_volumes_one_is_chosen_by_name_or_number(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.bin"
    kernel.write_bytes(random.Random(1).randbytes(40_000))
    path = saved(tmp_path, ubinized(tmp_path, {"root": volume(tmp_path), "kernel": kernel}))
    for name in ("root", "0"):
        assert contents(path, volume=name) == expected(tmp_path)
    assert contents(path, volume="kernel") == {"kernel": kernel.read_bytes()}
    with pytest.raises(InputError, match=r"no volume nothing: root \(0\), kernel \(1\)"):
        read_image(path, volume="nothing")
    with pytest.raises(InputError, match="only UBI has volumes"):
        read_image(saved(tmp_path, jffs2(tmp_path)), volume="root")


def test_the_layout_of_pages_can_be_given(tmp_path: Path) -> None:
    image = with_oob(ubi_of_large_pages(tmp_path), 512, 16, b"")
    path = saved(tmp_path, image)
    assert contents(path, layout="512+16x4") == expected(tmp_path)
    ((part, _),) = read_partitions(path, layout="512+16x4")
    assert part.layout and "as given" in part.layout["undone"][0]
    for wrong in ("512+16x3", "512", "1+1x512000", "512+16x4x2", "-512+16x4", "512+16x4+", "512+16x4+4000"):
        with pytest.raises(InputError, match="such as 512\\+16x4"):
            read_image(path, layout=wrong)


@pytest.mark.parametrize(("page_B", "oob_B"), [(512, 22), (1024, 40), (2048, 72), (2048, 218)])
def test_oob_areas_of_jffs2_have_the_size_with_which_check_sums_are_right(
    tmp_path: Path,
    page_B: int,  # noqa: N803
    oob_B: int,  # noqa: N803
) -> None:
    path = saved(tmp_path, with_oob(jffs2(tmp_path), page_B, oob_B))
    read = read_image(path, block_KiB=8)
    assert {entry.path: entry.data for entry in read.entries if entry.kind == "file"} == expected(tmp_path)
    assert read.complaints == []


def test_jffs2_whose_layout_is_not_found_is_told_with_what_to_try(tmp_path: Path) -> None:
    image = with_oob(with_oob(jffs2(tmp_path), 400, 24), 424, 10)
    told = read_image(saved(tmp_path, image), block_KiB=8).complaints
    assert any("--layout says which, such as" in line for line in told)
