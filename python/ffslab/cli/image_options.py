"""What verbs are told about an image: how it is made, and which partition of it is meant. For all the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ffslab import _native
from ffslab._native import InputError
from ffslab.cli.parts import option

if TYPE_CHECKING:
    from ffslab.images import Chosen

MtdParts = Annotated[
    str | None,
    option(
        "--mtdparts TEXT",
        (
            "Partitions of the chip that the image is a dump of, as on the kernel's command line: "
            "'nand:512k(boot)ro,8M(root),-(data)'. [default: found by what is in it, as the next two]"
        ),
    ),
]
Offset = Annotated[
    str | None,
    option("--offset BYTES", "Where in the flash the only partition begins, without OOB areas: 0x100000, 1M, 512k."),
]
Size = Annotated[str | None, option("--size BYTES", "How large the only partition is. [default: to the end]")]
Partition = Annotated[str | None, option("--partition NAME", "Which of several partitions.")]


def place(mtdparts: str | None, offset: str | None, size: str | None, partition: str | None) -> Chosen:
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
