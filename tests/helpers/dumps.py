"""What the tests of dumps share: files that an image should hold, and dumps of UBI as devices have them."""

from __future__ import annotations

import lzma
import random
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from ffslab.images import How, read_image
from helpers.flipped_bits import tree
from helpers.jffs2_images import tool

BLOCK_B = 16 << 10


def contents(path: Path, **how: Unpack[How]) -> dict[str, bytes]:
    return {entry.path: entry.data for entry in read_image(path, **how).entries if entry.kind == "file"}


def expected(folder: Path) -> dict[str, bytes]:
    root = folder / "root"
    found = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def saved(folder: Path, image: bytes | bytearray) -> Path:
    path = folder / "dump.bin"
    path.write_bytes(image)
    return path


def with_oob(image: bytes, page_B: int, oob_B: int, first: bytes = b"\xff\xff") -> bytes:  # noqa: N803
    """Each page followed by an OOB area that holds noise, as an ECC does."""
    draw = random.Random(6)
    out = bytearray()
    for at in range(0, len(image), page_B):
        data = image[at : at + page_B].ljust(page_B, b"\xff")
        erased = data == b"\xff" * page_B
        out += data + (b"\xff" * oob_B if erased else first + draw.randbytes(oob_B - len(first)))
    return bytes(out)


def ubinized(folder: Path, volumes: dict[str, Path]) -> bytes:
    text = "".join(
        f"[v{number}]\nmode=ubi\nimage={image}\nvol_id={number}\nvol_type=dynamic\nvol_name={name}\nvol_size=600KiB\n"
        for number, (name, image) in enumerate(volumes.items())
    )
    (folder / "ubi.ini").write_text(text, encoding="utf-8")
    command = [tool("ubinize"), "-o", folder / "all.ubi", "-m", "512", "-p", "16KiB", "-Q", "7", folder / "ubi.ini"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return (folder / "all.ubi").read_bytes()


def volume_of(image: bytes, block_B: int = 128 << 10) -> bytes:  # noqa: N803
    """The LEBs of the only volume in an image of UBI, with all that was not erased."""
    lebs: dict[int, tuple[int, bytes]] = {}
    for at in range(0, len(image), block_B):
        block = image[at : at + block_B]
        vid, data = struct.unpack_from(">II", block, 16)
        if block[:4] == b"UBI#" and block[vid : vid + 4] == b"UBI!":
            number, leb = struct.unpack_from(">II", block, vid + 8)
            (sequence,) = struct.unpack_from(">Q", block, vid + 40)
            if number == 0:
                lebs[leb] = max(lebs.get(leb, (0, b"")), (sequence, block[data:]))
    size = len(next(iter(lebs.values()))[1])
    return b"".join(lebs.get(leb, (0, b"\xff" * size))[1] for leb in range(max(lebs) + 1))


def ubi_of_large_pages(folder: Path) -> bytes:
    """As `helpers.flipped_bits.ubi` makes it, with pages of 2048 B."""
    held, image = folder / "large.ubifs", folder / "large.ubi"
    make = ("-r", tree(folder / "root"), "-m", 2048, "-e", 61_440, "-c", 40, "-o", held)
    subprocess.run([tool("mkfs.ubifs"), *map(str, make)], check=True, capture_output=True)
    text = f"[v]\nmode=ubi\nimage={held}\nvol_id=0\nvol_type=dynamic\nvol_name=rootfs\nvol_size=2400KiB\n"
    (folder / "large.ini").write_text(text, encoding="utf-8")
    command = [tool("ubinize"), "-o", image, "-m", "2048", "-p", "64KiB", "-Q", "7", folder / "large.ini"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return image.read_bytes()


def moved(image: bytes, places: list[int], oob_B: int = 64) -> bytes:  # noqa: N803
    """The tags at OOB offset 2 of pages of 2048 + 64 B, byte by byte at these places."""
    out = bytearray()
    for start in range(0, len(image), 2112):
        oob = bytearray(b"\xff" * oob_B)
        for at, place in enumerate(places):
            oob[place] = image[start + 2050 + at]
        out += image[start : start + 2048] + oob
    return bytes(out)


def pieces(*ranges: tuple[int, int]) -> list[int]:
    return [at for first, end in ranges for at in range(first, end)][:28]


def swapped(words: bytes) -> bytes:
    return b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))


def big_endian_header(page: bytes) -> bytes:
    numbers, rest = page[268:300], page[460:512]
    return swapped(page[:8]) + page[8:268] + swapped(numbers) + page[300:460] + swapped(rest) + page[512:]


def yaffs1_page(data: bytes, number: int, chunk: int, count: int, serial: int = 0, status: int = 0xFF) -> bytes:
    # Numbers of damaged pages may be larger than there is room for.
    word = chunk & 0xF_FFFF | serial << 20 | (count & 0x3FF) << 22 | (number & 0x3_FFFF) << 32 | (count >> 10 & 3) << 62
    ecc = 0
    for bit in range(64):
        ecc ^= bit + 1 if word >> bit & 1 else 0
    tags = (word | ecc << 50).to_bytes(8, "little")
    oob = tags[:4] + bytes([status, 0xFF]) + tags[4:6] + b"\xff" * 3 + tags[6:] + b"\xff" * 3
    return data.ljust(512, b"\xff") + oob


