"""Damaged dumps at `extract` and `inspect`: no hang, bounded memory, no traceback, no Rust text, no file elsewhere.

The dumps are of the kinds that are made plain before they are read; what is damaged is what stands below, and its check
sums are right again in two of three. A few run with the other tests, many in `make soak`.
"""

from __future__ import annotations

import random
import re
import shutil
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from helpers import esp_nvs, zephyr_fcb, zephyr_nvs, zephyr_zms
from helpers.dumps import big_endian, lzma1, moved, pieces, recoded, ubinized, wear_levelled, with_oob, yaffs1
from helpers.flipped_bits import fat, jffs2, tree, volume
from helpers.fscrypt_images import Policy, encrypted
from helpers.mutations import Image
from helpers.partition_tables import Held, esp32, gpt, gpt_resealed, mbr
from helpers.spiffs_images import spiffs
from helpers.squashfs_images import squashfs
from helpers.yaffs2_images import Layout, build
from test_hostile import Call, judged, run_all

# What the answer of a program in Rust looks like that prints a value as its programmer sees it.
RUST = re.compile(r"\b[A-Z]\w+ \{ \w+: |\b(Some|Ok|Err)\(|::[a-z_]+::")
# A record of a volume table with a name: sizes, kind, mark, length of the name.
RECORD = re.compile(rb"(?s)\x00[\x00-\x7f]{13}\x00[\x01-\x20](root|kernel)\x00")
RECORD_B = 172
NAMES = (b"..", b"../../outside", b"/outside", b"a/b", b"", b"\xff\xfe", b"root")

KEY = random.Random(9).randbytes(64)
# Of the volumes of `helpers.flipped_bits`.
LEB_B = 15_360

Make = Callable[[bytes], bytes]


def same(image: bytes) -> bytes:
    return image


def whole(image: bytes) -> bytes:
    """Pages of 2048 + 64 B: what damage has cut off is erased."""
    return image + b"\xff" * (-len(image) % 2112)


def kinds(folder: Path) -> Mapping[str, tuple[Image, Make]]:
    """Of each kind the image that is damaged, and how the dump is made of it."""
    kernel = folder / "kernel.bin"
    kernel.write_bytes(random.Random(1).randbytes(20_000))
    held = volume(folder)
    ubi = Image("ubifs", ubinized(folder, {"root": held, "kernel": kernel}), page_B=512)
    nodes = jffs2(folder)
    pages = build(tree(folder / "root"), Layout(ecc=False, extra=False))
    yaffs2 = Image("yaffs2", pages, page_B=2048, oob_B=64)
    return {
        "volumes": (ubi, same),
        "header": (ubi, lambda image: b"Z" * 48 + image),
        "oob": (ubi, lambda image: with_oob(image, 512, 24)),
        "alone": (Image("ubifs", held.read_bytes(), page_B=512), same),
        "lzma": (Image("jffs2", recoded(nodes, 0x1985, 8, lzma1)), same),
        "old": (Image("jffs2", recoded(nodes, 0x1984, 6, zlib.compress)), same),
        "odd": (Image("jffs2", nodes), lambda image: with_oob(image, 2048, 72)),
        "without-ecc": (yaffs2, same),
        "pieces": (yaffs2, lambda image: moved(whole(image), pieces((2, 8), (18, 24), (34, 40), (50, 56)))),
        "big": (yaffs2, lambda image: big_endian(whole(image), 2)),
        "yaffs1": (yaffs2, lambda image: yaffs1(whole(image))),
        "worn": (Image("fat", fat(folder)), wear_levelled),
        **in_plain_sight(folder, nodes),
    }


