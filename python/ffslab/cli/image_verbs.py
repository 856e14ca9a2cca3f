"""The verbs `ffslab image ...`: images for a part, before there are any."""

from __future__ import annotations

from typing import Annotated

import typer

from ffslab.cli.parts import group, help_without_verb, option, verb
from ffslab.cli.stack_options import Kernel, profile_option
from ffslab.terminal.printing import say

image_app = group(
    "Print the commands that make an image for a part. See docs/inspect.md.",
    "ffslab image commands --part w25n01gv --board luckfox-pico-max",
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