def crc(data: bytes) -> int:
    """That of ESP-IDF, and that of JFFS2."""
    return zlib.crc32(data, 0xFFFF_FFFF)


def recoded(image: bytes, magic: int, compressor: int, pack: Callable[[bytes], bytes]) -> bytes:
    """The data nodes of a JFFS2 image packed anew, with another magic number; erase blocks of 8 KiB."""
    out = bytearray()
    at = 0
    while at + 12 <= len(image):
        here, kind, length = struct.unpack_from("<HHI", image, at)
        if here != 0x1985:
            at += 4
            continue
        node = bytearray(image[at : at + length])
        if kind == 0xE002 and node[56] in (0, 6):
            stored, size = struct.unpack_from("<2I", node, 48)
            plain = bytes(node[68 : 68 + stored])
            packed = pack(zlib.decompress(plain) if node[56] == 6 else plain)
            if 0 < len(packed) < size:
                node[68:] = packed
                struct.pack_into("<2I", node, 48, len(packed), size)
                node[56] = compressor
                struct.pack_into("<I", node, 60, crc(packed) ^ 0xFFFF_FFFF)
        struct.pack_into("<HHI", node, 0, magic, kind, len(node))
        struct.pack_into("<I", node, 8, crc(bytes(node[:8])) ^ 0xFFFF_FFFF)
        covered, place = {0xE001: (32, 32), 0xE002: (60, 64)}.get(kind, (0, 0))
        if covered:
            struct.pack_into("<I", node, place, crc(bytes(node[:covered])) ^ 0xFFFF_FFFF)
        if len(out) % 8192 + len(node) > 8192:
            out += b"\xff" * (-len(out) % 8192)
        out += node + b"\xff" * (-len(node) % 4)
        at += (length + 3) & ~3
    return bytes(out + b"\xff" * (-len(out) % 8192))


def lzma1(data: bytes) -> bytes:
    raw = {"id": lzma.FILTER_LZMA1, "lc": 0, "lp": 0, "pb": 0, "dict_size": 8192}
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=[raw])


def big_endian(image: bytes, at: int) -> bytes:
    """Pages of 2048 + 64 B with plain tags at OOB offset 2 made big-endian, tags at another offset."""
    out = bytearray()
    for start in range(0, len(image), 2112):
        page, tags = image[start : start + 2048], image[start + 2050 : start + 2066]
        page = big_endian_header(page) if tags[8:12] == bytes(4) else page
        out += page + b"\xff" * at + swapped(tags) + b"\xff" * (48 - at)
    return bytes(out)


def yaffs1(image: bytes) -> bytes:
    """The same files in pages of 512 + 16 B; of each piece of data a stale page stands before the right one."""
    out = bytearray()
    for start in range(0, len(image), 2112):
        _, number, chunk, count = struct.unpack("<4I", image[start + 2050 : start + 2066].ljust(16, b"\xff"))
        number, chunk, count = number & 0x3_FFFF, chunk & 0xFFFF, min(count, 2048) if chunk else 0
        page = image[start : start + 2048]
        if chunk == 0:
            out += yaffs1_page(page[:512], number, 0, 0x3FF)
        for piece in range(0, count, 512):
            out += yaffs1_page(b"stale", number, 4 * chunk - 3 + piece // 512, 512, 1)
            data = page[piece : min(piece + 512, count)]
            out += yaffs1_page(data, number, 4 * chunk - 3 + piece // 512, len(data), 2)
    return bytes(out + yaffs1_page(b"gone", 300, 1, 4, 0, 0x00))


# Sectors below ESP-IDF's wear levelling, behind all others the two states and the configuration.
WORN_SECTORS = 13


def wear_levelled(volume: bytes, count: int = WORN_SECTORS) -> bytes:
    """A volume of FAT in so many sectors, as ESP-IDF's wear levelling writes it after it was moved three times."""
    dummy, moves = 5, 3
    held = [volume[at : at + 4096].ljust(4096, b"\0") for at in range(0, count * 4096, 4096)]
    sectors = held[moves:] + held[:moves]
    sectors.insert(dummy, b"\xa5" * 4096)
    head = struct.pack("<8I28x", 0, count + 1, moves, 0, 16, 4096, 2, 77)
    records = b"".join(struct.pack("<4I", at, 1, 2, 3) for at in range(dummy))
    state = (head + struct.pack("<I", crc(head)) + records).ljust(4096, b"\xff")
    config = struct.pack("<8I", 0, (count + 4) * 4096, 4096, 4096, 16, 16, 2, 32)
    return b"".join([*sectors, state, state, (config + struct.pack("<I", crc(config))).ljust(4096, b"\xff")])
