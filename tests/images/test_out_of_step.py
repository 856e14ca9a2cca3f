"""File systems that begin anywhere in a file, several out of step, and those that know nothing of OOB areas."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.images import read_image, read_partitions
from helpers import erofs_images
from helpers.command import Command
from helpers.dumps import contents, expected, saved, ubi_of_large_pages, with_oob
from helpers.flipped_bits import jffs2, littlefs, tree, ubi
from helpers.jffs2_images import tool
from helpers.squashfs_images import squashfs
from helpers.yaffs2_images import Layout, build

FILES: dict[str, bytes | str] = {"etc/hostname": b"board\n", "big": random.Random(3).randbytes(70_000)}
# No multiple of a page, of a sector, of four bytes.
ODD_B = 101


def yaffs2(folder: Path) -> bytes:
    return build(tree(folder / "root"), Layout(page_B=2048, oob_B=64))


def erofs(folder: Path) -> bytes:
    return erofs_images.made(tree(folder / "root"), folder / "erofs").read_bytes()


def files(path: Path) -> list[dict[str, bytes]]:
    """Of each partition that holds any; nothing is complained of."""
    held = [found for _, found in read_partitions(path) if found is not None]
    assert not any(found.complaints for found in held)
    return [{entry.path: entry.data for entry in found.entries if entry.kind == "file"} for found in held]


@pytest.mark.parametrize("make", [ubi, jffs2, yaffs2, littlefs, erofs])
def test_an_image_behind_bytes_of_any_number_is_found_and_can_be_given(
    make: Callable[[Path], bytes], tmp_path: Path
) -> None:
    image = make(tmp_path)
    (alone,) = files(saved(tmp_path, image))
    path = saved(tmp_path, b"Z" * ODD_B + image)
    assert [found for found in files(path) if found] == [alone]
    given = {entry.path: entry.data for entry in read_image(path, offset_B=ODD_B).entries if entry.kind == "file"}
    assert given == alone and alone


@pytest.mark.parametrize("oob_B", [0, 24])
def test_images_of_ubi_out_of_step_are_partitions_each(tmp_path: Path, oob_B: int) -> None:  # noqa: N803
    one = ubi(tmp_path)
    one = with_oob(one, 512, oob_B) if oob_B else one
    for between in (b"", b"ARCHIVE" * 50):
        path = saved(tmp_path, b"head" + one + between + b"H" * 60 + one)
        assert [found for found in files(path) if found] == [expected(tmp_path)] * 2


@pytest.mark.parametrize("pieces", ["512+14x4+8", "1024+30x2+20"])
def test_what_is_left_of_oob_areas_may_stand_behind_the_pieces_of_a_page(tmp_path: Path, pieces: str) -> None:
    sizes, rest_size = pieces.rsplit("+", 1)
    data, spare = (int(word) for word in sizes.split("x")[0].split("+"))
    image = with_oob(ubi_of_large_pages(tmp_path), data, spare, b"")
    page = 2048 // data * (data + spare)
    rest = b"\xff" * int(rest_size)
    path = saved(tmp_path, b"".join(image[at : at + page] + rest for at in range(0, len(image), page)))
    assert contents(path) == expected(tmp_path) == contents(path, layout=pieces)


@pytest.mark.parametrize("behind_B", [0, 2048 * 5])
def test_squashfs_on_pages_with_oob_areas_is_read_without_them(tmp_path: Path, behind_B: int) -> None:  # noqa: N803
    plain = b"K" * behind_B + squashfs(FILES, "xz")
    path = saved(tmp_path, with_oob(plain.ljust(-(-len(plain) // 2048) * 2048, b"\xff"), 2048, 64))
    assert [found for found in files(path) if found] == [FILES]


def test_a_partition_that_is_longer_than_the_image_is_told(tmp_path: Path, ffslab: Command) -> None:
    path = saved(tmp_path, jffs2(tmp_path))
    for parts, told in (("x:64M(all)", True), ("x:8k(head)ro,64M@8k(all)", True), ("x:-(all)", False)):
        ran = ffslab("inspect", path, "--mtdparts", parts)
        line = "mtdparts has the partition all to 0x400"
        assert ((ran.returncode == 1) and line in ran.stdout) == told, ran.stdout


def test_an_empty_volume_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "ubi.ini").write_text(
        "[a]\nmode=ubi\nvol_id=3\nvol_type=dynamic\nvol_name=empty\nvol_size=64KiB\n", encoding="utf-8"
    )
    subprocess.run(
        [tool("ubinize"), "-o", "empty.ubi", "-m", "512", "-p", "16KiB", "ubi.ini"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    with pytest.raises(InputError, match="no erase block here is of volume empty"):
        read_image(tmp_path / "empty.ubi", volume="empty")
