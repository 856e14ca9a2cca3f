"""Files made elsewhere, read by programs through a mount: images of mkfs.jffs2, of mkfs.ubifs and ubinize, of a writer
of YAFFS2 images made from the specification, and of a real kernel."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from helpers.mounted import mounted
from helpers.yaffs2_images import Layout, build
from referee.jobs import make_and_list
from referee.listing import Entry, Listing, assert_same, from_folder
from referee.make_ubifs_samples import make_tree, mkfs_ubi

# On its chip of 2048 blocks ubifs would keep too many of the few for bad ones.
UBI = ("--set", "max_beb_per1024=1")
# The chip of nandsim, with ECC by its driver.
NANDSIM = ("--board", "zero-overhead", "--set", "ecc=sw")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_tree(tmp_path / "tree")
    # JFFS2 and YAFFS2 have no names of 255 bytes.
    (tmp_path / "tree" / ("n" * 255)).rename(tmp_path / "tree" / ("n" * 254))
    return tmp_path / "tree"


def files_of(listing: Listing) -> dict[str, Entry]:
    """What is compared: of directories their links and times are the file system's own, and YAFFS2 has lost+found."""
    return {
        path: replace(entry, links=1, modified_s=None) if entry.kind == "directory" else entry
        for path, entry in listing.items()
        if path not in ("", "lost+found")
    }


def assert_read_through_a_mount(expected: Listing, folder: Path, fs: str, image: Path, *options: str) -> None:
    """All files are there with their content, and the file system takes more."""
    with mounted(folder, fs, "--image", image, *options) as mount:
        assert_same(files_of(expected), files_of(from_folder(mount.place)))
        (mount.place / "more").write_bytes(b"more" * 5000)
        assert (mount.place / "more").read_bytes() == b"more" * 5000
        (mount.place / "more").unlink()
    assert mount.variant["notes"] == []


def test_an_image_of_mkfs_jffs2(tree: Path, tmp_path: Path, kit: Kit) -> None:
    image = tmp_path / "image.jffs2"
    program = kit.host_programs["mkfs.jffs2"]
    subprocess.run([program, "-n", "-l", "-e", "128KiB", "-r", tree, "-o", image], check=True, capture_output=True)
    assert_read_through_a_mount(from_folder(tree), tmp_path, "jffs2", image, "--blocks", "64")


@pytest.mark.parametrize(("compressor", "vid_offset_B"), [("lzo", 2048), ("zstd", 512)])
def test_an_image_of_ubinize(
    compressor: str,
    vid_offset_B: int,  # noqa: N803
    tree: Path,
    tmp_path: Path,
    kit: Kit,
) -> None:
    _, image = mkfs_ubi(kit, tree, tmp_path / "image", compressor, vid_offset_B)
    assert_read_through_a_mount(from_folder(tree), tmp_path, "ubifs", image, "--blocks", "120", *UBI)


@pytest.mark.parametrize("layout", [Layout(), Layout(tags_offset=2048, extra=False)], ids=["nanddump", "mkyaffs2image"])
def test_a_yaffs2_image(layout: Layout, tree: Path, tmp_path: Path) -> None:
    image = tmp_path / "image.yaffs2"
    image.write_bytes(build(tree, layout))
    assert_read_through_a_mount(from_folder(tree), tmp_path, "yaffs2", image, "--blocks", "64")


@pytest.mark.parametrize("fs", ["jffs2", "ubifs"])
def test_an_image_of_the_kernel(fs: str, tree: Path, tmp_path: Path, machine: Machine) -> None:
    """A dump with OOB areas, and page data alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(tree, ".")
    fill = "extract tree.tar; modify changed 60; rm -r /mnt/many"
    made = make_and_list(machine, fs, blocks=64, fill=fill, files={"tree.tar": buffer.getvalue()})
    assert made.complaints == []
    assert made.dump is not None
    assert made.data is not None
    options = (*NANDSIM, *(UBI if fs == "ubifs" else ()))
    for image in (made.dump, made.data):
        assert_read_through_a_mount(made.listing, tmp_path, fs, image, *options)
