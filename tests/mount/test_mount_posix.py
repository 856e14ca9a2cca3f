"""What POSIX promises, through the mount of each file system: the themes of pjdfstest and xfstests' generic group."""

# The system calls are what is tested, so most of them are made by their own names.
# ruff: noqa: PTH102, PTH104, PTH115, PTH208

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import random
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from helpers.mounted import FILE_SYSTEMS, mounted

NOBODY = 65534
AS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="module", params=FILE_SYSTEMS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted(tmp_path_factory.mktemp(request.param), request.param, "--think", "none") as mount:
        yield mount.place


@pytest.fixture
def root(served: Path, request: pytest.FixtureRequest) -> Path:
    """A folder of its own for each test."""
    place = served / "".join(letter for letter in request.node.name if letter.isalnum())
    place.mkdir()
    return place


def name_of(served: Path) -> str:
    """The file system that is served there."""
    return next(fs for fs in FILE_SYSTEMS if served.parent.name.startswith(fs))


def refused(number: int, call: Callable[[], object]) -> None:
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno == number, caught.value


# ---- names ----------------------------------------------------------------------------------------------------


def test_a_rename_replaces_and_keeps_what_is_open(root: Path) -> None:
    (root / "old").write_bytes(b"old")
    (root / "new").write_bytes(b"new")
    with (root / "new").open("rb") as replaced:
        (root / "old").rename(root / "new")
        assert os.listdir(root) == ["new"]
        assert (root / "new").read_bytes() == b"old"
        assert replaced.read() == b"new"
        assert os.fstat(replaced.fileno()).st_nlink == 0


def test_renames_that_cannot_be(root: Path) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "f").touch()
    refused(errno.EINVAL, lambda: os.rename(root / "d", root / "d" / "e" / "x"))
    refused(errno.ENOTEMPTY, lambda: os.rename(root / "empty", root / "d"))
    refused(errno.EISDIR, lambda: os.rename(root / "f", root / "empty"))
    refused(errno.ENOTDIR, lambda: os.rename(root / "empty", root / "f"))
    refused(errno.ENOENT, lambda: os.rename(root / "none", root / "f"))
    os.rename(root / "d", root / "empty")
    assert (root / "empty" / "e").is_dir()


def test_rename_flags_are_those_of_the_file_system(root: Path, served: Path) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    at, no_replace, exchange = -100, 1, 2

    def rename(old: Path, new: Path, flags: int) -> int:
        done = library.renameat2(at, os.fsencode(old), at, os.fsencode(new), flags)
        return 0 if done == 0 else ctypes.get_errno()

    (root / "a").write_text("a")
    (root / "b").write_text("b")
    assert rename(root / "a", root / "b", no_replace) == errno.EEXIST
    assert rename(root / "a", root / "c", no_replace) == 0
    exchanged = rename(root / "b", root / "c", exchange)
    # Only UBIFS has it, as in Linux.
    if "ubifs" in str(served):
        assert exchanged == 0
        assert ((root / "b").read_text(), (root / "c").read_text()) == ("a", "b")
    else:
        assert exchanged == errno.EINVAL


def test_an_unlinked_file_is_used_until_it_is_closed(root: Path) -> None:
    with (root / "f").open("w+b") as file:
        file.write(b"x" * 10_000)
        file.flush()
        (root / "f").unlink()
        assert not (root / "f").exists()
        file.write(b"y" * 10_000)
        file.seek(0)
        assert file.read() == b"x" * 10_000 + b"y" * 10_000
        again = Path(f"/proc/self/fd/{file.fileno()}").read_bytes()
        assert len(again) == 20_000


def test_links_share_a_file(root: Path) -> None:
    (root / "a").write_text("text")
    os.link(root / "a", root / "b")
    one, other = (root / "a").stat(), (root / "b").stat()
    assert (one.st_ino, one.st_nlink) == (other.st_ino, 2)
    (root / "b").write_text("changed")
    assert (root / "a").read_text() == "changed"
    (root / "a").unlink()
    assert ((root / "b").stat().st_nlink, (root / "b").read_text()) == (1, "changed")
    refused(errno.EEXIST, lambda: os.link(root / "b", root / "b"))
    (root / "d").mkdir()
    refused(errno.EPERM, lambda: os.link(root / "d", root / "e"))


def test_symbolic_links_are_followed_by_the_kernel(root: Path) -> None:
    (root / "file").write_text("text")
    (root / "link").symlink_to("file")
    (root / "dangling").symlink_to("x" * 150)
    (root / "loop").symlink_to("loop")
    assert (root / "link").read_text() == "text"
    assert os.readlink(root / "dangling") == "x" * 150
    assert (root / "link").lstat().st_size == 4
    refused(errno.ELOOP, (root / "loop").read_text)
    refused(errno.ENOENT, (root / "dangling").read_text)


