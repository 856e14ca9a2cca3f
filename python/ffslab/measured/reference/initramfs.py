"""The guest's initramfs: busybox, kernel modules, programs with their libraries, and the script that runs first."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ffslab.measured.reference.kit import MODULES_OF_JOBS, Kit, libraries, module_bytes, module_name

HERE = Path(__file__).resolve().parent


@dataclass
class Cpio:
    """An archive in the format "newc" (Linux, Documentation/driver-api/early-userspace/buffer-format.rst)."""

    data: bytearray = field(default_factory=bytearray)
    folders: set[str] = field(default_factory=set)
    count: int = 0

    def add(self, path: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        """Adds an entry, and the folders above it; all belong to root and to 1970."""
        for parent in reversed(PurePosixPath(path).parents):
            if str(parent) not in (".", *self.folders):
                self.folders.add(str(parent))
                self._entry(str(parent), stat.S_IFDIR | 0o755, b"", (0, 0))
        self._entry(path, mode, content, device)

    def _entry(self, path: str, mode: int, content: bytes, device: tuple[int, int]) -> None:
        self.count += 1
        name = path.encode() + b"\0"
        numbers = (self.count, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
        self.data += b"070701" + b"".join(b"%08X" % number for number in numbers) + name
        self._pad()
        self.data += content
        self._pad()

    def _pad(self) -> None:
        self.data += bytes(-len(self.data) % 4)

    def finish(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"", (0, 0))
        return bytes(self.data)


def build(kit: Kit, programs: Mapping[str, bytes] | None = None) -> bytes:
    """The same arguments give the same bytes. `programs`: further executable files, by their path in the guest."""
    cpio = Cpio()
    executable = stat.S_IFREG | 0o755
    cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    for folder in ("proc", "sys", "host", "mnt", "tmp"):
        cpio.add(folder, stat.S_IFDIR | 0o755)
    cpio.add("init", executable, (HERE / "init.sh").read_bytes())
    cpio.add("bin/busybox", executable, kit.busybox.read_bytes())
    cpio.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")

    shared = set()
    for path, content in (programs or {}).items():
        cpio.add(path, executable, content)
    for name, binary in kit.guest_programs.items():
        # sbin stands before busybox's own programs in the guest's PATH.
        cpio.add(f"sbin/{name}", executable, binary.read_bytes())
        shared.update(libraries(binary))
    for library in sorted(shared):
        cpio.add(str(library).lstrip("/"), executable, library.read_bytes())

    at_boot = kit.kernel.closure(kit.modules_at_boot)
    of_jobs = kit.kernel.closure((*kit.modules_at_boot, *MODULES_OF_JOBS))
    for module in of_jobs:
        cpio.add(f"modules/{module_name(module)}.ko", stat.S_IFREG | 0o644, module_bytes(module))
    later = set(MODULES_OF_JOBS)
    order = [module_name(module) for module in (*at_boot, *of_jobs)]
    lines = list(dict.fromkeys(name for name in order if name not in later))
    cpio.add("modules/order", stat.S_IFREG | 0o644, "".join(f"{name}\n" for name in lines).encode())
    return cpio.finish()
