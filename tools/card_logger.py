"""What a logger of a real kernel asks of its card in a week: a recording for `ffslab replay --onto disk`.

    truncate -s 96M ext4.img && mkfs.ext4 -q -b 4096 ext4.img
    python tools/card_logger.py record ext4 --image ext4.img --days 7 --out week-ext4.blkparse
    python tools/card_logger.py table week-ext4.blkparse --device emmc-slc-cache --device sd-card-kingston-4g

A program appends a reading of 64 B each second, or (`--together 60`) those of a minute at once, and fsyncs its log
once a minute. The clock of the guest counts instructions and jumps to the next timer when nothing can run, so that a
week of the kernel's own timers (its journal, its writing back, its cleaning) passes in minutes. A device whose answers
come from outside would come late by minutes on such a clock: the file system stands on one in the guest's memory, which
takes flushes as a card does, and the requests are what the kernel's event block_rq_issue says. Without `--image` the
card of FFSLAB_NBD is written to, in real time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as parquet

from card_guest import drive
from ffslab.measured.reference.architecture import AMD64
from ffslab.measured.reference.kit import Kit, find_kit, install_command
from ffslab.measured.reference.machine import Machine

MODULES = ("loop", "virtio_blk", "crc32c_generic", "crc32_generic", "ext4", "f2fs")
INSTRUCTIONS_PER_US = 1000
DAY_S = 86_400
GUEST_S_MAX = 3 * 3600
# "task-86 [000] ..... 12.345678: block_rq_issue: 7,0 WS 4096 () 2048 + 8 [jbd2/loop0-8]" (include/trace/events/block.h,
# Documentation/trace/ftrace.rst).
ISSUED = re.compile(
    r"-(?P<task>\d+) +\[(?P<cpu>\d+)\] \S+ +(?P<time>[\d.]+): block_rq_issue: (?P<device>\d+,\d+) (?P<kind>\w+) "
    r"(?:\d+ )?\(\S*\) (?P<sector>\d+) \+ (?P<sectors>\d+) \[(?P<program>.*)\]"
)


def as_blkparse(trace: str) -> Iterator[str]:
    """Events of ftrace as blkparse prints them (man 1 blkparse, "DEFAULT OUTPUT")."""
    for number, line in enumerate(trace.splitlines()):
        if (found := ISSUED.search(line)) is not None:
            program = found["program"].replace(" ", "-") or "-"
            yield (
                f"{found['device']} {int(found['cpu'])} {number} {found['time']} {found['task']} D {found['kind']} "
                f"{found['sector']} + {found['sectors']} [{program}]\n"
            )
        elif "block_rq_issue" in line and not line.startswith("#"):
            sys.exit(f"an event that cannot be read: {line}")
        elif "LOST" in line:
            sys.exit(f"events are lost: {line.strip()}")


@dataclass(frozen=True)
class Logger:
    """Who writes, and for how long. `image`: of the file system; `None`: it is on the card that is served."""

    fs: str
    options: str
    seconds: int
    together: int
    image: Path | None


def record(kit: Kit, logger: Logger) -> Iterator[str]:
    """What the kernel asks of the device meanwhile: a copy of the image in virtual time, or a card in real time."""
    card = drive(os.environ["FFSLAB_NBD"], "") if logger.image is None else []
    clock, device = (None, "/dev/vda") if logger.image is None else (INSTRUCTIONS_PER_US, "/dev/loop0")
    board = replace(AMD64, board=(*AMD64.board, *card), modules=(*AMD64.modules, *MODULES))
    script = Path(__file__).with_suffix(".sh").read_bytes()
    with tempfile.TemporaryDirectory(prefix="ffslab-guest-") as folder:
        machine = Machine(replace(kit, architecture=board), Path(folder) / "machine", script, None, clock)
        words = f"{logger.fs} {logger.options} {logger.seconds} {logger.together} {device}"
        files = {} if logger.image is None else {"card": logger.image}
        try:
            done = machine.run(f"log_readings {words}\n", files, timeout_s=GUEST_S_MAX)
            size = int((done.folder / "files").read_text(encoding="utf-8").split()[0])
            if size != 64 * logger.seconds:
                sys.exit(f"the log has {size} B at the end, and {64 * logger.seconds} were written")
            yield from as_blkparse((done.folder / "trace").read_text(encoding="utf-8", errors="replace"))
        finally:
            machine.stop()


def repeated(recording: Path, times: int, out: Path) -> list[str]:
    """Writes a recording that comes so many times, each a whole number of days after the one before; its kinds."""
    rows = [line.split(maxsplit=4) for line in recording.read_text(encoding="utf-8").splitlines()]
    days = math.ceil((float(rows[-1][3]) - float(rows[0][3])) / DAY_S - 0.01)
    with out.open("w", encoding="utf-8") as file:
        for time in range(times):
            for device, cpu, sequence, start_s, rest in rows:
                file.write(f"{device} {cpu} {sequence} {float(start_s) + time * days * DAY_S:.6f} {rest}\n")
    return [rest.split()[2] for *_, rest in rows] * times


def table(recordings: Sequence[Path], devices: Sequence[str], times: int) -> None:
    """Prints what each recording does to each device, by `ffslab replay`."""
    print("| requests | device | writes | MiB | flushes | programs | moved | merges | erases | a block | most | WA |")
    print(f"|---|---|{'--:|' * 10}")
    for recording in recordings:
        with tempfile.TemporaryDirectory(prefix="ffslab-replay-") as folder:
            whole = Path(folder) / recording.name
            kinds = repeated(recording, times, whole)
            for device in devices:
                print(f"| {recording.stem} | {device} | {' | '.join(row(whole, kinds, device))} |", flush=True)


def row(recording: Path, kinds: Sequence[str], device: str) -> list[str]:
    out = recording.parent / "out"
    words = ["replay", str(recording), "--onto", "disk", "--think", "arrivals", "--system", "bare"]
    words += ["--fs", "block-device", "--device", device, "--json", "--out", str(out)]
    ran = subprocess.run([sys.executable, "-m", "ffslab", *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.stderr)
    variant = json.loads(ran.stdout)["variants"][0]
    most = max(parquet.read_table(out / "blocks.parquet")["erases_main"].to_pylist())
    programs, counters = variant["totals"]["page_programs"], variant["counters"]
    written_bytes = variant["user_written_B"]
    return [
        f"{sum('W' in kind for kind in kinds):,}",
        f"{written_bytes / (1 << 20):,.1f}",
        f"{sum('F' in kind for kind in kinds):,}",
        f"{programs:,}",
        f"{programs - counters['ftl_host_pages']:,}",
        f"{sum(count for name, count in counters.items() if name.endswith('merges')):,}",
        f"{variant['totals']['erases']:,}",
        f"{variant['erases_per_block']['mean']:.2f}",
        f"{most:,}",
        f"{programs * variant['flash']['page_B'] / written_bytes:.2f}",
    ]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = asked.add_subparsers(dest="verb", required=True)
    made = verbs.add_parser("record", help="makes a recording")
    made.add_argument("fs", choices=("ext4", "f2fs"))
    made.add_argument("--image", type=Path, help="what mkfs has made, if no card is served: FFSLAB_NBD, in real time")
    made.add_argument("--options", default="nodiscard", help="of the mount")
    made.add_argument("--days", type=float, default=7.0)
    made.add_argument("--together", type=int, default=1, choices=(1, 60), help="readings that are appended at once")
    made.add_argument("--out", type=Path, required=True, help="the recording")
    shown = verbs.add_parser("table", help="replays recordings on devices")
    shown.add_argument("recordings", type=Path, nargs="+")
    shown.add_argument("--device", action="append", required=True, help="a profile; may be given several times")
    shown.add_argument("--times", type=int, default=1, help="each recording comes so many times, day after day")
    given = asked.parse_args()
    if given.verb == "table":
        table(given.recordings, given.device, given.times)
        return
    if given.image is None and "FFSLAB_NBD" not in os.environ:
        sys.exit("say on what: --image FILE, or start this by `ffslab card serve ... -- `")
    kit, missing = find_kit(("sync",))
    if kit is None:
        sys.exit(f"no real kernel: {', '.join(missing)} missing; as root: {install_command()}")
    seconds = round(given.days * DAY_S / 60) * 60
    lines = list(record(kit, Logger(given.fs, given.options, seconds, given.together, given.image)))
    given.out.write_text("".join(lines), encoding="utf-8")
    print(f"{given.out}: {len(lines):,} requests", file=sys.stderr)


if __name__ == "__main__":
    main()
