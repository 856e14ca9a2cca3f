"""UBIFS images of ffslab's own, without a kernel; those of mkfs.ubifs and of a kernel are in tests/referee."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab.images import read_image
from helpers.command import Command
from helpers.jffs2_images import busy_steps, contents, experiment, run

# A node of UBIFS begins with this (fs/ubifs/ubifs-media.h), a little-endian number.
NODE_MAGIC = bytes.fromhex("31181006")
VID_HEADER_AT = 512


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Page data, and page data with OOB, after garbage collection."""
    folder = tmp_path_factory.mktemp("ubifs")
    contents(folder / "contents")
    stack = {"fs": "ubifs", "compression": "zlib", "partition_blocks": 64, "max_beb_per1024": 1}
    return dict(run(experiment(busy_steps(["wronly", "sync"]), **stack), folder).images)


@pytest.mark.parametrize(("name", "oob"), [("raw.bin", False), ("dump.bin", True)])
def test_the_files_of_an_image_are_found(name: str, oob: bool, images: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(images[name])
    tree = read_image(tmp_path / "image", oob=oob)
    assert tree.complaints == []
    found = {entry.path: entry for entry in tree.entries}
    expected = contents(tmp_path / "contents")
    for path in (path for path in expected.rglob("*") if path.is_file() and not path.is_symlink()):
        inside = path.relative_to(expected).as_posix()
        if inside.startswith("dir1/file") and inside[-2:] in ("01", "06", "11"):
            assert inside not in found
            continue
        inside = inside.replace("file", "renamed") if inside in ("dir0/file05", "dir0/file10") else inside
        assert found[inside].data == path.read_bytes(), inside
    assert found["target"].size_B == 1 << 20


def test_volumes_without_ubifs_are_files(images: dict[str, bytes], tmp_path: Path, ffslab: Command) -> None:
    image = bytearray(images["raw.bin"])
    while (at := image.find(NODE_MAGIC)) >= 0:
        image[at : at + 4] = bytes(4)
    (tmp_path / "image").write_bytes(image)
    ran = ffslab("extract", "image", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["v"]


def test_an_accounting_that_is_wrong_is_told(images: dict[str, bytes], tmp_path: Path) -> None:
    """The last LEB in use loses all but its first page."""
    image = bytearray(images["raw.bin"])
    block = max(at for at in range(0, len(image), 128 << 10) if b"UBI!" in image[at + VID_HEADER_AT :][:4])
    image[block + 4096 : block + (128 << 10)] = b"\xff" * ((128 << 10) - 4096)
    (tmp_path / "image").write_bytes(image)
    assert read_image(tmp_path / "image").complaints != []
