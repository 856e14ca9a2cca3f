"""Images that end too early, and images that only look so: what is there is read, what is missing is said."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

import ffslab
from helpers import inspect_images as made
from helpers.command import Command
from helpers.jffs2_images import tool
from helpers.yaffs2_images import Layout, build

CONTENT = random.Random(1).randbytes(100_000)


def cut(ffslab: Command, folder: Path, image: bytes, *how: str) -> tuple[str, str]:
    """What `extract` complains of, and the damage that `inspect` shows; both answer with 1."""
    (folder / "cut").write_bytes(image)
    sizes = [option for option in how if option != "--oob"]
    extracted, inspected = ffslab("extract", "cut", "files", *how), ffslab("inspect", "cut", *sizes)
    assert (extracted.returncode, inspected.returncode) == (1, 1), extracted.stderr
    assert inspected.stderr == ""
    return extracted.stderr, inspected.stdout[inspected.stdout.index("damage: ") :]


def test_a_jffs2_image_that_ends_in_a_node(tmp_path: Path, ffslab: Command) -> None:
    image = of_stack("jffs2", oob=False)
    end = image.index(CONTENT[60_000:60_032]) + 32
    extracted, inspected = cut(ffslab, tmp_path, image[:end])
    what = "the image is cut off in this node: it and what stood behind it are missing"
    assert extracted.count("\n") == 1 and extracted.startswith("ffslab: cut: 0x") and what in extracted
    at = int(extracted.split()[2].rstrip(":"), 16)
    assert end - 4300 < at < end
    assert f"offset {at:#x}: {what}" in inspected and inspected.startswith("damage: 1 piece\n")
    held = (tmp_path / "files/a").read_bytes()
    assert 50_000 < len(held) <= 60_032 and CONTENT.startswith(held)


def test_a_dump_that_ends_in_a_page(tmp_path: Path, ffslab: Command) -> None:
    image = of_stack("jffs2", oob=True)
    end = image.index(CONTENT[60_000:60_032]) + 32
    extracted, inspected = cut(ffslab, tmp_path, image[:end], "--oob")
    what = f"{end - end % 2112:#x}: the image is cut off in this page"
    assert extracted.count("\n") == 1 and what in extracted and what in inspected
    held = (tmp_path / "files/a").read_bytes()
    assert 50_000 < len(held) <= 60_032 and CONTENT.startswith(held)


def test_a_jffs2_image_that_ends_between_two_nodes_is_whole(tmp_path: Path, ffslab: Command) -> None:
    """As mkfs.jffs2 writes them, without filling the last erase block."""
    image = made.made_by_mkfs_jffs2(tmp_path, "-n", "-e", "128KiB", "-l")
    assert image.stat().st_size % (128 << 10)
    ran = ffslab("extract", image, "whole")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ffslab("inspect", image).returncode == 0


def test_a_yaffs2_partition_whose_last_file_ends_in_a_hole_is_whole(tmp_path: Path, ffslab: Command) -> None:
    """Free pages stand behind it; nothing tells how large its erase blocks are."""
    (tmp_path / "image").write_bytes(of_stack("yaffs2", oob=False, hole_bytes=10_000))
    ran = ffslab("extract", "image", "files")
    assert (ran.returncode, (tmp_path / "files/a").stat().st_size) == (0, 110_000), ran.stderr


@pytest.mark.parametrize(("beyond_B", "what"), [(100, "in this page"), (0, "in the file a:")])
def test_a_yaffs2_image_that_ends_in_a_file(beyond_B: int, what: str, tmp_path: Path, ffslab: Command) -> None:  # noqa: N803
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a").write_bytes(CONTENT)
    layout = Layout(page_B=2048, oob_B=64, tags_offset=2048)
    image = build(tmp_path / "root", layout)
    page = image.index(CONTENT[25 * 2048 : 25 * 2048 + 64]) // layout.stride_B
    # Nothing in so small an image tells how large its erase blocks are.
    block = ("--block-KiB", "128")
    extracted, inspected = cut(ffslab, tmp_path, image[: page * layout.stride_B + beyond_B], *block)
    assert extracted.count("\n") == 1 and f"the image is cut off {what}" in extracted
    assert f"the image is cut off {what}" in inspected
    if not beyond_B:
        assert "51200 of its 100000 B are there" in extracted
    assert (tmp_path / "files/a").read_bytes().startswith(CONTENT[:51_200])
    # The whole one is whole, though its last erase block is not full.
    (tmp_path / "whole").write_bytes(image)
    assert ffslab("extract", "whole").returncode == ffslab("inspect", "whole", *block).returncode == 0


def test_a_yaffs2_image_that_ends_in_a_file_at_the_end_of_an_erase_block(tmp_path: Path, ffslab: Command) -> None:
    """Its pages have the sequence numbers of their blocks, so that the size of blocks is known."""
    (tmp_path / "root").mkdir()
    for name in "abcdefgh":
        (tmp_path / "root" / name).write_bytes(CONTENT)
    layout = Layout(page_B=2048, oob_B=64)
    extracted, inspected = cut(ffslab, tmp_path, build(tmp_path / "root", layout)[: 3 * 64 * layout.stride_B])
    assert extracted.count("\n") == 1 and "the image is cut off in the file " in extracted
    assert "the image is cut off in the file " in inspected


def test_an_image_of_ubi_that_ends_in_an_erase_block(tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "cut").write_bytes(of_stack("ubifs", oob=False)[: 20 * (128 << 10) + 1000])
    what = "0x280000: the image is cut off in this erase block, which has only 1000 of 131072 B"
    ran = ffslab("extract", "cut")
    assert ran.returncode in (1, 2) and what in ran.stderr and ran.stderr.count("\n") == 1
    shown = ffslab("inspect", "cut")
    assert shown.returncode == 1 and "offset 0x280000: the image is cut off in this erase block" in shown.stdout


def test_a_volume_that_is_larger_than_its_image_is_refused_as_such(tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "cut").write_bytes(made.simulated_rfs(tmp_path)[:1_000_000])
    for verb in ("extract", "inspect"):
        ran = ffslab(verb, "cut")
        told = "the image is cut off: it has 1000000 of the 8388608 B of its RFS volume: a copy that truncate "
        assert ran.returncode == 2 and ran.stderr.startswith(f"ffslab: cut: {told}")
        assert ran.stderr.count("\n") == 1


def test_a_volume_of_ubi_may_be_larger_than_the_image(tmp_path: Path, ffslab: Command) -> None:
    """`vol_size`: ubinize writes only the blocks that hold data."""
    made.made_by_ubinize(tmp_path)
    table = (tmp_path / "ubi.ini").read_text(encoding="utf-8").replace("vol_flags=autoresize", "vol_size=20MiB")
    (tmp_path / "ubi.ini").write_text(table, encoding="utf-8")
    made_by = [tool("ubinize"), "-o", "fixed.ubi", "-m", "2048", "-p", "128KiB", "ubi.ini"]
    subprocess.run(made_by, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "fixed.ubi").stat().st_size < 20 << 20
    ran = ffslab("extract", "fixed.ubi", "files")
    assert (ran.returncode, ran.stderr) == (0, "")
    kept = {path.relative_to(tmp_path / "files") for path in (tmp_path / "files").rglob("*")}
    assert kept == {path.relative_to(tmp_path / "root") for path in (tmp_path / "root").rglob("*")}
    assert ffslab("inspect", "fixed.ubi").returncode == 0


def of_stack(fs: str, oob: bool, hole_bytes: int = 0) -> bytes:
    keys: dict[str, dict[str, int | bool]] = {"ubifs": {"max_beb_per1024": 1}, "yaffs2": {"inband_tags": True}}
    stack = ffslab.Stack.of({"fs": fs, "board": "omap3evm", "partition_blocks": 40, **keys.get(fs, {})})
    stack.mount()
    stack.write_file("a", CONTENT)
    if hole_bytes:
        fd = stack.open("a", "rdwr")
        stack.truncate(fd, len(CONTENT) + hole_bytes)
        stack.close(fd)
    stack.umount()
    return stack.image(oob=oob)
