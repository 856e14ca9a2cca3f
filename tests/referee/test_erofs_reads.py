"""EROFS on raw flash: a real kernel reads the flash as often as the simulation says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from helpers.erofs_images import made
from helpers.squashfs_cases import put, simulated
from referee.image_reads import DEVICES, kernel_name, machine_with, measured, with_named_kernel

# What each image shows: clusters of one page and of many, both kinds of index, tails among the metadata, plain files.
IMAGES = {
    "lz4hc": ("-zlz4hc",),
    "big": ("-zlz4hc", "-C65536"),
    "legacy": ("-zlz4", "-Elegacy-compress"),
    "tails": ("-zlz4hc", "-C16384", "-Eztailpacking"),
    "plain": (),
}
# What 5.10 does not mount.
LATER = ("big", "tails")


@pytest.fixture(scope="module")
def erofs_machine(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    yield from machine_with("erofs", with_named_kernel(kit), tmp_path_factory.mktemp("erofs"))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", IMAGES)
def test_a_kernel_reads_the_flash_as_often_as_the_simulation_says(
    name: str, device: str, kit: Kit, erofs_machine: Machine, tmp_path: Path
) -> None:
    kernel = kernel_name(with_named_kernel(kit))
    if kernel == "5.10" and name in LATER:
        pytest.skip("5.10 knows clusters of one page alone")
    path = made(put(tmp_path / "files"), tmp_path / "root.erofs", *IMAGES[name])
    assert simulated(path, device, "erofs", kernel=kernel) == measured(erofs_machine, "erofs", path, device)
