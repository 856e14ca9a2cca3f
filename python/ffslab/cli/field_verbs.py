"""The verbs for devices in the field: `ffslab inspect`, `ffslab lifetime`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ffslab import InputError
from ffslab.cli.image_options import MtdParts, Offset, Partition, Size, place
from ffslab.cli.parts import EXIT_NEGATIVE, argument, option, verb
from ffslab.cli.stack_options import Yes
from ffslab.cli.terminal import say, tell
from ffslab.file_systems import WITH_IMAGES

# What an image is taken for; "auto": what it looks like.
IMAGE_FS = ("auto", *WITH_IMAGES)


class Endian(StrEnum):
    """Byte order of an image."""

    AUTO = "auto"
    LITTLE = "little"
    BIG = "big"


def inspect(
    image: Annotated[Path, argument("inspect", "image", "IMAGE")],
    fs: Annotated[str, option("inspect", "fs", "--fs", choices=IMAGE_FS)] = "auto",
    block_KiB: Annotated[int | None, option("inspect", "block_KiB", "--block-KiB", metavar="KiB")] = None,  # noqa: N803
    page_B: Annotated[int | None, option("inspect", "page_B", "--page-B", metavar="B")] = None,  # noqa: N803
    oob_B: Annotated[int | None, option("inspect", "oob_B", "--oob-B", metavar="B")] = None,  # noqa: N803
    endian: Annotated[Endian, option("inspect", "endian", "--endian")] = Endian.AUTO,
    mtdparts: MtdParts = None,
    offset: Offset = None,
    size: Size = None,
    partition: Partition = None,
    board: Annotated[str, option("inspect", "board", "--board", metavar="NAME")] = "omap3evm",
    part: Annotated[str | None, option("inspect", "part", "--part", metavar="NAME")] = None,
    kernel: Annotated[str | None, option("inspect", "kernel", "--kernel", metavar="NAME")] = None,
    device: Annotated[str, option("inspect", "device", "--device", metavar="NAME")] = "sd-card",
    extract: Annotated[Path | None, option("inspect", "extract", "--extract", metavar="DIR")] = None,
    report: Annotated[Path | None, option("inspect", "report", "--report", metavar="FILE")] = None,
    json: Annotated[bool, option("inspect", "json", "--json")] = False,
) -> None:
    """Looks into an image or a dump."""
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


def _listed(found: list[tuple[Any, Any]]) -> str:
    return ", ".join(partition.text for partition, _ in found)


def lifetime(
    start: Annotated[Path, argument("lifetime", "start", "IMAGE|RESULTS")],
    workload: Annotated[list[Path] | None, option("lifetime", "workload", "--workload", metavar="EXPERIMENT")] = None,
    per_day: Annotated[float | None, option("lifetime", "per_day", "--per-day", metavar="N")] = None,
    endurance: Annotated[int | None, option("lifetime", "endurance", "--endurance", metavar="ERASES", least=1)] = None,
    mtdparts: MtdParts = None,
    offset: Offset = None,
    size: Size = None,
    partition: Partition = None,
    yes: Yes = False,
    json: Annotated[bool, option("lifetime", "json", "--json")] = False,
) -> None:
    """Predicts how long a part bears a workload."""
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
