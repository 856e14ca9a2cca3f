"""Faults of littlefs that `ffslab crashtest` finds: those of released versions, and deliberate ones."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ffslab import Stack
from ffslab.foreign import build
from ffslab.studies.crashtest import CrashTest, Cuts, crashtest
from helpers import littlefs_versions
from helpers.command import ROOT

EXAMPLES = ROOT / "examples/crashtest"
OLD, NEW = "2.2.1", "2.9.3"
NOR: dict[str, Any] = {
    "system": "bare",
    "fs": "littlefs",
    "board": "licheepi-nano",
    "part": "w25q128jv",
    "erase_block_KiB": 4,
    "partition_blocks": 24,
}
# Sources of littlefs 2.9.3 that are right, and what stands there instead.
DEFECTS = {
    "fsync(2) leaves the entry of a file in memory": [
        ("    err = lfs_file_sync_(lfs, file);\n\n    LFS_TRACE", "    err = 0;\n\n    LFS_TRACE")
    ],
    "a rename deletes the file whose name it takes first": [
        (
            "    err = lfs_rename_(lfs, oldpath, newpath);",
            "    lfs_remove_(lfs, newpath);\n    err = lfs_rename_(lfs, oldpath, newpath);",
        )
    ],
    "a rename to another directory takes the old name away before it writes the new one": [
        (
            "    // move over all attributes\n",
            "    if (!samepair) {\n"
            "        lfs_mdir_t gone = oldcwd;\n"
            "        err = lfs_dir_commit(lfs, &gone, LFS_MKATTRS(\n"
            "                {LFS_MKTAG(LFS_TYPE_DELETE, lfs_tag_id(oldtag), 0), NULL}));\n"
            "        if (err) return err;\n"
            "    }\n",
        ),
        ("        lfs_fs_prepmove(lfs, newoldid, oldcwd.pair);", ""),
    ],
}
FILES = (
    {"step": "mkdir", "dir": "d"},
    {"step": "create", "file": "d/b", "bytes": 9000},
    {"step": "open", "file": "a", "flags": ["rdwr", "create"]},
    {"step": "append", "file": "a", "request_B": 300, "count": 6, "sync": "fsync"},
    {"step": "close", "file": "a"},
    {"step": "create", "file": "new", "bytes": 350},
    {"step": "create", "file": "target", "bytes": 300},
    {"step": "sync"},
    {"step": "rename", "file": "new", "to": "target"},
    {"step": "rename", "file": "target", "to": "d/c"},
    {"step": "unlink", "file": "d/b"},
    {"step": "umount"},
    {"step": "mount"},
    {"step": "create", "file": "last", "bytes": 500},
)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Of each version a library that experiments name."""
    place = tmp_path_factory.mktemp("littlefs")
    built = {}
    for version in (OLD, NEW):
        built[version] = place / f"littlefs-{version}.so"
        build.littlefs(littlefs_versions.sources(version, place), None, built[version])
    return built


def says_of(test: CrashTest, library: Path, points: int) -> list[str]:
    stack = {**test.stack, "littlefs": {**test.stack.get("littlefs", {}), "library": str(library)}}
    failures = crashtest(replace(test, stack=stack), points=points).failures
    return [f"{failure['found']}: {failure['says']}" for failure in failures]


@pytest.mark.parametrize(
    ("name", "says"),
    [("littlefs-truncate", "nobody wrote that since"), ("littlefs-split", "cannot be mounted: the partition holds no")],
)
def test_a_fault_of_a_released_version_is_found_and_its_fix_is_not_blamed(
    name: str, says: str, libraries: dict[str, Path]
) -> None:
    test = CrashTest.from_file(EXAMPLES / f"{name}.toml")
    said = says_of(test, libraries[OLD], 60)
    assert said and all(text.startswith("file-system: ") for text in said)
    assert any(says in text for text in said), said
    assert says_of(test, libraries[NEW], 60) == []


def test_a_fault_that_is_mended_in_none_of_these_versions_is_found(libraries: dict[str, Path]) -> None:
    """The release that mends it, 2.11.3, is in no crate yet."""
    test = CrashTest.from_file(EXAMPLES / "littlefs-two-handles.toml")
    (said,) = says_of(test, libraries[NEW], 60)
    assert "file-system: /a: byte 1000" in said


def test_blocks_that_wear_levelling_forgets_are_found(libraries: dict[str, Path]) -> None:
    """After a mount the search for free blocks begins below the number of bytes of a block: of more blocks than that
    only the first ones are used: https://github.com/littlefs-project/littlefs/issues/484, fixed in 2.3.
    """
    used = {}
    for version, library in libraries.items():
        keys: dict[str, Any] = {**NOR, "part": "n25q256a", "partition_blocks": 8192}
        stack = Stack(**keys, littlefs={"library": str(library)})
        stack.mount()
        for boot in range(12):
            stack.umount()
            stack.mount()
            fd = stack.open(str(boot), "wronly create")
            stack.pwrite(fd, bytes(9000), 0)
            stack.close(fd)
        used[version] = [number for number, count in enumerate(stack.erase_counts()) if count and number > 1]
    assert max(used[OLD]) < 4096 + 40
    assert max(used[NEW]) > 5000


def test_deliberate_defects_are_found_and_the_right_one_is_not_blamed(
    libraries: dict[str, Path], tmp_path: Path
) -> None:
    test = CrashTest(
        stack={**NOR, "littlefs": {"prog_size_B": 16, "read_size_B": 16, "block_cycles": 4}},
        judge={"kind": "synced"},
        steps=FILES,
        cuts=Cuts(tears=2),
    )
    assert says_of(test, libraries[NEW], 240) == []
    right = littlefs_versions.sources(NEW, tmp_path)
    missed = []
    for number, (what, changes) in enumerate(DEFECTS.items()):
        wrong = tmp_path / f"wrong-{number}"
        shutil.copytree(right, wrong)
        text = (wrong / "lfs.c").read_text(encoding="utf-8")
        for before, after in changes:
            assert text.count(before) == 1, what
            text = text.replace(before, after)
        (wrong / "lfs.c").write_text(text, encoding="utf-8")
        build.littlefs(wrong, None, wrong / "littlefs.so")
        if not says_of(test, wrong / "littlefs.so", 240):
            missed.append(what)
    assert missed == []
