"""What a mount means for its user: who may write, which options there are, dead mount points, what formatting costs."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import ffslab
from helpers.command import FFSLAB, Command
from helpers.left_out import leave_out
from helpers.mounted import ANY_FILE_SYSTEM, FILE_SYSTEMS, mounted, need_fuse

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of nobody's that others can enter, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory(prefix="ffslab-test-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "mount").mkdir()
        if os.geteuid() == 0:
            for path in (place, place / "mount"):
                os.chown(path, NOBODY, NOBODY)
        yield place


def by_nobody(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """Runs a command as an ordinary user."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    words = [str(word) for word in (*AS_NOBODY, *command)]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def need_nobody(folder: Path) -> None:
    need_fuse()
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if shutil.which("fusermount3") is None:
        leave_out("fusermount3 is missing, without which only root can mount; as root: make packages")
    if by_nobody(folder, FFSLAB, "--version").returncode != 0:
        pytest.skip("this checkout is in a folder that other users cannot enter")


# ---- who may write ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fs", ANY_FILE_SYSTEM)
def test_an_ordinary_user_writes_to_the_own_mount(fs: str, shared: Path) -> None:
    """The root of a new file system belongs to who mounts it, and an image remembers that."""
    need_nobody(shared)
    mount = (FFSLAB, "mount", "--no-results", "--json", "--think", "none", "--save", "nand.bin")
    script = "cd mount && mkdir d && echo text >d/f && stat -c %u:%g . d d/f"
    ran = by_nobody(shared, *mount, "--fs", fs, "mount", "--", "sh", "-c", script)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("65534:65534\n" * 3), ran.stdout
    ran = by_nobody(shared, *mount, "--image", "nand.bin", "mount", "--", "sh", "-c", "cat mount/d/f; touch mount/g")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("text\n")


def test_an_ordinary_user_is_told_how_to_write_to_an_image_of_root(shared: Path) -> None:
    need_nobody(shared)
    with mounted(shared, "jffs2", "--blocks", "20", "--save", shared / "nand.bin") as mount:
        (mount.place / "f").touch()
    mount_ = (FFSLAB, "mount", "--no-results", "--json", "--image", "nand.bin")
    ran = by_nobody(shared, *mount_, "mount", "--", "touch", "mount/g")
    assert ran.returncode == 1
    assert "belongs to 0:0 with mode 0755, so you (65534:65534) cannot write there" in ran.stderr
    assert "--owner 65534:65534" in ran.stderr
    ran = by_nobody(shared, *mount_, "--owner", "65534:65534", "mount", "--", "touch", "mount/g")
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = by_nobody(shared, *mount_, "-o", "ro", "mount", "--", "ls", "mount")
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = by_nobody(shared, *mount_, "-o", "suid", "mount", "--", "ls", "mount")
    assert ran.returncode == 2 and "only root may mount with it" in ran.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("fs", ANY_FILE_SYSTEM)
def test_the_root_is_given_to_whom_one_says(fs: str, tmp_path: Path) -> None:
    image = tmp_path / "nand.bin"
    with mounted(tmp_path, fs, "--owner", "1000:1001", "--save", image) as mount:
        assert (mount.place.stat().st_uid, mount.place.stat().st_gid) == (1000, 1001)
    # It stands on the flash.
    with mounted(tmp_path, fs, "--image", image) as mount:
        assert (mount.place.stat().st_uid, mount.place.stat().st_gid) == (1000, 1001)


