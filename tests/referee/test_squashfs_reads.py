"""squashfs on raw flash: a real kernel reads the flash as often as the simulation says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from helpers.jffs2_images import tool
from helpers.squashfs_cases import FILES, put, simulated
from helpers.squashfs_images import squashfs
from referee.image_reads import DEVICES, kernel_name, machine_with, measured, with_named_kernel

# What each image shows: compressors, sizes of blocks, ends of files in fragments or in blocks of their own.
IMAGES = {
    "gzip": ("-comp", "gzip"),
    "zstd": ("-comp", "zstd", "-b", "1M"),
    "xz": ("-comp", "xz", "-always-use-fragments"),
    "lz4": ("-comp", "lz4", "-b", "16K"),
    "lzo": ("-comp", "lzo", "-no-fragments"),
}


@pytest.fixture(scope="module")
def squashfs_machine(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    yield from machine_with("squashfs", with_named_kernel(kit), tmp_path_factory.mktemp("squashfs"))


def image(name: str, folder: Path) -> Path:
    path = folder / "root.sqfs"
    if name == "own":
        path.write_bytes(squashfs(FILES, "none", 131_072))
        return path
    # The same layout whenever it is made.
    options = (
        "-mkfs-time",
        "0",
        "-all-time",
        "0",
        "-noappend",
        "-all-root",
        "-no-progress",
        "-quiet",
        "-processors",
        "1",
    )
    subprocess.run([tool("mksquashfs"), put(folder / "files"), path, *options, *IMAGES[name]], check=True)
    return path


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["own", *IMAGES])
def test_a_kernel_reads_the_flash_as_often_as_the_simulation_says(
    name: str, device: str, kit: Kit, squashfs_machine: Machine, tmp_path: Path
) -> None:
    path = image(name, tmp_path)
    kernel = kernel_name(with_named_kernel(kit))
    assert simulated(path, device, kernel=kernel) == measured(squashfs_machine, "squashfs", path, device)
