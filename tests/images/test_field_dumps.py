"""Dumps as people in the field have them: their content comes out or is told, never a part of it with exit code 0."""

from __future__ import annotations

import io
import random
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab.images import read_image, read_partitions
from helpers import esp_nvs
from helpers.command import Command
from helpers.dumps import contents, expected, saved, ubi_of_large_pages, ubinized, with_oob
from helpers.erofs_images import made
from helpers.flipped_bits import fat, littlefs, tree, ubi
from helpers.spiffs_images import spiffs
from helpers.squashfs_images import squashfs
from helpers.yaffs2_images import Layout, build

PAGE_B, OOB_B = 2048, 64
DRAW = random.Random(51)


def paged(image: bytes, pages: int = 64) -> bytes:
    """Whole erase blocks of pages with their OOB areas."""
    return image + b"\xff" * (-len(image) % (pages * (PAGE_B + OOB_B)))


def apart(image: bytes, pages: int | None = None) -> bytes:
    """The data of all pages, of the chip or of so many, and then their OOB areas."""
    stride = PAGE_B + OOB_B
    group = len(image) if pages is None else pages * stride
    out = bytearray()
    for first in range(0, len(image), group):
        places = range(first, min(first + group, len(image)), stride)
        out += b"".join(image[at : at + PAGE_B] for at in places)
        out += b"".join(image[at + PAGE_B : at + stride] for at in places)
    return bytes(out)


def in_blocks(image: bytes) -> bytes:
    return apart(image, 64)


@pytest.mark.parametrize("laid", [apart, in_blocks])
def test_oob_areas_of_yaffs2_are_found_where_programmers_put_them(
    tmp_path: Path, laid: Callable[[bytes], bytes]
) -> None:
    image = paged(build(tree(tmp_path / "root"), Layout(ecc=True, extra=True)))
    # Of two blocks one is erased: with one alone both ways to put OOB areas behind are the same.
    path = saved(tmp_path, laid(image + b"\xff" * len(image)))
    assert contents(path) == expected(tmp_path)
    ((part, tree_of),) = read_partitions(path)
    assert part.layout and tree_of and tree_of.complaints == []
    assert "read" in str(part.layout["undone"])


@pytest.mark.parametrize("laid", [apart, in_blocks])
def test_oob_areas_behind_all_pages_are_found_by_erased_pages(tmp_path: Path, laid: Callable[[bytes], bytes]) -> None:
    path = saved(tmp_path, laid(paged(with_oob(ubi_of_large_pages(tmp_path), PAGE_B, OOB_B))))
    read = read_image(path)
    assert {entry.path: entry.data for entry in read.entries if entry.kind == "file"} == expected(tmp_path)
    assert read.complaints == []


def test_erofs_stands_on_pages_with_oob_areas_though_its_check_sum_crosses_them(tmp_path: Path) -> None:
    image = made(tree(tmp_path / "root"), tmp_path / "root.erofs", "-zlz4").read_bytes()
    assert contents(saved(tmp_path, with_oob(image, PAGE_B, OOB_B))) == expected(tmp_path)


def test_squashfs_on_the_pages_of_ubi_is_told_and_read_alone(tmp_path: Path) -> None:
    files = {"etc/hostname": b"board\n", "noise": DRAW.randbytes(5000)}
    block = 64 * 1024
    packed = squashfs(files, "xz")
    plain = packed + b"\xff" * (-len(packed) % block) + ubi_of_large_pages(tmp_path)
    path = saved(tmp_path, with_oob(plain, PAGE_B, OOB_B))
    complaints = [line for _, tree_of in read_partitions(path) if tree_of for line in tree_of.complaints]
    assert any("squashfs" in line and "--fs squashfs" in line for line in complaints)
    assert contents(path, fs="squashfs") == files


@pytest.mark.parametrize("make", [littlefs, fat])
def test_two_copies_of_a_volume_are_two_partitions(tmp_path: Path, make: Callable[[Path], bytes]) -> None:
    image = make(tmp_path)
    for between in (b"", DRAW.randbytes(64 << 10)):
        read = [tree_of for _, tree_of in read_partitions(saved(tmp_path, image + between + image)) if tree_of]
        held = [{e.path: e.data for e in tree_of.entries if e.kind == "file"} for tree_of in read]
        assert held == [contents(saved(tmp_path, image))] * 2


