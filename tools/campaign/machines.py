"""Machines that are put together of what the registries list: system, file system, part, board, kernel, options."""

from __future__ import annotations

import contextlib
import errno
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from ffslab import InputError, Stack, _native
from ffslab.api.machine import LINUX_PARTITION_BLOCKS
from ffslab.registries.profiles import shown
from ffslab.registries.vocabulary import tables
from ffslab.systems import DEFAULT, TABLE
from helpers.translation import FLASH, mappings

Keys = dict[str, Any]
# Whether a machine does, with what it costs to find out.
Check = Callable[[Keys], bool]

# Words of these say what the machine is, or need files or an image, or cost time only.
NOT_OPTIONS = frozenset(
    ("system", "fs", "medium", "quirks", "image_autoplace", "image_oob", "traced", "ubifs_debug", "bad_block_table")
)
# Of whole numbers that matter to what is stored or when: some values, the least of which hurt.
NUMBERS: dict[str, tuple[int, ...]] = {
    "page_cache_KiB": (64, 256, 1024, 16384),
    "read_ahead_KiB": (0, 8, 128),
    "dirty_KiB": (16, 64, 1024),
    "first_block": (1, 7),
    "hz": (100, 250, 1000),
    "wl_threshold": (4, 16),
    "ecc_strength_bits": (1, 4, 8),
    "bdbuf_cache_KiB": (32, 64, 256),
    "bdbuf_buffer_max_B": (1024, 2048),
    "bdbuf_read_ahead_blocks": (2, 8),
    "bdbuf_write_blocks": (1, 4),
    "cluster_B": (512, 1024, 4096),
    "fs_block_B": (512, 1024, 1536, 4096),
    "media_block_B": (512, 1024, 4096),
    "swapout_workers": (1, 2),
}
SIZES: tuple[Keys, ...] = (
    # UBI keeps some blocks of 1024 of the whole chip for those that go bad.
    *({"partition_blocks": blocks, "max_beb_per1024": 1} for blocks in (24, 40, 64)),
    *({"partition_blocks": blocks} for blocks in (10, 16, 24, 40, 64, 80)),
    *({"partition_blocks": blocks, "erase_block_KiB": 4} for blocks in (32, 64, 128, 256)),
    *({"device_KiB": size} for size in (256, 1024, 2048, 4096)),
    {},
)
# What a chip may have that every file system of Linux is made for.
FAULTS: tuple[Keys, ...] = (
    {"badblocks": [3]},
    {"badblocks": [0, 5, 6]},
    {"bitflips": 1},
    {"weakblocks": ["4:1", "9:2"]},
    {"weakpages": ["130:1", "400:0", "777:2"]},
)
# What JFFS2 or YAFFS2 keep there makes a bad block of each of their blocks, as in the kernel: docs/spi-nand.md.
TAKEN_FOR_BAD = ("gigadevice", "xtx")
# Larger ones take long to be made, and nothing new happens on them.
BYTES_MAX = 24 << 20
TRIES, OPTIONS_MOST = 30, 4


@cache
def _profiles() -> dict[str, list[dict[str, Any]]]:
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads(_native.profiles()):
        by_kind.setdefault(entry["kind"], []).append(entry)
    return by_kind


def part(name: str) -> dict[str, Any]:
    """What a part is; of NOR all cells count as those of one bit."""
    found: dict[str, Any] = next(entry["part"] for entry in _profiles()["part"] if entry["name"] == name)
    return {"cell": "slc", **found}


@cache
def pairs() -> tuple[tuple[str, str], ...]:
    """Each system with each of its file systems."""
    return tuple((system.name, fs) for system in TABLE for fs in system.file_systems)


