"""`ffslab trace report` and `ffslab trace diff`: from paths to a folder and a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab._native import InputError
from ffslab.answers.trace_diff import TraceDiff
from ffslab.answers.trace_report import TraceReport
from ffslab.files import results, tables
from ffslab.files.inputs import resolved
from ffslab.measured.tracereport.chips import from_options
from ffslab.measured.tracereport.header import COLUMNS, Chip
from ffslab.measured.tracereport.wear import Endurance

if TYPE_CHECKING:
    from ffslab.measured.tracereport.columns import Ints
    from ffslab.measured.tracereport.recording import Recording

DIFF = "diff.json"
# Clocks of one session lie no further apart.
SHIFT_S_MAX = 365 * 24 * 3600

Progress = Callable[[float], object]


@dataclass(frozen=True)
class Options:
    """What is said about logs that do not say it themselves."""

    part: str | None = None
    chip: str | None = None
    endurance: int | None = None
    shift: tuple[str, ...] = ()
    # Read logs with more events than is usual.
    large: bool = False

    def known(self) -> tuple[Chip | None, Endurance | None]:
        """The chip and its endurance."""
        return from_options(self.part, self.chip, self.endurance)

    def shifts_s(self) -> dict[str, float]:
        """`KIND=SECONDS`: seconds to add, by kind of log."""
        shifts = {}
        for text in self.shift:
            kind, equals, value = text.partition("=")
            try:
                shifts[kind] = float(value)
                if not equals or kind not in COLUMNS or not abs(shifts[kind]) <= SHIFT_S_MAX:
                    raise ValueError
            except ValueError:
                raise InputError(
                    f"--shift {text}: KIND=SECONDS is needed, KIND one of {', '.join(COLUMNS)}, SECONDS at most "
                    f"{SHIFT_S_MAX:,} (a year)"
                ) from None
        return shifts


def report(
    paths: list[Path], options: Options, out: Path | None, progress: Progress | None = None
) -> tuple[TraceReport, str, Path]:
    """Writes the report of one session; its summary, the text for the terminal and the folder."""
    from ffslab.measured.tracereport import page

    folder = out if out is not None else Path("results") / f"trace-{_name(paths[0])}"
    results.check_free(folder, frozenset({results.REPORT, results.SUMMARY, tables.BLOCKS}))
    recording, summary, blocks = summarized(paths, options, progress)

    def write(fresh: Path) -> None:
        (fresh / results.SUMMARY).write_text(results.dump_json(summary), encoding="utf-8")
        title = f"Trace report: {', '.join(log.path.name for log in recording.logs)}"
        (fresh / results.REPORT).write_text(page.html(recording, summary, blocks, title), encoding="utf-8")
        if blocks is not None:
            _write_blocks(blocks, fresh / tables.BLOCKS)

    results.replace(folder, write)
    return summary, page.text(summary), folder


def timeline(paths: list[Path], options: Options, out: Path) -> tuple[int, list[str]]:
    """Writes the timeline of one session; how many events it has, and what the logs do not hold."""
    from ffslab.measured.tracereport import timeline as drawing
    from ffslab.measured.tracereport.recording import load

    chip, _ = options.known()
    recording = load(paths, chip, options.shifts_s(), large=options.large)
    return drawing.write(recording, out), recording.flaws


def diff(a: Path, b: Path, options: Options, out: Path | None) -> tuple[TraceDiff, str, Path]:
    """Writes the comparison of two sessions, each a log or a folder of logs."""
    from ffslab.measured.tracereport import diff as compare
    from ffslab.measured.tracereport import diff_page

    folder = out if out is not None else Path("results") / f"diff-{_name(a)}-{_name(b)}"
    results.check_free(folder, frozenset({results.REPORT, DIFF}), mark=DIFF)
    left = compare.Side(*summarized([a], options, None), name=str(a))
    right = compare.Side(*summarized([b], options, None), name=str(b))
    difference = compare.difference(left, right)

    def write(fresh: Path) -> None:
        (fresh / DIFF).write_text(results.dump_json(difference), encoding="utf-8")
        (fresh / results.REPORT).write_text(diff_page.html(left, right, difference), encoding="utf-8")

    results.replace(folder, write)
    return difference, diff_page.text(difference), folder


def summarized(
    paths: list[Path], options: Options, progress: Progress | None
) -> tuple[Recording, TraceReport, Ints | None]:
    """The logs of a session, their summary, and the map of erase blocks."""
    from ffslab.measured.tracereport.recording import load
    from ffslab.measured.tracereport.summary import summarize

    chip, endurance = options.known()
    recording = load(paths, chip, options.shifts_s(), progress, large=options.large)
    if chip is not None and recording.chip != chip:
        raise InputError(
            f"{'--part ' + options.part if options.part else '--chip'}: the logs say {_geometry(recording.chip)}, "
            f"this is {_geometry(chip)}: wrong geometry"
        )
    return recording, *summarize(recording, endurance)


def _geometry(chip: Chip) -> str:
    return f"{chip.blocks} blocks of {chip.pages_per_block} pages of {chip.page_B}+{chip.oob_B} B"


def _name(path: Path) -> str:
    path = resolved(path)
    name = path.parent.name if path.name == tables.LOGS else path.name
    for ending in (".gz", ".csv", ".log", ".txt"):
        name = name.removesuffix(ending)
    return name


def _write_blocks(blocks: Ints, path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ("block", "page_reads", "page_programs", "erases")
    columns = [np.arange(len(blocks)), *blocks.T]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), path, compression="zstd")
