"""Random workloads as steps of experiments, each part of which can be left out."""

from __future__ import annotations

import random
from typing import Any

from campaign.machines import Keys
from campaign.quirks import refuses_fsync
from ffslab.file_systems import BLOCK_DEVICE

Step = dict[str, Any]
# Steps that belong together.
Part = list[Step]

SIZES = (0, 1, 500, 2048, 4096, 5000, 20_000, 60_000)
REQUESTS = (1, 100, 512, 1000, 2048, 4096, 9000)
CONTENTS = ("random", "text", "mix", "zero")


def drawn(draw: random.Random, machine: Keys, count: int) -> list[Part]:
    """Steps on files, or in the words of what stands in the place of a file system."""
    if machine["fs"] == BLOCK_DEVICE:
        return [_of_device(draw) for _ in range(count)]
    files: list[str] = []
    parts = [_of_files(draw, files) for _ in range(count)]
    if refuses_fsync(machine):
        return [[step for step in part if step["step"] != "fsync"] for part in parts]
    return parts


def steps_of(parts: list[Part]) -> list[Step]:
    return [step for part in parts for step in part]


def _of_device(draw: random.Random) -> Part:
    requests = {"pattern": draw.choice(("random", "sequential")), "request_B": draw.choice((512, 2048, 4096, 8192))}
    requests |= {"range_B": 65536, "count": draw.randrange(1, 20), "seed": draw.randrange(1000)}
    made: Part = [
        {"step": "open", "file": "disk", "flags": ["rdwr"]},
        {"step": "requests", "file": "disk", "op": draw.choice(("write", "write", "read")), **requests},
    ]
    made += [{"step": "fsync", "file": "disk"}] if draw.random() < 0.6 else []
    return [*made, {"step": "close", "file": "disk"}]


def _of_files(draw: random.Random, files: list[str]) -> Part:
    """Names that are there are drawn from `files`, which is changed."""
    kind = draw.random()
    if not files or kind < 0.35:
        return _create(draw, files)
    path = draw.choice(files)
    if kind < 0.6:
        return _requests(draw, path)
    if kind < 0.7:
        size = draw.choice(SIZES)
        return [{"step": "truncate", "file": path, "bytes": size}]
    if kind < 0.8:
        files.remove(path)
        return [{"step": "unlink", "file": path}]
    if kind < 0.9:
        to = f"r{draw.randrange(1000)}"
        if to in files:
            return []
        files[files.index(path)] = to
        return [{"step": "rename", "file": path, "to": to}]
    return [{"step": "sync"}] if kind < 0.97 else [{"step": "sleep", "us": draw.choice((1000, 2_000_000, 40_000_000))}]


def _create(draw: random.Random, files: list[str]) -> Part:
    path = draw.choice(("a", "b", "c", "d", f"f{draw.randrange(20)}"))
    step = {"step": "create", "file": path, "bytes": draw.choice(SIZES), "content": draw.choice(CONTENTS)}
    files += [] if path in files else [path]
    return [{**step, "request_B": draw.choice((1000, 4096, 16384))}]


def _requests(draw: random.Random, path: str) -> Part:
    opened: Part = [{"step": "open", "file": path, "flags": ["rdwr"]}]
    size = draw.choice(REQUESTS)
    if draw.random() < 0.4:
        middle: Part = [{"step": "append", "file": path, "request_B": size, "count": draw.randrange(1, 6)}]
    else:
        made = {"op": draw.choice(("write", "write", "read", "alternate")), "pattern": "random", "request_B": size}
        made |= {"count": draw.randrange(1, 8), "range_B": 30_000, "seed": draw.randrange(1000)}
        middle = [{"step": "requests", "file": path, "content": draw.choice(CONTENTS), **made}]
    if draw.random() < 0.5:
        middle.append({"step": "fsync", "file": path})
    return [*opened, *middle, {"step": "close", "file": path}]
