"""What verbs are told about an image: how it is made, and which partition of it is meant. For all the same words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ffslab import _native
from ffslab._native import InputError
from ffslab.cli.parts import option
from ffslab.file_systems import VOLUMES, WITH_IMAGES, listed, title
from ffslab.files import inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffslab.images import Chosen, How, Partition

# What an image is taken for; "auto": what it looks like.
IMAGE_FS = ("auto", *WITH_IMAGES)
IMAGES = listed([title(name) for name in WITH_IMAGES])
# Bytes of a master key of fscrypt.
LEAST_KEY_B, MOST_KEY_B = 16, 64
# The options whose keywords have another spelling.
_FLAGS = {"block_KiB": "--block-KiB", "page_B": "--page-B", "oob_B": "--oob-B", "layout": "--layout"}


class Endian(StrEnum):
    """Byte order of an image."""

    AUTO = "auto"
    LITTLE = "little"
    BIG = "big"


@dataclass(frozen=True)
class Place:
    """Which partition of an image is meant."""

    mtdparts: Annotated[
        str | None,
        option(
            "--mtdparts TEXT",
            (
                "Partitions of the chip that the image is a dump of, as on the kernel's command line: "
                "'nand:512k(boot)ro,8M(root),-(data)'. [default: found by what is in it, as the next two]"
            ),
        ),
    ] = None
    offset: Annotated[
        str | None,
        option(
            "--offset BYTES", "Where in the flash the only partition begins, without OOB areas: 0x100000, 1M, 512k."
        ),
    ] = None
    size: Annotated[str | None, option("--size BYTES", "How large the only partition is. [default: to the end]")] = None
    partition: Annotated[str | None, option("--partition NAME", "Which of several partitions.")] = None

    def chosen(self) -> Chosen:
        """The options as keywords of `ffslab.images` and `ffslab.images.inspection`."""
        return {
            "mtdparts": self.mtdparts,
            "offset_B": _bytes("--offset", self.offset),
            "size_B": _bytes("--size", self.size),
            "partition": self.partition,
        }

    @property
    def is_said(self) -> bool:
        return any(value is not None for value in (self.mtdparts, self.offset, self.size, self.partition))


@dataclass(frozen=True)
class Looks:
    """How an image is made, as far as that is known."""

    fs: Annotated[
        str,
        option(
            "--fs NAME",
            f"File system: {', '.join(WITH_IMAGES)}, or auto (what the image looks like).",
            choices=IMAGE_FS,
        ),
    ] = "auto"
    block_KiB: Annotated[  # noqa: N815
        int | None,
        option(
            "--block-KiB KiB",
            "Size of the erase blocks. [default: guessed from the content, as the next three]",
            least=1,
        ),
    ] = None
    page_B: Annotated[int | None, option("--page-B B", "Size of a page.", least=1)] = None  # noqa: N815
    oob_B: Annotated[  # noqa: N815
        int | None,
        option("--oob-B B", "Size of the OOB area behind each page; 0: there is none in the image.", least=0),
    ] = None
    endian: Annotated[
        Endian, option("--endian", "Byte order of JFFS2: little, big, or auto (that of the first node).")
    ] = Endian.AUTO
    layout: Annotated[
        str | None,
        option(
            "--layout DATA+OOBxN",
            "How each page is laid out: 512+16x4 is four times 512 B and 16 B of OOB, 512+14x4+8 has 8 B behind them. "
            "[default: found by check sums]",
        ),
    ] = None
    volume: Annotated[str | None, option("--volume NAME|ID", "Which of several volumes of UBI.")] = None
    key: Annotated[
        list[Path] | None,
        option(
            "--key FILE",
            "Master key of encrypted files (fscrypt): its bytes, or their hexadecimal digits. May be said again.",
        ),
    ] = None

    def how(self, place: Place, *, oob: bool | None = None) -> How:
        """The options as keywords of `ffslab.images` and `ffslab.images.inspection`."""
        from ffslab.images import said

        how: How = {
            "fs": self.fs,
            "block_KiB": self.block_KiB,
            "page_B": self.page_B,
            "oob_B": self.oob_B,
            "oob": oob,
            "endian": self.endian.value,
            "layout": self.layout,
            "volume": self.volume,
            "keys": [_key(path) for path in self.key or []] or None,
        }
        how = {**how, **place.chosen()}
        try:
            _native.check_image_words(said(**how))
        except InputError as error:
            keyword, _, why = str(error).partition(" ")
            raise InputError(f"{_FLAGS.get(keyword, keyword)} {why}") from None
        return how

    def check_applies(self, image: Path, found: Sequence[Partition], *, oob: bool | None = None) -> None:
        """Refuses what says nothing of this image: a volume of a block device has no pages, OOB areas and erase blocks.

        Of the dump of a chip partitions are found by them, whatever stands there.
        """
        if len(found) != 1 or found[0].name or (layout := found[0].layout) is None:
            return
        fs = layout["fs"]
        given = {
            "--block-KiB": self.block_KiB,
            "--page-B": self.page_B,
            "--oob-B": self.oob_B,
            "--layout": self.layout,
            "--oob": oob,
        }
        said = next((flag for flag, value in given.items() if value is not None), None)
        if said is not None and fs in VOLUMES and not layout["oob_B"]:
            raise InputError(f"{said}: {image} holds {title(fs)}, which stands on a block device: leave it out")
        if self.endian is not Endian.AUTO and fs != "jffs2":
            said = f"--endian {self.endian.value}"
            raise InputError(f"{said}: {image} holds {title(fs)}, and only JFFS2 has both: leave it out")


def _key(path: Path) -> bytes:
    """The key in a file: as many bytes as a key has, or their digits."""
    held = inputs.read_bytes(path, "key file")
    digits = held.strip()
    if len(digits) % 2 == 0 and len(digits) > MOST_KEY_B and re.fullmatch(rb"[0-9A-Fa-f]+", digits):
        held = bytes.fromhex(digits.decode("ascii"))
    if not LEAST_KEY_B <= len(held) <= MOST_KEY_B:
        sizes = f"{LEAST_KEY_B} to {MOST_KEY_B} B, or twice as many hexadecimal digits"
        raise InputError(f"--key {path}: a master key has {sizes}; it has {len(held)}")
    return held


def _bytes(flag: str, text: str | None) -> int | None:
    """A number with a unit, as the kernel's command line has it."""
    value = None if text is None else _native.memparse(text)
    if text is not None and value is None:
        raise InputError(f"{flag} {text}: must be a number of bytes, such as 0x100000, 1M or 512k")
    return value
