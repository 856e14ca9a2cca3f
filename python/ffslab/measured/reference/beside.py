"""What a reference run has beside the measured steps and the file system of `[stack]`: other mounts, other programs.

In the guest each mount has a mount point, on a partition of nandsim's chip or a volume of the root's UBI
(`steps/mounts.c`), and each program is a process (`steps/programs.c`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ffslab.answers.machine import PlannedFlash, PlannedProgram
from ffslab.measured.reference import keys, medium

# Keys of a `[[stack.mount]]` that are applied there.
APPLIED = frozenset(
    [
        "at",
        "bulk_read",
        "compression",
        "first_block",
        "fs",
        "max_beb_per1024",
        "options",
        "partition_blocks",
        "read_ahead_KiB",
        "volume_B",
    ]
)
# Keys of which a kernel has one value for all its mounts.
OF_KERNEL = frozenset(["dirty_KiB", "dirty_background_KiB", "vm"])
# Steps that are not told which of several partitions they mean.
ALONE = {
    "mtd_loop": "works on one partition",
}


@dataclass(frozen=True)
class Mount:
    """A file system beside the root."""

    at: str
    fs: str
    compression: str
    read_ahead_KiB: int  # noqa: N815
    max_beb_per1024: int
    options: tuple[str, ...]
    blocks: tuple[int, int] | None  # first and number; None: it is a volume
    volume_B: int  # noqa: N815
    ubi: int = 0  # number of its UBI
    volume: int = 0  # number of its volume there

    @property
    def described(self) -> dict[str, object]:
        """In the words of measured cases: those of `[[stack.mount]]`."""
        told: dict[str, object] = {"at": self.at, "fs": self.fs, "compression": self.compression}
        told["read_ahead_KiB"] = self.read_ahead_KiB
        if self.fs == "ubifs":
            told |= {"max_beb_per1024": self.max_beb_per1024, "subpage_writes": True}
        if self.blocks is None:
            told["volume_B"] = self.volume_B
        else:
            told |= {"first_block": self.blocks[0], "partition_blocks": self.blocks[1]}
        return told | ({"options": list(self.options)} if self.options else {})

    def words(self, fs_options: str, mtd: int) -> dict[str, object]:
        """The keys of its line in the file that `steps/` reads."""
        return {
            "at": self.at.strip("/"),
            "fs": self.fs,
            "mtd": mtd,
            "ubi": self.ubi,
            "volume": self.volume,
            "volume_B": self.volume_B,
            "max_beb_per1024": self.max_beb_per1024,
            "options": list(self.options),
            "fs_options": fs_options,
            "read_ahead_KiB": self.read_ahead_KiB,
        }


@dataclass(frozen=True)
class Program:
    """Steps that run at the same time as the measured ones."""

    name: str
    background: bool
    steps: tuple[dict[str, Any], ...]

    @property
    def described(self) -> dict[str, object]:
        return {"name": self.name, "background": self.background, "steps": list(self.steps)}


def mounts_of(stack: dict[str, Any], max_beb: int) -> list[Mount]:
    """The mounts of a planned stack. `max_beb`: UBI's own default."""
    found: list[Mount] = []
    volumes = 0
    for number, told in enumerate(stack.get("mount") or [], 1):
        is_volume = told.get("volume_B") is not None
        per_1024 = told.get("max_beb_per1024")
        options = [*told.get("options", []), *(["bulk_read"] if told.get("bulk_read") else [])]
        found.append(
            Mount(
                told["at"],
                told["fs"],
                told.get("compression") or "none",
                told.get("read_ahead_KiB") or 0,
                max_beb if per_1024 is None else per_1024,
                tuple(options),
                None if is_volume else (told["first_block"], told["partition_blocks"]),
                told.get("volume_B") or 0,
                0 if is_volume else number,
                volumes if is_volume else 0,
            )
        )
        volumes += is_volume
    return found


def programs_of(plan: Sequence[PlannedProgram]) -> list[Program]:
    return [Program(told["name"], told.get("background", False), tuple(told["steps"])) for told in plan]


def trouble(
    flash: PlannedFlash, root: tuple[str, str, int], mounts: list[Mount], asked: dict[str, frozenset[str]]
) -> str | None:
    """Why these mounts cannot be had beside `root` (its file system, compression and read-ahead).

    `asked`: the keys that the experiment gives for each directory.
    """
    if not mounts:
        return None
    if medium.is_nor(flash):
        return "[[stack.mount]]: a reference run on NOR has one partition, as mtdram is one device: leave it out"
    for mount in mounts:
        for key in sorted(asked.get(mount.at.strip("/"), frozenset()) - APPLIED):
            if key in OF_KERNEL:
                return f"mount at {mount.at}: {key}: a kernel has one value for all its mounts: say it in [stack]"
            if key in keys.STACK_REFUSED:
                return f"mount at {mount.at}: {key}: a reference run {keys.STACK_REFUSED[key]}"
            return f"mount at {mount.at}: {key}: a reference run has it for all mounts: say it in [stack]"
    jffs2 = [(fs, how, KiB) for fs, how, KiB in (root, *((m.fs, m.compression, m.read_ahead_KiB) for m in mounts))]
    jffs2 = [one for one in jffs2 if one[0] == "jffs2"]
    if len({KiB for _, _, KiB in jffs2}) > 1:
        return (
            "[[stack.mount]]: read_ahead_KiB: all mounts of JFFS2 have one device for it (mtd-0): give them one value"
        )
    if len({how == "rtime" for _, how, _ in jffs2}) > 1:
        return '[[stack.mount]]: compression = "rtime": it is made by a changed module, which all mounts of JFFS2 have'
    return None


def sizes(blocks: int, mounts: Sequence[Mount], block_B: int) -> Callable[[str], int]:  # noqa: N803
    """Bytes of the partition or volume that a path leads to. `blocks`: of the root's partition."""

    def of(path: str) -> int:
        under = [m for m in mounts if f"{path.strip('/')}/".startswith(f"{m.at.strip('/')}/")]
        if not under:
            return blocks * block_B
        mount = max(under, key=lambda m: len(m.at))
        return mount.blocks[1] * block_B if mount.blocks else mount.volume_B

    return of


def partitions(first: int, count: int, mounts: Sequence[Mount]) -> list[tuple[int, int]]:
    """First block and number of blocks of each partition, in their order on the chip; the root's among them."""
    return sorted([(first, count), *(mount.blocks for mount in mounts if mount.blocks is not None)])


def parts(of_chip: Sequence[tuple[int, int]]) -> tuple[list[int], dict[int, int]]:
    """Sizes of nandsim's partitions, with those between them, and which device each is, by its first block."""
    sizes: list[int] = []
    devices: dict[int, int] = {}
    at = 0
    for first, count in of_chip:
        if first > at:
            sizes.append(first - at)
        devices[first] = len(sizes)
        sizes.append(count)
        at = first + count
    return sizes, devices
