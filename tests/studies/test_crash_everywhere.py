"""`ffslab crashtest` on every file system, store and translation layer that there is: each cut, a second cut of the
recovery, a cut of the second mount. Who adds one is told that it is missing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ffslab import InputError, _native
from ffslab.cli import root
from ffslab.studies.crashtest import CrashTest, Cuts, crashtest
from ffslab.studies.crashtest.run import answer_of
from helpers.command import ROOT
from helpers.translation import FLASH, mappings

TOYS = ROOT / "tests/foreign"
BARE_NAND: dict[str, Any] = {"board": "omap3evm", "partition_blocks": 40}
NAND: dict[str, Any] = {**BARE_NAND, "kernel": "2.6.37"}
NOR: dict[str, Any] = {"board": "licheepi-nano", "part": "w25q128jv", "erase_block_KiB": 4, "partition_blocks": 64}
ON_FLASH = {"quirks": "fixed", "device": {"ftl": "page-map", **FLASH}}
FILES: tuple[dict[str, Any], ...] = (
    {"step": "create", "file": "a", "bytes": 3000, "request_B": 1000},
    {"step": "sync"},
    {"step": "create", "file": "b", "bytes": 2000},
    {"step": "rename", "file": "a", "to": "c"},
    {"step": "sync"},
    {"step": "unlink", "file": "c"},
    {"step": "create", "file": "d", "bytes": 500},
)
KEYS: tuple[dict[str, Any], ...] = (
    {"step": "set", "keys": 5, "bytes": 60, "count": 40},
    {"step": "delete", "keys": 5, "count": 2},
)
SECTORS: tuple[dict[str, Any], ...] = (
    {"step": "open", "file": "disk", "flags": ["rdwr"]},
    *(
        step
        for _ in range(2)
        for step in (
            {"step": "requests", "file": "disk", "op": "write", "pattern": "random", "request_B": 2048}
            | {"range_B": 32768, "count": 12},
            {"step": "fsync", "file": "disk"},
        )
    ),
    {"step": "close", "file": "disk"},
)
# What a medium needs, and the workload, by system and file system.
STACKS: dict[tuple[str, str], tuple[dict[str, Any], Sequence[dict[str, Any]]]] = {
    ("linux", "jffs2"): (NAND, FILES),
    ("linux", "yaffs2"): (NAND, FILES),
    ("linux", "ubifs"): (NAND, FILES),
    ("rtems", "jffs2"): ({"device_KiB": 1024}, FILES),
    ("rtems", "dosfs"): (ON_FLASH, FILES),
    ("rtems", "rfs"): (ON_FLASH, FILES),
    ("bare", "yaffs2"): (BARE_NAND, FILES),
    ("bare", "littlefs"): (NOR, FILES),
    ("bare", "spiffs"): (NOR, FILES),
    ("bare", "fat"): (NOR, FILES),
    ("bare", "fatfs"): (NOR, FILES),
    ("bare", "sequential-storage"): (NOR, KEYS),
    ("bare", "ekv"): (NOR, KEYS),
    ("bare", "zephyr-nvs"): (NOR, KEYS),
    ("bare", "zephyr-zms"): (NOR, KEYS),
    ("bare", "zephyr-fcb"): (NOR, KEYS),
    ("bare", "flashdb"): (NOR, KEYS),
    ("bare", "block-device"): ({"device": ON_FLASH["device"]}, SECTORS),
}
# Their files are in memory, which a power cut takes as a whole; RTEMS's YAFFS2 has its flash there, too.
IN_MEMORY = {("rtems", "imfs"), ("rtems", "mini-imfs"), ("rtems", "yaffs2")}
# What is left after a cut cannot be listed: it keeps hashes of its keys alone.
UNLISTED = {("bare", "tickv")}
# Nothing is programmed or erased that a cut could hit.
NEVER_WRITTEN = {("linux", "squashfs"), ("linux", "erofs")}
# What docs/key-value.md tells of them: a torn program of a page's header; a torn length of an entry, a torn header.
KNOWN = {
    "ekv": {"cannot be mounted: the partition holds no ekv that could be mounted"},
    "zephyr-fcb": {
        "cannot be mounted: the partition holds no zephyr-fcb that could be mounted",
        "cannot be mounted: zephyr-fcb answers error -5 of Linux",
    },
}
CUTS = Cuts(recovery=2, depth=2)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is built of a user's sources."""
    place = tmp_path_factory.mktemp("foreign")
    for name in ("spiffs", "fatfs", "zephyr-nvs", "zephyr-zms", "zephyr-fcb", "flashdb"):
        words = ["foreign", "build", name, "--source", str(TOYS / name), "--out", str(place / f"{name}.so")]
        assert root.run(words) == 0
    return place


