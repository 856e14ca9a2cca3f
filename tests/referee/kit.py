"""What the referee is made of, as Debian packages install it: a kernel with its modules, QEMU, busybox, mtd-utils."""

from __future__ import annotations

import gzip
import lzma
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Debian's package for each part, by what is looked for.
PACKAGES = "linux-image-amd64 qemu-system-x86 busybox-static mtd-utils"
INSTALL = f"apt-get install --no-install-recommends {PACKAGES}"
QEMU = "qemu-system-x86_64"
# What runs in the guest; dynamically linked programs bring their libraries.
GUEST_PROGRAMS = (
    "find",
    "tar",
    "flash_erase",
    "nandwrite",
    "nanddump",
    "ubiattach",
    "ubidetach",
    "ubimkvol",
    "ubiupdatevol",
    "ubiformat",
    "ubinfo",
)
HOST_PROGRAMS = ("mkfs.ubifs", "ubinize", "mkfs.jffs2", "ldd")
# The last three are loaded by the jobs, with parameters; 9p carries files between host and guest.
MODULES_AT_BOOT = ("virtio_pci", "9pnet_virtio", "9p", "mtd", "nandcore", "nand", "jffs2", "zstd", "ubi", "ubifs")
MODULES_OF_JOBS = ("nandsim",)


def program(name: str) -> Path | None:
    """Path of a program, also of one for root."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    return Path(found) if found else None


@dataclass(frozen=True)
class Kernel:
    """A kernel that is installed, not necessarily the running one."""

    image: Path
    modules: Path  # folder that holds modules.dep

    def closure(self, names: Iterable[str]) -> list[Path]:
        """Modules of these names and all that they need, in the order of loading."""
        needs: dict[str, list[str]] = {}
        for line in (self.modules / "modules.dep").read_text(encoding="utf-8").splitlines():
            module, _, rest = line.partition(":")
            needs[module] = rest.split()
        by_name = {module_name(path): path for path in needs}
        order: list[str] = []

        def load(path: str) -> None:
            if path not in order:
                # modules.dep lists what must be loaded first last.
                for needed in reversed(needs[path]):
                    load(needed)
                order.append(path)

        for name in names:
            if name in by_name:  # otherwise it is compiled in, or find_kernel has refused
                load(by_name[name])
        return [self.modules / path for path in order]

    def has(self, names: Iterable[str]) -> bool:
        known = (self.modules / "modules.dep").read_text(encoding="utf-8")
        builtin = (self.modules / "modules.builtin").read_text(encoding="utf-8")
        return all(re.search(rf"/{name}\.ko\b", known + builtin) for name in names)


def module_name(path: str | Path) -> str:
    return Path(path).name.split(".ko")[0]


def module_bytes(path: Path) -> bytes:
    """The module as insmod takes it; some distributions compress them."""
    data = path.read_bytes()
    return {".xz": lzma.decompress, ".gz": gzip.decompress}.get(path.suffix, bytes)(data)


def version_key(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def find_kernel(boot: Path = Path("/boot"), modules: Path = Path("/lib/modules")) -> Kernel | None:
    """The newest installed kernel that has all the modules."""
    for image in sorted(boot.glob("vmlinuz-*"), key=version_key, reverse=True):
        kernel = Kernel(image, modules / image.name.removeprefix("vmlinuz-"))
        complete = (kernel.modules / "modules.dep").exists() and (kernel.modules / "modules.builtin").exists()
        if complete and kernel.has((*MODULES_AT_BOOT, *MODULES_OF_JOBS)):
            return kernel
    return None


def libraries(binary: Path) -> list[Path]:
    """The shared libraries of a program, its loader included."""
    ran = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False)
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", ran.stdout, re.MULTILINE)]


@dataclass(frozen=True)
class Kit:
    """Everything that a boot needs."""

    kernel: Kernel
    qemu: Path
    busybox: Path
    programs: dict[str, Path]


def find_kit() -> tuple[Kit | None, list[str]]:
    """The kit, or what is missing for it."""
    missing = []
    if platform.machine() != "x86_64":
        missing.append("an x86-64 machine")
    kernel, qemu = find_kernel(), program(QEMU)
    if kernel is None:
        missing.append("a kernel with nandsim in /boot and /lib/modules")
    if qemu is None:
        missing.append(QEMU)
    busybox = program("busybox")
    if busybox is None or libraries(busybox):
        missing.append("a statically linked busybox")
    programs = {}
    for name in (*GUEST_PROGRAMS, *HOST_PROGRAMS):
        path = program(name)
        if path is None:
            missing.append(name)
        else:
            programs[name] = path
    if missing or kernel is None or qemu is None or busybox is None:
        return None, missing
    return Kit(kernel, qemu, busybox, programs), []
