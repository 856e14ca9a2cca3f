"""Options of several verbs that do not name the machine or an image: what is read, what is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ffslab.cli.parts import option
from ffslab.terminal.printing import say

if TYPE_CHECKING:
    from ffslab.api.observe import Observe
    from ffslab.api.run import Run

Json = Annotated[bool, option("--json", "Print JSON in place of text.")]
SummaryJson = Annotated[bool, option("--json", "Print JSON in place of text: the summary.")]
Out = Annotated[
    Path | None,
    option("--out DIR", "Folder to write; one that ffslab wrote is replaced, another refused. [default: results/NAME]"),
]
Jobs = Annotated[int | None, option("--jobs N", "How many run at once. [default: one per core]", least=1)]
Scheduler = Annotated[str | None, option("--scheduler ADDRESS", "Let the workers of this dask scheduler run it.")]
Batch = Annotated[
    str | None,
    option("--batch SYSTEM", "Let jobs of slurm, pbs, sge, lsf, htcondor, oar or moab run it, --jobs of them."),
]
LargeLogs = Annotated[bool, option("--yes", "Do it without asking: read logs of more than 4,000,000 events.")]
RecordBytes = Annotated[
    list[int] | None,
    option("--record-B B", "Take only the traces with records of this size; may be given several times.", least=1),
]
TimelineFile = Annotated[
    Path | None,
    option(
        "--timeline FILE.pftrace",
        "Write a timeline of the measured steps, which ui.perfetto.dev opens, and stacks.parquet for flame graphs "
        "(docs/timelines.md).",
    ),
]
TimelineEvery = Annotated[
    int,
    option("--timeline-every N", "Draw what happens in a call of one call in N; the timeline says so.", least=1),
]


@dataclass(frozen=True)
class TimelineOptions:
    """What is written down of a run while it goes on."""

    timeline: TimelineFile = None
    timeline_every: TimelineEvery = 1

    def observe(self) -> Observe | None:
        """`None`: nothing is.

        Raises `ffslab.InputError` for a file that cannot be written, and options that mean nothing.
        """
        from ffslab._native import InputError
        from ffslab.api.observe import Observe

        if self.timeline is None:
            if self.timeline_every != 1:
                raise InputError("--timeline-every: is of a timeline: name its file with --timeline")
            return None
        observe = Observe(self.timeline, self.timeline_every)
        observe.check()
        return observe


def serve_and_tell(serve: Callable[[TextIO | None], tuple[Run, int]], folder: Path | None, *, json: bool) -> None:
    """Serves real programs until the end, keeps the results in `folder` and tells them. `serve`: tells the rest on what
    it is given, and gives what was done and the code of its command, with which this ends.

    Raises `ffslab.InputError` for a folder that holds something else, before anything is served.
    """
    from ffslab.files import results
    from ffslab.text.machine_line import initial_of
    from ffslab.text.summary import summary_text

    if folder is not None:
        results.check_free(folder)
    done, code = serve(sys.stderr if json else None)
    if folder is not None:
        done.save(folder)
    text = summary_text(done.summary, initial_of(done.resolved_toml))
    say(results.dump_json(done.summary).rstrip() if json else with_page(text, folder and folder / results.REPORT))
    if code:
        raise typer.Exit(code)


Page = Annotated[Path | None, option("--out FILE", "File to write; a page with pictures, one HTML file.")]


def with_page(text: str, page: Path | None) -> str:
    """The answer, and where the page is."""
    return text if page is None else f"{text}\n\nReport: {page}"