@pytest.mark.parametrize("before_B", [64, 500, 4100])
@pytest.mark.parametrize("make", [fat, lambda _: esp_nvs.small()], ids=["fat", "nvs"])
def test_what_stands_behind_the_header_of_a_maker_is_read(
    tmp_path: Path,
    make: Callable[[Path], bytes],
    before_B: int,  # noqa: N803
) -> None:
    plain = contents(saved(tmp_path, make(tmp_path)))
    path = saved(tmp_path, b"MAKER" + DRAW.randbytes(before_B - 5) + make(tmp_path))
    read = [tree_of for _, tree_of in read_partitions(path) if tree_of]
    assert [{e.path: e.data for e in tree_of.entries if e.kind == "file"} for tree_of in read] == [plain]


def test_members_of_an_archive_are_partitions(tmp_path: Path) -> None:
    files = {"etc/hostname": b"board\n"}
    kernel, held = DRAW.randbytes(9000), io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in (("up/kernel", kernel), ("up/root", squashfs(files)), ("up/data", ubi(tmp_path))):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    found = read_partitions(saved(tmp_path, held.getvalue()))
    assert [part.name for part, _ in found] == ["up_kernel", "up_root", "up_data"]
    read = [tree_of for _, tree_of in found if tree_of]
    held_files = [{e.path: e.data for e in tree_of.entries if e.kind == "file"} for tree_of in read]
    assert held_files == [files, expected(tmp_path)]
    assert [line for tree_of in read for line in tree_of.complaints] == []


def test_a_uimage_names_the_option_that_reads_what_is_in_it(tmp_path: Path) -> None:
    image = fat(tmp_path)
    head = bytearray(struct.pack(">7I4B32s", 0x2705_1956, 0, 0, len(image), 0, 0, zlib.crc32(image), 5, 2, 7, 0, b"fs"))
    head[4:8] = struct.pack(">I", zlib.crc32(bytes(head)))
    assert contents(saved(tmp_path, bytes(head) + image), offset_B=64) == contents(saved(tmp_path, image))


def test_an_image_of_ubi_that_is_a_volume_of_another_one_is_a_file(tmp_path: Path) -> None:
    inner = tmp_path / "inner.ubi"
    inner.write_bytes(ubi(tmp_path))
    path = saved(tmp_path, ubinized(tmp_path, {"inner": inner}))
    ((part, tree_of),) = read_partitions(path)
    assert part.layout and "volume inner holds UBI" in str(part.layout["unchecked"])
    assert tree_of and [e.data for e in tree_of.entries if e.kind == "file"] == [inner.read_bytes().rstrip(b"\xff")]


def test_spiffs_that_is_cut_off_is_told_and_two_copies_are_two_partitions(tmp_path: Path) -> None:
    image = spiffs({"a": DRAW.randbytes(3000), "b/c": DRAW.randbytes(100)})
    plain = contents(saved(tmp_path, image))
    cut = read_image(saved(tmp_path, image[: len(image) // 2 + 100]))
    assert cut.complaints and {entry.path for entry in cut.entries if entry.kind == "file"} == set(plain)
    for dump, count in ((image + image, 2), (b"MK" + DRAW.randbytes(68) + image, 1)):
        read = [tree_of for _, tree_of in read_partitions(saved(tmp_path, dump)) if tree_of]
        held = [{e.path: e.data for e in tree_of.entries if e.kind == "file"} for tree_of in read]
        assert held == [plain] * count


def test_two_yaffs2_in_one_dump_are_told(tmp_path: Path, ffslab: Command) -> None:
    layout = Layout(ecc=True, extra=True)
    block_bytes = 64 * (2048 + 64)
    for name in ("one", "two"):
        tree(tmp_path / name)
        (tmp_path / name / f"of {name}").write_bytes(name.encode() * 50_000)
    one, two = (build(tmp_path / name, layout) for name in ("one", "two"))
    one += b"\xff" * (-len(one) % block_bytes)
    (tmp_path / "both").write_bytes(one + two)
    ran = ffslab("extract", "both")
    assert ran.returncode == 1
    assert "a block with the sequence number of block 1: what stands in both is of two YAFFS2" in ran.stderr
    alone = ffslab(
        "extract", "both", "out", "--offset", str(len(one) // 2112 * 2048), "--size", str(len(two) // 2112 * 2048)
    )
    assert alone.returncode == 0, alone.stderr
    assert (tmp_path / "out" / "of two").read_bytes() == b"two" * 50_000