def _medium(draw: random.Random, system: str) -> Keys:
    """What holds the bytes, and the board that it is on."""
    profiles = _profiles()
    if draw.random() < 0.15:
        return {}
    if system != DEFAULT.name and draw.random() < 0.5:
        # Cards of gigabytes are among those with a name: they take long to be made.
        if draw.random() < 0.2:
            return {"device": draw.choice(profiles["block device"])["name"]}
        return {"device": {"ftl": draw.choice(mappings()), **FLASH}}
    part = draw.choice(profiles["part"])
    return {"board": draw.choice(profiles["board"])["name"], "part": part["name"]}


def options(system: str) -> dict[str, tuple[Any, ...]]:
    """Keys of the `[stack]` of a system that may be drawn, each with its values."""
    found: dict[str, tuple[Any, ...]] = {}
    for key in tables()[system].keys:
        if key.name in NOT_OPTIONS:
            continue
        if key.kind == "true or false":
            found[key.name] = (True, False)
        elif key.words:
            found[key.name] = tuple(word.word for word in key.words)
        elif key.name in NUMBERS:
            found[key.name] = NUMBERS[key.name]
        elif key.name == "faults":
            found[key.name] = FAULTS
        elif key.name == "kernel":
            found[key.name] = tuple(entry["name"] for entry in _profiles()["kernel"])
        elif key.name == "policy":
            policies = json.loads(_native.policies())
            found[key.name] = tuple({policy["decision"]: policy["name"]} for policy in policies)
    return found


def _layout(name: str) -> str:
    """How the OOB areas of a part are laid out; empty: it has no layout of its own."""
    values = shown(name)["values"]
    return next((str(value["value"]) for value in values if value["key"] == "oob_layout"), "")


class NoFiles(Exception):  # noqa: N818
    """What is there in the place of a file system holds none."""


def keeps_files(keys: Keys) -> bool:
    """Whether such a machine can be mounted and holds files.

    Raises `NoFiles` when none of its kind does.
    """
    if keys["fs"] in ("jffs2", "yaffs2") and "part" in keys and _layout(keys["part"]).startswith(TAKEN_FOR_BAD):
        return False
    try:
        stack = Stack.of(keys)
        stack.mount()
        stack.write_file("a", b"a")
    except InputError:
        return False
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise NoFiles from None
        return False
    return True


def drawn(draw: random.Random, check: Check = keeps_files) -> Keys:
    """A machine: each pair of system and file system is as likely, whatever goes with it. `check` says what does."""
    while True:
        system, fs = draw.choice(pairs())
        with contextlib.suppress(NoFiles):
            found = _of_pair(draw, system, fs, check)
            if found is not None:
                return _with_options(draw, found, check)


def _of_pair(draw: random.Random, system: str, fs: str, check: Check) -> Keys | None:
    for _ in range(TRIES):
        keys = {"system": system, "fs": fs, **_medium(draw, system), **draw.choice(SIZES)}
        if _bytes_of(keys) > BYTES_MAX:
            continue
        # With the bugs of 2018 these two do not keep what they are given, and say so.
        if fs in ("rfs", "dosfs"):
            keys["quirks"] = "fixed"
        if check(keys):
            return keys
    return None


def _bytes_of(keys: Keys) -> int:
    """How large the partition is; the default of it where nothing is said."""
    if "part" not in keys:
        return 0
    block_kib = keys.get("erase_block_KiB") or part(keys["part"])["erase_block_KiB"]
    return int(keys.get("partition_blocks", LINUX_PARTITION_BLOCKS) * block_kib << 10)


def _with_options(draw: random.Random, keys: Keys, check: Check) -> Keys:
    known = options(keys["system"])
    # A kernel and faults decide most.
    for name in [*draw.sample(sorted(known), draw.randrange(OPTIONS_MOST + 1)), "kernel", "faults"]:
        if name not in known or (name in ("kernel", "faults") and draw.random() < 0.6):
            continue
        richer = {**keys, name: draw.choice(known[name])}
        keys = richer if check(richer) else keys
    return keys


def title(keys: Keys) -> str:
    """In a few words, for tables."""
    return f"{keys['fs']} on {keys['system']}"
