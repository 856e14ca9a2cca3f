"""squashfs on raw flash: a real kernel reads the flash as often as the simulation says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit, module_bytes, module_name
from ffslab.measured.reference.machine import Machine
from helpers.jffs2_images import tool
from helpers.squashfs_cases import BLOCKS, FILES, cases, put, simulated
from helpers.squashfs_images import squashfs
from referee.parts import GUEST_SCRIPT
from referee.probe_kit import UNPACK, archive, read_log

DEVICES = ("ubiblock", "mtdblock")
# What each image shows: compressors, sizes of blocks, ends of files in fragments or in blocks of their own.
IMAGES = {
    "gzip": ("-comp", "gzip"),
    "zstd": ("-comp", "zstd", "-b", "1M"),
    "xz": ("-comp", "xz", "-always-use-fragments"),
    "lz4": ("-comp", "lz4", "-b", "16K"),
    "lzo": ("-comp", "lzo", "-no-fragments"),
}
MODULES = ("mtdblock", "squashfs")


@pytest.fixture(scope="module")
def squashfs_machine(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with squashfs and both devices."""
    at_boot = set(kit.kernel.closure(kit.modules_at_boot))
    added = [module for module in kit.kernel.closure([*kit.modules_at_boot, *MODULES]) if module not in at_boot]
    programs = {f"modules/{module_name(module)}.ko": module_bytes(module) for module in added}
    names = "\n".join(f"insmod /modules/{module_name(module)}.ko" for module in added)
    programs["modules_of_squashfs"] = f"#!/bin/sh\n{names}\n".encode()
    with_ubiblock = replace(kit, guest_programs={**kit.guest_programs, "ubiblock": Path(tool("ubiblock"))})
    machine = Machine(
        with_ubiblock, tmp_path_factory.mktemp("squashfs") / "machine", GUEST_SCRIPT.read_bytes(), programs
    )
    yield machine
    machine.stop()


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


def measured(machine: Machine, path: Path, device: str) -> dict[str, int]:
    """Page reads of the mount and of each case."""

    def counted(name: str, command: str) -> str:
        start = "ffslab-probe flashmon start --overhead-ns 1000 > said"
        return f"{start}\n{command}\nffslab-probe flashmon stop -o '{name}.log' > said"

    node = {"ubiblock": "ubiblock0_0", "mtdblock": "mtdblock0"}[device]
    lines = [UNPACK, "grep -q squashfs /proc/filesystems || /modules_of_squashfs", f"chip {BLOCKS}"]
    lines += ["flash_erase -q /dev/mtd0 0 0"]
    if device == "ubiblock":
        lines += ["attach", "ubimkvol /dev/ubi0 -N volume -m > /dev/null", "ubiupdatevol /dev/ubi0_0 image"]
        lines += ["ubiblock -c /dev/ubi0_0 > /dev/null", "sleep 1"]
    else:
        lines += ["nandwrite -q -p /dev/mtd0 image"]
    lines += [counted("mount", f"mount -t squashfs -o ro /dev/{node} /mnt")]
    lines += [counted(case.name, case.guest) for case in cases()]
    lines += ["umount /mnt", *(["ubiblock -r /dev/ubi0_0 > /dev/null"] if device == "ubiblock" else [])]
    done = machine.run("\n".join(lines), {"probe.tar": archive(), "image": path})
    names = ["mount", *(case.name for case in cases())]
    return {name: sum(row["type"] in "Rr" for row in read_log(done.folder / f"{name}.log").rows) for name in names}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["own", *IMAGES])
def test_a_kernel_reads_the_flash_as_often_as_the_simulation_says(
    name: str, device: str, squashfs_machine: Machine, tmp_path: Path
) -> None:
    path = image(name, tmp_path)
    assert simulated(path, device) == measured(squashfs_machine, path, device)
