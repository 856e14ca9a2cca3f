"""How often a real kernel reads the flash below a file system of an image: squashfs, EROFS.

It is the kernel that is installed, or that of `FFSLAB_KERNEL_FOLDER`: a folder into which Debian's package of another
one was unpacked (`dpkg-deb -x linux-image-VERSION*.deb FOLDER; depmod -b FOLDER VERSION`, for Debian 13 with
`mv FOLDER/usr/lib FOLDER/lib` between them).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ffslab.measured.reference.kit import Kit, find_kernel, module_bytes, module_name
from ffslab.measured.reference.machine import Machine
from helpers.jffs2_images import tool
from helpers.squashfs_cases import BLOCKS, cases
from referee.parts import GUEST_SCRIPT
from referee.probe_kit import UNPACK, archive, read_log

DEVICES = ("ubiblock", "mtdblock")
FOLDER = "FFSLAB_KERNEL_FOLDER"


def with_named_kernel(kit: Kit) -> Kit:
    """The kit with the kernel that the user names, if any."""
    named = os.environ.get(FOLDER)
    if not named:
        return kit
    kernel = find_kernel(Path(named, "boot"), Path(named, "lib/modules"))
    assert kernel is not None, f"{FOLDER}: {named} has no boot/vmlinuz-VERSION with lib/modules/VERSION/modules.dep"
    return replace(kit, kernel=kernel)


def kernel_name(kit: Kit) -> str:
    """As `kernel` of an experiment names it."""
    return ".".join(kit.kernel.modules.name.split(".")[:2])


def machine_with(fs: str, kit: Kit, folder: Path) -> Iterator[Machine]:
    """A machine with the file system and both devices."""
    # EROFS asks the crypto layer for CRC-32C, which no module that it names has.
    modules = ("mtdblock", "crc32c_generic", fs)
    at_boot = set(kit.kernel.closure(kit.modules_at_boot))
    added = [module for module in kit.kernel.closure([*kit.modules_at_boot, *modules]) if module not in at_boot]
    programs = {f"modules/{module_name(module)}.ko": module_bytes(module) for module in added}
    names = "\n".join(f"insmod /modules/{module_name(module)}.ko" for module in added)
    programs["modules_of_images"] = f"#!/bin/sh\n{names}\n".encode()
    with_ubiblock = replace(kit, guest_programs={**kit.guest_programs, "ubiblock": Path(tool("ubiblock"))})
    machine = Machine(with_ubiblock, folder / "machine", GUEST_SCRIPT.read_bytes(), programs)
    yield machine
    machine.stop()


def measured(machine: Machine, fs: str, path: Path, device: str) -> dict[str, int]:
    """Page reads of the mount and of each case."""

    def counted(name: str, command: str) -> str:
        start = "ffslab-probe flashmon start --overhead-ns 1000 > said"
        return f"{start}\n{command}\nffslab-probe flashmon stop -o '{name}.log' > said"

    node = {"ubiblock": "ubiblock0_0", "mtdblock": "mtdblock0"}[device]
    lines = [UNPACK, f"grep -q {fs} /proc/filesystems || /modules_of_images", f"chip {BLOCKS}"]
    lines += ["flash_erase -q /dev/mtd0 0 0"]
    if device == "ubiblock":
        lines += ["attach", "ubimkvol /dev/ubi0 -N volume -m > /dev/null", "ubiupdatevol /dev/ubi0_0 image"]
        lines += ["ubiblock -c /dev/ubi0_0 > /dev/null", "sleep 1"]
    else:
        lines += ["nandwrite -q -p /dev/mtd0 image"]
    lines += [counted("mount", f"mount -t {fs} -o ro /dev/{node} /mnt")]
    lines += [counted(case.name, case.guest) for case in cases()]
    lines += ["umount /mnt", *(["ubiblock -r /dev/ubi0_0 > /dev/null"] if device == "ubiblock" else [])]
    done = machine.run("\n".join(lines), {"probe.tar": archive(), "image": path})
    names = ["mount", *(case.name for case in cases())]
    return {name: sum(row["type"] in "Rr" for row in read_log(done.folder / f"{name}.log").rows) for name in names}
