"""Fastmap of a real kernel. Distributions build UBI without it, so a module of the user's own is asked for, built from
the sources of the referee's kernel. In their drivers/mtd/ubi:

    sed -i 's/^ubi-$(CONFIG_MTD_UBI_[A-Z]*)/ubi-y/; s/^obj-.*ubi.o$/obj-m += ubi.o/; /gluebi/d' Makefile
    make -C /lib/modules/VERSION/build M=$PWD KCFLAGS=-DCONFIG_MTD_UBI_FASTMAP=1 modules
    FFSLAB_UBI_FASTMAP=$PWD/ubi.ko pytest tests/referee/test_fastmap.py
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.images.inspection import inspect_image
from ffslab.measured.reference.kit import Kernel, Kit
from ffslab.measured.reference.machine import Machine
from helpers.jffs2_images import experiment, run, step
from referee.parts import machine_of
from referee.probe_kit import UNPACK, archive, read_log

MODULE = "FFSLAB_UBI_FASTMAP"
BLOCKS = 160
BLOCK_B, VID_AT, LEB_B, VOLUME_LEBS = 128 << 10, 512, 126 << 10, 150
AUTOCONVERT = "echo 1 > /sys/module/ubi/parameters/fm_autoconvert"
# The chip of nandsim, attached with `ubiattach -b 2`.
STACK = {
    "fs": "ubifs",
    "ecc": "sw",
    "partition_blocks": BLOCKS,
    "chip_blocks": 2048,
    "max_beb_per1024": 2,
    "fastmap": True,
    "fm_autoconvert": True,
}
# Reads, programs and erases, as `counts_and_blocks_are_those_of_a_kernel` of crates/ubi/tests/fastmap.rs has them.
KNOWN = {
    "first": (160, 248, 160),
    "make": (0, 91, 3),
    "update": (0, 410, 5),
    "detach": (0, 65, 1),
    "attach": (240, 1, 1),
}


@pytest.fixture(scope="module")
def fastmap_machine(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine whose ubi.ko is the user's; a skip where nobody named one, as nobody must have it."""
    named = os.environ.get(MODULE)
    if not named:
        pytest.skip(f"no UBI with fastmap: {MODULE} names no ubi.ko that was built with CONFIG_MTD_UBI_FASTMAP")
    folder = tmp_path_factory.mktemp("fastmap")
    modules = folder / "modules"
    shutil.copytree(kit.kernel.modules, modules, copy_function=os.symlink, symlinks=True)
    (own,) = modules.rglob("ubi.ko*")
    own.unlink()
    shutil.copyfile(named, own.with_name("ubi.ko"))
    machine = machine_of(replace(kit, kernel=Kernel(kit.kernel.image, modules)), folder / "machine")
    yield machine
    machine.stop()
    shutil.rmtree(folder)


def counted(name: str, command: str) -> str:
    start = f"ffslab-probe flashmon start --overhead-ns 1000 > {name}.said"
    return f"{start}\n{command}\nffslab-probe flashmon stop -o {name}.log > {name}.said"


def counts(log: Path) -> tuple[int, int, int]:
    """Page reads, programs, erases."""
    rows = read_log(log).rows
    reads, programs, erases = (sum(row["type"] in kinds for row in rows) for kinds in ("Rr", "Ww", "E"))
    return reads, programs, erases


def test_a_kernel_counts_what_the_simulation_counts(fastmap_machine: Machine, tmp_path: Path) -> None:
    lines = [
        UNPACK,
        f"chip {BLOCKS}",
        AUTOCONVERT,
        "flash_erase -q /dev/mtd0 0 0",
        "head -c 588895 /dev/zero > /tmp/data",
    ]
    lines += [
        counted("first", "attach; sleep 2"),
        counted("make", "ubimkvol /dev/ubi0 -N volume -m > /dev/null; sleep 2"),
        counted("update", "ubiupdatevol /dev/ubi0_0 /tmp/data; sleep 2"),
        counted("detach", "ubidetach -d 0 > /dev/null; sleep 1"),
        counted("attach", "attach; sleep 1"),
        "ubidetach -d 0 > /dev/null",
        "read_data image",
    ]
    done = fastmap_machine.run("\n".join(lines), {"probe.tar": archive()})
    assert "ubi0: attached by fastmap" in done.kernel_log
    assert {name: counts(done.folder / f"{name}.log") for name in KNOWN} == KNOWN
    facts = inspect_image(done.folder / "image.data")
    found = facts["superblock"]["fastmap"]
    assert isinstance(found, dict)
    assert (found["crc"], found["state"], facts["damage"]) == ("right", "fits", [])
    # Here it is attached by that fastmap: both headers of 64 blocks and of 12 in the pools, the fastmap, the table.
    (tmp_path / "image").write_bytes((done.folder / "image.data").read_bytes())
    (variant,) = run(experiment([step("ubi_attach")], **STACK, image="image"), tmp_path).summary["variants"]
    assert variant["steps"][0]["counts"]["page_reads"] == 240


def volume_of(image: bytes) -> bytes:
    """What the volume holds by the headers of all blocks: of each LEB the newest."""
    newest: dict[int, tuple[int, int]] = {}
    for block in range(BLOCKS):
        header = image[block * BLOCK_B + VID_AT :][:64]
        if header[:4] == b"UBI!" and header[8:12] == bytes(4):
            leb, sequence = int.from_bytes(header[12:16], "big"), int.from_bytes(header[40:48], "big")
            newest[leb] = max(newest.get(leb, (0, 0)), (sequence, block))
    data = bytearray(b"\xff" * (VOLUME_LEBS * LEB_B))
    for leb, (_, block) in newest.items():
        data[leb * LEB_B : (leb + 1) * LEB_B] = image[(block + 1) * BLOCK_B - LEB_B : (block + 1) * BLOCK_B]
    return bytes(data)


def test_a_kernel_attaches_by_the_fastmap_of_the_simulation(fastmap_machine: Machine, tmp_path: Path) -> None:
    """Also by one behind which files were written that only the pools know."""
    for end in ([step("umount"), step("ubi_detach")], []):
        steps = [step("mount"), step("sleep", us="20 s"), step("create", file="a", bytes="1 MiB"), step("sync"), *end]
        image = run(experiment([*steps, step("save_image", file="raw.bin")], **STACK), tmp_path).images["raw.bin"]
        done = fastmap_machine.run(
            f"chip {BLOCKS}\nwrite_data image\nattach\ncat /dev/ubi0_0 > volume", {"image": image}
        )
        assert "ubi0: attached by fastmap" in done.kernel_log
        assert not any("error" in line for line in done.kernel_log)
        assert (done.folder / "volume").read_bytes() == volume_of(image)
