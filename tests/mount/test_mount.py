"""The verb `mount`, and what talks to it: time, questions, images, power cuts, ends."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import ffslab
from ffslab.images import read_image
from helpers.command import FFSLAB, Command
from helpers.inspect_images import made_by_mkfs_fat, simulated
from helpers.mounted import ANY_FILE_SYSTEM, FILE_SYSTEMS, mounted, need_fuse
from helpers.schemas import check
from helpers.yaffs2_images import Layout, build

WORK = "mkdir d && cp /bin/sh d/copy && sync d/copy && mv d/copy d/sh && ln d/sh again && rm again && stat -c %s d/sh"


@pytest.mark.parametrize("fs", ANY_FILE_SYSTEM)
def test_without_think_time_a_run_is_repeated_to_the_nanosecond(fs: str, tmp_path: Path, ffslab: Command) -> None:
    """Nothing of the host enters: not its speed, not its clock."""
    need_fuse()
    (tmp_path / "mount").mkdir()
    outputs = []
    for number in range(2):
        image = tmp_path / f"{number}.bin"
        options = ("--fs", fs, "--think", "none", "--no-results", "--json", "--save", image)
        ran = ffslab("mount", *options, "mount", "--", "sh", "-c", f"cd mount && {WORK}")
        assert ran.returncode == 0, ran.stderr
        outputs.append((ran.stdout, hashlib.sha256(image.read_bytes()).hexdigest()))
    assert outputs[0] == outputs[1]


def test_the_first_fsync_on_an_empty_jffs2_erases_it(tmp_path: Path) -> None:
    """Garbage collection, which fsync calls, erases what waits to be erased; no thread has had time to do it."""
    with mounted(tmp_path, "jffs2", "--initial", "fresh", "--think", "none", "--blocks", "50") as mount:
        erases = []
        with (mount.place / "a").open("wb", buffering=0) as file:
            for _ in range(3):
                file.write(os.urandom(5000))
                now = mount.stat()
                check("mount", json.dumps(now))
                erases.append(now["totals"]["erases"])
                os.fsync(file.fileno())
        erases.append(mount.stat()["totals"]["erases"])
    assert erases[0] < 5
    assert erases[1:] == [50, 50, 50]


def test_a_new_partition_is_settled_before_programs_come_unless_it_is_fresh(tmp_path: Path) -> None:
    waits = {}
    for initial in ("settled", "fresh"):
        with mounted(tmp_path, "jffs2", "--initial", initial, "--think", "none", "--blocks", "50") as mount:
            file = os.open(mount.place / "a", os.O_WRONLY | os.O_CREAT)
            os.write(file, bytes(5000))
            os.fsync(file)
            os.close(file)
        waits[initial] = mount.variant["latency_us"]["max"]
        assert ("formatting" in mount.variant) == (initial == "fresh")
    assert waits["fresh"] > 20 * waits["settled"]
    with pytest.raises(AssertionError, match='must be "settled"'), mounted(tmp_path, "jffs2", "--initial", "used"):
        pass


def test_sync_of_the_whole_mount_is_not_passed_on(tmp_path: Path) -> None:
    """Should a kernel do it one day, docs/mount.md is to be changed."""
    with mounted(tmp_path, "jffs2", "--think", "none", "--blocks", "20") as mount:
        with (mount.place / "a").open("wb", buffering=0) as file:
            file.write(bytes(100))
            before = mount.stat()["totals"]["page_programs"]
            assert ctypes.CDLL(None).syncfs(file.fileno()) == 0
            assert mount.stat()["totals"]["page_programs"] == before
            os.fsync(file.fileno())
            assert mount.stat()["totals"]["page_programs"] > before
        with pytest.raises(OSError, match="not supported"):
            os.open(mount.place, os.O_TMPFILE | os.O_RDWR)


def test_what_the_program_asks_for_is_what_the_board_is_asked_for(tmp_path: Path, ffslab: Command) -> None:
    """The kernel asks for each name on a path; the simulated system has one call for what the program called once."""
    need_fuse()
    (tmp_path / "mount").mkdir()
    script = "import os\nos.makedirs('a/b')\nf = os.open('a/b/f', os.O_CREAT | os.O_RDWR)\n"
    script += "os.write(f, b'x' * 9000)\nos.pread(f, 100, 50)\nos.fsync(f)\nos.close(f)\nos.stat('a/b/f')\n"
    script += "os.rename('a/b/f', 'a/g')\nos.unlink('a/g')\n"
    (tmp_path / "script.py").write_text(script)
    command = ("python3", "-SE", "-c", f"import os; os.chdir('mount'); exec({script!r})")
    ran = ffslab("mount", "--fs", "jffs2", "--think", "none", "--out", "out", "mount", "--", *command)
    assert ran.returncode == 0, ran.stderr
    import pyarrow.parquet as pq

    rows = pq.read_table(tmp_path / "out" / "requests.parquet").to_pylist()
    calls = [(row["op"], row["file"], row["bytes"]) for row in rows if row["op"] != "stat"]
    assert calls == [
        ("mkdir", "a", 0),
        ("mkdir", "a/b", 0),
        ("open", "a/b/f", 0),
        ("write", "a/b/f", 9000),
        ("read", "a/b/f", 100),
        ("sync", "a/b/f", 0),
        ("close", "a/b/f", 0),
        ("rename", "a/b/f", 0),
        ("unlink", "a/g", 0),
    ]
    # chdir(2), os.makedirs looks for "a", stat(2) of the file.
    assert sum(row["op"] == "stat" for row in rows) == 3
    resolved = (tmp_path / "out" / "resolved.toml").read_text()
    assert 'think = "none"' in resolved and "partition_blocks = 400" in resolved


def test_think_time_passes_on_the_board_or_not(tmp_path: Path) -> None:
    for think, shortest_s, longest_s in (("real", 0.6, 30), ("none", 0, 0.5)):
        with mounted(tmp_path, "jffs2", "--initial", "fresh", "--think", think, "--blocks", "32") as mount:
            (mount.place / "f").touch()
            time.sleep(0.6)
            (mount.place / "g").touch()
            board_s = mount.stat()["totals"]["time_us"] / 1e6
            assert shortest_s <= board_s < longest_s


def test_background_work_goes_on_while_the_program_sleeps(tmp_path: Path) -> None:
    """UBI erases its blocks in a thread of its own, which has the CPU while the program sleeps."""
    erases = []
    for think in ("none", "real"):
        with mounted(tmp_path, "ubifs", "--initial", "fresh", "--kernel", "6.1", "--think", think) as mount:
            time.sleep(0.5)
            erases.append(mount.stat()["totals"]["erases"])
    assert erases[1] > erases[0]


def test_in_real_time_the_program_waits_as_on_the_board(tmp_path: Path) -> None:
    with mounted(tmp_path, "jffs2", "--realtime") as mount:
        begun_s = time.monotonic()
        with (mount.place / "f").open("wb", buffering=0) as file:
            for _ in range(20):
                file.write(bytes(65536))
        took_s = time.monotonic() - begun_s
    board_s = mount.variant["latency_us"]["sum"] / 1e6
    # 640 pages of 2 KiB take more than 0.2 s on any chip; the host needs a few milliseconds.
    assert board_s > 0.2
    assert took_s >= 0.9 * board_s


def test_questions_are_answered_while_programs_run(tmp_path: Path, ffslab: Command) -> None:
    with mounted(tmp_path, "yaffs2", "--blocks", "64") as mount:
        (mount.place / "f").write_bytes(os.urandom(500_000))
        now = mount.stat()
        assert (now["fs"], now["powered"]) == ("yaffs2", True)
        assert len(now["blocks"]["erases"]) == 64
        assert now["totals"]["page_programs"] >= 244
        assert sum(now["blocks"]["valid_B"]) >= 500_000
        text = ffslab("mount", "stat", "mount").stdout
        assert "page programs" in text and "erases per block" in text
        again = ffslab("mount", "--fs", "jffs2", "mount")
        assert again.returncode == 2 and "another ffslab mount" in again.stderr
    gone = ffslab("mount", "stat", "mount")
    assert gone.returncode == 2 and "no ffslab mount of yours is here" in gone.stderr


def test_a_watched_mount_is_shown_until_it_ends(tmp_path: Path) -> None:
    with mounted(tmp_path, "jffs2", "--blocks", "32") as mount:
        command = [str(FFSLAB), "mount", "stat", str(mount.place)]
        # How long the command takes to start on this machine now: it must have started before the mount ends.
        begun_s = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)
        starts_s = time.monotonic() - begun_s
        watching = subprocess.Popen([*command, "--watch"], stdout=subprocess.PIPE, text=True)
        time.sleep(1.5 + 3 * starts_s)
        assert watching.poll() is None
    shown, _ = watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert "virtual time, s" in shown


@pytest.mark.parametrize("fs", ANY_FILE_SYSTEM)
def test_a_checkpoint_is_mounted_again(fs: str, tmp_path: Path, ffslab: Command) -> None:
    content = os.urandom(300_000)
    image = tmp_path / "nand.bin"
    with mounted(tmp_path, fs, "--blocks", "96") as mount:
        (mount.place / "d").mkdir()
        (mount.place / "d" / "f").write_bytes(content)
        (mount.place / "l").symlink_to("d/f")
        saved = ffslab("mount", "checkpoint", "mount", "nand.bin", "--sync")
        assert saved.returncode == 0, saved.stderr
        (mount.place / "later").touch()
    assert image.stat().st_size == 96 * 64 * (2048 + 64)
    with mounted(tmp_path, fs, "--image", image) as mount:
        assert (mount.place / "l").read_bytes() == content
        assert not (mount.place / "later").exists()
        assert len(mount.stat()["blocks"]["erases"]) == 96
        (mount.place / "d" / "f").unlink()


def on_mount_of(folder: Path, ffslab: Command, *words: str | Path) -> str:
    """What `ls` finds on a mount, or why there is none."""
    (folder / "mount").mkdir(exist_ok=True)
    ran = ffslab("mount", "--no-results", "--json", *words, "mount", "--", "sh", "-c", "ls mount >found")
    if ran.returncode:
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran.stderr
        return ran.stderr
    return (folder / "found").read_text()


@pytest.mark.parametrize("arranged", ["dump.bin", "raw.bin"])
@pytest.mark.parametrize(
    ("fs", "stack"),
    [
        ("jffs2", {}),
        ("jffs2", {"endian": "big"}),
        ("yaffs2", {}),
        ("yaffs2", {"inband_tags": True}),
        ("ubifs", {}),
        ("ubifs", {"vid_hdr_offset_B": 2048}),
    ],
    ids=str,
)
def test_an_image_says_itself_what_it_is(
    fs: str, stack: dict[str, object], arranged: str, tmp_path: Path, ffslab: Command
) -> None:
    """File system, OOB areas, place of the tags, byte order, place of UBI's header."""
    need_fuse()
    image = tmp_path / "image"
    image.write_bytes(simulated(tmp_path, fs, 64, "1 MiB", **stack)[arranged])
    found = on_mount_of(tmp_path, ffslab, "--image", image)
    if fs == "yaffs2" and not stack and arranged == "raw.bin":
        assert "no file system is found in it" in found
    else:
        assert "hot" in found and "large" in found, found


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
@pytest.mark.parametrize("blocks", [pytest.param("99", marks=pytest.mark.long), "160"])
def test_an_image_that_holds_next_to_nothing_is_found_out_too(
    fs: str, blocks: str, tmp_path: Path, ffslab: Command
) -> None:
    """160 blocks with OOB areas are as long as 165 without."""
    with mounted(tmp_path, fs, "--think", "none", "--blocks", blocks, "--save", tmp_path / "nand.bin") as mount:
        (mount.place / "records").touch()
        os.truncate(mount.place / "records", 10 << 20)
    with mounted(tmp_path, fs, "--think", "none", "--image", tmp_path / "nand.bin") as mount:
        assert len(mount.stat()["blocks"]["erases"]) == int(blocks)
        assert (mount.place / "records").stat().st_size == 10 << 20


