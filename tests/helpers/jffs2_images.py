"""Helpers of the tests of JFFS2 images: a tree of files, the programs of mtd-utils, jefferson, short experiments."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import ffslab
from ffslab.images import ImageEntry, ImageTree
from helpers.left_out import leave_out

JEFFERSON = Path(sys.executable).with_name("jefferson")


def tool(name: str) -> str:
    """Path of a program of mtd-utils; the test is skipped when it is missing."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        leave_out(f"{name} is missing: apt-get install mtd-utils")
    return path


# ---- a tree that has everything -----------------------------------------------------------------------------

# mkfs.jffs2 keeps 8 bits of each part of a device number.
DEVICES = """\
/dev/console c 620 5 6 5 1 - - -
/dev/ram     b 640 0 7 1 3 - - -
/dev/last    c 600 0 0 255 255 - - -
/dev/pipe    p 622 0 0 - - - - -
/owned       f 4750 1000 1001 - - - - -
/etc         d 1777 65534 65533 - - - - -
"""
TIMES = (0, 1, 946_684_800, 1_700_000_000, 2_147_483_648, 4_294_967_295)


def text(size: int, seed: int) -> bytes:
    """Text that compresses as text does."""
    draw = random.Random(seed)
    words = [bytes(draw.choices(b"etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(300)]
    out = bytearray()
    while len(out) < size:
        out += draw.choice(words) + draw.choice((b" ", b" ", b" ", b",\n"))
    return bytes(out[:size])


def make_tree(root: Path) -> Path:
    """Files of every kind that mkfs.jffs2 takes from a folder."""
    draw = random.Random(7)
    contents = {
        "empty": b"",
        "one byte": b"x",
        "etc/fstab": b"/dev/root / jffs2 rw 0 0\n",
        "owned": b"#!/bin/sh\n",
        "text": text(100_000, 1),
        "zeros": bytes(50_000),
        "random": draw.randbytes(70_001),
        "exactly one page": text(4096, 2),
        "one page and a byte": draw.randbytes(4097),
        "mixed": text(9_000, 3) + bytes(9_000) + draw.randbytes(9_000) + b"a" * 9_000,
        "big": text(300_000, 4) + draw.randbytes(300_000),
        "deep/" + "/".join("abcdefghij") + "/bottom": b"down here\n",
        "n" * 254: b"the longest name\n",
        "names/ümläut 日本": b"UTF-8\n",
        "names/quote'\"\\ $x": b"shell\n",
    }
    contents |= {f"many/f{i:04}": text(i * 7 % 900, i) for i in range(300)}
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "dev").mkdir()
    (root / "empty directory").mkdir()
    (root / "relative").symlink_to("etc/fstab")
    (root / "dangling").symlink_to("/" + "t" * 253)
    (root / "names/hard link").hardlink_to(root / "text")
    os.mkfifo(root / "fifo")
    for i, path in enumerate(sorted(root.rglob("*"))):
        if not path.is_symlink():
            path.chmod((0o644, 0o600, 0o755, 0o444)[i % 4] if path.is_file() else (0o755, 0o700, 0o2775)[i % 3])
        os.utime(path, (TIMES[i % 6], TIMES[i % 6]), follow_symlinks=False)
    return root


# ---- what is compared ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What one name stands for. `modified_s` None: not compared."""

    kind: str
    permissions: int
    owner: tuple[int, int]
    device: int
    modified_s: int | None
    data: bytes


def from_host(path: Path) -> Seen:
    info = path.lstat()
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo"}
    kind = kinds[stat.S_IFMT(info.st_mode)]
    data = path.read_bytes() if kind == "file" else os.fsencode(path.readlink()) if kind == "symlink" else b""
    owner = (info.st_uid, info.st_gid)
    # The kernel takes the time of a directory from its newest entry, and mkfs.jffs2 puts the file's own time there.
    dated = kind != "directory" or not any(path.iterdir())
    return Seen(kind, stat.S_IMODE(info.st_mode), owner, 0, int(info.st_mtime) if dated else None, data)


def expected_tree(root: Path) -> dict[str, Seen]:
    """The folder with the device table applied; `dev` gets its entries from there."""
    expected = {path.relative_to(root).as_posix(): from_host(path) for path in root.rglob("*")}
    kinds = {"c": "char device", "b": "block device", "p": "fifo"}
    for line in DEVICES.splitlines():
        name, letter, mode, uid, gid, *numbers = line.split()
        name, permissions, owner = name.removeprefix("/"), int(mode, 8), (int(uid), int(gid))
        if letter in kinds:
            device = 0 if letter == "p" else os.makedev(int(numbers[0]), int(numbers[1]))
            # mkfs.jffs2 gives nodes of the table the present time.
            expected[name] = Seen(kinds[letter], permissions, owner, device, None, b"")
        else:
            found = expected[name]
            expected[name] = Seen(found.kind, permissions, owner, 0, found.modified_s, found.data)
    expected["dev"] = replace(expected["dev"], modified_s=None)
    return expected


def from_image(entry: ImageEntry, with_time: bool) -> Seen:
    modified_s = entry.modified_s if with_time else None
    return Seen(entry.kind, entry.permissions, entry.owner, entry.device, modified_s, entry.data)


def assert_same(image: ImageTree, expected: dict[str, Seen]) -> None:
    assert image.complaints == []
    found = {entry.path: entry for entry in image.entries if entry.path}
    assert found.keys() == expected.keys()
    for path, wanted in expected.items():
        seen = from_image(found[path], wanted.modified_s is not None)
        assert seen.data == wanted.data, path
        assert seen == wanted, path


def mkfs(tree: Path, devices: Path, image: Path, options: Sequence[str], block_KiB: int) -> Path:  # noqa: N803
    command: list[str | Path] = [
        tool("mkfs.jffs2"),
        "-d",
        tree,
        "-D",
        devices,
        "-e",
        f"{block_KiB}KiB",
        "-o",
        image,
        *options,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return image


# ---- experiments and other readers -----------------------------------------------------------------------------


def toml_value(value: object) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value)


def step(name: str, **keys: object) -> str:
    lines = [f"{key} = {toml_value(value)}" for key, value in {"step": name, **keys}.items()]
    return "\n".join(["[[measure]]", *lines]) + "\n"


def experiment(steps: Sequence[str], **stack: object) -> str:
    keys = {"board": "zero-overhead", "fs": "jffs2", "partition_blocks": 64, **stack}
    lines = [f"{key} = {toml_value(value)}" for key, value in keys.items()]
    return "\n".join(['title = "Images"', "[stack]", *lines]) + "\n" + "".join(steps)


def run(text: str, base: Path) -> ffslab.Run:
    return ffslab.Experiment.from_toml(text, base).run()


def contents(root: Path) -> Path:
    """A folder to copy in: content of every kind, 60 files."""
    draw = random.Random(11)
    for i in range(60):
        place = root / f"dir{i % 5}" / f"file{i:02}"
        place.parent.mkdir(parents=True, exist_ok=True)
        size = draw.randint(0, 30_000)
        place.write_bytes((text(size, i), draw.randbytes(size), bytes(size))[i % 3])
    (root / "dir0" / "link").symlink_to("file00")
    (root / "n").mkdir()
    (root / "n" / ("l" * 254)).write_bytes(b"long name")
    return root


def busy_steps(flags: Sequence[str] = ("wronly",)) -> list[str]:
    """Copies, renames, deletes, overwrites a file that is opened with `flags` until garbage was collected, unmounts."""
    steps = [step("mount"), step("sleep", us="5 s"), step("copy_in", **{"from": "contents"})]
    steps += [step("rename", file=f"dir0/file{i:02}", to=f"dir0/renamed{i:02}") for i in (5, 10)]
    steps += [step("unlink", file=f"dir1/file{i:02}") for i in (1, 6, 11)]
    steps += [
        step("create", file="target", bytes="1 MiB"),
        step("open", file="target", flags=list(flags)),
        step("requests", file="target", op="write", pattern="random", request_B="4 KiB", count=3000, seed=3),
        step("requests", file="target", op="write", pattern="random", request_B=700, count=500, seed=4),
        step("close", file="target"),
        step("sleep", us="60 s"),
        step("umount"),
        step("save_image", file="raw.bin"),
        step("save_image", file="dump.bin", oob=True),
    ]
    return steps


def wrong_crcs(image: Path, big_endian: bool = False) -> list[str]:
    """What jffs2dump says about CRCs."""
    command = [tool("jffs2dump"), "-b" if big_endian else "-l", "-c", image]
    dump = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
    lines = (dump.stdout + dump.stderr).splitlines()
    assert any("Inode" in line for line in lines), "jffs2dump found no inode node"
    # A page's end that is too short for a padding node is filled with zeros (fs/jffs2/wbuf.c), two bytes of which
    # jffs2dump takes for a wrong magic number.
    zeros = re.compile(r"Wrong bitmask  at  0x[0-9a-f]+[7f]f[4-9a-f], 0x0000$")
    return [line for line in lines if line.startswith("Wrong") and not zeros.match(line)]


def jefferson(image: Path, folder: Path, block_B: int = 128 << 10) -> dict[str, Path]:  # noqa: N803
    """What jefferson extracts. Blocks have no order, so one that begins with a node may stand first for its guess."""
    if not JEFFERSON.exists():
        leave_out("jefferson is missing: pip install jefferson")
    data = image.read_bytes()
    blocks = [data[at : at + block_B] for at in range(0, len(data), block_B)]
    blocks.sort(key=lambda block: block[:2] not in (b"\x85\x19", b"\x19\x85"))
    turned = image.with_suffix(".turned")
    turned.write_bytes(b"".join(blocks))
    ran = subprocess.run([JEFFERSON, turned, "-d", folder], check=True, capture_output=True, text=True)
    assert "does not match" not in ran.stdout
    assert "Decompression error" not in ran.stderr
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