def test_directories_count_and_list_their_entries(root: Path) -> None:
    names = {f"file {number} ü" for number in range(300)}
    for name in names:
        (root / name).touch()
    assert set(os.listdir(root)) == names
    first = subprocess.run(["ls", "-a", root], capture_output=True, text=True, check=True)
    assert first.stdout.splitlines()[:2] == [".", ".."]
    refused(errno.ENOTEMPTY, root.rmdir)
    for name in names:
        (root / name).unlink()
    assert os.listdir(root) == []
    root.rmdir()
    refused(errno.ENOENT, root.stat)


def test_names_that_cannot_be(root: Path) -> None:
    refused(errno.ENAMETOOLONG, (root / ("n" * 256)).touch)
    (root / ("n" * 254)).touch()
    (root / "f").touch()
    refused(errno.ENOTDIR, (root / "f" / "g").touch)
    refused(errno.EEXIST, lambda: os.mkdir(root / "f"))
    refused(errno.EISDIR, lambda: os.open(root, os.O_WRONLY))
    refused(errno.EEXIST, lambda: os.open(root / "f", os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def test_special_files_work(root: Path) -> None:
    os.mkfifo(root / "fifo")
    reader = os.open(root / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(root / "fifo", os.O_WRONLY)
    os.write(writer, b"through")
    assert os.read(reader, 10) == b"through"
    os.close(writer)
    os.close(reader)
    if AS_ROOT:
        os.mknod(root / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        found = (root / "null").stat()
        assert stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)


# ---- data -----------------------------------------------------------------------------------------------------


def test_files_are_sparse(root: Path) -> None:
    with (root / "f").open("w+b") as file:
        file.write(b"begin")
        file.seek(1_000_000)
        file.write(b"end")
        file.truncate(2_000_000)
        file.seek(0)
        assert file.read() == b"begin".ljust(1_000_000, b"\0") + b"end".ljust(1_000_000, b"\0")
        file.truncate(3)
        file.truncate(10)
        file.seek(0)
        assert file.read() == b"beg" + bytes(7)


def test_appending_goes_to_the_end_whoever_writes(root: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    one, other = os.open(root / "f", flags), os.open(root / "f", flags)
    for number in range(50):
        os.write(one if number % 2 else other, b"%02d" % number)
        os.lseek(one, 0, os.SEEK_SET)
    os.close(one)
    os.close(other)
    assert (root / "f").read_bytes() == b"".join(b"%02d" % number for number in range(50))


def test_opening_truncates(root: Path) -> None:
    (root / "f").write_bytes(b"x" * 9000)
    os.close(os.open(root / "f", os.O_WRONLY | os.O_TRUNC))
    assert (root / "f").stat().st_size == 0
    os.truncate(root / "f", 5000)
    assert (root / "f").read_bytes() == bytes(5000)


def test_synchronous_writes_and_syncs_succeed(root: Path) -> None:
    file = os.open(root / "f", os.O_RDWR | os.O_CREAT | os.O_SYNC)
    assert os.write(file, b"z" * 5000) == 5000
    os.fsync(file)
    os.fdatasync(file)
    os.close(file)
    file = os.open(root / "f", os.O_RDWR | os.O_DSYNC)
    assert os.pwrite(file, b"a", 4999) == 1
    assert os.pread(file, 10, 4998) == b"za"
    os.close(file)
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(directory)
    os.close(directory)


def test_mapped_memory_and_calls_see_each_other(root: Path, served: Path) -> None:
    pattern = random.Random(1).randbytes(40_000)
    if "jffs2" in str(served):
        (root / "f").write_bytes(pattern)
        with (root / "f").open("r+b") as file:
            # Linux says EINVAL (generic_file_readonly_mmap); FUSE has no other error to give.
            refused(errno.ENODEV, lambda: mmap.mmap(file.fileno(), 40_000))
            with mmap.mmap(file.fileno(), 40_000, mmap.MAP_PRIVATE) as memory:
                assert memory[:] == pattern
                memory[:5] = b"mine!"
            assert os.pread(file.fileno(), 5, 0) == pattern[:5]
        return
    with (root / "f").open("w+b") as file:
        file.write(pattern)
        file.flush()
        with mmap.mmap(file.fileno(), 40_000) as memory:
            assert memory[:] == pattern
            memory[100:110] = b"0123456789"
            memory[39_990:] = b"9876543210"
            memory.flush()
            assert os.pread(file.fileno(), 10, 100) == b"0123456789"
            os.pwrite(file.fileno(), b"by call", 20_000)
            assert memory[20_000:20_007] == b"by call"
            memory[8192:8200] = b"unsynced"
        assert os.pread(file.fileno(), 8, 8192) == b"unsynced"
    data = (root / "f").read_bytes()
    assert (data[39_990:], data[20_000:20_007], data[8192:8200]) == (b"9876543210", b"by call", b"unsynced")
    with (root / "f").open("rb") as again, mmap.mmap(again.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as memory:
        assert memory[:] == data


def test_programs_run_from_the_mount(root: Path) -> None:
    program = root / "true"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o755)
    assert subprocess.run([program], check=False).returncode == 0


def test_locks_are_held(root: Path) -> None:
    with (root / "f").open("wb") as one, (root / "f").open("wb") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_there_is_no_direct_io(root: Path) -> None:
    """No file system here has a direct_IO: `do_dentry_open` refuses, after it has made the file, before it cuts one."""
    (root / "f").write_bytes(b"kept")
    refused(errno.EINVAL, lambda: os.open(root / "f", os.O_RDWR | os.O_DIRECT))
    refused(errno.EINVAL, lambda: os.open(root / "f", os.O_RDWR | os.O_TRUNC | os.O_DIRECT))
    assert (root / "f").read_bytes() == b"kept"
    refused(errno.EINVAL, lambda: os.open(root / "g", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600))
    assert (root / "g").stat().st_size == 0


# ---- attributes -----------------------------------------------------------------------------------------------


def test_times_are_kept_and_move(root: Path) -> None:
    file = root / "f"
    file.touch()
    os.utime(file, (1_000_000_000, 1_100_000_000))
    found = file.stat()
    # JFFS2 and YAFFS2 keep whole seconds.
    assert (int(found.st_atime), int(found.st_mtime)) == (1_000_000_000, 1_100_000_000)
    file.write_text("x")
    assert file.stat().st_mtime > 1_200_000_000
    before = root.stat().st_mtime
    os.utime(root, (5, 5))
    (root / "g").touch()
    assert root.stat().st_mtime >= before


def test_a_write_moves_the_times_at_once(root: Path) -> None:
    """Before anything is flushed; YAFFS2's object learns of it later (`file_update_time`, `yaffs_flush_file`)."""
    file = os.open(root / "f", os.O_RDWR | os.O_CREAT)
    os.utime(file, (5, 5))
    assert os.fstat(file).st_mtime == 5
    os.write(file, b"x")
    assert os.fstat(file).st_mtime > 1_000_000_000
    os.close(file)


def test_blocks_are_counted_as_the_file_system_does(root: Path, served: Path) -> None:
    """UBIFS: whole blocks of 4 KiB of files, none of all else (`ubifs_getattr`). The others: the size in 512 B."""
    (root / "f").write_bytes(bytes(5000))
    (root / "l").symlink_to("f")
    (root / "d").mkdir()
    counted = [(root / name).lstat().st_blocks for name in "fld"]
    assert counted == {"ubifs": [16, 0, 0], "jffs2": [10, 0, 0], "yaffs2": [10, 1, 4]}[name_of(served)]


GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602
SYNC, IMMUTABLE, APPEND, NO_DUMP = 0x8, 0x10, 0x20, 0x40


def test_flags_of_chattr_are_those_of_the_file_system(root: Path, served: Path) -> None:
    def flags(path: Path) -> int:
        file = os.open(path, os.O_RDONLY)
        try:
            return int.from_bytes(fcntl.ioctl(file, GET_FLAGS, bytes(8))[:4], "little")
        finally:
            os.close(file)

    def set_flags(path: Path, bits: int) -> None:
        file = os.open(path, os.O_RDONLY)
        try:
            fcntl.ioctl(file, SET_FLAGS, bits.to_bytes(8, "little"))
        finally:
            os.close(file)

    file = root / "f"
    file.write_bytes(b"text")
    if "ubifs" not in str(served):
        refused(errno.ENOTTY, lambda: flags(file))
        return
    before = flags(file)
    set_flags(file, before | SYNC)
    assert flags(file) == before | SYNC
    refused(errno.EOPNOTSUPP, lambda: set_flags(file, NO_DUMP))
    if not AS_ROOT:
        return
    set_flags(file, APPEND)
    refused(errno.EPERM, lambda: os.open(file, os.O_WRONLY))
    refused(errno.EPERM, file.unlink)
    refused(errno.EPERM, lambda: os.truncate(file, 0))
    with file.open("ab") as appended:
        appended.write(b" and more")
    assert file.read_bytes() == b"text and more"
    set_flags(file, IMMUTABLE)
    refused(errno.EPERM, lambda: file.open("ab"))
    refused(errno.EPERM, lambda: file.chmod(0o600))
    refused(errno.EPERM, lambda: file.rename(root / "g"))
    set_flags(file, 0)
    file.unlink()


def test_targets_of_symbolic_links_are_as_long_as_the_file_system_takes(root: Path, served: Path) -> None:
    limit = {"jffs2": 254, "yaffs2": 159, "ubifs": 4095}[name_of(served)]
    (root / "fits").symlink_to("x" * limit)
    assert os.readlink(root / "fits") == "x" * limit
    refused(errno.ENAMETOOLONG, lambda: (root / "too long").symlink_to("x" * (limit + 1)))


def test_permissions_and_owners_are_kept(root: Path) -> None:
    file = root / "f"
    file.touch()
    file.chmod(0o4750)
    assert stat.S_IMODE(file.stat().st_mode) == 0o4750
    before = os.umask(0o027)
    try:
        os.mkdir(root / "d", 0o777)
        os.close(os.open(root / "g", os.O_CREAT | os.O_WRONLY, 0o666))
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "g").stat().st_mode) == 0o640


@pytest.mark.skipif(not AS_ROOT, reason="only root can be somebody else")
def test_others_may_do_what_the_permissions_say(root: Path) -> None:
    def as_nobody(*command: str) -> int:
        return subprocess.run(
            command, cwd=root, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False
        ).returncode

    place: Path | None = root
    while place is not None and not place.stat().st_mode & 0o001:
        with suppress(PermissionError):
            place.chmod(place.stat().st_mode | 0o011)
        place = place.parent if place != place.parent else None
    (root / "secret").write_text("x")
    (root / "secret").chmod(0o600)
    (root / "open").mkdir()
    (root / "open").chmod(0o1777)
    assert as_nobody("cat", "secret") != 0
    assert as_nobody("touch", "new") != 0
    assert as_nobody("touch", "open/mine") == 0
    assert ((root / "open" / "mine").stat().st_uid, (root / "open" / "mine").stat().st_gid) == (NOBODY, NOBODY)
    (root / "open" / "roots").touch()
    assert as_nobody("rm", "-f", "open/roots") != 0, "the directory is sticky"
    os.chown(root / "secret", NOBODY, NOBODY)
    assert as_nobody("cat", "secret") == 0
    (root / "secret").chmod(0o6755)
    assert as_nobody("sh", "-c", "echo y >> secret") == 0
    assert stat.S_IMODE((root / "secret").stat().st_mode) == 0o755, "whoever writes drops the set-ID bits"


def test_extended_attributes_are_those_of_the_file_system(root: Path, served: Path) -> None:
    file = root / "f"
    file.touch()
    if name_of(served) == "yaffs2":
        refused(errno.EOPNOTSUPP, lambda: os.setxattr(file, "user.a", b"1"))
        return
    os.setxattr(file, "user.a", b"1")
    os.setxattr(file, "user.b", b"x" * 500)
    refused(errno.EEXIST, lambda: os.setxattr(file, "user.a", b"2", os.XATTR_CREATE))
    refused(errno.ENODATA, lambda: os.setxattr(file, "user.c", b"2", os.XATTR_REPLACE))
    assert sorted(os.listxattr(file)) == ["user.a", "user.b"]
    assert os.getxattr(file, "user.b") == b"x" * 500
    os.removexattr(file, "user.a")
    assert os.listxattr(file) == ["user.b"]
    refused(errno.ENODATA, lambda: os.getxattr(file, "user.a"))


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_statfs_follows_what_is_written(fs: str, tmp_path: Path) -> None:
    """On a mount of its own: what other tests have deleted JFFS2 erases, and counts as free, at any time later."""
    with mounted(tmp_path, fs, "--think", "none") as mount:
        before = os.statvfs(mount.place)
        with (mount.place / "f").open("wb") as file:
            file.write(os.urandom(1_000_000))
            file.flush()
            os.fsync(file.fileno())
        after = os.statvfs(mount.place)
    assert 900_000 < (before.f_bfree - after.f_bfree) * after.f_frsize < 1_400_000
    assert after.f_namemax >= 254


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_further_names_of_special_files_are_listed_after_a_new_mount(fs: str, tmp_path: Path) -> None:
    """YAFFS2 mounts with its checkpoint and has read no header of the file when the directory is listed."""
    image = tmp_path / "nand.bin"
    with mounted(tmp_path, fs, "--save", image) as mount:
        os.mkfifo(mount.place / "first")
        os.link(mount.place / "first", mount.place / "second")
    with mounted(tmp_path, fs, "--image", image) as mount:
        assert {"first", "second"} <= set(os.listdir(mount.place))
        assert stat.S_ISFIFO((mount.place / "second").lstat().st_mode)
