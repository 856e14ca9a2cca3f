"""What programs do on an overlay, for a real kernel and for the simulation: copies up, whiteouts, merged lists."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from helpers.jffs2_images import experiment, run, step
from helpers.squashfs_cases import BLOCKS, Case

UPPER_BLOCKS = 96
SETTLES_S = 20
# Named on both sides, since what a kernel takes without a word depends on how it was built.
COMPRESSORS = {"jffs2": "zlib", "ubifs": "lzo"}
COUNTS = ("page_reads", "oob_reads", "page_programs", "oob_programs", "erases")


@dataclass(frozen=True)
class Layers:
    """The two file systems, each on a partition of its own."""

    lower: str
    upper: str

    @property
    def name(self) -> str:
        return f"{self.lower}-{self.upper}"


LAYERS = (Layers("squashfs", "ubifs"), Layers("squashfs", "jffs2"), Layers("jffs2", "ubifs"), Layers("ubifs", "jffs2"))


def write(name: str, flags: list[str], at: int) -> list[str]:
    """One call of a program that writes a page into an open file."""
    how = {"op": "write", "pattern": "listed", "request_B": 4096, "order": [at], "count": 1}
    return [step("open", file=name, flags=flags), step("requests", file=name, **how), step("close", file=name)]


def write_new(name: str) -> list[str]:
    """The same into a file that it makes."""
    return [
        step("open", file=name, flags=["wronly", "create"]),
        step("append", file=name, request_B=4096, count=1),
        step("close", file=name),
    ]


def cases() -> list[Case]:
    """Each ends in sync(2), so that what it wrote is counted with it. `/mnt` is the overlay here, `big` there."""
    page = "dd if=/page of=/mnt/{} bs=4096 count=1 conv=notrunc seek={} 2> /dev/null"
    many = [f"many/f{number:03}" for number in range(10, 20)]

    def m(name: str) -> str:
        return f"mnt/{name}"

    return [
        Case("chmod", "chmod 600 /mnt/small", [step("chmod", file=m("small"), permissions="600")]),
        Case("deep", "chmod 600 /mnt/deep/a0/b/file0", [step("chmod", file=m("deep/a0/b/file0"), permissions="600")]),
        Case("mid", page.format("mid", 3), write(m("mid"), ["wronly"], 3)),
        Case("big", page.format("big", 7), write(m("big"), ["wronly"], 7)),
        Case("again", page.format("big", 9), write(m("big"), ["wronly"], 9)),
        Case(
            "cut",
            ": > /mnt/tail",
            [step("open", file=m("tail"), flags=["wronly", "create", "truncate"]), step("close", file=m("tail"))],
        ),
        Case("unlink", "rm -f /mnt/exact", [step("unlink", file=m("exact"))]),
        Case(
            "unlink more",
            "rm -f " + " ".join(f"/mnt/{name}" for name in many),
            [step("unlink", file=m(name)) for name in many],
        ),
        Case("list", "echo /mnt/many/* > /dev/null", [step("readdir", dir=m("many"))]),
        Case("mkdir", "mkdir /mnt/new /mnt/new/er", [step("mkdir", dir=m("new")), step("mkdir", dir=m("new/er"))]),
        Case("create", page.format("new/file", 0), write_new(m("new/file"))),
        Case("over", page.format("exact", 0), write_new(m("exact"))),
        Case("unlink upper", "rm -f /mnt/new/file", [step("unlink", file=m("new/file"))]),
        Case("link", "ln /mnt/mid /mnt/mid2", [step("link", file=m("mid"), to=m("mid2"))]),
    ]


def of_ubifs() -> list[Case]:
    """What JFFS2 of 6.1 cannot do, which has no whiteouts that a rename leaves."""
    return [
        Case("rename", "mv /mnt/noise /mnt/noise2", [step("rename", file="mnt/noise", to="mnt/noise2")]),
        Case(
            "rmdir",
            "for n in 1 6 11 16 21 26; do rm -f /mnt/deep/a1/b/file$n; done; rmdir /mnt/deep/a1/b /mnt/deep/a1",
            [
                *(step("unlink", file=f"mnt/deep/a1/b/file{number}") for number in range(1, 30, 5)),
                step("rmdir", dir="mnt/deep/a1/b"),
                step("rmdir", dir="mnt/deep/a1"),
            ],
        ),
    ]


def all_cases(layers: Layers) -> list[Case]:
    drop, dropped = "echo 3 > /proc/sys/vm/drop_caches", step("drop_caches")
    piece_B = 65_536  # noqa: N806
    parts = {"op": "read", "pattern": "sequential", "request_B": piece_B, "count": 23, "range_B": 23 * piece_B}
    read = [
        step("open", file="mnt/big", flags=["rdonly"]),
        step("requests", file="mnt/big", calls="read", **parts),
        step("close", file="mnt/big"),
    ]
    last = Case("read", f"{drop}; dd if=/mnt/big of=/dev/null bs=65536 2> /dev/null", [dropped, *read])
    return [*cases(), *(of_ubifs() if layers.upper == "ubifs" else []), last]


def simulated(layers: Layers, image: Path) -> dict[str, dict[str, int]]:
    """Operations of the chip in each case."""
    keys: dict[str, object] = {"board": "qemu-debian-amd64", "kernel": "6.1", "ecc": "sw", "partition_blocks": BLOCKS}
    keys |= {"fs": layers.lower, "image": image.name}
    keys |= {"block_device": "mtdblock"} if layers.lower == "squashfs" else {}
    keys |= {"max_beb_per1024": 2} if layers.lower == "ubifs" else {}
    upper: dict[str, object] = {"at": "/upper", "fs": layers.upper, "partition_blocks": UPPER_BLOCKS}
    upper |= {"max_beb_per1024": 2} if layers.upper == "ubifs" else {}
    upper["compression"] = COMPRESSORS[layers.upper]
    # Debian builds JFFS2 with summaries (`CONFIG_JFFS2_SUMMARY`).
    keys |= {"summary": True} if layers.lower == "jffs2" else {}
    upper |= {"summary": True} if layers.upper == "jffs2" else {}
    options = ["lowerdir=/", "upperdir=/upper/upper", "workdir=/upper/work"]
    mounts: list[dict[str, object]] = [upper, {"at": "/mnt", "fs": "overlayfs", "options": options}]
    tables = "".join(
        "\n".join(["[[stack.mount]]", *(f"{key} = {json.dumps(value)}" for key, value in table.items()), ""])
        for table in mounts
    )
    # JFFS2's thread makes new blocks usable after the first mount, and looks at the nodes of all files after each.
    mount = [step("mount"), step("sleep", us=f"{SETTLES_S} s"), step("sync")]
    # The first mount makes the volume and the two directories.
    before = [*mount, step("umount")]
    done = all_cases(layers)
    steps = [*before, *mount, *(line for case in done for line in [*case.steps, step("sync")])]
    (variant,) = run(experiment([tables, *steps], **keys), image.parent).summary["variants"]
    rows = [[dict(found["counts"])[count] for count in COUNTS] for found in variant["steps"]][len(before) :]
    summed = {}
    for name, length in [("mount", len(mount)), *((case.name, len(case.steps) + 1) for case in done)]:
        summed[name] = dict(zip(COUNTS, map(sum, zip(*rows[:length], strict=True)), strict=True))
        del rows[:length]
    return summed
