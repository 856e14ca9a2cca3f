"""Made by tools/native_types.py from `ffslab schema partitions and inspection`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from ffslab.answers import Json
from ffslab.answers.summary import CauseSummary, Counts, Legend


class BlockFacts(TypedDict):
    """An erase block."""

    block: int
    damage_count: int
    erases: int | None
    free_B: int | None
    holds: str
    invalid_B: int | None
    is_bad: bool | None
    sequence: int | None
    valid_B: int | None


class Damage(TypedDict):
    """Something that cannot be right."""

    block: int
    hits: Hit | None
    offset: int
    what: str


class FileFacts(TypedDict):
    """FileFacts."""

    error: str | None
    kind: str
    links: int
    path: str
    read: ReadFacts | None
    size_B: int


class Hit(TypedDict):
    """A part of a file that a damaged node holds."""

    ino: int
    is_in_use: bool | None
    path: str | None
    range_B: list[int] | None


class Inspected(TypedDict):
    """A partition and what was found in it."""

    found: InspectionOrWhy
    part: Part


class Inspection(TypedDict):
    """Everything that was found."""

    bad_blocks: list[int] | None
    blocks: list[BlockFacts]
    damage: list[Damage]
    damage_count: int
    doubts: list[str]
    file: str
    file_B: int
    files: list[FileFacts]
    keys: list[KeyFacts]
    layout: Layout
    lost: Lost | None
    mount: MountFacts | None
    notes: list[str]
    superblock: list[list[str | Json]]


class InspectionOrWhy(TypedDict):
    """InspectionOrWhy."""

    Ok: NotRequired[Inspection]
    Err: NotRequired[str]


class KeyFacts(TypedDict):
    """A value under a key, as it stands in a store."""

    block: int
    entry: int
    key: str
    namespace: str | None
    size_B: int
    state: KeyState
    type: str
    value: str | None


KeyState: TypeAlias = Literal["current", "older", "erased"]


class Layout(TypedDict):
    """What the image is."""

    because: list[str]
    block_B: int
    block_sizes_that_fit_B: NotRequired[list[int]]
    blocks: int
    endian: NotRequired[str]
    fs: str
    lacks_ubi: NotRequired[bool]
    oob_B: int
    page_B: int
    tags_at_B: NotRequired[int | None]
    unchecked: NotRequired[str | None]
    undone: NotRequired[list[str]]
    vid_hdr_and_data_at_B: NotRequired[list[int] | None]


class LayoutOrWhy(TypedDict):
    """LayoutOrWhy."""

    Ok: NotRequired[Layout]
    Err: NotRequired[str]


class Lost(TypedDict):
    """What a partition has lost."""

    files: list[LostFile]
    notes: list[str]


class LostFile(TypedDict):
    """A file that is gone, or an earlier version of one."""

    ended_s: int | None
    held_B: int
    ino: int
    kind: str
    missing_B: list[list[int]]
    modified_s: int | None
    path: str
    size_B: int | None
    state: State
    version: int
    why: Why


class MountFacts(TypedDict):
    """What a mount costs, in the simulator."""

    by_cause: list[CauseSummary]
    causes: Legend
    counts: NotRequired[Counts | None]
    device_read_B: NotRequired[int | None]
    device_reads: NotRequired[int | None]
    machine: str
    time_us: float


class Part(TypedDict):
    """A partition."""

    layout: LayoutOrWhy
    name: str
    offset_B: int
    size_B: int


class ReadFacts(TypedDict):
    """The cost of reading a file from its start to its end, with nothing in memory."""

    least_reads: int
    pieces: int
    reads: int
    time_us: float


State: TypeAlias = Literal["whole", "doubtful", "partial"]


Why: TypeAlias = Literal["deleted", "overwritten"]
