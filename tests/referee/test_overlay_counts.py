"""overlayfs on two partitions: a real kernel reads, programs and erases as often as the simulation says."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.measured.reference.cases import COUNTER_OF
from ffslab.measured.reference.kit import Kit, module_bytes, module_name
from ffslab.measured.reference.machine import Machine
from helpers.jffs2_images import tool
from helpers.overlay_cases import COMPRESSORS, COUNTS, LAYERS, SETTLES_S, UPPER_BLOCKS, Layers, all_cases, simulated
from helpers.squashfs_cases import BLOCKS, put
from referee.parts import GUEST_SCRIPT
from referee.probe_kit import UNPACK, archive, read_log

# Further off than 1 % or one operation: JFFS2 looks at nodes in the background while others read, which is not the
# same each time.
MISSES = {"jffs2-ubifs": {"mount"}, "ubifs-jffs2": {"read"}}


@pytest.fixture(scope="module")
def overlay_machine(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    modules = ("mtdblock", "squashfs", "overlay")
    at_boot = set(kit.kernel.closure(kit.modules_at_boot))
    added = [module for module in kit.kernel.closure([*kit.modules_at_boot, *modules]) if module not in at_boot]
    programs = {f"modules/{module_name(module)}.ko": module_bytes(module) for module in added}
    names = "\n".join(f"insmod /modules/{module_name(module)}.ko" for module in added)
    programs["modules_of_overlays"] = f"#!/bin/sh\n{names}\n".encode()
    machine = Machine(replace(kit), tmp_path_factory.mktemp("overlay") / "machine", GUEST_SCRIPT.read_bytes(), programs)
    yield machine
    machine.stop()


def image(layers: Layers, folder: Path) -> Path:
    files = put(folder / "files")
    path = folder / "lower.img"
    if layers.lower == "squashfs":
        options = ["-mkfs-time", "0", "-all-time", "0", "-noappend", "-all-root", "-no-progress", "-quiet"]
        subprocess.run([tool("mksquashfs"), files, path, *options, "-processors", "1"], check=True)
    elif layers.lower == "jffs2":
        subprocess.run([tool("mkfs.jffs2"), "-r", files, "-o", path, "-e", "128KiB", "-n", "-U", "-p"], check=True)
    else:
        ubifs = folder / "lower.ubifs"
        subprocess.run(
            [tool("mkfs.ubifs"), "-r", files, "-o", ubifs, "-m", "2048", "-e", "129024", "-c", "200", "-U"], check=True
        )
        ini = folder / "ubi.ini"
        volume = ["[v]", "mode=ubi", f"image={ubifs}", "vol_id=0", "vol_type=dynamic", "vol_name=volume"]
        ini.write_text("\n".join([*volume, "vol_flags=autoresize", ""]))
        subprocess.run([tool("ubinize"), "-o", path, "-m", "2048", "-p", "128KiB", "-s", "512", ini], check=True)
    return path


def measured(machine: Machine, layers: Layers, path: Path) -> dict[str, dict[str, int]]:
    def counted(name: str, command: str) -> str:
        start = "ffslab-probe flashmon start --overhead-ns 1000 > said"
        return f"{start}\n{command}\nsync\nffslab-probe flashmon stop -o '{name}.log' > said"

    # With clean markers JFFS2 has nothing to erase first.
    marked = {"jffs2": "-j", "ubifs": "", "squashfs": ""}
    lines = [UNPACK, "grep -q overlay /proc/filesystems || /modules_of_overlays"]
    lines += ["mkdir -p /lower /upper", "head -c 4096 /dev/urandom > /page"]
    lines += [f"chip {BLOCKS},{UPPER_BLOCKS}", f"flash_erase -q {marked[layers.lower]} /dev/mtd0 0 0"]
    lines += [f"flash_erase -q {marked[layers.upper]} /dev/mtd1 0 0"]
    lines += ["cp image /tmp/image", "nandwrite -q -p /dev/mtd0 /tmp/image"]
    mounts = {"squashfs": "mount -t squashfs -o ro /dev/mtdblock0 /lower", "jffs2": "mount -t jffs2 mtd0 /lower"}
    mounts["ubifs"] = "mount -t ubifs ubi0:volume /lower"
    if layers.lower == "ubifs":
        lines += ["ubiattach -p /dev/mtd0 -b 2 -d 0 > /dev/null"]
    upper = f"mount -t jffs2 -o compr={COMPRESSORS['jffs2']} mtd1 /upper"
    if layers.upper == "ubifs":
        lines += ["ubiattach -p /dev/mtd1 -b 2 -d 1 > /dev/null", "ubimkvol /dev/ubi1 -N volume -m > /dev/null"]
        upper = f"mount -t ubifs -o compr={COMPRESSORS['ubifs']} ubi1:volume /upper"
    over = "mount -t overlay overlay -o lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work /mnt"
    unmount = "umount /mnt; umount /upper; umount /lower"
    lines += [
        mounts[layers.lower],
        upper,
        "mkdir /upper/upper /upper/work",
        over,
        f"sleep {SETTLES_S}",
        "sync",
        unmount,
    ]
    lines += [counted("mount", f"{mounts[layers.lower]}; {upper}; {over}; sleep {SETTLES_S}")]
    lines += [counted(case.name, case.guest) for case in all_cases(layers)]
    lines += [unmount, *(f"ubidetach -d {number} > /dev/null || true" for number in (0, 1)), "rmmod nandsim"]
    done = machine.run("\n".join(lines), {"probe.tar": archive(), "image": path})
    found = {}
    for name in ["mount", *(case.name for case in all_cases(layers))]:
        rows = read_log(done.folder / f"{name}.log").rows
        counts = Counter(COUNTER_OF[row["type"]] for row in rows)
        found[name] = {count: counts[count] for count in COUNTS}
    return found


@pytest.mark.soak
@pytest.mark.parametrize("layers", LAYERS, ids=lambda layers: layers.name)
def test_a_kernel_uses_the_flash_as_often_as_the_simulation_says(
    layers: Layers, overlay_machine: Machine, tmp_path: Path
) -> None:
    path = image(layers, tmp_path)
    found, real = simulated(layers, path), measured(overlay_machine, layers, path)
    apart = {name for name, counts in found.items() if not all(is_near(counts[of], real[name][of]) for of in COUNTS)}
    assert apart <= MISSES.get(layers.name, set()), {name: (found[name], real[name]) for name in apart}


def is_near(found: int, real: int) -> bool:
    return abs(found - real) <= max(1, real / 100)
