"""The kernel as QEMU can start it without the guest unpacking it first: that takes an emulated x86 longer than booting.

Facts: Linux, Documentation/arch/x86/boot.rst (the header of a bzImage, protocol 2.08 and later);
arch/x86/platform/pvh/head.S and include/xen/interface/elfnote.h (the note with the entry of an unpacked kernel).
"""

from __future__ import annotations

import functools
import lzma
import os
import struct
import zlib
from pathlib import Path

# Offsets in a bzImage, and the oldest protocol whose header says where the compressed kernel lies.
SETUP_SECTORS, MAGIC, PROTOCOL, PAYLOAD = 0x1F1, 0x202, 0x206, 0x248
SECTOR_B = 512
PROTOCOL_MIN = 0x0208
# A kernel unpacks to some 70 MB; more is none.
UNPACKED_B_MAX = 512 << 20
# XEN_ELFNOTE_PHYS32_ENTRY of CONFIG_PVH: name, type.
ENTRY_NOTE = (b"Xen\0", 18)
PT_NOTE = 4


@functools.cache
def boot_file(image: Path) -> Path:
    """A file for QEMU's `-kernel`, the same for every machine of this process: the unpacked kernel, held in memory; or
    `image` itself where it is packed in another way, is of another architecture, or cannot be entered unpacked."""
    kernel = unpacked(image.read_bytes())
    if kernel is None or not has_entry(kernel):
        return image
    descriptor = os.memfd_create("kernel")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(kernel)
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}")


def unpacked(image: bytes) -> bytes | None:
    """The ELF file in a bzImage."""
    if len(image) < PAYLOAD + 8 or image[MAGIC : MAGIC + 4] != b"HdrS":
        return None
    (protocol,) = struct.unpack_from("<H", image, PROTOCOL)
    if protocol < PROTOCOL_MIN:
        return None
    offset, size = struct.unpack_from("<II", image, PAYLOAD)
    start = ((image[SETUP_SECTORS] or 4) + 1) * SECTOR_B + offset
    packed = image[start : start + size]
    try:
        if packed.startswith(b"\xfd7zXZ"):
            return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(packed, UNPACKED_B_MAX)
        if packed.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(packed, UNPACKED_B_MAX)
    except (lzma.LZMAError, zlib.error):
        return None
    return None


def has_entry(kernel: bytes) -> bool:
    """Whether a 64-bit ELF file has the note with the entry for a kernel that is started unpacked."""
    if not kernel.startswith(b"\x7fELF\x02\x01") or len(kernel) < 64:
        return False
    (headers,) = struct.unpack_from("<Q", kernel, 32)
    size, count = struct.unpack_from("<HH", kernel, 54)
    for number in range(count):
        at = headers + number * size
        if at + 56 > len(kernel) or struct.unpack_from("<I", kernel, at)[0] != PT_NOTE:
            continue
        offset, length = struct.unpack_from("<Q16xQ", kernel, at + 8)
        if entry_in(kernel[offset : offset + length]):
            return True
    return False


def entry_in(notes: bytes) -> bool:
    """Whether there is the note among `notes`: each has the lengths of its name and content, a type, and both, in steps
    of four bytes."""
    at = 0
    while at + 12 <= len(notes):
        name_B, content_B, kind = struct.unpack_from("<III", notes, at)  # noqa: N806
        if (notes[at + 12 : at + 12 + name_B], kind) == ENTRY_NOTE:
            return True
        at += 12 + (name_B + 3 & ~3) + (content_B + 3 & ~3)
    return False
