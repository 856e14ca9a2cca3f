"""The read-ahead study: which runs its claims need.

Each series is an experiment, run for each file system by itself. `experiments/readahead/` holds the same experiments
for JFFS2 and YAFFS2, written by `write_experiments`; a test keeps them in step.

UBIFS switches read-ahead off by itself, which is all that the paper says of it. It also runs with the window forced on:
the paper finds that the effect of read-ahead does not depend on the file system.

Random offsets are unaligned (`io_shift_B`), see `crates/lab/tests/claims_readahead.rs` for why; "number aligned" has
the others. A few random requests are chance, so each random run makes several draws, caches dropped before each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ffslab.sqlite.look_ups import COMPRESSION
from ffslab.studies.reproduce.runs import LookUps, PlannedRun

PUBLISHED_FS = ("jffs2", "yaffs2")
FS = (*PUBLISHED_FS, "ubifs")
PATTERNS = ("sequential", "random")
COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)
SIZES_KIB = (2, 4, 8, 16, 32)
SIZE_COUNTS = (32, 128, 512, 1024)
THINK = ("0 us", "100 us", "1 ms", "10 ms", "100 ms")
# Of the offsets of random requests: in figure 3 and, beside files of 32 MiB, in figure 4.
DRAWS, SIZE_DRAWS = 8, 4

# Postmark's settings are not published. As many transactions as files is its default; so are sizes of 500 to 10000 B.
# `STUDIED` is inferred from the throughput of a quarter of the files on YAFFS2; the others show what depends on it.
STUDIED = "500 B to 1 MB"
_RUNS = "".join(f"set seed {seed}\nrun\n" for seed in range(42, 47))
POSTMARK = {
    STUDIED: f"set size 500 1000000\nset number 50\nset transactions 50\n{_RUNS}",
    "500 to 10000 B, Postmark's own": _RUNS,
} | {
    f"{kib} KiB": f"set size {kib * 1024} {kib * 1024 + 1}\nset number {files}\nset transactions {files}\nrun\n"
    for kib, files in ((128, 100), (512, 50), (1024, 40), (2048, 20))
}

# The blocks of a new partition are erased and marked in the background: the pause.
_STACK = """\
title = "Read-ahead: {title}"

[stack]
board = "omap3evm"
kernel = "{kernel}"
fs = "{fs}"
partition_blocks = {blocks}

[[setup]]
step = "mount"

[[setup]]
step = "sleep"
us = "60 s"