def test_an_image_of_another_chip_or_file_system_is_refused(tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "f").write_bytes(b"f" * 100_000)
    (tmp_path / "large").write_bytes(build(tmp_path / "source", Layout(page_B=4096, oob_B=128, tags_offset=4098)))
    (tmp_path / "text").write_bytes(b"text " * 100_000)
    assert "pages of 4096 + 128 B" in on_mount_of(tmp_path, ffslab, "--image", "large")
    assert "holds yaffs2, not ubifs" in on_mount_of(tmp_path, ffslab, "--image", "large", "--fs", "ubifs")
    assert "no file system is found in it" in on_mount_of(tmp_path, ffslab, "--image", "text")
    (tmp_path / "small").write_bytes(build(tmp_path / "source", Layout()))
    assert "OOB areas of 64 B" in on_mount_of(tmp_path, ffslab, "--image", "small", "--no-oob")
    assert "f" in on_mount_of(tmp_path, ffslab, "--image", "small", "--blocks", "64").split()


def test_a_checkpoint_onto_the_mount_itself_does_not_fit(tmp_path: Path, ffslab: Command) -> None:
    """The image is written when the simulation is free again to take it."""
    with mounted(tmp_path, "jffs2", "--blocks", "20", "--set", "compression=none") as mount:
        saved = ffslab("mount", "checkpoint", "mount", "mount/nand.bin")
        assert saved.returncode == 2
        assert "No space left" in saved.stderr, saved.stderr
        assert list(mount.place.iterdir()) == []


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_after_a_power_cut_what_was_synced_is_there(fs: str, tmp_path: Path) -> None:
    image = tmp_path / "cut.bin"
    synced: dict[str, bytes] = {}
    with mounted(tmp_path, fs, "--power-cut-after", "1500", "--save", image) as mount:
        with pytest.raises(OSError, match="Input/output error"):
            for number in range(1000):
                data = os.urandom(3000)
                with (mount.place / f"f{number}").open("wb", buffering=0) as file:
                    file.write(data)
                    os.fsync(file.fileno())
                synced[f"f{number}"] = data
        assert not mount.stat()["powered"]
        with pytest.raises(OSError, match="Input/output error"):
            (mount.place / "more").write_bytes(b"more")
    assert any("power was cut" in note for note in mount.variant["notes"])
    assert len(synced) > 20
    with mounted(tmp_path, fs, "--image", image) as mount:
        for name, data in synced.items():
            assert (mount.place / name).read_bytes() == data


