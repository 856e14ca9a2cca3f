"""What verbs are told about an image: how it is made, and which partition of it is meant. For all the same words."""

from __future__ import annotations

from typing import Annotated, Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.cli.parts import option

MtdParts = Annotated[str | None, option("inspect", "mtdparts", "--mtdparts", metavar="TEXT")]
Offset = Annotated[str | None, option("inspect", "offset", "--offset", metavar="BYTES")]
Size = Annotated[str | None, option("inspect", "size", "--size", metavar="BYTES")]
Partition = Annotated[str | None, option("inspect", "partition", "--partition", metavar="NAME")]


def place(mtdparts: str | None, offset: str | None, size: str | None, partition: str | None) -> dict[str, Any]:
    """The partition that options name, as keywords of `ffslab.images` and `ffslab.images.inspection`."""
    return {
        "mtdparts": mtdparts,
        "offset_B": _bytes("--offset", offset),
        "size_B": _bytes("--size", size),
        "partition": partition,
    }


def _bytes(flag: str, text: str | None) -> int | None:
    """A number with a unit, as the kernel's command line has it."""
    value = None if text is None else _native.memparse(text)
    if text is not None and value is None:
        raise InputError(f"{flag} {text}: must be a number of bytes, such as 0x100000, 1M or 512k")
    return value
