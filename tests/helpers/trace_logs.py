"""Logs of the probe kit, written from events whose truth a test knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

COLUMNS = {
    "flashmon": "t_s;type;address;task;pid;bytes",
    "vfsmon": "t_s;duration_us;function;task;pid;inode;offset_B;bytes;result",
    "funcmon": "t_s;duration_us;function;task;pid",
}
CHIP = "page_B=2048 oob_B=64 block_B=131072 size_B=134217728"  # 1024 blocks of 64 pages
HEAD = {
    "kernel": "6.1.0",
    "machine": "x86_64",
    "clock": "mono",
    "started_s": "100",
    "chip": CHIP,
    "scope": "chip",
    "buffer_KiB": "1024",
    "functions": "named elsewhere",
}
PARTITIONS = ("mtd0 offset_B=0 size_B=67108864 name=root", "mtd1 offset_B=67108864 size_B=67108864 name=the data")


def log_text(
    kind: str,
    lines: Iterable[str],
    *,
    end: str | None = "t_s=200 events={events} lost=0 overhead_ns_per_event=700",
    partitions: tuple[str, ...] = PARTITIONS,
    notes: tuple[str, ...] = (),
    **head: str,
) -> str:
    """A whole log; `end=None` leaves the last line out, `{events}` in it is the number of lines."""
    rows = list(lines)
    said = [f"# {key}: {value}" for key, value in {**HEAD, **head}.items()]
    said[5:5] = [f"# partition: {text}" for text in partitions]
    said += [f"# columns: {COLUMNS[kind]}", *(f"# note: {note}" for note in notes)]
    text = [f"# ffslab-probe 1 {kind}", *said, *rows]
    if end is not None:
        text.append(f"# end: {end.format(events=len(rows))}")
    return "\n".join(text) + "\n"


def seconds(ns: int) -> str:
    """Whole nanoseconds as the logs write times."""
    return f"{ns // 10**9}.{ns % 10**9:09d}"


# A session whose numbers are counted by hand below. Thread 200 is a program, 90 the garbage collection thread.
FLASH = [
    "100.5;R;32768;app;200;2048",  # before any call: mount, say
    "101.000100;W;32800;app;200;2048",  # write 1, in jffs2_write_end
    "101.000300;W;32801;app;200;2048",
    "101.000350;E;600;jffs2_gcd_mtd1;90;131072",  # while write 1 is under way
    *(f"102.{i:06d};R;{600 * 64 + i};jffs2_gcd_mtd1;90;2048" for i in range(64)),
    "103.0;M;;second phase",
    "103.000100;W;32802;app;200;2048",  # write 2, outside jffs2_write_end
    "104.000100;R;32801;app;200;2048",  # read, in the read-ahead of vfs_read
    "104.000200;r;32801;app;200;64",
    "105.0;W;10;app;200;2048",  # in no call, on the other partition
    "106.0;W;32803;kworker/0:1;55;2048",
]
VFS = [
    "101.0;500;vfs_write;app;200;17;0;4096;4096",
    "103.0;200;vfs_write;app;200;18;0;100;100",
    "104.000050;300;page_cache_ra_unbounded;app;200;17;0;8192;",
    "104.0;400;vfs_read;app;200;17;0;4096;1024",
    "107.0;100;vfs_write;app;200;17;0;4096;-28",
]
FUNC = ["101.000050;350;jffs2_write_end;app;200"]


def write_session(folder: Path) -> Path:
    """The session of `FLASH`, `VFS` and `FUNC` as a folder of logs."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, lines in (("flashmon", FLASH), ("vfsmon", VFS), ("funcmon", FUNC)):
        (folder / f"{kind}.log").write_text(log_text(kind, lines), encoding="utf-8")
    return folder


def other_session(folder: Path) -> Path:
    """The session with two more programs in the second write, into block 700, and slower reads."""
    write_session(folder)
    more = [*FLASH]
    at = more.index("103.000100;W;32802;app;200;2048")
    more[at:at] = ["103.000020;W;44800;app;200;2048", "103.000030;W;44801;app;200;2048"]
    (folder / "flashmon.log").write_text(log_text("flashmon", more), encoding="utf-8")
    calls = [line.replace("104.0;400;vfs_read", "104.0;40000;vfs_read") for line in VFS]
    (folder / "vfsmon.log").write_text(log_text("vfsmon", calls), encoding="utf-8")
    (folder / "funcmon.log").write_text(log_text("funcmon", FUNC), encoding="utf-8")
    return folder
