"""What POSIX suites find: the same on a mount as on the real system. Rows of the table in docs/mount.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab.measured.reference.machine import Machine
from helpers.mounted import mounted
from referee.posix_facts import Facts, of_folder, of_kernel, program

STAY = "mtime stays, ctime stays"
MOVE = "mtime moves, ctime moves"

# What a mount answers otherwise than the real kernel, and cannot help: docs/mount.md says why of each.
OTHERWISE: dict[str, Facts] = {
    "jffs2": {
        "O_DIRECT by fcntl": "ok",
        "shared map to write": "ENODEV",
        "shared map to read, file open for writing": "ENODEV",
        "shared map to read, file open for reading": "ENODEV",
    },
    "ubifs": {
        "O_DIRECT by fcntl": "ok",
        "O_TMPFILE": "EOPNOTSUPP",
        "write of nothing": STAY,
    },
}

# YAFFS2 is in no kernel that the referee has: this is what its sources say (yaffs_vfs_multi.c, yaffs_guts.c).
YAFFS2: Facts = {
    # yaffs_fill_inode_from_obj: of everything, and the length of what is no file or link is that of a chunk.
    "st_blocks, file of 0 B": "0 blocks of 0 B",
    "st_blocks, file of 4097 B": "9 blocks of 4097 B",
    "st_blocks, sparse file": "196 blocks of 100000 B",
    "st_blocks, new symbolic link": "1 blocks of 6 B",
    "st_blocks, FIFO": "4",
    # yaffs_get_obj_link_count: directories are not counted.
    "nlink, new directory": "1",
    "nlink, directory with two": "1",
    "nlink, one renamed over the other": "1",
    "nlink, file with two names": "2",
    "nlink, one name taken away": "1",
    "nlink, the other replaced": "0",
    "nlink, removed directory": "0",
    # YAFFS_MAX_ALIAS_LENGTH in yaffs_symlink.
    "symbolic link to 159 bytes": "ok",
    "symbolic link to 160 bytes": "ENAMETOOLONG",
    # yaffs_file_address_operations has no direct_IO, yaffs_file_operations generic_file_mmap.
    "O_DIRECT, existing file": "EINVAL",
    "O_DIRECT and O_CREAT": "EINVAL",
    "shared map to write": "ok",
    # yaffs_link, yaffs_unlink, yaffs_rename: update_dir_time alone.
    "link: the file": STAY,
    "link: the directory": MOVE,
    "unlink of a second name: the file": STAY,
    "unlink of the last name: the file": STAY,
    "unlink: the directory": MOVE,
    "rename: the file": STAY,
    "rename: the old directory": MOVE,
    "rename: the new directory": MOVE,
    "rename over: the victim": STAY,
    "rmdir: the removed": STAY,
    "mkdir: the directory": MOVE,
    "symlink: the directory": MOVE,
    # generic_file_write_iter: file_update_time before the first page; yaffs_flush_file stamps the object alone.
    "write, before anything is flushed": MOVE,
    "fsync and close at once after it": STAY,
    "write of nothing": STAY,
    # do_truncate of fs/open.c: truncate(2) asks for no time stamps, and yaffs_setattr adds none.
    "truncate, shorter": STAY,
    "truncate, longer": STAY,
    "ftruncate, shorter": MOVE,
    "flags of a file": "ENOTTY",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(tmp_path_factory.mktemp("posix-facts"))


def of_mount(built: Path, folder: Path, fs: str) -> Facts:
    with mounted(folder, fs) as mount:
        place = mount.place / "facts"
        place.mkdir()
        return of_folder(built, place)


@pytest.mark.parametrize("fs", ["jffs2", "ubifs"])
def test_a_mount_answers_as_a_real_kernel(fs: str, built: Path, machine: Machine, tmp_path: Path) -> None:
    real = of_kernel(machine, built, fs)
    assert len(real) > 80
    otherwise = OTHERWISE[fs]
    assert all(real[name] != value for name, value in otherwise.items()), "a difference that is none any more"
    assert of_mount(built, tmp_path, fs) == {**real, **otherwise}


def test_a_mount_answers_as_the_sources_of_yaffs2(built: Path, tmp_path: Path) -> None:
    found = of_mount(built, tmp_path, "yaffs2")
    assert {name: found.get(name) for name in YAFFS2} == YAFFS2
