"""The flags of UBI's volumes, which the native half does not tell: which one grows when the image is first attached."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from ffslab.answers.image import Facts

# A record of the volume table (drivers/mtd/ubi/ubi-media.h, struct ubi_vtbl_record): flags, and a check sum at its end.
RECORD_B = 172
FLAGS_AT, CHECK_SUM_AT = 144, 168
AUTORESIZE = 0x01


def growing_volumes(path: str | Path, facts: Facts) -> set[int] | None:
    """Numbers of the volumes with the flag `autoresize`; `None`: no volume table could be read."""
    layout = facts["layout"]
    data_at = (layout.get("vid_hdr_and_data_at_B") or [0, 0])[1]
    ids = [int(name.removeprefix("volume ")) for name in facts["superblock"] if _is_volume(name)]
    if layout.get("undone"):
        # The bytes of the file are not those that were read.
        return None
    begin = facts["partition"]["offset_B"] if "partition" in facts else 0
    for block in (each["block"] for each in facts["blocks"] if each["holds"] == "volume table"):
        at = begin + block * layout["block_B"] + data_at
        table = _page_data(path, at, (max(ids, default=0) + 1) * RECORD_B, layout["page_B"], layout["oob_B"])
        records = {number: table[number * RECORD_B :][:RECORD_B] for number in ids}
        if all(_is_whole(record) for record in records.values()):
            return {number for number, record in records.items() if record[FLAGS_AT] & AUTORESIZE}
    return None


def _is_volume(name: str) -> bool:
    return name.startswith("volume ") and name.removeprefix("volume ").isdecimal()


def _is_whole(record: bytes) -> bool:
    # UBI's CRC-32 begins as zlib's does, and is not inverted at its end.
    return len(record) == RECORD_B and crc32(record[:CHECK_SUM_AT]) ^ 0xFFFFFFFF == int.from_bytes(
        record[CHECK_SUM_AT:], "big"
    )


def _page_data(path: str | Path, at: int, count: int, page_B: int, oob_B: int) -> bytes:  # noqa: N803
    """So many bytes of page data from the place `at` on, which counts page data alone."""
    first, last = at // page_B, (at + count - 1) // page_B
    stride = page_B + oob_B
    with Path(path).open("rb") as file:
        file.seek(first * stride)
        raw = file.read((last - first + 1) * stride)
    data = b"".join(raw[page : page + page_B] for page in range(0, len(raw), stride))
    return data[at - first * page_B :][:count]
