"""The file systems by name, from the table of the native half: nothing in Python lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ffslab import _native


class FileSystem(NamedTuple):
    """A row of the table."""

    name: str
    # As people write it.
    title: str
    # A sentence about it.
    about: str
    # Programs write it there.
    on_linux: bool
    # Its name on RTEMS; `None`: RTEMS does not mount it.
    rtems_name: str | None
    has_images: bool
    # Its images are volumes of block devices, not of flash.
    is_volume: bool


# In the place of a file system: a program drives the device itself, and mounts nothing.
BLOCK_DEVICE = "block-device"
# A mount laid over others, which compress or not.
OVERLAYFS = "overlayfs"
TABLE = tuple(FileSystem(*row) for row in _native.file_systems())
ON_LINUX = tuple(fs.name for fs in TABLE if fs.on_linux)
# Linux has them, but no folder of this computer shows them: the root of such an image has another number than the
# native half takes for it there.
NOT_AS_FOLDER = ("squashfs", "erofs")
ON_RTEMS = tuple(fs.rtems_name for fs in TABLE if fs.rtems_name)
WITH_IMAGES = tuple(fs.name for fs in TABLE if fs.has_images)
VOLUMES = tuple(fs.name for fs in TABLE if fs.is_volume)


def title(name: str) -> str:
    """A name as people write it."""
    return next((fs.title for fs in TABLE if fs.name == name), name.upper())


def listed(names: Sequence[str], word: str = "or") -> str:
    """Names in a sentence: "a, b or c"."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
