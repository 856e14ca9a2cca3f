"""What `ffslab inspect --json` prints of an image or a partition; `ffslab schema image` is made from these types."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ffslab.answers import Json
from ffslab.answers.inspection import BlockFacts, Damage, FileFacts, KeyFacts, Layout, Lost, MountFacts
from ffslab.answers.summary import SpaceSummary


class Place(TypedDict):
    """Where a partition is on the flash, without OOB areas; without a name: the user said where."""

    name: str
    offset_B: int
    size_B: int


# So many blocks have a value from ... to ...
WearClass = TypedDict("WearClass", {"from": int, "to": int, "blocks": int})


class Wear(TypedDict):
    """UBI's erase counters or YAFFS2's sequence numbers of the blocks that have one."""

    kind: str
    blocks: int
    min: int
    mean: float
    max: int
    histogram: list[WearClass]


class Facts(TypedDict):
    """Everything that was found in an image, or in a partition of it."""

    file: str
    file_B: int
    layout: Layout
    superblock: dict[str, Json]
    files: list[FileFacts]
    blocks: list[BlockFacts]
    keys: list[KeyFacts]
    damage: list[Damage]
    damage_count: int
    bad_blocks: list[int] | None
    mount: MountFacts | None
    lost: Lost | None
    notes: list[str]
    doubts: list[str]
    wear: Wear | None
    space: SpaceSummary | None
    partition: NotRequired[Place]
