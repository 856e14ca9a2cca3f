"""Mounts of systems that know files by path alone: RTEMS, and a program without a system."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from helpers.command import Command
from helpers.mount_programs import CLEAN, run
from helpers.mounted import RTEMS_FILE_SYSTEMS, Mounted, mounted, need_fuse

ON_DISK = ("rfs", "dosfs")
SMALL = ("--system", "rtems", "--think", "none", "--set", "device_KiB=8192")


def small(fs: str) -> tuple[str, ...]:
    """Options of a small machine with RTEMS; files in memory have no medium whose size could be said."""
    return SMALL[:4] if fs == "imfs" else SMALL


def names(place: Path) -> list[str]:
    """What find(1) prints, sorted, without a folder that YAFFS2 makes itself."""
    return sorted(
        line for line in run(place, "find", ".", "-printf", "%p %y\n").splitlines() if "lost+found" not in line
    )


@pytest.mark.parametrize("fs", RTEMS_FILE_SYSTEMS)
def test_file_operations_of_programs(fs: str, tmp_path: Path) -> None:
    with mounted(tmp_path, fs, *small(fs)) as mount:
        place = mount.place
        (place / "a" / "b").mkdir(parents=True)
        data = os.urandom(70_000)
        with (place / "a" / "f").open("wb") as file:
            file.write(data)
            os.fsync(file.fileno()) if fs != "jffs2" else None
        assert (place / "a" / "f").read_bytes() == data
        assert (place / "a" / "f").stat().st_size == len(data)
        with (place / "a" / "f").open("r+b", buffering=0) as file:
            file.seek(1000)
            file.write(b"inside")
            assert os.pread(file.fileno(), 8, 999) == data[999:1000] + b"inside" + data[1006:1007]
            file.truncate(5000)
            assert os.fstat(file.fileno()).st_size == 5000
        with (place / "a" / "f").open("ab", buffering=0) as file:
            file.write(b"end")
            file.write(b"ing")
        assert (place / "a" / "f").read_bytes() == data[:1000] + b"inside" + data[1006:5000] + b"ending"
        # A directory moves with what is in it.
        (place / "a").rename(place / "moved")
        assert names(place) == [". d", "./moved d", "./moved/b d", "./moved/f f"]
        assert (place / "moved" / "f").stat().st_ino == os.lstat(place / "moved" / "f").st_ino
        (place / "moved" / "b").rmdir()
        (place / "moved" / "f").unlink()
        (place / "moved").rmdir()
        assert names(place) == [". d"]
        with pytest.raises(FileNotFoundError):
            (place / "moved").stat()
    assert mount.variant["time_us"] > 0


@pytest.mark.parametrize("fs", RTEMS_FILE_SYSTEMS)
def test_an_unlinked_file_is_read_and_written_as_long_as_it_is_open(fs: str, tmp_path: Path) -> None:
    """Its number is not that of the next file of its name."""
    with mounted(tmp_path, fs, *small(fs)) as mount:
        path = mount.place / "f"
        with path.open("w+b", buffering=0) as file:
            file.write(b"old" * 1000)
            path.unlink()
            assert not path.exists()
            file.write(b"more")
            assert os.fstat(file.fileno()).st_size == 3004
            assert os.pread(file.fileno(), 6, 2998) == b"ldmore"
            path.write_bytes(b"new")
            assert path.stat().st_ino != os.fstat(file.fileno()).st_ino
            assert path.read_bytes() == b"new"
            # RFS frees inode and blocks at once, so that the new file gets them.
            assert os.pread(file.fileno(), 3, 0) == (b"new" if fs == "rfs" else b"old")


@pytest.mark.parametrize("fs", ON_DISK)
def test_what_programs_left_is_there_at_the_next_mount(fs: str, tmp_path: Path) -> None:
    """cp, find, diff and SQLite on a disk that is unmounted, saved and mounted again."""
    source = tmp_path / "tree"
    (source / "deep" / "er").mkdir(parents=True)
    for number in range(30):
        folder = (source, source / "deep", source / "deep" / "er")[number % 3]
        (folder / f"file{number}").write_bytes(os.urandom(number * 997))
    image = tmp_path / "disk.bin"
    with mounted(tmp_path, fs, *SMALL, "--save", image) as mount:
        run(tmp_path, "cp", "-r", source, mount.place)
        run(tmp_path, "diff", "-r", source, mount.place / "tree")
        data_base(mount, "made")
        left = names(mount.place)
    with mounted(tmp_path, fs, *SMALL, "--image", image) as mount:
        assert names(mount.place) == left
        run(tmp_path, "diff", "-r", source, mount.place / "tree")
        data_base(mount, "found")
        run(mount.place, "rm", "-rf", "tree")
        assert names(mount.place) == [". d", "./a.db f"]


def data_base(mount: Mounted, what: str) -> None:
    """Makes a data base of 500 rows with rollback journals, or adds a row to that of the mount before."""
    base = sqlite3.connect(mount.place / "a.db")
    if what == "made":
        base.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
        for number in range(5):
            base.executemany("INSERT INTO t(a) VALUES(?)", [(f"{number} {row}",) for row in range(100)])
            base.commit()
    else:
        base.execute("INSERT INTO t(a) VALUES('later')")
        base.commit()
    count = 500 + (what == "found")
    assert base.execute("SELECT count(*), count(DISTINCT a) FROM t").fetchone() == (count, count)
    assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    base.close()


def test_hard_and_symbolic_links(tmp_path: Path) -> None:
    with mounted(tmp_path, "rfs", *SMALL) as mount:
        one, two = mount.place / "one", mount.place / "two"
        one.write_bytes(b"both")
        two.hardlink_to(one)
        assert one.stat().st_ino == two.stat().st_ino
        assert two.stat().st_nlink == 2
        two.write_bytes(b"through the other")
        assert one.stat().st_size == 17
        one.unlink()
        assert (two.read_bytes(), two.stat().st_nlink) == (b"through the other", 1)
        (mount.place / "way").symlink_to("two")
        assert (mount.place / "way").read_bytes() == b"through the other"
        assert (mount.place / "way").readlink() == Path("two")


def test_what_the_system_lacks_is_an_error_with_the_reason_in_the_log(tmp_path: Path) -> None:
    with mounted(tmp_path, "rfs", *SMALL) as mount:
        path = mount.place / "f"
        path.write_bytes(b"x")
        with pytest.raises(OSError) as refused:
            os.open(path, os.O_WRONLY | os.O_SYNC)
        assert refused.value.errno == errno.EOPNOTSUPP
        # The kernel goes on asking: ENOSYS would have been taken for every later open.
        assert path.read_bytes() == b"x"
        with pytest.raises(OSError, match="not supported"):
            os.mkfifo(mount.place / "pipe")
        # RTEMS replaces nothing: an error of the system itself needs no reason.
        (mount.place / "g").write_bytes(b"y")
        with pytest.raises(FileExistsError):
            path.rename(mount.place / "g")
        assert (mount.place / "g").read_bytes() == b"y"
    notes = [note for step in mount.variant["steps"] for note in step.get("notes", [])] + mount.variant["notes"]
    for reason in ('RTEMS has no flag "sync" of open', "RTEMS has no device files, pipes and sockets"):
        assert any(reason in note for note in notes), notes
        assert reason in mount.said


def test_a_stat_is_one_call_of_the_system_and_an_open_is_none_more(tmp_path: Path, ffslab: Command) -> None:
    """The kernel walks paths name by name; what is known costs nothing, and a walk that nothing follows is a stat."""
    need_fuse()
    (tmp_path / "mount").mkdir()
    script = "import os\nos.makedirs('a/b')\nf = os.open('a/b/f', os.O_CREAT | os.O_RDWR)\nos.write(f, b'x' * 9000)\n"
    script += "os.fsync(f)\nos.close(f)\nf = os.open('a/b/f', os.O_RDONLY)\nos.read(f, 100)\nos.close(f)\n"
    command = ("python3", "-SE", "-c", f"import os; os.chdir('mount'); exec({script!r})")
    ran = ffslab("mount", "--fs", "rfs", *SMALL, "--out", "out", "mount", "--", *command)
    assert ran.returncode == 0, ran.stderr
    import pyarrow.parquet as pq

    rows = pq.read_table(tmp_path / "out" / "requests.parquet").to_pylist()
    calls = [(row["op"], row["file"], row["bytes"]) for row in rows if row["op"] != "stat"]
    assert calls == [
        ("mkdir", "a", 0),
        ("mkdir", "a/b", 0),
        ("open", "a/b/f", 0),
        ("write", "a/b/f", 9000),
        ("sync", "a/b/f", 0),
        ("close", "a/b/f", 0),
        ("open", "a/b/f", 0),
        ("read", "a/b/f", 100),
        ("close", "a/b/f", 0),
    ]
    again = [row["latency_us"] for row in rows if row["op"] == "open"]
    assert all(us > 0 for us in again)
    assert 'system = "rtems"' in (tmp_path / "out" / "resolved.toml").read_text()


def test_a_run_without_think_time_is_repeated_to_the_nanosecond(tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    outputs = []
    for number in range(2):
        image = tmp_path / f"{number}.bin"
        work = "cd mount && mkdir d && cp /bin/sh d/copy && mv d/copy d/sh && stat -c %s d/sh"
        options = ("--fs", "rfs", *SMALL, "--no-results", "--json", "--save", image, "mount", "--", "sh", "-c", work)
        ran = ffslab("mount", *options)
        assert ran.returncode == 0, ran.stderr
        outputs.append((ran.stdout, image.read_bytes()))
    assert outputs[0] == outputs[1]


def test_stat_and_checkpoint(tmp_path: Path, ffslab: Command) -> None:
    with mounted(tmp_path, "rfs", *SMALL) as mount:
        (mount.place / "f").write_bytes(os.urandom(5000))
        now = mount.stat()
        assert (now["fs"], now["system"], now["board"]) == ("rfs", "RTEMS", "beaglebone-black")
        text = ffslab("mount", "stat", mount.place)
        assert "beaglebone-black, RTEMS" in text.stdout and "erases per block" not in text.stdout
        ran = ffslab("mount", "checkpoint", mount.place, "disk.bin", "--sync")
        assert ran.returncode == 0, ran.stderr
        assert (tmp_path / "disk.bin").stat().st_size == 8 << 20
    with mounted(tmp_path, "rfs", *SMALL, "--image", tmp_path / "disk.bin") as mount:
        assert names(mount.place) == [". d", "./f f"]


def test_a_program_without_a_system(tmp_path: Path) -> None:
    """Its rename replaces what is there, so git works."""
    with mounted(tmp_path, "yaffs2", "--system", "bare", "--blocks", "200") as mount:
        run(mount.place, "git", "init", "-q", "-b", "main", ".")
        for number in range(2):
            (mount.place / "file").write_text(f"content {number}\n" * 100)
            run(mount.place, "git", "add", "file")
            run(mount.place, "git", "commit", "-q", "-m", f"commit {number}")
        run(mount.place, "git", "fsck", "--strict", "--full")
    assert mount.variant["totals"]["page_programs"] > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--system", "rtems"), "say with --fs what is mounted"),
        (("--system", "rtems", "--fs", "rfs", "--oob"), "leave them out with --system rtems"),
        (("--system", "rtems", "--fs", "rfs", "--blocks", "10"), "partition_blocks"),
        (("--system", "rtems", "--fs", "ubifs"), "RTEMS has"),
        (("--system", "vxworks", "--fs", "rfs"), "vxworks"),
        (("--system", "rtems", "--fs", "rfs", "--power-cut-after", "3"), "RTEMS has no flash whose power could be cut"),
        (("--system", "rtems", "--fs", "dosfs", "--owner", "7:8"), "cannot be given to 7:8"),
    ],
)
def test_bad_wishes(options: tuple[str, ...], message: str, tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "mount").mkdir()
    ran = ffslab("mount", *options, "--no-results", "mount", "--", "true")
    assert ran.returncode == 2
    assert message in ran.stderr and len(ran.stderr.strip().splitlines()) == 1, ran.stderr


def test_no_mount_is_left_when_the_command_is_absent(tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    ran = ffslab("mount", *SMALL, "--fs", "rfs", "--no-results", "mount", "--", "/nonexistent/program")
    assert ran.returncode == 2 and "/nonexistent/program" in ran.stderr
    seen = subprocess.run(["findmnt", tmp_path / "mount"], env=CLEAN, capture_output=True, check=False)
    assert seen.returncode != 0