@pytest.mark.parametrize("owner", ["", ":5", "1:", "no-such-user", "1:no-such-group", "4294967295", "-1", "9" * 5000])
def test_an_owner_that_cannot_be_is_refused(owner: str, tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    ran = ffslab("mount", f"--owner={owner}", "mount", "--", "true")
    assert ran.returncode == 2 and "--owner" in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr


# ---- dead mount points --------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can unmount without a helper")
def test_a_dead_mount_point_is_said_to_be_one(tmp_path: Path, ffslab: Command) -> None:
    with mounted(tmp_path, "jffs2", "--blocks", "20", "--power-cut-after", "1") as mount:
        with pytest.raises(OSError, match="Input/output"):
            (mount.place / "f").write_bytes(bytes(1 << 20))
        powerless = ffslab("mount", mount.place, "--", "true")
    need_fuse()
    command = [FFSLAB, "mount", "--no-results", "--json", "--blocks", "20", tmp_path / "mount"]
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and "end it with" in process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    with pytest.raises(OSError) as dead:
        (tmp_path / "mount").stat()
    assert dead.value.errno == errno.ENOTCONN
    try:
        served_by_nobody = ffslab("mount", "mount", "--", "true")
    finally:
        subprocess.run(["umount", tmp_path / "mount"], check=True)
    for ran in (powerless, served_by_nobody):
        assert ran.returncode == 2, ran.stderr
        assert ran.stderr.count("\n") == 1 and "take it away first: umount " in ran.stderr, ran.stderr


# ---- options of mount(8) ------------------------------------------------------------------------------------------

ACCEPTED = (
    *("ro", "rw", "noatime", "relatime", "strictatime", "nodiratime", "nosuid", "nodev", "noexec", "exec", "async"),
    "lazytime",
    *("silent", "loud", "defaults"),
)


@pytest.mark.parametrize("fs", ANY_FILE_SYSTEM)
def test_the_generic_options_of_mount_are_taken(fs: str, tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    options = ("--fs", fs, "--think", "none", "--no-results", "--json", "-o", ",".join(ACCEPTED), "-o", "noexec")
    script = 'cp /bin/true mount/ && grep "^ffslab $PWD/mount " /proc/mounts'
    ran = ffslab("mount", *options, "mount", "--", "sh", "-c", script)
    assert ran.returncode == 0, ran.stderr
    flags = ran.stdout.split()[3].split(",")
    assert {"rw", "nosuid", "nodev", "noexec", "noatime"} <= set(flags)
    stack = ffslab_stack(fs)
    stack.mount(",".join(ACCEPTED), "rw")
    stack.write_file("f", b"x")


def ffslab_stack(fs: str) -> ffslab.Stack:
    return ffslab.Stack(fs, board="omap3evm", partition_blocks=160)


REFUSED = {
    "mand": "since 5.15",
    "remount": "nothing is mounted",
    "nonsense": "the other generic options of mount(8)",
}


@pytest.mark.parametrize("option", REFUSED)
def test_options_that_cannot_be_are_refused_with_the_reason(option: str, tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    for fs in FILE_SYSTEMS:
        ran = ffslab("mount", "--fs", fs, "-o", f"noatime,{option}", "mount", "--", "true")
        assert ran.returncode == 2 and REFUSED[option] in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_on_a_synchronous_mount_what_is_written_is_safe(fs: str) -> None:
    stack = ffslab_stack(fs)
    for options, safe in ((["async"], False), (["remount", "sync"], True), (["remount"], False)):
        stack.mount(*options)
        before = stack.counters()["page_programs"]
        fd = stack.open(options[-1], "wronly create")
        made = stack.counters()["page_programs"]
        stack.pwrite(fd, b"x" * 100, 0)
        assert (stack.counters()["page_programs"] > made) == safe, (options, before, made)
        stack.close(fd)


def test_experiments_know_the_options_too(tmp_path: Path, ffslab: Command) -> None:
    step = '[[setup]]\nstep = "mount"\noptions = ["noatime,nosuid", "{}"]\n[[measure]]\nstep = "sync"\n'
    stack = 'title = "t"\n[stack]\nboard = "omap3evm"\nfs = "jffs2"\npartition_blocks = 32\n'
    (tmp_path / "e.toml").write_text(stack + step.format("relatime"))
    assert ffslab("run", "e.toml").returncode == 0
    (tmp_path / "f.toml").write_text(stack + step.format("mand"))
    ran = ffslab("run", "f.toml")
    assert ran.returncode == 2 and 'mount option "mand"' in ran.stderr


# ---- formatting ---------------------------------------------------------------------------------------------------


# Where UBI goes on erasing a new partition while it is used. Before 3.5 it is erased when the volume is made.
LATER = ("--kernel", "6.1")
FRESH = (*LATER, "--initial", "fresh")


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_what_formatting_costs_is_no_workload(fs: str, tmp_path: Path, ffslab: Command) -> None:
    """In `stat`, in the results, in the lifetime: the first erases of a new partition are told apart."""
    need_fuse()
    (tmp_path / "mount").mkdir()
    with mounted(tmp_path, fs, *FRESH, "--think", "none", "--blocks", "640") as mount:
        (mount.place / "f").write_bytes(os.urandom(100_000))
        with (mount.place / "f").open("r+b") as file:
            os.fsync(file.fileno())
        stat = mount.stat()["totals"]
        told = ffslab("mount", "stat", "mount").stdout
    # YAFFS2 takes blank blocks as they are. UBI and JFFS2 erase and mark them; JFFS2 all of them at the first fsync.
    erases = {"jffs2": 640, "yaffs2": 0, "ubifs": stat["erases"]}[fs]
    assert stat["formatting"]["erases"] == erases == stat["erases"]
    assert ("of formatting" in told) == (erases > 0)
    found = mount.variant.get("formatting", {"erases": 0, "page_programs": 0})
    assert found["erases"] == mount.variant["totals"]["erases"]
    assert found["erases"] == sum(step.get("formatting", {"erases": 0})["erases"] for step in mount.variant["steps"])
    rest = mount.variant["totals"]["page_programs"] - found["page_programs"]
    assert mount.variant["write_amplification"] == pytest.approx(rest * 2048 / 100_000)
    if fs == "ubifs":
        assert found["erases"] > 5 and found["page_programs"] >= found["erases"]


@pytest.mark.parametrize("fs", ANY_FILE_SYSTEM)
def test_a_lifetime_does_not_count_formatting(fs: str, tmp_path: Path, ffslab: Command) -> None:
    """The issue: "lasts 32 hours" said the lifetime of a mount on which a file was written."""
    need_fuse()
    (tmp_path / "mount").mkdir()
    script = "head -c 300000 /dev/urandom >mount/f; sync mount/f; sleep 2.5"
    ran = ffslab("mount", "--fs", fs, *FRESH, "--out", "out", "mount", "--", "sh", "-c", script)
    assert ran.returncode == 0, ran.stderr
    assert ("of formatting: block erases" in ran.stdout) == (fs != "yaffs2")
    assert ('counted apart under "formatting": it happens once' in ran.stdout) == (fs != "yaffs2")
    assert "A block is erased" not in ran.stdout and "erases per block" not in ran.stdout
    ran = ffslab("lifetime", "out", "--json")
    assert ran.returncode == 1, ran.stderr
    (row,) = json.loads(ran.stdout)["workloads"]
    assert row["erases"] == 0 and row["needs_us"] > row["time_us"], row
    assert row["formatting_erases"] >= (100 if fs != "yaffs2" else 0)
    assert row["lifetime_years"]["levelled"]["estimate"] is None
    assert not any("formatting" in cause["cause"] for cause in row["causes"])
    assert ("made the new partition usable" in ffslab("lifetime", "out").stdout) == (fs != "yaffs2")


@pytest.mark.parametrize("verb", ["fio", "postmark", "replay", "sqlite"])
def test_other_verbs_on_a_new_partition_tell_formatting_apart(verb: str, tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "job.fio").write_text("[job]\nrw=randwrite\nbs=4k\nsize=1m\nthinktime=20000\n")
    (tmp_path / "commands").write_text("set number 20\nset transactions 40\nrun\nquit\n")
    (tmp_path / "script.sql").write_text("CREATE TABLE t (a);\nINSERT INTO t VALUES (1);\n")
    line = "1 1700000000.{:06d} {}\n"
    calls = ['openat(AT_FDCWD, "f", O_RDWR|O_CREAT, 0644) = 3 <0.000010>', 'write(3, ""..., 4096) = 4096 <0.000010>']
    calls += ["fsync(3) = 0 <0.000010>", "close(3) = 0 <0.000010>"]
    (tmp_path / "t.strace").write_text("".join(line.format(at * 100_000, call) for at, call in enumerate(calls)))
    given = {"fio": ["job.fio"], "postmark": ["commands"], "replay": ["t.strace"], "sqlite": ["script.sql"]}[verb]
    ran = ffslab(verb, *given, "--fs", "ubifs", *LATER, "--out", "out")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    (variant,) = summary["variants"]
    erased = {cause["reason"]: cause["erases"] for cause in variant["by_cause"] if cause["erases"]}
    # The volume is new, and little was written that would have to be erased. It is settled before anything is measured.
    told = variant.get("formatting", {"erases": 0})["erases"]
    assert told == erased.get("formatting", 0) == variant["totals"]["erases"] - erased.get("erase", 0)
    assert told == 0
    assert erased.get("erase", 0) < 5
