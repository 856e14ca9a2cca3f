"""Random operations on files, as data. Any part of a list of them is a list of them: so it can be made smaller."""

from __future__ import annotations

import random
from typing import Any

Op = list[Any]

FOLDERS = ("d0", "d1", "d0/d2")
FILES = ("a", "b", "c", "d0/a", "d0/b", "d1/a", "d0/d2/a")
SLOTS = 3
SIZES = (0, 1, 3, 100, 511, 512, 513, 2047, 2048, 2049, 4095, 4096, 4097, 8192, 10_000, 30_000, 100_000)
# What a hole may reach to.
FAR = 600_000
CONTENTS = ("random", "text", "zero")
TORN = ("nothing", "partial", "complete")
# Calls by how often they are drawn.
WEIGHTS = {
    "write": 22,
    "append": 12,
    "read": 10,
    "truncate": 8,
    "rename": 8,
    "unlink": 6,
    "link": 3,
    "mkdir": 5,
    "rmdir": 3,
    "fsync": 6,
    "sync": 3,
    "remount": 2,
    "drop": 3,
    "sleep": 3,
    "look": 2,
    "open": 6,
    "close": 3,
}


def drawn(draw: random.Random, count: int, slots: bool, cuts: bool) -> list[Op]:
    """So many of them. `slots`: some go by descriptors that stay open; `cuts`: the power goes away now and then."""
    folders, files = [*FOLDERS], [*FILES]
    # Names as long as a directory entry bears, and many files.
    if draw.random() < 0.3:
        files += ["n" * draw.choice((31, 60, 128, 200, 255)), "d0/" + "m" * draw.choice((60, 254, 255))]
    if draw.random() < 0.3:
        files += [f"d1/file{number:02}" for number in range(30)]
    names = [name for name in WEIGHTS if slots or name not in ("open", "close")]
    weights = [WEIGHTS[name] for name in names]
    ops: list[Op] = [["mkdir", folder] for folder in folders]
    for _ in range(count):
        if cuts and draw.random() < 0.04:
            ops.append(["cut", draw.choice((1, 2, 3, 5, 10, 30, 100, 300)), draw.choice(TORN), draw.randrange(1000)])
        ops.append(_op(draw, draw.choices(names, weights)[0], files, folders, slots))
    return ops


def _op(draw: random.Random, name: str, files: list[str], folders: list[str], slots: bool) -> Op:
    path = draw.choice(files)
    # By an open descriptor, if there is one at that time, or else by its path.
    target: str | int = draw.randrange(SLOTS) if slots and draw.random() < 0.4 else path
    content = [draw.choice(CONTENTS), draw.randrange(10_000)]
    match name:
        case "write":
            return [name, target, _place(draw), draw.choice(SIZES), *content]
        case "append":
            return [name, target, draw.choice(SIZES[:-2]), *content]
        case "read":
            return [name, target, _place(draw), draw.choice(SIZES)]
        case "truncate":
            return [name, target, _place(draw)]
        case "fsync":
            return [name, target, draw.random() < 0.3]
        case "rename" if draw.random() < 0.2:
            return [name, draw.choice([*files, *folders]), draw.choice([*files, *folders, "d0/d3"])]
        case "rename" | "link":
            return [name, path, draw.choice(files)]
        case "mkdir" | "rmdir":
            return [name, draw.choice(folders)]
        case "sleep":
            return [name, draw.choice((1, 1000, 100_000, 6_000_000, 40_000_000))]
        case "open":
            return [name, path, draw.randrange(SLOTS)]
        case "close":
            return [name, draw.randrange(SLOTS)]
        case "unlink":
            return [name, path]
    return [name]


def _place(draw: random.Random) -> int:
    """An offset or a size: mostly near the begin, or near a multiple of a page."""
    kind = draw.random()
    if kind < 0.3:
        return draw.choice(SIZES)
    if kind < 0.6:
        return max(0, draw.randrange(24) * 4096 + draw.choice((-1, 0, 0, 1, 7)))
    return draw.randrange(FAR if kind > 0.95 else 60_000)
