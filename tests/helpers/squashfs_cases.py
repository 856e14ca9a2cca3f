"""Reads of squashfs and EROFS on raw flash that a real kernel and the simulation do alike."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import ffslab
from helpers.jffs2_images import experiment, run, step

BLOCKS = 64
BLOCK_B = 131_072
BIG_B = 1_500_000
# Pages of the big file, behind one another and apart.
PLACES = (300, 3, 100, 101, 250, 331, 32, 64, 200, 12)
MANY = 120


def noise(count: int, seed: str) -> bytes:
    pieces = (hashlib.sha256(f"{seed}.{number}".encode()).digest() for number in range(count // 32 + 1))
    return b"".join(pieces)[:count]


def half(count: int, seed: str) -> bytes:
    """Of each 64 bytes the second half compresses."""
    raw = noise(count // 2 + 64, seed)
    return b"".join(raw[at : at + 32] + b"abcdefgh" * 4 for at in range(0, count // 2 + 32, 32))[:count]


# `tail` and `big` end within a block, `exact` with one, `sparse` has a hole of a block before what is there.
FILES: dict[str, bytes | str] = {
    "small": half(100, "small"),
    "mid": half(50_000, "mid"),
    "exact": half(2 * BLOCK_B, "exact"),
    "tail": half(300_000, "tail"),
    "big": half(BIG_B, "big"),
    "noise": noise(400_000, "noise"),
    "sparse": bytes(BLOCK_B) + half(5_000, "sparse") + bytes(2 * BLOCK_B),
    "link": "big",
    **{f"many/f{number:03}": half(500 + number * 37 % 2500, f"many{number}") for number in range(MANY)},
    **{f"deep/a{number % 5}/b/file{number}": half(1_000 + number * 997, f"deep{number}") for number in range(30)},
}


def put(folder: Path) -> Path:
    """The files in a folder, for mksquashfs and mkfs.erofs."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
    return folder


def read_what_can_be(root: ffslab.Stack) -> None:
    """Goes through a damaged image, as far as its calls do not fail, and no longer than 200 names."""
    pending = [""]
    for _ in range(200):
        if not pending:
            break
        path = pending.pop()
        try:
            if path == "" or root.stat(path).kind == "directory":
                pending += [f"{path}/{name}".lstrip("/") for name in root.listdir(path or "/")]
            elif root.stat(path).size_bytes < 1 << 20:
                root.read_file(path)
        except OSError:
            pass


@dataclass(frozen=True)
class Case:
    """What the guest does, and the steps that do it here."""

    name: str
    guest: str
    steps: list[str] = field(default_factory=list)


def reads(name: str, request_B: int) -> tuple[str, list[str]]:  # noqa: N803
    """All of a file, by calls of one size."""
    content = FILES["big" if name == "link" else name]
    count = -(-len(content) // request_B)
    how = {"op": "read", "pattern": "sequential", "request_B": request_B, "calls": "read"}
    steps = [
        step("open", file=name, flags=["rdonly"]),
        step("requests", file=name, **how, count=count, range_B=count * request_B),
        step("close", file=name),
    ]
    return f"dd if=/mnt/{name} of=/dev/null bs={request_B} 2> /dev/null", steps


def page(index: int) -> list[str]:
    how = {"op": "read", "pattern": "listed", "request_B": 4096}
    return [
        step("open", file="big", flags=["rdonly"]),
        step("requests", file="big", **how, order=[index], count=1),
        step("close", file="big"),
    ]


def cases() -> list[Case]:
    drop, dropped = "echo 3 > /proc/sys/vm/drop_caches", step("drop_caches")
    many = [f"f{number:03}" for number in range(MANY)]
    pages = " ".join(map(str, PLACES))
    one = "dd if=/mnt/big of=/dev/null bs=4096 skip=$at count=1 2> /dev/null"
    all_of_many = [line for name in many[:40] for line in reads(f"many/{name}", 4096)[1]]
    return [
        Case("look up", "[ -e /mnt/deep/a0/b/file0 ]", [step("stat", file="deep/a0/b/file0")]),
        Case("list", "echo /mnt/many/* > /dev/null", [step("readdir", dir="many")]),
        Case("stat", "for f in /mnt/many/*; do [ -e $f ]; done", [step("stat", file=f"many/{name}") for name in many]),
        Case("small", *reads("small", 4096)),
        Case("mid", *reads("mid", 4096)),
        Case("exact", *reads("exact", 131_072)),
        Case("tail", *reads("tail", 4096)),
        Case("noise", *reads("noise", 65_536)),
        Case("big", *reads("big", 65_536)),
        Case("again", *reads("big", 65_536)),
        Case("dropped", f"{drop}; {reads('big', 4096)[0]}", [dropped, *reads("big", 4096)[1]]),
        Case("pages", f"{drop}; for at in {pages}; do {one}; done", [dropped, *(s for at in PLACES for s in page(at))]),
        Case("sparse", *reads("sparse", 65_536)),
        Case("link", f"{drop}; {reads('link', 131_072)[0]}", [dropped, *reads("link", 131_072)[1]]),
        Case(
            "files",
            f"{drop}; for f in /mnt/many/f00* /mnt/many/f01* /mnt/many/f02* /mnt/many/f03*; do "
            "dd if=$f of=/dev/null bs=4096 2> /dev/null; done",
            [dropped, *all_of_many],
        ),
    ]


def simulated(path: Path, device: str, fs: str = "squashfs", **stack: object) -> dict[str, int]:
    keys = {"board": "qemu-debian-amd64", "kernel": "6.1", "ecc": "sw", "partition_blocks": BLOCKS, **stack}
    # The attach is no part of the mount; the reserve is that of `ubiattach -b 2`.
    before = [step("ubi_attach"), step("sleep", us="1 s")] if device == "ubiblock" else []
    if before:
        keys |= {"max_beb_per1024": 2}
    steps = [*before, step("mount"), *(line for case in cases() for line in case.steps)]
    text = experiment(steps, fs=fs, image=path.name, block_device=device, **keys)
    (variant,) = run(text, path.parent).summary["variants"]
    counts = [found["counts"]["page_reads"] for found in variant["steps"]][len(before) :]
    found = {"mount": counts.pop(0)}
    for case in cases():
        found[case.name] = sum(counts[: len(case.steps)])
        del counts[: len(case.steps)]
    return found
