"""Damage to flash images, chosen by a seed, and a process that looks into each damaged image and is watched meanwhile.

Run as a program it is that process: `mutations.py BASE SCRATCH FS FIRST COUNT` prints a JSON line per image.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import zlib
from pathlib import Path

PATIENCE_S = 10
WORDS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 0x10000, 0x20000, 0x40000000, 4096, 255)


def mutated(base: bytes, fs: str, seed: int) -> bytes:
    """The image with one to eight pieces of damage; in two of three images the check sums are made right again."""
    draw = random.Random(seed)
    image = bytearray(base)
    used = [at for at in range(0, len(base), 512) if base[at : at + 512].strip(b"\xff\x00")]
    for _ in range(draw.randint(1, 8)):
        # The structures of FAT and RFS stand at the start, headers at the start of pages in most formats.
        near_start = fs in ("fat", "rfs") and draw.random() < 0.6
        at = draw.choice(used[:64] if near_start else used) + draw.choice((draw.randrange(64), draw.randrange(512)))
        _damage(image, min(at, len(image) - 8), draw)
    if draw.random() < 0.1:
        del image[draw.randrange(1, len(image)) :]
    if draw.random() < 2 / 3:
        reseal(image, fs)
    return bytes(image)


def _damage(image: bytearray, at: int, draw: random.Random) -> None:
    count = draw.randint(1, 200)
    match draw.randrange(9):
        case 0 | 1:
            for _ in range(draw.randint(1, 4)):
                image[min(at + draw.randrange(64), len(image) - 1)] ^= 1 << draw.randrange(8)
        case 2 | 3 | 4:
            word = draw.choice((*WORDS, draw.randrange(64), len(image), len(image) // 2))
            struct.pack_into(draw.choice(("<I", ">I")), image, at & ~3, word & 0xFFFFFFFF)
        case 5:
            struct.pack_into("<H", image, at & ~1, draw.choice((0, 1, 0x7FFF, 0xFFFF, draw.randrange(65536))))
        case 6:
            part = bytes(image[at : at + count])
            image[at : at + len(part)] = draw.choice((draw.randbytes(len(part)), bytes(len(part)), b"\xff" * len(part)))
        case 7:
            size = draw.choice((512, 2048, 2112, 131072))
            part = bytes(image[at // size * size :][:size])
            to = draw.randrange(max(1, len(image) // size)) * size
            part = part[: len(image) - to]
            image[to : to + len(part)] = part
        case _:
            moved = bytes(image[at : at + 2048 - 4])
            image[at + 4 : at + 4 + len(moved)] = moved[: len(image) - at - 4]


def kernel_crc(start: int, data: bytes) -> int:
    """The kernel's crc32(start, data)."""
    return zlib.crc32(data, start ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def reseal(image: bytearray, fs: str) -> None:
    """Makes the check sums of headers and nodes right, so that what they protect is looked at."""
    if fs == "jffs2":
        for order, magic in (("<", b"\x85\x19"), (">", b"\x19\x85")):
            for at in _places(image, magic, 4):
                _reseal_jffs2(image, at, order)
    if fs == "ubifs":
        for magic in (b"UBI#", b"UBI!"):
            for at in _places(image, magic, 4):
                if at + 64 <= len(image):
                    struct.pack_into(">I", image, at + 60, kernel_crc(0xFFFFFFFF, bytes(image[at : at + 60])))
        for at in _places(image, b"\x31\x18\x10\x06", 8):
            length = struct.unpack_from("<I", image, at + 16)[0] if at + 24 <= len(image) else 0
            if 24 <= length <= 8192 and at + length <= len(image):
                struct.pack_into("<I", image, at + 4, kernel_crc(0xFFFFFFFF, bytes(image[at + 8 : at + length])))


def _places(image: bytearray, magic: bytes, align: int) -> list[int]:
    places, at = [], image.find(magic)
    while at >= 0:
        if at % align == 0:
            places.append(at)
        at = image.find(magic, at + 1)
    return places


def _reseal_jffs2(image: bytearray, at: int, order: str) -> None:
    if at + 12 > len(image):
        return
    kind, _ = struct.unpack_from(order + "HI", image, at + 2)
    if kind not in (0xE001, 0xE002, 0x2003, 0x2004, 0x2006):
        return
    struct.pack_into(order + "I", image, at + 8, kernel_crc(0, bytes(image[at : at + 8])))
    if kind == 0xE002 and at + 68 <= len(image):
        packed = struct.unpack_from(order + "I", image, at + 48)[0]
        if packed <= 8192 and at + 68 + packed <= len(image):
            struct.pack_into(order + "I", image, at + 60, kernel_crc(0, bytes(image[at + 68 : at + 68 + packed])))
        struct.pack_into(order + "I", image, at + 64, kernel_crc(0, bytes(image[at : at + 60])))
    if kind == 0xE001 and at + 40 <= len(image):
        name = bytes(image[at + 40 : at + 40 + image[at + 28]])
        struct.pack_into(order + "I", image, at + 36, kernel_crc(0, name))
        struct.pack_into(order + "I", image, at + 32, kernel_crc(0, bytes(image[at : at + 32])))


# ---- the process that looks ---------------------------------------------------------------------------------


def _memory_B(key: str) -> int:  # noqa: N802
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _look(path: Path, out: int) -> None:
    """In a process of its own: what came of it, and by how much memory grew at most."""
    from ffslab import _native

    before = _memory_B("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    try:
        text = _native.inspect(
            path, fs="auto", page_bytes=None, oob_bytes=None, block_bytes=None, endian="auto", board="omap3evm",
            part=None, kernel=None, device="sd-card",
        )  # fmt: skip
        facts = json.loads(text)
        outcome = "mounted" if facts["mount"] else "not mounted"
    except _native.InputError as error:
        outcome = "refused" if len(str(error)) > 10 and "\n" not in str(error) else f"no clear line: {error}"
    except BaseException as error:  # a panic is none of Exception
        outcome = f"{type(error).__name__}: {error}"
    os.write(out, json.dumps([outcome, _memory_B("VmHWM") - before]).encode())


def main(base: Path, scratch: Path, fs: str, first: int, count: int) -> None:
    """Looks into `count` damaged images."""
    from ffslab import _native  # loaded once, before the processes part

    assert _native
    image = base.read_bytes()
    for seed in range(first, first + count):
        damaged = mutated(image, fs, seed)
        scratch.write_bytes(damaged)
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            signal.alarm(PATIENCE_S)
            _look(scratch, write_end)
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as answers:
            answer = answers.read()
        _, status = os.waitpid(child, 0)
        died = f"no answer, status {status}: " + ("hangs" if status == signal.SIGALRM else "crashed")
        outcome, grown = json.loads(answer) if answer else (died, 0)
        print(json.dumps([seed, outcome, grown, len(damaged)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