def test_signals_end_a_mount_and_programs_may_finish(tmp_path: Path) -> None:
    with mounted(tmp_path, "jffs2", "--blocks", "32") as mount:
        with (mount.place / "f").open("w") as file:
            mount.process.send_signal(signal.SIGINT)
            assert mount.process.stderr is not None
            assert "programs still use the mount" in mount.process.stderr.readline()
            assert not os.path.ismount(mount.place)
            file.write("not lost")
        mount.process.wait(timeout=20)
    assert mount.variant["user_written_B"] == len("not lost")


def test_umount_ends_a_mount(tmp_path: Path) -> None:
    with mounted(tmp_path, "jffs2", "--blocks", "32") as mount:
        (mount.place / "f").write_text("x")
        subprocess.run(
            ["umount" if os.geteuid() == 0 else "fusermount3", *([] if os.geteuid() == 0 else ["-u"]), mount.place],
            check=True,
        )
        assert mount.process.wait(timeout=20) == 0


def test_a_read_only_mount_refuses_to_be_changed(tmp_path: Path) -> None:
    image = tmp_path / "nand.bin"
    with mounted(tmp_path, "ubifs", "--save", image) as mount:
        (mount.place / "f").write_text("text")
    with mounted(tmp_path, "ubifs", "--image", image, "-o", "ro") as mount:
        assert (mount.place / "f").read_text() == "text"
        with pytest.raises(OSError, match="Read-only"):
            (mount.place / "g").touch()


