"""Dumps as they come from devices: UBI with several volumes, behind a header of its maker, OOB areas of any size."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.images import read_image
from helpers.flipped_bits import jffs2, tree, ubi, volume
from helpers.jffs2_images import tool
from helpers.yaffs2_images import Layout, build

BLOCK_B = 16 << 10


def contents(path: Path) -> dict[str, bytes]:
    return {entry.path: entry.data for entry in read_image(path).entries if entry.kind == "file"}


def expected(folder: Path) -> dict[str, bytes]:
    root = folder / "root"
    found = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def saved(folder: Path, image: bytes) -> Path:
    path = folder / "dump.bin"
    path.write_bytes(image)
    return path


def with_oob(image: bytes, page_B: int, oob_B: int, first: bytes = b"\xff\xff") -> bytes:  # noqa: N803
    """Each page followed by an OOB area that holds noise, as an ECC does."""
    draw = random.Random(6)
    out = bytearray()
    for at in range(0, len(image), page_B):
        data = image[at : at + page_B].ljust(page_B, b"\xff")
        erased = data == b"\xff" * page_B
        out += data + (b"\xff" * oob_B if erased else first + draw.randbytes(oob_B - len(first)))
    return bytes(out)


def ubinized(folder: Path, volumes: dict[str, Path]) -> bytes:
    import subprocess

    text = "".join(
        f"[v{number}]\nmode=ubi\nimage={image}\nvol_id={number}\nvol_type=dynamic\nvol_name={name}\nvol_size=600KiB\n"
        for number, (name, image) in enumerate(volumes.items())
    )
    (folder / "ubi.ini").write_text(text, encoding="utf-8")
    command = [tool("ubinize"), "-o", folder / "all.ubi", "-m", "512", "-p", "16KiB", "-Q", "7", folder / "ubi.ini"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "all.ubi").read_bytes()


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
    assert 'volume "rootfs" has the update marker' in told


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
        (b"\x84\x19\x03\x20" + bytes(600), "0x1984"),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, image: bytes, word: str) -> None:
    with pytest.raises(InputError, match=word):
        read_image(saved(tmp_path, image))
