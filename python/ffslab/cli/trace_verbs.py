"""The verbs `ffslab trace ...`: recordings of programs, logs of flash operations and calls."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import EXIT_NEGATIVE, argument, group, help_without_verb, option, verb
from ffslab.cli.renamed import out_of
from ffslab.cli.result_options import Json, LargeLogs, Page, RecordBytes
from ffslab.cli.stack_options import Kernel, Part, Settings
from ffslab.terminal.printing import remark, say, tell

# The file to write, which has an option of its own now.
Before = Annotated[
    Path | None, typer.Argument(metavar="OUT", hidden=True, help="The file of --out.", show_default=False)
]
# The chip of logs that do not say it.
PartOfChip = Annotated[
    str | None, option("--part NAME", "Flash part, by name or path; or a board for its part: geometry and endurance.")
]
GeometryOfChip = Annotated[
    str | None,
    option("--chip GEOMETRY", "Geometry of the chip: 'page_B=2048 oob_B=64 block_B=131072 size_B=268435456'."),
]
Shift = Annotated[
    list[str] | None,
    option(
        "--shift KIND=SECONDS",
        "Seconds to add to the times of a kind of log (flashmon, vfsmon, funcmon), when clocks differ.",
    ),
]


class Weight(StrEnum):
    """What the widths of a flame graph are."""

    TIME = "time"
    ENERGY = "energy"
    OPERATIONS = "operations"
    WEAR = "wear"


trace_app = group(
    "Recordings and logs of flash: convert, report, compare, draw.",
    "ffslab trace convert app.strace.gz --out app.parquet",
)


@trace_app.callback()
def _trace(context: typer.Context) -> None:
    help_without_verb(context)


@verb(trace_app, "convert")
def trace_convert(
    source: Annotated[
        Path,
        argument(
            "IN",
            "Recording: strace, fio's iolog, blkparse, OpenFlash's CSV, MSR Cambridge, SPC, a table; "
            ".gz is read as it is.",
        ),
    ],
    last: Before = None,
    out: Annotated[
        Path | None, option("--out FILE", "File to write; its ending says what it becomes: .parquet or .csv.")
    ] = None,
    root: Annotated[
        str | None,
        option("--root DIR", "Only calls below this directory. [default: the deepest one that holds all files]"),
    ] = None,
) -> None:
    """Write a recording as a table with units in its column names.

    Example: ffslab trace convert app.strace.gz --out app.parquet
    """
    from ffslab.files import traces

    target = out_of("trace convert", out, last)
    rows, notes = traces.convert(source, target, root)
    for note in notes:
        remark(note)
    say(f"{target}: {rows} rows")


@verb(trace_app, "report")
def trace_report(
    logs: Annotated[
        list[Path],
        argument("LOG", "Logs of one session, one of each kind, or a folder that holds them; .gz is read as it is."),
    ],
    part: PartOfChip = None,
    chip: GeometryOfChip = None,
    endurance: Annotated[
        int | None,
        option(
            "--endurance ERASES",
            "Erases that a block bears. [default: the part's]",
            least=1,
        ),
    ] = None,
    shift: Shift = None,
    yes: LargeLogs = False,
    out: Annotated[Path | None, option("--out DIR", "Folder to write. [default: results/trace-LOG]")] = None,
    json: Annotated[bool, option("--json", "Print JSON in place of text: the summary.")] = False,
) -> None:
    """Analyse logs of the probe kit or of Flashmon. See docs/trace-report.md.

    Example: ffslab trace report flashmon.log vfsmon.log funcmon.log --endurance 100000
    """
    from ffslab.measured.tracereport import verb
    from ffslab.terminal.progress import progress_bar

    options = verb.Options(part, chip, endurance, tuple(shift or ()), large=yes)
    with progress_bar("logs") as progress:
        summary, text, folder = verb.report(logs, options, out, progress)
    _print_trace(summary, text, folder, json=json, flaws=summary["flaws"])


@verb(trace_app, "diff")
def trace_diff(
    a: Annotated[Path, argument("A", "A log, or a folder with the logs of one session.")],
    b: Annotated[Path, argument("B", "What it is compared with.")],
    part: PartOfChip = None,
    chip: GeometryOfChip = None,
    yes: LargeLogs = False,
    out: Annotated[Path | None, option("--out DIR", "Folder to write. [default: results/diff-A-B]")] = None,
    json: Annotated[bool, option("--json", "Print JSON in place of text: the differences.")] = False,
) -> None:
    """Compare the logs of two sessions: counts, rates, times, maps.

    Example: ffslab trace diff before/ after/
    """
    from ffslab.measured.tracereport import verb

    difference, text, folder = verb.diff(a, b, verb.Options(part, chip, large=yes), out)
    _print_trace(difference, text, folder, json=json, flaws=difference["flaws"])


@verb(trace_app, "compare")
def trace_compare(
    traces: Annotated[
        list[Path],
        argument(
            "TRACE",
            "Recordings whose calls were timed, as by strace -T; or folders with vfs/, and ffs/, flash/ if there are, "
            "of files such as 128_run1.csv or .csv.gz.",
        ),
    ],
    board: Annotated[
        str,
        option("--board NAME", "Board profile, by name or path; for folders it needs a table [tracers]."),
    ] = "omap3evm",
    part: Part = None,
    kernel: Kernel = None,
    settings: Settings = None,
    partition_blocks: Annotated[
        int | None,
        option(
            "--partition-blocks --blocks BLOCKS",
            "Erase blocks of the partition. [default: 800 for folders, as replay for recordings]",
            least=1,
        ),
    ] = None,
    record_bytes: RecordBytes = None,
    uptime_us: Annotated[
        int,
        option(
            "--uptime-us US", "How long the machine has been up: JFFS2 chooses blocks by the clock's ticks.", least=0
        ),
    ] = 0,
    out: Page = None,
    json: Json = False,
) -> None:
    """Replay traces of a board and compare with them. See docs/compare.md.

    Example: ffslab trace compare app.strace.gz --board omap3evm --set fs=ubifs
    """
    from ffslab.api.machine import Machine, settings_of
    from ffslab.measured.compare import verb

    own = {"part": part, **settings_of(settings or [])}
    machine = Machine(board, kernel, partition_blocks=partition_blocks, settings=own)
    say(verb.run(traces, record_bytes or [], machine, uptime_us, json=json, report=out))


@verb(trace_app, "timeline")
def trace_timeline(
    logs: Annotated[
        list[Path],
        argument("LOG", "Logs of one session, one of each kind, or a folder that holds them; .gz is read as it is."),
    ],
    part: PartOfChip = None,
    chip: GeometryOfChip = None,
    shift: Shift = None,
    yes: LargeLogs = False,
    out: Annotated[
        Path | None, option("--out FILE", "File to write; such as board.pftrace, which ui.perfetto.dev opens.")
    ] = None,
) -> None:
    """Draw logs of the probe kit as a timeline. See docs/timelines.md.

    Example: ffslab trace timeline flashmon.log vfsmon.log funcmon.log --out board.pftrace
    """
    from ffslab.measured.tracereport import verb

    # The last word was the file to write before.
    is_last = len(logs) > 1 and (logs[-1].suffix == ".pftrace" or not logs[-1].exists())
    last = logs.pop() if out is None and is_last else None
    target = out_of("trace timeline", out, last)
    events, flaws = verb.timeline(logs, verb.Options(part, chip, shift=tuple(shift or ()), large=yes), target)
    say(f"{target}: {events} events; https://ui.perfetto.dev opens it")
    _end_with(flaws)


# Names of pictures, which collapsed stacks are not.
_PICTURES = (".svg", ".png", ".pdf", ".jpg")


@verb(trace_app, "flame")
def trace_flame(
    result: Annotated[Path, argument("RESULT", "Results folder of a run.")],
    last: Before = None,
    out: Annotated[
        Path | None,
        option(
            "--out FILE",
            "File to write; .html for a page, .json for speedscope, anything else collapsed stacks for flamegraph.pl.",
        ),
    ] = None,
    weight: Annotated[
        Weight,
        option(
            "--weight", "What the widths are: time, energy, operations (of the flash), wear (erases); a page has all."
        ),
    ] = Weight.TIME,
    against: Annotated[
        Path | None,
        option("--against RESULT2", "Write both weights of each stack, for a differential flame graph."),
    ] = None,
    variant: Annotated[
        str | None,
        option("--variant NAME", "Only this variant. [default: all, each a frame of its own]"),
    ] = None,
) -> None:
    """Write the flame graph of a run: task, call, reason, operation. See docs/timelines.md.

    Example: ffslab trace flame results/sqlite --out wear.folded --weight wear
    """
    from ffslab.studies import flame
    from ffslab.terminal.progress import progress_bar

    target = out_of("trace flame", out, last)
    if target.suffix.lower() in _PICTURES:
        raise InputError(
            f"{target}: a page (.html) has the picture; collapsed stacks (.folded), from which flamegraph.pl draws "
            "one, are text"
        )
    with progress_bar(result.name) as progress:
        said = flame.flame(
            result, weight.value, target, against=against, variant=variant, progress=progress, tell=remark
        )
    say(said)


def _print_trace(values: Mapping[str, object], text: str, folder: Path, *, json: bool, flaws: list[str]) -> None:
    """Prints a report; the answer is negative when logs do not hold all that happened."""
    from ffslab.files import results

    say(results.dump_json(values).rstrip() if json else f"{text}\n\nReport: {folder / results.REPORT}")
    _end_with(flaws)


def _end_with(flaws: list[str]) -> None:
    """Says what the logs do not hold, which is a negative answer."""
    for flaw in flaws:
        tell(f"incomplete: {flaw}")
    if flaws:
        raise typer.Exit(EXIT_NEGATIVE)
