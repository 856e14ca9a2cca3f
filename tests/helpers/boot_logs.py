"""Logs as kernels write them: what mtd_speedtest printed, and how UBI and UBIFS came up."""

from __future__ import annotations

from pathlib import Path

from ffslab.studies import boot


def write_speedtest(place: Path, board: str) -> None:
    """What the speed test would print on a board."""
    part, speeds = boot.part_of(board), boot.speeds(board)
    sizes = (
        f"MTD device size {part.block_bytes * part.blocks}, eraseblock size {part.block_bytes}, page size "
        f"{part.page_bytes}, count of eraseblocks {part.blocks}, pages per eraseblock "
        f"{part.block_bytes // part.page_bytes}, OOB size 64"
    )
    of_loops = [
        f"{loop} {what} speed is {round(rate)} KiB/s"
        for loop in ("eraseblock", "page", "2 page")
        for what, rate in (("write", speeds.program_kib_per_s), ("read", speeds.read_kib_per_s))
    ]
    erases = [f"erase speed is {round(speeds.erase_kib_per_s)} KiB/s", "2x multi-block erase speed is 999999 KiB/s"]
    place.write_text("".join(f"mtd_speedtest: {line}\n" for line in (sizes, *of_loops, *erases)), encoding="utf-8")


def write_boot(place: Path, board: str, blocks: int, *, old: bool = False, fastmap: bool = False) -> None:
    """What a boot would print on a board; `old`: in the words of 2.6.37."""
    part, start = boot.part_of(board), boot.start(board, blocks)
    head = "UBI:" if old else "ubi0:"
    end_s = 1.5 + start.attach_s
    scanned = "attached by fastmap" if fastmap else "scanning is finished"
    lines = [
        (1.5, "UBI: attaching mtd4 to ubi0" if old else "ubi0: attaching mtd4"),
        (end_s, f"{head} {scanned}" if fastmap or not old else "UBI: attached mtd4 to ubi0"),
        (end_s, "UBI: attached mtd4 to ubi0" if old else 'ubi0: attached mtd4 (name "data", size 128 MiB)'),
        (
            end_s,
            f"UBI: physical eraseblock size:   {part.block_bytes} bytes (128 KiB)"
            if old
            else f"ubi0: PEB size: {part.block_bytes} bytes (128 KiB), LEB size: 126976 bytes",
        ),
        (end_s, f"UBI: number of good PEBs:        {blocks}" if old else f"ubi0: good PEBs: {blocks}, bad PEBs: 0"),
        (end_s + 0.1, 'UBIFS (ubi0:0): background thread "ubifs_bgt0_0" started, PID 70'),
        (end_s + 0.1 + start.mount_s, "UBIFS (ubi0:0): UBIFS: mounted UBI device 0, volume 0, name \"data\""),
    ]  # fmt: skip
    place.write_text("".join(f"[{at_s:12.6f}] {line}\n" for at_s, line in lines), encoding="utf-8")
