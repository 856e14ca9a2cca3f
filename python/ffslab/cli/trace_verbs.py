"""The verbs `ffslab trace ...`: recordings of programs, logs of flash operations and calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.help_texts import VERBS
from ffslab.cli.parts import EXIT_NEGATIVE, argument, help_without_verb, option, verb
from ffslab.cli.terminal import say, tell

LargeLogs = Annotated[bool, option("trace report", "yes", "--yes")]

trace_app = typer.Typer(
    help=VERBS["trace"].about,
    epilog=VERBS["trace"].epilog,
    rich_markup_mode=None,
    invoke_without_command=True,
)


@trace_app.callback()
def _trace(context: typer.Context) -> None:
    help_without_verb(context)


@verb(trace_app, "trace convert")
def trace_convert(
    source: Annotated[Path, argument("trace convert", "source", "IN")],
    target: Annotated[Path, argument("trace convert", "target", "OUT")],
    root: Annotated[str | None, option("trace convert", "root", "--root", metavar="DIR")] = None,
) -> None:
    """Writes a recording as a table."""
    from ffslab.workloads import traces

    rows, notes = traces.convert(source, target, root)
    for note in notes:
        tell(note)
    say(f"{target}: {rows} rows")


@verb(trace_app, "trace report")
def trace_report(
    logs: Annotated[list[Path], argument("trace report", "logs", "LOG")],
    part: Annotated[str | None, option("trace report", "part", "--part", metavar="NAME")] = None,
    chip: Annotated[str | None, option("trace report", "chip", "--chip", metavar="GEOMETRY")] = None,
    endurance: Annotated[
        int | None, option("trace report", "endurance", "--endurance", metavar="ERASES", least=1)
    ] = None,
    shift: Annotated[list[str] | None, option("trace report", "shift", "--shift", metavar="KIND=SECONDS")] = None,
    yes: LargeLogs = False,
    out: Annotated[Path | None, option("trace report", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("trace report", "json", "--json")] = False,
) -> None:
    """Analyses the logs of one session."""
    from ffslab.boards.tracereport import verb
    from ffslab.cli.progress import progress_bar

    options = verb.Options(part, chip, endurance, tuple(shift or ()), large=yes)
    with progress_bar("logs") as progress:
        summary, text, folder = verb.report(logs, options, out, progress)
    _print_trace(summary, text, folder, json=json, flaws=summary["flaws"])


@verb(trace_app, "trace diff")
def trace_diff(
    a: Annotated[Path, argument("trace diff", "a", "A")],
    b: Annotated[Path, argument("trace diff", "b", "B")],
    part: Annotated[str | None, option("trace diff", "part", "--part", metavar="NAME")] = None,
    chip: Annotated[str | None, option("trace diff", "chip", "--chip", metavar="GEOMETRY")] = None,
    yes: LargeLogs = False,
    out: Annotated[Path | None, option("trace diff", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("trace diff", "json", "--json")] = False,
) -> None:
    """Compares two sessions."""
    from ffslab.boards.tracereport import verb

    difference, text, folder = verb.diff(a, b, verb.Options(part, chip, large=yes), out)
    _print_trace(difference, text, folder, json=json, flaws=difference["flaws"])


def _print_trace(values: Mapping[str, object], text: str, folder: Path, *, json: bool, flaws: list[str]) -> None:
    """Prints a report; the answer is negative when logs do not hold all that happened."""
    from ffslab.files import results

    say(results.dump_json(values).rstrip() if json else f"{text}\n\nReport: {folder / results.REPORT}")
    for flaw in flaws:
        tell(f"incomplete: {flaw}")
    if flaws:
        raise typer.Exit(EXIT_NEGATIVE)
