"""What a virtual machine with a real kernel is made of, as Debian packages install it: kernel, modules, QEMU, busybox.

Nothing is booted on the machine itself, and nothing needs root.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from ffslab.files.inputs import Kind, Limited, open_input, read_text
from ffslab.measured.reference.architecture import AMD64, Architecture

PART: Kind = "part of the machine"

# Debian's package for each part.
PACKAGES = f"{AMD64.kernel_package} {AMD64.qemu_package} busybox-static"
# What stands in for flash is loaded later, with parameters; 9p carries files between host and guest.
MODULES_AT_BOOT = ("virtio_pci", "9pnet_virtio", "9p", "mtd", "nandcore", "nand", "jffs2", "zstd", "ubi", "ubifs")
MODULES_OF_JOBS = ("nandsim",)
# What some jobs need and not every kernel has: Debian's for arm have no memory in the place of NOR.
MODULES_OF_SOME = ("mtdram",)


def install_command(packages: str = PACKAGES) -> str:
    """What installs the Debian packages, as root."""
    return f"apt-get install --no-install-recommends {packages}"


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
        for line in read_text(self.modules / "modules.dep", PART).splitlines():
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
        known = read_text(self.modules / "modules.dep", PART)
        builtin = read_text(self.modules / "modules.builtin", PART)
        return all(re.search(rf"/{name}\.ko\b", known + builtin) for name in names)


def module_name(path: str | Path) -> str:
    return Path(path).name.split(".ko")[0]


def module_bytes(path: Path) -> bytes:
    """The module as insmod takes it; some distributions compress them."""
    with open_input(path, PART, unpack=True) as file:
        if path.suffix != ".xz":
            return file.read()
        # Not every Python has it, and doctor, which looks for kernels, runs everywhere.
        import lzma

        with Limited(cast("BinaryIO", lzma.LZMAFile(file)), path, PART, lzma.LZMAError) as plain:
            return plain.readall()


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
    """Everything that a boot needs. `guest_programs` run in the guest, `host_programs` here."""

    kernel: Kernel
    qemu: Path
    busybox: Path
    guest_programs: dict[str, Path] = field(default_factory=dict)
    host_programs: dict[str, Path] = field(default_factory=dict)
    architecture: Architecture = AMD64

    @property
    def modules_at_boot(self) -> tuple[str, ...]:
        return (*self.architecture.modules, *MODULES_AT_BOOT)


def find_kit(
    guest_programs: Iterable[str] = (), host_programs: Iterable[str] = (), kernel: Kernel | None = None
) -> tuple[Kit | None, list[str]]:
    """The kit, or what is missing for it. Without `kernel` it is the newest one that is installed."""
    missing = []
    if platform.machine() != "x86_64":
        missing.append("an x86-64 machine")
    kernel, qemu, busybox = kernel or find_kernel(), program(AMD64.qemu), program("busybox")
    if kernel is None:
        missing.append("a kernel with nandsim in /boot and /lib/modules")
    if qemu is None:
        missing.append(AMD64.qemu)
    if busybox is None or libraries(busybox):
        missing.append("a statically linked busybox")
    in_guest = {name: program(name) for name in guest_programs}
    on_host = {name: program(name) for name in (*host_programs, *(["ldd"] if in_guest else []))}
    missing += [name for name, path in (*in_guest.items(), *on_host.items()) if path is None]
    if missing or kernel is None or qemu is None or busybox is None:
        return None, missing
    return Kit(kernel, qemu, busybox, found_of(in_guest), found_of(on_host)), []


def find_foreign_kit(
    architecture: Architecture, root: Path, kernel: Kernel | None = None
) -> tuple[Kit | None, list[str]]:
    """The kit of an architecture whose packages are unpacked in `root` (see `packages.py`), or what is missing."""
    missing = []
    kernel = kernel or find_kernel(root / "boot", root / "lib/modules")
    qemu, busybox = program(architecture.qemu), root / "bin/busybox"
    if kernel is None or not busybox.exists():
        missing.append(f"a kernel and busybox in {root} (ffslab reference fetch --arch {architecture.name})")
    if qemu is None:
        missing.append(architecture.qemu)
    if missing or kernel is None or qemu is None:
        return None, missing
    return Kit(kernel, qemu, busybox, architecture=architecture), []


def found_of(programs: dict[str, Path | None]) -> dict[str, Path]:
    return {name: path for name, path in programs.items() if path is not None}