def in_plain_sight(folder: Path, nodes: bytes) -> Mapping[str, tuple[Image, Make]]:
    """Images whose own structures are what is damaged."""
    files: dict[str, bytes | str] = {
        "etc/hostname": b"board\n",
        "big": b"all work " * 9000,
        "link": "big",
        **dict.fromkeys("abcd", b"x" * 300),
    }
    packed, plain = squashfs(files, "xz"), squashfs(files, "none")
    parts = [Held("root", 128 << 10, nodes), Held("rom", 256 << 10, packed)]
    volume_of_files = encrypted(volume(folder).read_bytes(), LEB_B, Policy(2, KEY))
    (folder / "rom").write_bytes(packed)
    return {
        "squashfs": (Image("squashfs", packed), same),
        "squashfs-plain": (Image("squashfs", plain), same),
        "squashfs-behind": (Image("squashfs", plain), lambda image: b"Z" * 5000 + image + nodes),
        "squashfs-volume": (Image("ubifs", ubinized(folder, {"root": folder / "rom"}), page_B=512), same),
        "encrypted": (Image("ubifs", volume_of_files, page_B=512), same),
        "spiffs": (Image("spiffs", spiffs(files)), same),
        "esp-nvs": (Image("esp-nvs", esp_nvs.small()), esp_nvs.resealed),
        "zephyr-nvs": (Image("zephyr-nvs", zephyr_nvs.small()), zephyr_nvs.resealed),
        "zephyr-zms": (Image("zephyr-zms", zephyr_zms.small()), zephyr_zms.resealed),
        "zephyr-fcb": (Image("zephyr-fcb", zephyr_fcb.small()), zephyr_fcb.resealed),
        "mbr": (Image("mbr", bytes(mbr(parts[:1], parts[1:], 1 << 19))), same),
        "gpt": (Image("gpt", bytes(gpt(parts, 1 << 19))), gpt_resealed),
        "esp32": (Image("esp32", bytes(esp32(parts, 1 << 19))), same),
    }


def with_names(image: bytes, draw: random.Random) -> bytes:
    """UBI whose volumes have names that lead elsewhere (`struct ubi_vtbl_record`)."""
    out = bytearray(image)
    # A record that is cut off has none.
    for at in (found.start() for found in RECORD.finditer(image) if found.start() + RECORD_B <= len(image)):
        name = draw.choice(NAMES)
        struct.pack_into(">H", out, at + 14, len(name))
        out[at + 16 : at + 144] = name.ljust(128, b"\0")
        struct.pack_into(">I", out, at + 168, zlib.crc32(out[at : at + 168]) ^ 0xFFFF_FFFF)
    return bytes(out)


def thrown(folder: Path, seeds: range) -> list[Call]:
    """A call for each seed, each with a dump of its own."""
    made = list(kinds(folder).items())
    todo: list[Call] = []
    for seed in seeds:
        name, (image, make) = made[seed % len(made)]
        draw = random.Random(seed)
        path = folder / f"part-{name}-{seed}.bin"
        damaged = image.damaged(seed)
        (folder / "key").write_bytes(KEY)
        path.write_bytes(make(with_names(damaged, draw) if name in ("volumes", "header") else damaged))
        args = ["inspect", path.name, "--deleted"] if draw.random() < 0.3 else ["extract", path.name, "target"]
        todo.append({"args": [*args, "--key", "key"] if name == "encrypted" else args})
    return todo


@pytest.mark.parametrize("count", [69, pytest.param(50_000, marks=pytest.mark.soak)])
def test_damaged_dumps_are_read_told_or_refused(tmp_path: Path, count: int) -> None:
    batch = 600
    for first in range(0, count, batch):
        ground = tmp_path / str(first)
        ground.mkdir()
        outcomes = run_all(thrown(ground, range(first, min(first + batch, count))), ground)
        figures, told = judged(outcomes)
        told += [f"Rust: {o['args']}: {o['errors'][:300]}" for o in outcomes if RUST.search(o["out"] + o["errors"])]
        told += [f"beside: {o['args']}: {o['made']}" for o in outcomes if set(o["made"]) - {"target", *o["args"]}]
        assert not told, "\n".join([figures, *told])
        shutil.rmtree(ground)
