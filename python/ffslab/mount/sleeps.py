"""`--think fast`: the library that makes sleeps of programs pass on the board, and which programs it cannot reach."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ffslab import _native
from ffslab._native import InputError

# What the library reads (`crates/mount/preload/sleeps.c`).
SOCKET = "FFSLAB_MOUNT_SOCKET"
PRELOAD = "LD_PRELOAD"
# Type of the program header that names the dynamic linker (elf(5)), and where headers stand in 64-bit files.
PT_INTERP = 3
ELF64 = b"\x7fELF\x02\x01"
HEADERS_AT = struct.Struct("<32xQ14xHH")


@contextmanager
def sleeps_library(socket: Path | None) -> Iterator[Mapping[str, str]]:
    """The environment of programs that sleep on the board of the mount with this socket; empty without one.

    Errors: the library cannot be loaded from where temporary files are.
    """
    if socket is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="ffslab-sleeps-") as folder:
        library = Path(folder) / "sleeps.so"
        library.write_bytes(_native.mount_sleeps_library())
        # A program that becomes another user's would complain that it cannot load it.
        Path(folder).chmod(0o755)
        if os.statvfs(folder).f_flag & os.ST_NOEXEC:
            raise InputError(
                f"--think fast: nothing may be executed from {Path(folder).parent}: set TMPDIR to a folder elsewhere"
            )
        before = os.environ.get(PRELOAD)
        yield {PRELOAD: f"{library}:{before}" if before else str(library), SOCKET: str(socket)}


def remarks(command: Sequence[str]) -> list[str]:
    """What a person should know of a command that the library does not reach."""
    found = shutil.which(command[0]) if command else None
    if found is None:
        return []
    try:
        head = Path(found).read_bytes()
        mode = Path(found).stat().st_mode
    except OSError:
        return []
    if head.startswith(ELF64) and not _is_dynamic(head):
        why = "is statically linked, so no library comes between it and the kernel"
    elif mode & (stat.S_ISUID | stat.S_ISGID) and os.geteuid() != 0:
        why = "runs with the rights of another user, so the system preloads nothing into it"
    else:
        return []
    return [f"--think fast: {found} {why}: its sleeps take as long as they say, and no time on the board"]


def _is_dynamic(program: bytes) -> bool:
    """Whether a dynamic linker starts a program, which takes preloaded libraries."""
    try:
        at, entry_bytes, count = HEADERS_AT.unpack_from(program)
        kinds = [struct.unpack_from("<I", program, at + i * entry_bytes)[0] for i in range(count)]
    except struct.error:
        return True
    return PT_INTERP in kinds
