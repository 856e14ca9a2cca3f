"""The verbs `ffslab image ...`: images for a part, before there are any."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import argument, group, help_without_verb, option, verb
from ffslab.cli.stack_options import Kernel, profile_option
from ffslab.terminal.printing import remark, say

image_app = group(
    "Make the image of a chip, or print the commands that make one. See docs/image-build.md.",
    "ffslab image build chip.toml --out chip.img",
)


@image_app.callback()
def _image(context: typer.Context) -> None:
    help_without_verb(context)


@verb(image_app, "commands")
def commands(
    part: Annotated[str | None, profile_option("part", "Flash part, by name or path. [default: the board's]")] = None,
    board: Annotated[
        str | None,
        profile_option("board", "Board profile, by name or path: its driver decides whether raw NAND has sub-pages."),
    ] = None,
    kernel: Kernel = None,
    blocks: Annotated[
        int | None, option("--blocks BLOCKS", "Erase blocks of the partition. [default: all of the part]", least=1)
    ] = None,
    fs: Annotated[str, option("--fs NAME", "File system: ubifs, which brings UBI with it, or jffs2.")] = "ubifs",
) -> None:
    """Print a script of mkfs.ubifs and ubinize, or of mkfs.jffs2, with the numbers that are right.

    Each number has its reason in a comment; `ffslab inspect --lint` asks the same of an image that there is.

    Example: ffslab image commands --part w25n01gv --board luckfox-pico-max --blocks 512 > make-image.sh
    """
    from ffslab.images.commands import script
    from ffslab.images.target import Target

    say(script(fs, Target.of(part, board, kernel, blocks)))


@verb(image_app, "build")
def build(
    description: Annotated[
        Path, argument("DESCRIPTION.toml", "The chip, its partitions, volumes and contents (docs/image-build.md).")
    ],
    out: Annotated[
        Path | None, option("--out FILE", "File to write; the image of the whole chip. [default: only check]")
    ] = None,
    *,
    oob: Annotated[
        bool,
        option("--oob", "Each page of the image is followed by its OOB area; for programmers, nandwrite --oob."),
    ] = False,
    print_commands: Annotated[
        bool, option("--commands", "Print a script of mkfs.ubifs, ubinize and mkfs.jffs2 instead, with reasons.")
    ] = False,
    json: Annotated[bool, option("--json", "Print JSON in place of text: partitions, volumes, notes.")] = False,
) -> None:
    """Make the image of a whole chip: UBI with its volumes, UBIFS, JFFS2, YAFFS2, littlefs, FAT, files as they are.

    Numbers of part, board and kernel come from their profiles; nothing else needs to be installed. Exit code 2: the
    description cannot be; nothing is written then.

    Example: ffslab image build examples/chip/chip.toml --out chip.img
    """
    from ffslab.files import results
    from ffslab.images.build import chip, script, told
    from ffslab.images.build.description import read

    described = read(description)
    if print_commands:
        others = {"--out": out is not None, "--oob": oob, "--json": json}
        if given := [name for name, is_given in others.items() if is_given]:
            raise InputError(f"--commands: prints a script: leave {given[0]} out")
        say(script.script(described))
        return
    built = chip.build(described, out, oob=oob)
    if json:
        say(results.dump_json(told.facts(described, built, out)).rstrip())
        return
    say(told.text(described, built))
    for note in built.notes:
        remark(f"note: {note}")
    if out is not None:
        say(f"\n{out}: {built.file_B} B")