def test_no_file_system_is_forgotten() -> None:
    known = {(name, fs) for name, _, _, all_fs in _native.systems() for fs in all_fs}
    assert known == set(STACKS) | IN_MEMORY | UNLISTED | NEVER_WRITTEN


@pytest.mark.parametrize(("system", "fs"), STACKS, ids=[" ".join(key) for key in STACKS])
def test_cuts_of_recoveries_and_of_second_mounts(system: str, fs: str, libraries: Path) -> None:
    medium, steps = STACKS[system, fs]
    own = {fs.replace("-", "_"): {"library": str(libraries / f"{fs}.so")}} if (TOYS / fs).is_dir() else {}
    stack = {"system": system, "fs": fs, **medium, **own}
    # The thread that formats a new partition is cut, too.
    test = CrashTest(stack=stack, judge={"kind": "synced"}, steps=tuple(steps), cuts=CUTS, initial="fresh")
    outcome = crashtest(test, points=24)
    answer = answer_of(outcome)
    blamed = {failure["says"] for failure in answer["failures"] if failure["found"] != "not-promised"}
    assert blamed <= KNOWN.get(fs, set())
    assert answer["points"] > 10
    # Each cut of a mount is a mount more.
    cuts = answer["cuts_of_recoveries"] + answer["cuts_of_second_mounts"]
    assert answer["recoveries"] == answer["states"] + cuts


def test_a_store_whose_keys_cannot_be_listed_is_refused() -> None:
    test = CrashTest(stack={"system": "bare", "fs": "tickv", **NOR}, judge={"kind": "synced"}, steps=tuple(KEYS))
    with pytest.raises(
        InputError, match="cannot be read, so what is left after one cannot be judged: the keys cannot be"
    ):
        crashtest(test)


def test_every_translation_layer_survives_each_cut() -> None:
    """What finds a map writes nothing (crates/ftl/tests/support): a recovery of a layer has no operation to cut."""
    names = mappings()
    assert {"page-map", "dftl", "block-map", "bast", "fast", "last", "open-segments", "slc-cache"} <= set(names)
    for name in names:
        device = {"ftl": name, **FLASH}
        stack = {"system": "bare", "fs": "block-device", "device": device}
        test = CrashTest(stack=stack, judge={"kind": "synced"}, steps=SECTORS, cuts=CUTS)
        answer = answer_of(crashtest(test, points=40))
        assert answer["failures"] == [], name
        assert answer["points"] > 20


JUDGES: dict[str, dict[str, Any]] = {
    "function": {"kind": "python", "function": "judge.py:never"},
    "command": {"kind": "command", "command": "echo never >&2; exit 1"},
}


@pytest.mark.parametrize("judge", JUDGES)
def test_a_users_judge_sees_what_is_left_of_second_cuts(judge: str, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("def never(files, told):\n    return 'never'\n", encoding="utf-8")
    stack = {"system": "linux", "fs": "ubifs", **NAND}
    cuts = replace(CUTS, depth=1)
    test = CrashTest(stack=stack, judge=JUDGES[judge], steps=FILES, cuts=cuts, folder=tmp_path)
    outcome = crashtest(test, points=8)
    trails = [finding["recoveries_cut"] for finding in outcome.judged["findings"]]
    first = [trail for trail in trails if not trail]
    second = [trail for trail in trails if trail and trail[0].endswith(" of the unmount and second mount")]
    recoveries = [trail for trail in trails if trail and trail not in second]
    # Of each medium one at least: what was told by then may differ.
    assert len(first) >= outcome.judged["states"]
    assert len(recoveries) >= outcome.judged["cuts_of_recoveries"] > 0
    assert len(second) >= outcome.judged["cuts_of_second_mounts"] > 0
    assert {finding["found"] for finding in outcome.judged["findings"]} == {"application"}
