"""What the referee is asked: mount this image and say what it holds, change it, make one of your own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ffslab.measured.reference.machine import Done, Machine
from referee.listing import Entry, differences, from_kernel

# What a kernel says about a medium in order. Every other line of the file system or of UBI is a complaint.
GOOD = (
    r"jffs2: version ",
    r"jffs2: notice: \(\d+\) jffs2_build_xattr_subsystem: complete building xattr subsystem, "
    r"0 of xdatum \(0 unchecked, 0 orphan\) and 0 of xref \(0 dead, 0 orphan\) found\.",
    r"ubi0: (?!warning|error)",
    r"UBIFS \(ubi0:0\): (?!warning|error)",
    # Compressed nodes that the kernel wrote itself may leave its summary no place; it then does without that one
    # (jffs2_sum_write_data, fs/jffs2/summary.c). Whether it comes to that depends on when its threads ran.
    r"jffs2: warning: \(\d+\) jffs2_sum_write_data: Not enough space for summary, padsize = -\d+",
)
SPEAKERS = re.compile(r"jffs2|ubi|nand_|mtd\d|ecc|BUG|WARNING|Oops|\[nandsim\] error", re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """What the kernel found in an image and what it left of it."""

    folder: Path  # what the job left
    listing: dict[str, Entry]
    complaints: list[str]  # lines of the kernel's log that do not belong to a medium in order
    kernel_log: list[str]
    data: Path | None = None  # page data after the last unmount
    dump: Path | None = None  # page data and OOB after the last unmount

    def other(self, name: str) -> dict[str, Entry]:
        """A further list that the script of a job made with `list NAME`."""
        return from_kernel(self.folder / name)


def complaints(kernel_log: Sequence[str]) -> list[str]:
    good = re.compile("|".join(GOOD))
    return [line for line in kernel_log if SPEAKERS.match(line) and not good.match(line)]


def verdict(done: Done, name: str = "list") -> Verdict:
    data, dump = done.folder / "image.data", done.folder / "image.dump"
    corrected, lost = (done.folder / f"{name}.ecc").read_text(encoding="utf-8").split()
    # The kernel corrects without a word.
    bits = [f"{corrected} bits corrected, {lost} ECC steps lost"] if (corrected, lost) != ("0", "0") else []
    return Verdict(
        done.folder,
        from_kernel(done.folder / name),
        complaints(done.kernel_log) + bits,
        done.kernel_log,
        data if data.exists() else None,
        dump if dump.exists() else None,
    )


def write_command(kind: str, oob: bool) -> str:
    if oob:
        return "write_dump image"
    return "write_jffs2_data image" if kind == "jffs2" else "write_data image"


def mount_and_list(
    machine: Machine,
    image: Path | bytes,
    kind: str = "jffs2",
    *,
    blocks: int,
    oob: bool = False,
    change: str = "",
    options: str = "rw",
    attach_options: str = "",
) -> Verdict:
    """Writes an image to a fresh chip, mounts it, and lists what it holds.

    `kind` is "jffs2" or "ubifs" (an image of UBI whose first volume is UBIFS). `blocks` is the size of the partition.
    `oob`: the image holds OOB and is written as it is, ECC included; otherwise the kernel makes the ECC. `change` is a
    script that changes what stands below /mnt; the list is taken after it, and is the same after another mount, and
    `data` and `dump` are what the kernel leaves. `attach_options` are for ubiattach, for instance "-O 2048".

    Raises `GuestError` when the kernel refuses the image, `AssertionError` when its two lists differ.
    """
    lines = [f"chip {blocks}", write_command(kind, oob)]
    attach = [f"attach '{attach_options}'"] if kind == "ubifs" else []
    lines += [*attach, f"mount_fs {kind} {options}"]
    if change:
        lines += [change, "sync", "list before", "umount_fs", *attach, f"mount_fs {kind} ro"]
    lines += ["list list", "umount_fs"] + (["read_dump image"] if change else [])
    done = machine.run("\n".join(lines), {"image": image})
    if change:
        before, after = from_kernel(done.folder / "before"), from_kernel(done.folder / "list")
        # JFFS2's root has no inode node, so its time is not kept (fs/jffs2/readinode.c).
        before[""] = replace(before[""], modified_s=None)
        unlike = differences(before, after)
        assert not unlike, "the kernel itself finds after a mount:\n" + "\n".join(unlike)
    return verdict(done)


def make_and_list(
    machine: Machine,
    kind: str = "jffs2",
    *,
    blocks: int,
    fill: str,
    files: dict[str, Path | bytes] | None = None,
    options: str = "rw",
    attach_options: str = "",
) -> Verdict:
    """The kernel formats a fresh chip and the script `fill` fills it; see [`mount_and_list`] for the rest."""
    lines = [f"chip {blocks}"]
    lines += ["flash_erase -q -j /dev/mtd0 0 0"] if kind == "jffs2" else [f"make_volume '{attach_options}'"]
    lines += [
        f"mount_fs {kind} {options}",
        fill,
        "sync",
        "list list",
        "umount_fs",
        "read_dump image",
        "read_data image",
    ]
    return verdict(machine.run("\n".join(lines), files))
