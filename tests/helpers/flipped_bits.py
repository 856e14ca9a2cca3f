"""Small images of each format, and what becomes of the answer when one bit of them is another.

The measure is that of who reads an image: a file that is gone or changed is told (a complaint, exit code 1), or the
image is refused. What is neither is silent. Formats that have no check sums over something say so once, as the answer's
`unchecked`; a silent change counts as `named` then.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ffslab import InputError
from ffslab.images import How, ImageTree, Partition, read_partitions
from helpers import esp_nvs, yaffs2_images, zephyr_fcb, zephyr_nvs, zephyr_zms
from helpers.jffs2_images import run, step, tool

KINDS = ("told", "refused", "named", "silent", "without effect")


def tree(root: Path, noise_B: int = 9_000) -> Path:  # noqa: N803
    """A few files: text, noise, nothing, a link, a name below a directory."""
    draw = random.Random(3)
    contents = {
        "hostname": b"board\n",
        "etc/config": b"all work and no play " * 150,
        "noise": draw.randbytes(noise_B),
        "empty": b"",
    }
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "link").unlink(missing_ok=True)
    (root / "link").symlink_to("etc/config")
    for path in sorted(root.rglob("*")):
        os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    return root


def _called(program: str, *arguments: object) -> None:
    subprocess.run([tool(program), *map(str, arguments)], check=True, capture_output=True)


def small_jffs2(folder: Path) -> bytes:
    """Each flip is told in it, which takes 20 ms in 16 KiB: so files and nodes are small, and no block is filled up."""
    image = folder / "small.jffs2"
    _called("mkfs.jffs2", "-d", tree(folder / "root", 2_000), "-o", image, "-e", "8KiB", "-l", "-s", 1024)
    return image.read_bytes()


def jffs2(folder: Path, summaries: bool = False) -> bytes:
    image, summed = folder / "image.jffs2", folder / "summed.jffs2"
    _called("mkfs.jffs2", "-d", tree(folder / "root"), "-o", image, "-e", "8KiB", "-l", "-p")
    if not summaries:
        return image.read_bytes()
    _called("sumtool", "-i", image, "-o", summed, "-e", "8KiB", "-l", "-p")
    return summed.read_bytes()


def yaffs2(folder: Path, ecc: bool) -> bytes:
    return yaffs2_images.build(tree(folder / "root"), yaffs2_images.Layout(ecc=ecc))


def volume(folder: Path) -> Path:
    """UBIFS with the smallest LEBs that it takes."""
    image = folder / "image.ubifs"
    make = ("-r", tree(folder / "root"), "-m", 512, "-e", 15_360, "-c", 40, "-j", "60KiB", "-o", image)
    _called("mkfs.ubifs", *make)
    return image


def ubi(folder: Path) -> bytes:
    image, table = folder / "image.ubi", folder / "ubi.ini"
    text = f"[v]\nmode=ubi\nimage={volume(folder)}\nvol_id=0\nvol_type=dynamic\nvol_name=rootfs\nvol_size=600KiB\n"
    table.write_text(text, encoding="utf-8")
    _called("ubinize", "-o", image, "-m", 512, "-p", "16KiB", "-Q", 7, table)
    return image.read_bytes()


def static_volume(folder: Path) -> bytes:
    """UBI without UBIFS, on NOR: a static volume, whose content has a check sum, that holds squashfs."""
    volume, image, table = folder / "volume.squashfs", folder / "image.ubi", folder / "ubi.ini"
    _called("mksquashfs", tree(folder / "root", 900), volume, "-noappend", "-nopad", "-all-root", "-mkfs-time", 0)
    text = f"[v]\nmode=ubi\nimage={volume}\nvol_id=0\nvol_type=static\nvol_name=rootfs\nvol_size=4KiB\n"
    table.write_text(text, encoding="utf-8")
    _called("ubinize", "-o", image, "-m", 1, "-p", "1KiB", "-Q", 7, table)
    return image.read_bytes()


def littlefs(folder: Path) -> bytes:
    from littlefs import LittleFS, UserContext

    context = UserContext(buffer=bytearray(b"\xff" * (48 * 512)))
    fs = LittleFS(context=context, block_size=512, block_count=48, read_size=16, prog_size=16, cache_size=256)
    root = tree(folder / "root")
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            fs.mkdir(name)
        elif not path.is_symlink():
            with fs.open(name, "wb") as file:
                file.write(path.read_bytes())
    fs.unmount()
    return bytes(context.buffer)


def fat(folder: Path) -> bytes:
    image = folder / "image.fat"
    image.write_bytes(bytes(48 << 10))
    _called("mkfs.fat", "-F", 12, "-s", 1, "-r", 16, image)
    root = tree(folder / "root")
    names = [path for path in sorted(root.iterdir()) if not path.is_symlink()]
    _called("mcopy", "-m", "-i", image, "-s", *names, "::")
    return image.read_bytes()


def rfs(folder: Path) -> bytes:
    steps = [step("mount"), step("mkdir", dir="etc"), step("create", file="etc/config", bytes=3_000)]
    steps += [step("create", file="noise", bytes=5_000), step("umount"), step("save_image", file="image.rfs")]
    stack = '[stack]\nsystem = "rtems"\nfs = "rfs"\nquirks = "fixed"\ndevice_KiB = 64\n'
    return run(f'title = "RFS"\n{stack}{"".join(steps)}', folder).images["image.rfs"]


IMAGES: dict[str, Callable[[Path], bytes]] = {
    "JFFS2": small_jffs2,
    "JFFS2 with summaries": lambda folder: jffs2(folder, summaries=True),
    "YAFFS2": lambda folder: yaffs2(folder, ecc=False),
    "YAFFS2 with tag ECC": lambda folder: yaffs2(folder, ecc=True),
    "UBI": ubi,
    "UBI, static volume": static_volume,
    "UBIFS": lambda folder: volume(folder).read_bytes(),
    "littlefs": littlefs,
    "FAT": fat,
    "RFS": rfs,
    "ESP-IDF's NVS": lambda _: esp_nvs.small(),
    "Zephyr's NVS": lambda _: zephyr_nvs.small(),
    "Zephyr's NVS with CRC": lambda _: zephyr_nvs.small(data_crc=True),
    "Zephyr's ZMS": lambda _: zephyr_zms.small(),
    "Zephyr's ZMS with CRC": lambda _: zephyr_zms.small(data_crc=True),
    "Zephyr's FCB": lambda _: zephyr_fcb.small(),
}
# How large the erase blocks are is known of the chip; nothing in a small image tells.
KNOWN: dict[str, How] = {"JFFS2": {"block_KiB": 8}, "JFFS2 with summaries": {"block_KiB": 8}}


# Only the content of files has no check sums.
CHECKS_NAMES = frozenset({"littlefs"})


@dataclass(frozen=True)
class Flip:
    """A flipped bit, and what the answer was."""

    bit: int
    kind: str
    changed: str  # what of the files is another


def _content(found: list[tuple[Partition, ImageTree | None]]) -> dict[str, tuple[object, ...]]:
    return {
        f"{part.name}/{one.path}": (
            one.kind, one.permissions, one.owner, one.links, one.device, one.size_B, one.modified_s,
            one.data, one.error,
        )
        for part, read in found
        for one in (read.entries if read else [])
    }  # fmt: skip


def flips(name: str, image: bytes, place: Path, bits: Iterable[int]) -> Iterable[Flip]:
    """Flips these bits of an image, one after the other; the file at `place` is its copy."""
    place.write_bytes(image)
    how = KNOWN.get(name, {})
    first = read_partitions(place, **how)
    assert not [line for _, read in first if read for line in read.complaints], "the image itself is whole"
    before = _content(first)
    with place.open("r+b", buffering=0) as file:
        for bit in bits:
            at, mask = bit // 8, 1 << bit % 8
            os.pwrite(file.fileno(), bytes([image[at] ^ mask]), at)
            try:
                found = read_partitions(place, **how)
            except InputError as error:
                yield Flip(bit, "refused", str(error))
            else:
                yield _judged(name, bit, before, found)
            os.pwrite(file.fileno(), image[at : at + 1], at)


def _judged(
    name: str, bit: int, before: dict[str, tuple[object, ...]], found: list[tuple[Partition, ImageTree | None]]
) -> Flip:
    after = _content(found)
    differ = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    changed = ", ".join(differ)
    if any(read is None or read.complaints for _, read in found):
        return Flip(bit, "told", changed)
    if not differ:
        return Flip(bit, "without effect", "")
    is_named = all(part.layout and part.layout.get("unchecked") for part, _ in found)
    if name in CHECKS_NAMES:
        is_named &= before.keys() == after.keys() and all(before[path][:-2] == after[path][:-2] for path in differ)
    return Flip(bit, "named" if is_named else "silent", changed)


def counted(found: Iterable[Flip]) -> Counter[str]:
    return Counter(flip.kind for flip in found)
