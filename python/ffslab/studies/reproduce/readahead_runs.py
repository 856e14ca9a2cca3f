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

from ffslab import _native, steps
from ffslab.answers.typed_keys import BasePattern, Pattern
from ffslab.api.steps import DROP_CACHES, MOUNT, SYNC, Data, opened
from ffslab.sqlite.look_ups import COMPRESSION
from ffslab.steps import Step
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

Axes = dict[str, Sequence[int | str]]
# What a series runs on some file systems.
Made = Callable[[Sequence[str]], Data]

_AHEAD: Axes = {"read_ahead_KiB": (128, 0)}


@dataclass(frozen=True)
class Series:
    """Runs that differ in their axes. `about`: what a reader of the experiment should know."""

    name: str
    title: str
    about: str
    experiment: Made
    of: tuple[str, ...] = FS


def _experiment(
    fs: Sequence[str],
    title: str,
    setup: Sequence[Step],
    measure: Sequence[Step],
    axes: Axes,
    blocks: int = 200,
    kernel: str = "2.6.37",
    compression: str = "none",
) -> Data:
    stack = {"board": "omap3evm", "kernel": kernel, "fs": fs[0], "compression": compression, "partition_blocks": blocks}
    return {
        "title": f"Read-ahead: {title}",
        "initial": "fresh",
        "stack": stack,
        # The blocks of a new partition are erased and marked in the background: the pause.
        "setup": [MOUNT, steps.sleep(us="60 s"), *setup],
        "measure": measure,
        "axes": {"fs": fs, **axes},
    }


def _reads(
    pattern: Pattern,
    mib: int,
    count: int,
    *,
    shift: bool,
    seed: int = 1,
    op: str = "R",
    file: str = "target",
    pause_us: str | None = None,
) -> Step:
    """Requests of 4 KiB to a file of `mib`; those of `op` "W" write."""
    reads: BasePattern = "SR" if pattern == "sequential" else "RR"
    writes: BasePattern = "SW" if pattern == "sequential" else "RW"
    # What is shifted must still lie in the file.
    target_kib = mib * 1024 - (64 if shift else 0)
    return steps.uflip(
        file=file,
        pattern=writes if op == "W" else reads,
        io_size_B="4 KiB",
        io_count=count,
        io_shift_B=512 if shift else 0,
        target_size_B=f"{target_kib} KiB",
        seed=seed,
        pause_us=pause_us,
    )


def _draws(pattern: Pattern, mib: int, count: int, *, shift: bool, draws: int) -> list[Step]:
    """Caches are dropped and the requests made, once for each draw."""
    seeds = range(1, draws + 1) if pattern == "random" else (1,)
    requests = [_reads(pattern, mib, count, shift=shift, seed=seed) for seed in seeds]
    return [each for made in requests for each in (DROP_CACHES, made)]


def _prepared(mib: int) -> list[Step]:
    # Opened before the caches are dropped: JFFS2 reads the header of each node of a file when it is opened.
    return [steps.create(file="target", bytes=f"{mib} MiB"), SYNC, opened("target", "rdonly")]


def _number(pattern: Pattern, title: str, *, shift: bool, kernel: str = "2.6.37") -> Made:
    def experiment(fs: Sequence[str]) -> Data:
        requests = _draws(pattern, 5, COUNTS[0], shift=shift, draws=DRAWS)
        return _experiment(fs, title, _prepared(5), requests, {**_AHEAD, "uflip.io_count": COUNTS}, kernel=kernel)

    return experiment


def _size(pattern: Pattern, title: str) -> Made:
    def experiment(fs: Sequence[str]) -> Data:
        sizes = [f"{size} KiB" for size in SIZES_KIB]
        axes: Axes = {**_AHEAD, "uflip.io_count": SIZE_COUNTS, "uflip.io_size_B": sizes}
        requests = _draws(pattern, 32, SIZE_COUNTS[0], shift=pattern == "random", draws=SIZE_DRAWS)
        return _experiment(fs, title, _prepared(32), requests, axes, blocks=800)

    return experiment


def _alone(fs: Sequence[str]) -> Data:
    title = "the window that the file system chooses"
    requests = _draws("sequential", 5, COUNTS[0], shift=False, draws=1)
    return _experiment(fs, title, _prepared(5), requests, {"uflip.io_count": COUNTS})


def _think(fs: Sequence[str]) -> Data:
    requests = _reads("sequential", 5, 256, shift=False, pause_us=THINK[0])
    axes: Axes = {**_AHEAD, "uflip.pause_us": THINK}
    return _experiment(fs, "think time between sequential reads", _prepared(5), [DROP_CACHES, requests], axes)


def _postmark(files: str) -> Made:
    def experiment(fs: Sequence[str]) -> Data:
        run = steps.postmark(file=files, commands=POSTMARK[files], drop_caches=True)
        # The file is only a name here, as an axis it is in the rows.
        axes: Axes = {**_AHEAD, "postmark.file": (files,)}
        # YAFFS2 does not compress; beside JFFS2 the key is JFFS2's.
        named = next((COMPRESSION[name] for name in fs if name in COMPRESSION), "none")
        return _experiment(fs, "files of Postmark", [], [run], axes, blocks=800, compression=named)

    return experiment


def _twice(fs: Sequence[str]) -> Data:
    requests = _reads("sequential", 5, 1280, shift=False)
    return _experiment(fs, "a file that is read twice", _prepared(5), [DROP_CACHES, requests, requests], {})


def _writes(fs: Sequence[str]) -> Data:
    writes = _reads("sequential", 5, 100, shift=False, op="W")
    measure = [DROP_CACHES, writes, steps.fsync(file="target")]
    return _experiment(fs, "100 sequential writes", [opened("target", "rdwr", "create")], measure, {})


def _fragmented(fs: Sequence[str]) -> Data:
    files = ("whole", "pieces")
    setup = [steps.create(file="whole", bytes="2 MiB"), steps.create_fragmented(file="pieces", bytes="2 MiB"), SYNC]
    setup += [opened(file, "rdonly") for file in files]
    requests = [_reads("sequential", 2, 512, shift=False, file=file) for file in files]
    measure = [each for made in requests for each in (DROP_CACHES, made)]
    return _experiment(fs, "a file in one piece and one in many", setup, measure, {})


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
    of_series = [PlannedRun(series.name, series.experiment([fs])) for series in SERIES for fs in series.of]
    others = [_postmark(files) for files in POSTMARK if files != STUDIED]
    return [
        *of_series[: 2 * len(FS)],
        *(PlannedRun("sqlite", look_ups=look_ups) for look_ups in LOOK_UPS),
        *(PlannedRun("sqlite other", look_ups=look_ups) for look_ups in OTHER_LOOK_UPS),
        *of_series[2 * len(FS) :],
        *(PlannedRun("postmark", made([fs])) for made in others for fs in PUBLISHED_FS),
    ]


def experiments() -> Iterator[tuple[str, str]]:
    """File names and texts of the experiments. UBIFS is in those that are its own."""
    for series in SERIES:
        about = "".join(f"# {line}\n" for line in series.about.splitlines())
        of = [fs for fs in series.of if fs in PUBLISHED_FS] or series.of
        text = _native.toml_of(series.experiment(of))
        yield f"{series.name.replace(' ', '-')}.toml", about + text


def write_experiments(folder: Path) -> None:
    """Writes what `experiments/readahead/` holds of them."""
    for name, text in experiments():
        (folder / name).write_text(text, encoding="utf-8")