{steps}
[axes]
fs = {axis}
{axes}
"""
_CREATE = '[[setup]]\nstep = "create"\nfile = "target"\nbytes = "{mib} MiB"\n'
_SYNC = '[[setup]]\nstep = "sync"\n'
# Before the caches are dropped: JFFS2 reads the header of each node of a file when it is opened.
_OPEN = '[[setup]]\nstep = "open"\nfile = "{file}"\nflags = ["{mode}"]\n'
_DROP = '[[measure]]\nstep = "drop_caches"\n'
_AHEAD = "read_ahead_KiB = [128, 0]"


@dataclass(frozen=True)
class Series:
    """Runs that differ in their axes. `about`: what a reader of the experiment should know."""

    name: str
    title: str
    about: str
    text: Callable[[Sequence[str]], str]
    of: tuple[str, ...] = FS


def _text(
    fs: Sequence[str], title: str, steps: Sequence[str], axes: Sequence[str], blocks: int = 200, kernel: str = "2.6.37"
) -> str:
    axis = "[" + ", ".join(f'"{name}"' for name in fs) + "]"
    return _STACK.format(
        title=title,
        kernel=kernel,
        fs=fs[0],
        blocks=blocks,
        steps="\n".join(steps),
        axis=axis,
        axes="\n".join(axes),
    ).replace("\n\n\n", "\n\n")


def _reads(
    pattern: str, mib: int, request: str, count: int, *, shift: bool, draws: int = 1, op: str = "R"
) -> list[str]:
    """Caches are dropped and the requests made, once for each draw."""
    letters = {"sequential": "S", "random": "R"}[pattern] + op
    # What is shifted must still lie in the file.
    target_kib = mib * 1024 - (64 if shift else 0)
    steps = []
    for seed in range(1, draws + 1):
        steps.append(
            f'{_DROP}\n[[measure]]\nstep = "uflip"\nfile = "target"\npattern = "{letters}"\nio_size_B = "{request}"\n'
            f"io_count = {count}\nio_shift_B = {512 if shift else 0}\n"
            f'target_size_B = "{target_kib} KiB"\nseed = {seed}\n'
        )
    return steps


def _prepared(mib: int) -> list[str]:
    return [_CREATE.format(mib=mib), _SYNC, _OPEN.format(file="target", mode="rdonly")]


def _number(pattern: str, title: str, *, shift: bool, kernel: str = "2.6.37") -> Callable[[Sequence[str]], str]:
    draws = DRAWS if pattern == "random" else 1

    def text(fs: Sequence[str]) -> str:
        steps = [*_prepared(5), *_reads(pattern, 5, "4 KiB", COUNTS[0], shift=shift, draws=draws)]
        return _text(fs, title, steps, [_AHEAD, f"uflip.io_count = {list(COUNTS)}"], kernel=kernel)

    return text


def _size(pattern: str, title: str) -> Callable[[Sequence[str]], str]:
    random = pattern == "random"

    def text(fs: Sequence[str]) -> str:
        sizes = "[" + ", ".join(f'"{size} KiB"' for size in SIZES_KIB) + "]"
        axes = [_AHEAD, f"uflip.io_count = {list(SIZE_COUNTS)}", f"uflip.io_size_B = {sizes}"]
        reads = _reads(pattern, 32, "4 KiB", SIZE_COUNTS[0], shift=random, draws=SIZE_DRAWS if random else 1)
        return _text(fs, title, [*_prepared(32), *reads], axes, blocks=800)

    return text


def _alone(fs: Sequence[str]) -> str:
    title = "the window that the file system chooses"
    steps = [*_prepared(5), *_reads("sequential", 5, "4 KiB", COUNTS[0], shift=False)]
    return _text(fs, title, steps, [f"uflip.io_count = {list(COUNTS)}"])


def _think(fs: Sequence[str]) -> str:
    steps = [*_prepared(5), *_reads("sequential", 5, "4 KiB", 256, shift=False)]
    steps[-1] += 'pause_us = "0 us"\n'
    think = "[" + ", ".join(f'"{pause}"' for pause in THINK) + "]"
    return _text(fs, "think time between sequential reads", steps, [_AHEAD, f"uflip.pause_us = {think}"])


def _postmark(files: str) -> Callable[[Sequence[str]], str]:
    def text(fs: Sequence[str]) -> str:
        step = f'[[measure]]\nstep = "postmark"\nfile = "{files}"\ncommands = """\n{POSTMARK[files]}"""\n'
        # The file is only a name here, as an axis it is in the rows.
        axes = [_AHEAD, f'postmark.file = ["{files}"]']
        text = _text(fs, "files of Postmark", [step + "drop_caches = true\n"], axes, blocks=800)
        # YAFFS2 does not compress; beside JFFS2 the key is JFFS2's.
        named = next((COMPRESSION[name] for name in fs if name in COMPRESSION), None)
        return text.replace("partition_blocks", f'compression = "{named}"\npartition_blocks', 1) if named else text

    return text


def _twice(fs: Sequence[str]) -> str:
    reads = _reads("sequential", 5, "4 KiB", 1280, shift=False)
    return _text(fs, "a file that is read twice", [*_prepared(5), *reads, reads[0].replace(_DROP, "")], [])


def _writes(fs: Sequence[str]) -> str:
    opened = _OPEN.format(file="target", mode="rdwr").replace('"rdwr"', '"rdwr", "create"')
    writes = _reads("sequential", 5, "4 KiB", 100, shift=False, op="W")
    fsync = '[[measure]]\nstep = "fsync"\nfile = "target"\n'
    return _text(fs, "100 sequential writes", [opened, *writes, fsync], [])


def _fragmented(fs: Sequence[str]) -> str:
    steps = ['[[setup]]\nstep = "create"\nfile = "whole"\nbytes = "2 MiB"\n']
    steps += ['[[setup]]\nstep = "create_fragmented"\nfile = "pieces"\nbytes = "2 MiB"\n', _SYNC]
    steps += [_OPEN.format(file=file, mode="rdonly") for file in ("whole", "pieces")]
    reads = _reads("sequential", 2, "4 KiB", 512, shift=False)[0]
    steps += [reads.replace('file = "target"', f'file = "{file}"') for file in ("whole", "pieces")]
    return _text(fs, "a file in one piece and one in many", steps, [])


_RANDOM = f"""\
Offsets are unaligned: the paper's program seems to have read at any byte, which `crates/lab/tests/claims_readahead.rs`
explains. {DRAWS} draws of the offsets, caches dropped before each."""

SERIES = (
    Series(
        "size random",
        "size of random requests",
        f"Section 4.1.3, figure 4: size and number of unaligned reads of a larger file, {SIZE_DRAWS} draws of them.",
        _size("random", "size of random requests"),
    ),
    Series(
        "size sequential",
        "size of sequential requests",
        "Section 4.1.3, figure 4: size and number of the reads of a larger file.",
        _size("sequential", "size of sequential requests"),
    ),
    Series(
        "number random",
        "number of random requests",
        f"Section 4.1.2, figure 3: how many reads of a file make read-ahead pay? {_RANDOM}",
        _number("random", "number of random requests", shift=True),
    ),
    Series(
        "number aligned",
        "number of random requests, aligned",
        "Section 4.1.2, figure 3, with offsets that are multiples of 4 KiB.",
        _number("random", "number of random requests, aligned", shift=False),
    ),
    Series(
        "number 6.1",
        "number of random requests, Linux 6.1",
        "Section 4.1.2, figure 3, by the rules of Linux 6.1: no backward jump is taken for sequential.",
        _number("random", "number of random requests, Linux 6.1", shift=True, kernel="6.1"),
        PUBLISHED_FS,
    ),
    Series(
        "number sequential",
        "number of sequential requests",
        "Section 4.1.2, figure 3: how many reads of a file make read-ahead pay?",
        _number("sequential", "number of sequential requests", shift=False),
    ),
    Series(
        "postmark",
        "files of Postmark",
        "Section 2.2, table 1: read() until 25, 50, 100 % of a file are read (`read_shares` in summary.json).",
        _postmark(STUDIED),
    ),
    Series(
        "think",
        "think time between sequential reads",
        "Section 4.1.1, figure 2: does read-ahead use the time between two reads?",
        _think,
    ),
    Series(
        "alone",
        "the window that the file system chooses",
        "Section 2.3: UBIFS switches read-ahead off by itself.",
        _alone,
        ("ubifs",),
    ),
    Series("twice", "a file that is read twice", "OpenFlash slides, VFS level: the page cache.", _twice),
    Series(
        "writes",
        "100 sequential writes",
        "OpenFlash slides, file system level: where the time goes.",
        _writes,
        ("jffs2",),
    ),
    Series(
        "fragmented",
        "a file in one piece and one in many",
        "OpenFlash slides, file system level: fragmentation.",
        _fragmented,
        ("jffs2",),
    ),
)

# The paper does not say how its data bases were filled, nor whether the look-ups of a run are one transaction.
LOOK_UPS = [LookUps(fs, kind) for fs in FS for kind in ("small", "large")]
OTHER_LOOK_UPS = [LookUps(fs, "small", records) for fs in PUBLISHED_FS for records in (1, 1000)]
OTHER_LOOK_UPS += [LookUps(fs, kind, selects_together=True) for fs in PUBLISHED_FS for kind in ("small", "large")]


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    of_series = [PlannedRun(series.name, series.text([fs])) for series in SERIES for fs in series.of]
    others = [_postmark(files) for files in POSTMARK if files != STUDIED]
    return [
        *of_series[: 2 * len(FS)],
        *(PlannedRun("sqlite", look_ups=look_ups) for look_ups in LOOK_UPS),
        *(PlannedRun("sqlite other", look_ups=look_ups) for look_ups in OTHER_LOOK_UPS),
        *of_series[2 * len(FS) :],
        *(PlannedRun("postmark", text([fs])) for text in others for fs in PUBLISHED_FS),
    ]


def experiments() -> Iterator[tuple[str, str]]:
    """File names and texts of the experiments. UBIFS is in those that are its own."""
    for series in SERIES:
        about = "\n".join(f"# {line}" for line in series.about.splitlines())
        of = [fs for fs in series.of if fs in PUBLISHED_FS] or series.of
        yield f"{series.name.replace(' ', '-')}.toml", f"{about}\n{series.text(of)}"


def write_experiments(folder: Path) -> None:
    """Writes what `experiments/readahead/` holds of them."""
    for name, text in experiments():
        (folder / name).write_text(text, encoding="utf-8")
