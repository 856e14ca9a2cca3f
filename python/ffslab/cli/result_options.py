"""Options of several verbs that do not name the machine or an image: what is read, what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ffslab.cli.parts import option

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
LargeLogs = Annotated[bool, option("--yes", "Do it beyond the limit: read logs of more than 4,000,000 events.")]
RecordBytes = Annotated[
    list[int] | None,
    option("--record-B B", "Take only the traces with records of this size; may be given several times.", least=1),
]