def test_the_command_decides_the_exit_code(tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    ran = ffslab("mount", "--no-results", "mount", "--", "sh", "-c", "exit 7")
    assert ran.returncode == 7, ran.stderr
    ran = ffslab("mount", "--no-results", "mount", "--", "no-such-program")
    assert ran.returncode == 2 and "no-such-program: cannot be run" in ran.stderr
    assert not os.path.ismount(tmp_path / "mount")


WRONG = {
    "no-folder": (["nowhere"], "nowhere: is not a folder"),
    "fs": (["--fs", "ext4", "mount"], "unknown fs `ext4`: known: jffs2, yaffs2, ubifs"),
    "blocks": (["--blocks", "0", "mount"], "--partition-blocks 0: must be 1 or more"),
    "set": (["--set", "compression", "mount"], "must be KEY=VALUE"),
    "unknown-key": (["--set", "compresion=zlib", "mount"], "compresion"),
    "image": (["--image", "none.bin", "mount"], "none.bin: cannot read the image"),
    "oob": (["--oob", "mount"], "name it with --image"),
    "power": (["--power-cut-after", "0", "mount"], "must be 1 or more"),
    "out": (["--no-results", "--out", "x", "mount"], "give one of them"),
    "option": (["-o", "nonsense", "mount"], "nonsense"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_line_and_mounts_nothing(name: str, tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "mount").mkdir()
    arguments, message = WRONG[name]
    ran = ffslab("mount", *arguments)
    assert ran.returncode == 2, ran.stdout
    assert message in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr
    assert not os.path.ismount(tmp_path / "mount")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2"])
def test_an_image_that_is_too_small_for_a_partition_says_how_to_make_it_larger(
    fs: str, tmp_path: Path, ffslab: Command
) -> None:
    """As mkfs.jffs2 and mkyaffs2image make them: without a block to spare."""
    need_fuse()
    stack = ffslab_stack(fs)
    oob = fs == "yaffs2"
    block_bytes = 64 * (2048 + (64 if oob else 0))
    (tmp_path / "small.bin").write_bytes(stack.image(oob=oob)[: 3 * block_bytes])
    (tmp_path / "mount").mkdir()
    ran = ffslab("mount", "--fs", fs, "--image", "small.bin", "mount", "--", "true")
    assert ran.returncode == 2
    assert (
        ran.stderr.startswith("ffslab: small.bin: ") and "the partition has 3. The partition is as large" in ran.stderr
    )
    assert "--blocks" in ran.stderr and ran.stderr.count("\n") == 1
    more = ("--blocks", "20", "--no-results")
    ran = ffslab("mount", "--fs", fs, "--image", "small.bin", *more, "mount", "--", "touch", "mount/b")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("fs", "blocks", "missing_blocks"), [("jffs2", 3, 2), ("yaffs2", 6, 3), ("ubifs", 1, 1), ("ubifs", 10, 17)]
)
def test_a_refusal_says_how_many_erase_blocks_are_missing(fs: str, blocks: int, missing_blocks: int) -> None:
    with pytest.raises(ffslab.InputError) as refused:
        ffslab.Stack(fs, board="omap3evm", partition_blocks=blocks).mount()
    assert refused.value.missing_blocks == missing_blocks, str(refused.value)


def test_only_what_is_too_small_is_told_to_be_larger(tmp_path: Path, ffslab: Command) -> None:
    """The reserve for bad blocks is wrong here, which is said in the words of a partition that is too small."""
    need_fuse()
    (tmp_path / "nand.bin").write_bytes(ffslab_stack("ubifs", 80).image())
    (tmp_path / "mount").mkdir()
    wrong = ("--set", "max_beb_per1024=900", "--image", "nand.bin")
    ran = ffslab("mount", "--fs", "ubifs", *wrong, "mount", "--", "true")
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "at most 768 erase blocks of 1024" in ran.stderr and "--blocks" not in ran.stderr


def ffslab_stack(fs: str, blocks: int = 20) -> ffslab.Stack:
    stack = ffslab.Stack(fs, board="omap3evm", partition_blocks=blocks)
    stack.mount()
    stack.write_file("a", b"content")
    stack.umount()
    return stack


def test_the_saved_image_is_read_by_the_other_verbs(tmp_path: Path) -> None:
    image = tmp_path / "nand.bin"
    with mounted(tmp_path, "jffs2", "--save", image, "--set", "compression=zlib") as mount:
        (mount.place / "f").write_bytes(b"text " * 10_000)
    tree = read_image(image, oob=True)
    assert tree.complaints == []
    assert [entry.data for entry in tree.entries if entry.path == "f"] == [b"text " * 10_000]
    assert mount.variant["stack"]["compression"] == "zlib"


def test_a_stack_in_python_and_a_mount_write_the_same(tmp_path: Path) -> None:
    """The same calls by two ways; the epoch is the same without think time."""
    stack = ffslab.Stack("jffs2", board="omap3evm", partition_blocks=32)
    stack.mount()
    stack.write_file("f", b"x" * 5000)
    stack.umount()
    with mounted(tmp_path, "jffs2", "--blocks", "32", "--think", "none", "--save", tmp_path / "nand.bin") as mount:
        subprocess.run(["dd", "if=/dev/zero", f"of={mount.place}/f", "bs=5000", "count=1", "status=none"], check=True)
    counters = stack.counters()
    assert mount.variant["totals"]["page_programs"] == counters["page_programs"]


def test_an_image_that_only_rtems_mounts_is_told_so(tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    image = made_by_mkfs_fat(tmp_path)
    (tmp_path / "mount").mkdir()
    ran = ffslab("mount", "--image", image, "mount")
    assert ran.returncode == 2
    assert "holds FAT, which Linux does not mount here: --system rtems --fs dosfs does" in ran.stderr


def test_a_file_system_that_no_folder_shows_is_refused_and_not_offered(tmp_path: Path, ffslab: Command) -> None:
    ran = ffslab("mount", "--fs", "squashfs", "--kernel", "6.1", str(tmp_path), "--", "true")
    assert (ran.returncode, "no folder shows it here: an experiment reads it" in ran.stderr) == (2, True), ran.stderr
    assert "squashfs" not in ffslab("mount", "--help").stdout
