"""Bad input: exit code 2, one line on stderr that says what, where and what would be right, and nothing written."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from ffslab._native import input_limits
from helpers.command import FFSLAB, ROOT, SMALL, Command, Ran


def refused(ran: Ran) -> str:
    """The one line of a refused call."""
    assert (ran.returncode, ran.stdout) == (2, "")
    lines = ran.stderr.splitlines()
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith("ffslab: ")
    return lines[0]


def line_of(text: str) -> int:
    return SMALL.splitlines().index(text) + 1


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("partition_blocks = 32", "partition_bloks = 32", ["partition_blocks"]),
        ('fs = "jffs2"', 'fs = "jfs2"', ["jfs2", "jffs2"]),
        ('board = "zero-overhead"', 'board = "zero-overheat"', ["zero-overheat", "zero-overhead"]),
        ("partition_blocks = 32", "partition_blocks = 0", ["partition_blocks = 0", "erase blocks"]),
        ("partition_blocks = 32", "partition_blocks = 3000", ["3000", "2048"]),
        ("partition_blocks = 32", "partition_blocks = -4", ["-4"]),
        ('op = "read"', 'op = "reed"', ["reed", "read"]),
        ('step = "sync"', 'step = "snyc"', ["snyc", "sync"]),
        ('request_B = "4 KiB"', 'request_B = "4 kB"', ["4 kB", "KiB"]),
        ('bytes = "256 KiB"', 'bytes = "64 MiB"', ["create", "target", "ENOSPC"]),
        ("read_ahead_KiB = [128, 0]", "read_ahed_KiB = [128, 0]", ["read_ahed_KiB", "read_ahead_KiB"]),
        ("read_ahead_KiB = [128, 0]", "read_ahead_KiB = 128", ["read_ahead_KiB", "list"]),
        ('title = "Small"', 'title = "Small', ["small.toml:1"]),
    ],
)
def test_an_experiment_that_cannot_be_run_is_named(
    ffslab: Command, tmp_path: Path, right: str, wrong: str, says: list[str]
) -> None:
    assert right in SMALL
    (tmp_path / "small.toml").write_text(SMALL.replace(right, wrong, 1), encoding="utf-8")
    line = refused(ffslab("run", "small.toml"))
    assert "small.toml" in line
    for word in says:
        assert word in line
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


UBIFS = """\
title = "UBIFS"
[stack]
board = "zero-overhead"
fs = "ubifs"
partition_blocks = 64
[[measure]]
step = "ubi_attach"
[[measure]]
step = "ubi_make_volume"
[[measure]]
step = "mount"
"""
ROOM = "of {} erase blocks, 2 hold the volume table, 2 are kept for moving data, {} for blocks that go bad"
ADVICE = "; partition_blocks = {} would do, or a smaller max_beb_per1024, which counts the whole chip"


@pytest.mark.parametrize(
    ("blocks", "stack", "says"),
    [
        (1, "", "ubi_attach): not enough erase blocks for the volume table: 2 are needed, 1 of 1 are available"),
        (
            3,
            "",
            "ubi_attach): not enough erase blocks for moving data, beside the volumes: 2 are needed, "
            "1 of 3 are available",
        ),
        (
            44,
            "",
            "ubi_make_volume): there are too few LEBs for the volume: 1 needed, 0 available: "
            + ROOM.format(44, 40)
            + ", 0 are available"
            + ADVICE.format(61),
        ),
        (
            50,
            "",
            "mount): UBIFS needs at least 17 LEBs, the volume has 6: "
            + ROOM.format(50, 40)
            + ", 6 belong to volumes, 0 are available"
            + ADVICE.format(61),
        ),
        (22, "max_beb_per1024 = 1\n", ADVICE.format(23)),
        (64, "max_beb_per1024 = 769\n", "at most 768 erase blocks of 1024"),
        (64, "vid_hdr_offset_B = 131000\n", "the volume identifier header at byte 131000 does not fit"),
        (64, 'compression = "rtime"\n', "ubifs has none, lzo, zlib and zstd"),
    ],
)
def test_a_partition_that_ubifs_does_not_fit_is_told_with_numbers(
    ffslab: Command, tmp_path: Path, blocks: int, stack: str, says: str
) -> None:
    text = UBIFS.replace("partition_blocks = 64\n", f"partition_blocks = {blocks}\n{stack}")
    (tmp_path / "ubifs.toml").write_text(text, encoding="utf-8")
    line = refused(ffslab("run", "ubifs.toml"))
    assert line.startswith("ffslab: ubifs.toml: ")
    assert says in line
    assert [path.name for path in tmp_path.iterdir()] == ["ubifs.toml"]


def test_the_blocks_that_the_advice_names_do(ffslab: Command, tmp_path: Path) -> None:
    text = UBIFS.replace("partition_blocks = 64", "partition_blocks = 61")
    (tmp_path / "ubifs.toml").write_text(text, encoding="utf-8")
    assert ffslab("run", "ubifs.toml").returncode == 0


def test_an_image_with_headers_elsewhere_is_attached_unless_a_key_says_otherwise(
    ffslab: Command, tmp_path: Path
) -> None:
    kept = UBIFS.replace("[[measure]]\n", "vid_hdr_offset_B = 2048\n[[measure]]\n", 1)
    kept += '[[measure]]\nstep = "umount"\n[[measure]]\nstep = "save_image"\nfile = "image"\n'
    (tmp_path / "make.toml").write_text(kept, encoding="utf-8")
    assert ffslab("run", "make.toml", "--out", "made").returncode == 0
    start = 'image = "made/images/image"\n[[measure]]\n'
    mount = UBIFS.replace('[[measure]]\nstep = "ubi_attach"\n[[measure]]\nstep = "ubi_make_volume"\n', "")
    (tmp_path / "mount.toml").write_text(mount.replace("[[measure]]\n", start, 1), encoding="utf-8")
    assert ffslab("run", "mount.toml").returncode == 0
    (tmp_path / "mount.toml").write_text(
        mount.replace("[[measure]]\n", "vid_hdr_offset_B = 512\n" + start, 1), encoding="utf-8"
    )
    line = refused(ffslab("run", "mount.toml"))
    says = "erase block 0 was written with the volume identifier header at byte 2048, here it is expected at 512"
    assert f"{says}: vid_hdr_offset_B = 2048 says so" in line


def test_an_unknown_key_is_named_with_its_line(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace("count = 20", "cuont = 20"), encoding="utf-8")
    assert f"small.toml:{line_of('count = 20')}" in refused(ffslab("run", "small.toml"))


@pytest.mark.parametrize(
    ("machine", "errno"),
    [
        ('board = "omap3evm"\nfs = "jffs2"\npartition_blocks = 64', "EINVAL"),
        ('system = "rtems"\nfs = "jffs2"', "EACCES"),
    ],
)
def test_an_unmount_of_nothing_is_told(ffslab: Command, tmp_path: Path, machine: str, errno: str) -> None:
    text = f'title = "u"\n[stack]\n{machine}\n[[measure]]\nstep = "umount"\n'
    (tmp_path / "u.toml").write_text(text, encoding="utf-8")
    line = refused(ffslab("run", "u.toml"))
    assert f"measure step 1 (umount): {errno}: nothing is mounted: a mount step must come before" in line


def test_missing_files_are_named(ffslab: Command, tmp_path: Path) -> None:
    assert "absent.toml" in refused(ffslab("run", "absent.toml"))
    assert "absent.jsonl" in refused(ffslab("validate", "absent.jsonl"))
    assert "absent.strace" in refused(ffslab("replay", "absent.strace"))
    assert "absent-board" in refused(ffslab("profiles", "show", "absent-board"))
    (tmp_path / "folder.toml").mkdir()
    assert "folder.toml" in refused(ffslab("run", "folder.toml"))


def test_files_of_another_kind_are_named(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\x80\x81\x00")
    assert "UTF-8" in refused(ffslab("run", "binary.toml"))
    (tmp_path / "words.strace").write_text("these are\nno system calls\n", encoding="utf-8")
    assert "words.strace:1" in refused(ffslab("replay", "words.strace"))
    (tmp_path / "cases.jsonl").write_text('{"id": \n', encoding="utf-8")
    assert "cases.jsonl:1" in refused(ffslab("validate", "cases.jsonl"))


def test_a_truncated_trace_is_named_with_its_line(ffslab: Command, tmp_path: Path) -> None:
    whole = (
        '100 1700000000.000001 openat(AT_FDCWD, "/tmp/w/a", O_RDWR|O_CREAT, 0644) = 3 <0.000010>\n'
        '100 1700000000.000101 pwrite64(3, "abc"..., 4096, 0) = 4096 <0.000010>\n'
    )
    (tmp_path / "cut.strace").write_text(whole[:-30], encoding="utf-8")
    assert "cut.strace:2" in refused(ffslab("replay", "cut.strace"))


def test_a_folder_that_is_not_ours_is_left_alone(ffslab: Command, small: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("years of work", encoding="utf-8")
    assert "chapter.tex" in refused(ffslab("run", small, "--out", foreign))
    assert [path.name for path in foreign.iterdir()] == ["chapter.tex"]
    assert "small.toml" in refused(ffslab("run", small, "--out", small))


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["runn", "x.toml"],
        ["run", "--outt", "x", "x.toml"],
        ["validate", "x.jsonl", "--jobs", "many"],
        ["validate", "x.jsonl", "--jobs", "0"],
        ["validate", "x.jsonl", "--max-error", "-1"],
        ["run", "a.toml", "b.toml", "--out", "x"],
        ["replay", "x.strace", "--think", "twice"],
    ],
)
def test_wrong_use_of_the_command_is_one_line(ffslab: Command, args: list[str]) -> None:
    refused(ffslab(*args))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["replay", "x.strace", "--read-ahead", "-4"], "--read-ahead -4: must be 0 or more"),
        (["inspect", "x.img", "--oob-B", "-1"], "--oob-B -1: must be 0 or more"),
        (["store", "merge", "junk", "--store", "new"], "junk: is not a folder: a store of runs is one"),
        (["fio", "x.fio", "--partition-blocks", "0"], "--partition-blocks 0: must be 1 or more"),
        (["mount", "here", "--seed", "-1"], "--seed -1: must be 0 or more"),
        (["validate", "x.jsonl", "--jobs", "many"], "see ffslab validate --help"),
        (["replay", "."], ".: cannot read the trace: it is a folder"),
        (["lifetime", "absent.bin"], "absent.bin: no such experiment, image or results folder"),
        (["inspect", "junk", "--out", "page.htm"], "page.htm"),
        (["inspect", "junk", "--device", "omap3evm"], "device omap3evm: is a board"),
        (["validate", "junk"], "junk:1: a case is one JSON object a line"),
        (["trace", "report", "junk"], "unknown header `??escape?[0m`"),
        (["calibrate", "--loops", "junk"], "junk: holds no rows"),
        (["steps", "--markdown", "mount"], "mount: --markdown prints the whole reference"),
        (["inspect", "junk", "--layout", "2048"], "--layout 2048: must be bytes of data"),
        (["extract", "junk", "--layout", "512+16x4", "--oob-B", "64"], "--layout 512+16x4: says how large"),
    ],
)
def test_mistakes_are_told_before_anything_is_done(ffslab: Command, tmp_path: Path, args: list[str], says: str) -> None:
    (tmp_path / "junk").write_text("\x01\x02escape\x1b[0m\n", encoding="utf-8")
    (tmp_path / "here").mkdir()
    line = refused(ffslab(*args))
    assert says in line
    assert line.isprintable()
    assert {path.name for path in tmp_path.iterdir()} == {"junk", "here"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('board = "nonsense"', "[stack]: unknown board `nonsense`"),
        ("partition_blocks = 8", "[stack]: partition_blocks belongs to file systems on the board's own flash"),
        ("littlefs = {}", "[stack]: littlefs belongs to littlefs, not to block-device"),
    ],
)
def test_a_block_device_takes_no_keys_that_say_nothing_of_it(
    ffslab: Command, tmp_path: Path, more: str, says: str
) -> None:
    stack = f'[stack]\nsystem = "bare"\nfs = "block-device"\ndevice = "sd-card"\n{more}\n'
    (tmp_path / "a.toml").write_text(f'title = "t"\n{stack}[[measure]]\nstep = "sync"\n', encoding="utf-8")
    assert says in refused(ffslab("run", "a.toml"))


def test_sleeps_end_with_the_clock(ffslab: Command, small: Path) -> None:
    sleeps = '[[measure]]\nstep = "repeat"\ntimes = 501\nsteps = [{ step = "sleep", us = "8784 h" }]\n[axes]'
    small.write_text(SMALL.replace("[axes]", sleeps, 1), encoding="utf-8")
    assert "step 1 (sleep): the machine would be up for more than 500 years" in refused(ffslab("run", small))


def test_the_files_of_several_experiments_are_looked_at_before_the_first_runs(
    ffslab: Command, small: Path, tmp_path: Path
) -> None:
    assert "absent.toml" in refused(ffslab("run", small, "absent.toml"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / small.name).write_text(SMALL, encoding="utf-8")
    assert "would replace those of" in refused(ffslab("run", small, f"other/{small.name}"))
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("partition_blocks", "partition_block", "second.toml:6: unknown key `partition_block`: did you mean"),
        ('"zero-overhead"', '"zero-overheat"', "second.toml: variant read_ahead_KiB=128: [stack]: unknown board"),
        ("partition_blocks = ", "partition_blocks = 99999", "9999932 blocks from block 0 is not on the chip"),
    ],
)
def test_all_of_several_experiments_are_checked_before_the_first_runs(
    ffslab: Command, small: Path, tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    (tmp_path / "second.toml").write_text(SMALL.replace(right, wrong), encoding="utf-8")
    assert says in refused(ffslab("run", small, "second.toml"))
    assert not (tmp_path / "results").exists()
    # ... and a folder that is none of ours.
    (tmp_path / "second.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "results/second").mkdir(parents=True)
    (tmp_path / "results/second/notes.txt").write_text("mine", encoding="utf-8")
    assert "not a results folder" in refused(ffslab("run", small, "second.toml"))
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["second"]


def test_an_image_is_not_saved_on_its_own_mount(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for place, says in (("here/x", "on the mount"), ("here", "is a folder"), ("absent/x", "no such folder")):
        assert says in refused(ffslab("mount", "here", "--save", place, "--", "true"))


def test_a_recording_is_not_written_over_itself(ffslab: Command, tmp_path: Path) -> None:
    text = "op,path,offset_B,size_B\nwrite,a,0,512\n"
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    assert "is the recording itself" in refused(ffslab("trace", "convert", "own.csv", "--out", "own.csv"))
    assert (tmp_path / "own.csv").read_text(encoding="utf-8") == text


DEEP_TOML = "x = " + "[" * 100_000


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "fifo"], "fifo: cannot read the experiment: it is a FIFO"),
        (["run", "loop"], "loop: cannot read the experiment: too many levels of symbolic links"),
        (["run", "deep.toml"], "deep.toml:1: "),
        (["replay", "kmsg"], "kmsg: cannot read the trace: it is a file of /proc"),
        (["run", "dotted.toml"], "dotted.toml"),
        (["lifetime", "image", "--workload", "fifo"], "fifo: cannot read the experiment"),
        (["inspect", "sparse"], "it has 73014444032 bytes, more than the 65536 MiB that an image may have"),
        (["extract", "zero"], "it is a device: give a regular file"),
        (["replay", "fifo"], "fifo: cannot read the trace: it is a FIFO"),
        (["fio", "zero"], "zero: cannot read the job file: it is a device"),
        (["postmark", "fifo"], "fifo: cannot read the command file: it is a FIFO"),
        (["validate", "zero"], "zero: cannot be read: it is a device"),
        (["sqlite", "zero"], "zero: cannot read the script: it is a device"),
        (["calibrate", "--loops", "zero"], "zero: cannot read the table: it is a device"),
        (["calibrate", "--loops", "infinite.csv"], "infinite.csv: row 1 below the head: n = inf is too large"),
        (["calibrate", "--loops", "wide.csv"], "wide.csv: its first line has more than 1000 columns"),
        (["trace", "report", "fifo"], "fifo: cannot read the log: it is a FIFO"),
        (["trace", "convert", "status", "--out", "new.csv"], "which the kernel makes while it is read: copy it first"),
    ],
)
def test_what_has_no_end_or_is_too_much_is_refused_at_once(
    ffslab: Command, tmp_path: Path, args: list[str], says: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, target in (
        ("loop", "loop"),
        ("zero", "/dev/zero"),
        ("status", "/proc/self/status"),
        ("kmsg", "/proc/kmsg"),
    ):
        (tmp_path / name).symlink_to(target)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(68 << 30)
    (tmp_path / "image").write_bytes(b"\x85\x19\x03\x20" * 4096)
    (tmp_path / "deep.toml").write_text(DEEP_TOML, encoding="utf-8")
    (tmp_path / "dotted.toml").write_text(".".join(["a"] * 100_000) + " = 1\n", encoding="utf-8")
    (tmp_path / "infinite.csv").write_text("operation,n,time_us\nread,1e400,1\nread,2,2\n", encoding="utf-8")
    (tmp_path / "wide.csv").write_text("op," * 500_000 + "\n", encoding="utf-8")
    before = {path.name for path in tmp_path.iterdir()}
    assert says in refused(ffslab(*args))
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_value_that_is_no_text_is_named(ffslab: Command) -> None:
    ran = ffslab("validate", "--id", "\udcff\udcfe", ROOT / "tests/measured/yaffs2.jsonl.gz")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("ffslab: ''$'\\377\\376' is no UTF-8 text: ")


def test_a_pipe_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """A script on the standard input goes on working, and one without an end is refused."""
    ran = subprocess.run(
        [FFSLAB, "sqlite"], input=b"SELECT '" + b"x" * (16 << 20), cwd=tmp_path, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr == b"ffslab: stdin: cannot read the script: it has more than the 16 MiB that a script may have\n"


def test_the_documented_limits_are_those_that_hold() -> None:
    text = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
    for kind, bytes_max in input_limits():
        assert f"\n| {kind} | {bytes_max >> 20} MiB" in text, kind


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("profiles ls >&-", 2, "ffslab: the system says: bad file descriptor\n"),
        ("run small.toml >&-", 2, "ffslab: the system says: bad file descriptor\n"),
        ("run small.toml >/dev/full", 2, "ffslab: the system says: no space left on device\n"),
        ("inspect nothing 2>&-", 2, ""),
        ("profiles ls >/dev/null 2>&- <&-", 0, ""),
    ],
)
def test_an_answer_that_nobody_can_take_is_no_success(small: Path, words: str, code: int, said: str) -> None:
    """A stream that the caller closed is none at all to Python: it was an internal error."""
    command = f"{shlex.quote(str(FFSLAB))} {words}"
    ran = subprocess.run(["sh", "-c", command], cwd=small.parent, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", said)
