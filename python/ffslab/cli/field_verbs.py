"""The verbs for devices in the field: `ffslab inspect`, `ffslab lifetime`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab import InputError
from ffslab.cli.image_options import MtdParts, Offset, Partition, Size, place
from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.cli.stack_options import Kernel, Yes
from ffslab.cli.terminal import say, tell
from ffslab.file_systems import WITH_IMAGES, listed, title

if TYPE_CHECKING:
    from ffslab.answers.image import Facts
    from ffslab.images import Partition as FoundPartition

# What an image is taken for; "auto": what it looks like.
IMAGE_FS = ("auto", *WITH_IMAGES)
IMAGES = listed([title(name) for name in WITH_IMAGES])


class Endian(StrEnum):
    """Byte order of an image."""

    AUTO = "auto"
    LITTLE = "little"
    BIG = "big"


def inspect(
    image: Annotated[Path, argument("IMAGE", f"Image of {IMAGES}, or a dump of raw flash with or without OOB areas.")],
    fs: Annotated[
        str, option("--fs", f"What it is: {', '.join(WITH_IMAGES)}, or auto (what it looks like).", choices=IMAGE_FS)
    ] = "auto",
    block_KiB: Annotated[  # noqa: N803
        int | None,
        option("--block-KiB KiB", "Size of the erase blocks. [default: guessed from the content, as the next three]"),
    ] = None,
    page_B: Annotated[int | None, option("--page-B B", "Size of a page.")] = None,  # noqa: N803
    oob_B: Annotated[  # noqa: N803
        int | None, option("--oob-B B", "Size of the OOB area behind each page; 0: there is none in the image.")
    ] = None,
    endian: Annotated[
        Endian, option("--endian", "Byte order of JFFS2: little, big, or auto (that of the first node).")
    ] = Endian.AUTO,
    mtdparts: MtdParts = None,
    offset: Offset = None,
    size: Size = None,
    partition: Partition = None,
    board: Annotated[
        str, option("--board NAME", "Board on which mount and reads are simulated; `ffslab profiles` lists them.")
    ] = "omap3evm",
    part: Annotated[
        str | None, option("--part NAME", "NAND part, instead of the board's own; sizes are those of the image.")
    ] = None,
    kernel: Kernel = None,
    device: Annotated[
        str,
        option("--device NAME", "Block device of a FAT or RFS volume; `ffslab profiles` lists them, a path is a file."),
    ] = "sd-card",
    extract: Annotated[
        Path | None, option("--extract DIR", "Extract the files into this new or empty folder, too.")
    ] = None,
    report: Annotated[Path | None, option("--report FILE", "Write a report with pictures, one HTML file.")] = None,
    json: Annotated[bool, option("--json", "Print everything as JSON.")] = False,
) -> None:
    """Look into a flash image: files, space, wear, damage, costs. See docs/inspect.md.

    Example: ffslab inspect dump.bin --report dump.html
    """
    from ffslab.files import results
    from ffslab.images import extraction, inspection

    if report is not None:
        results.check_report(report)
    found = inspection.inspect_partitions(
        image,
        fs=fs,
        block_KiB=block_KiB,
        page_B=page_B,
        oob_B=oob_B,
        endian=endian.value,
        board=board,
        part=part,
        kernel=kernel,
        device=device,
        **place(mtdparts, offset, size, partition),
    )
    known = [(each, facts) for each, facts in found if facts is not None]
    is_one = len(found) == 1
    if report is not None and len(known) != 1:
        raise InputError(f"--report: it shows one partition, choose it with --partition: {_listed(found)}")
    left_out = []
    if extract is not None and is_one:
        left_out = extraction.extract(inspection.tree_of(image, known[0][1]), extract)
    elif extract is not None:
        left_out = extraction.extract_partitions(((e, inspection.tree_of(image, facts)) for e, facts in known), extract)
    if report is not None:
        from ffslab.report import inspection as drawn

        results.write_report(report, drawn.html(known[0][1]))
    if is_one:
        say(results.dump_json(known[0][1]).rstrip() if json else inspection.text(known[0][1]))
    elif json:
        rows = [{**asdict(each), "facts": facts} for each, facts in found]
        say(results.dump_json({"file": str(image), "partitions": rows}).rstrip())
    else:
        say(inspection.partitions_text(str(image), found))
    if report is not None and not json:
        say(f"\nReport: {report}")
    for line in left_out:
        tell(line)
    if left_out or any(inspection.complaints(facts) for _, facts in known):
        raise typer.Exit(EXIT_NEGATIVE)


def _listed(found: list[tuple[FoundPartition, Facts | None]]) -> str:
    return ", ".join(partition.text for partition, _ in found)


def lifetime(
    start: Annotated[
        Path,
        argument(
            "IMAGE|RESULTS", "An image or dump, with which the workloads begin, or a results folder of `ffslab run`."
        ),
    ],
    workload: Annotated[
        list[Path] | None,
        option(
            "--workload EXPERIMENT",
            "Experiment whose measured steps are the workload; give it several times to compare.",
        ),
    ] = None,
    per_day: Annotated[
        float | None,
        option(
            "--per-day N", "How often a day the measured steps happen. [default: one after the other, without a pause]"
        ),
    ] = None,
    endurance: Annotated[
        int | None, option("--endurance ERASES", "Erases that a block bears. [default: the part's]", least=1)
    ] = None,
    mtdparts: MtdParts = None,
    offset: Offset = None,
    size: Size = None,
    partition: Partition = None,
    yes: Yes = False,
    json: Annotated[bool, option("--json", "Print everything as JSON, with the erases a day of each block.")] = False,
) -> None:
    """Predict how long a part bears a workload. See docs/inspect.md.

    Example: ffslab lifetime dump.bin --workload EXPERIMENT.toml --per-day 1000
    """
    from ffslab.cli.progress import progress_bar
    from ffslab.files import results
    from ffslab.studies import lifetime as life

    if per_day is not None and not 0 < per_day < 1e9:
        raise InputError(f"--per-day {per_day}: must be more than 0")
    where = place(mtdparts, offset, size, partition)
    if start.is_dir():
        if any(value is not None for value in where.values()):
            raise InputError(f"{start}: is a results folder: a partition is one of an image")
        if workload:
            raise InputError(f"{start}: results measured their own workload: give --workload with an image")
        facts = life.of_results(start, endurance, per_day)
    elif not start.exists():
        raise InputError(f"{start}: no such image or results folder")
    elif not workload:
        raise InputError(f"{start}: an image says nothing of a workload: give --workload EXPERIMENT")
    else:
        with progress_bar("workloads") as progress:
            facts = life.of_workloads(start, workload, endurance, per_day, progress, any_size=yes, **where)
    say(results.dump_json(facts).rstrip() if json else life.text(facts))


def add_to(app: typer.Typer) -> None:
    """Makes them verbs of the command."""
    for function in (inspect, lifetime):
        verb(app, function.__name__)(function)
