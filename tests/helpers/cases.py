"""A measured case, made by hand, and files of such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# Two reads of a page each from a new file: what they cost can be counted by hand. A page of 4096 B is a node of
# 4164 B, which lies in 3 flash pages; the page that two neighbouring nodes share is read once: the driver keeps it.
CASE: dict[str, Any] = {
    "id": "hand/R/jffs2/two-pages",
    "family": "R",
    "system": {
        "name": "linux",
        "version": "6.1.192",
        "fs": "jffs2",
        "mount": {"compression": "none"},
        "read_ahead_KiB": 0,
        "ecc": "hw",
        "nand_wait": "busy",
        "hz": 100,
        "jffs2_summary": False,
    },
    "flash": {
        "page_B": 2048,
        "oob_B": 64,
        "pages_per_block": 64,
        "partition_blocks": 32,
        "chip_blocks": 32,
        "t_read_us": 25,
        "t_program_us": 200,
        "t_erase_us": 500,
        "bus_ns_per_B": 50,
    },
    "setup": [
        {"step": "mount"},
        {"step": "sleep", "us": 30000000},
        {"step": "create", "file": "target", "bytes": 8192, "request_B": 4096},
        {"step": "sync"},
        {"step": "drop_caches"},
    ],
    "measure": [
        {"step": "open", "file": "target", "flags": ["rdonly"]},
        {
            "step": "requests",
            "file": "target",
            "op": "read",
            "pattern": "sequential",
            "request_B": 4096,
            "count": 2,
            "range_B": 8192,
            "seed": 1,
            "gap_us": 0,
        },
        {"step": "close", "file": "target"},
    ],
    "expect": {
        "from_step": 0,
        "at_step": 1,
        "page_reads": 5,
        "oob_reads": 0,
        "page_programs": 0,
        "oob_programs": 0,
        "erases": 0,
    },
}


def case_file(folder: Path, *changes: dict[str, Any]) -> Path:
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(CASE | change) + "\n" for change in changes), encoding="utf-8")
    return path
