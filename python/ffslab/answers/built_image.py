"""What `ffslab image build --json` prints; `ffslab schema built_image` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class BuiltContent(TypedDict):
    """What stands there: a file as it is, a file system with the files of a folder, or nothing. Paths are as found."""

    image: str | None
    fs: str | None
    srcpath: str | None


class BuiltVolume(TypedDict):
    """A volume of UBI. `lebs`: what the image gives it; `lebs_on_device`: what it has when it has grown."""

    name: str
    id: int
    type: str
    autoresize: bool
    lebs: int
    lebs_on_device: int
    size_B: int
    content: BuiltContent


class BuiltPartition(TypedDict):
    """A partition. `used_blocks`: up to the last one that is not erased. `leb_B`: of UBI; null: there is none in it."""

    name: str
    offset_B: int
    size_B: int
    blocks: int
    used_blocks: int
    read_only: bool
    content: BuiltContent
    leb_B: int | None
    volumes: list[BuiltVolume]


class BuiltImage(TypedDict):
    """The image of a chip. `file`: null: all was made and checked, and nothing written. `mtdparts`: the partitions as
    the kernel's command line has them. `notes`: what is to be known of the image."""

    description: str
    part: str
    board: str | None
    kernel: str
    file: str | None
    file_B: int
    mtdparts: str
    partitions: list[BuiltPartition]
    notes: list[str]
