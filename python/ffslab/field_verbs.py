"""The verbs for devices in the field: `ffslab inspect`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli_parts import EXIT_NEGATIVE, argument, option, say
from ffslab.help_texts import VERBS


class ImageFs(StrEnum):
    """File systems whose images can be read."""

    AUTO = "auto"
    JFFS2 = "jffs2"
    YAFFS2 = "yaffs2"
    UBIFS = "ubifs"
    FAT = "fat"
    RFS = "rfs"


class Endian(StrEnum):
    """Byte order of an image."""

    AUTO = "auto"
    LITTLE = "little"
    BIG = "big"


def inspect(
    image: Annotated[Path, argument("inspect", "image", "IMAGE")],
    fs: Annotated[ImageFs, option("inspect", "fs", "--fs")] = ImageFs.AUTO,
    block_KiB: Annotated[int | None, option("inspect", "block_KiB", "--block-KiB", metavar="KiB")] = None,  # noqa: N803
    page_B: Annotated[int | None, option("inspect", "page_B", "--page-B", metavar="B")] = None,  # noqa: N803
    oob_B: Annotated[int | None, option("inspect", "oob_B", "--oob-B", metavar="B")] = None,  # noqa: N803
    endian: Annotated[Endian, option("inspect", "endian", "--endian")] = Endian.AUTO,
    board: Annotated[str, option("inspect", "board", "--board", metavar="NAME")] = "omap3evm",
    part: Annotated[str | None, option("inspect", "part", "--part", metavar="NAME")] = None,
    kernel: Annotated[str | None, option("inspect", "kernel", "--kernel", metavar="NAME")] = None,
    device: Annotated[str, option("inspect", "device", "--device", metavar="NAME")] = "sd-card",
    extract: Annotated[Path | None, option("inspect", "extract", "--extract", metavar="DIR")] = None,
    report: Annotated[Path | None, option("inspect", "report", "--report", metavar="FILE")] = None,
    json: Annotated[bool, option("inspect", "json", "--json")] = False,
) -> None:
    """Looks into an image or a dump."""
    from ffslab import images, inspection, results

    facts = inspection.inspect_image(
        image,
        fs=fs.value,
        block_KiB=block_KiB,
        page_B=page_B,
        oob_B=oob_B,
        endian=endian.value,
        board=board,
        part=part,
        kernel=kernel,
        device=device,
    )
    left_out = images.extract(inspection.tree_of(image, facts), extract) if extract is not None else []
    if report is not None:
        from ffslab.report import inspection as drawn

        results.write_report(report, drawn.html(facts))
    say(results.dump_json(facts).rstrip() if json else inspection.text(facts))
    if report is not None and not json:
        say(f"\nReport: {report}")
    for line in left_out:
        print(f"ffslab: {line}", file=sys.stderr)
    if left_out or inspection.complaints(facts):
        raise typer.Exit(EXIT_NEGATIVE)


def add_to(app: typer.Typer) -> None:
    """Makes them verbs of the command."""
    app.command("inspect", help=VERBS["inspect"].about, epilog=VERBS["inspect"].epilog)(inspect)
