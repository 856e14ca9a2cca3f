"""JFFS2 images both ways: those of Debian's mkfs.jffs2 are read here, those written here are read by others.

The independent readers and their limits:

* `jffs2dump` of mtd-utils checks the CRCs of every node, data and names included; it knows no files.
* `jefferson` extracts files. It takes the newest name of each inode and no deletions: of hard links it shows one, a
  deleted file comes back while its nodes are on flash. It ignores file sizes, so a truncated file is too long, and it
  keeps neither owners nor times, nor FIFOs. It guesses the byte order from the first two bytes of the image.
"""

from __future__ import annotations

import os
import random
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.images import ImageTree, read_image
from helpers.command import Command
from helpers.jffs2_images import (
    DEVICES,
    assert_same,
    busy_steps,
    contents,
    expected_tree,
    experiment,
    from_host,
    jefferson,
    make_tree,
    mkfs,
    run,
    step,
    text,
    tool,
    wrong_crcs,
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("tree") / "root")


@pytest.fixture(scope="module")
def device_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("devices") / "devices"
    path.write_text(DEVICES, encoding="utf-8")
    return path


# ---- mkfs.jffs2 -> ffslab -----------------------------------------------------------------------------------

VARIANTS = {
    "nand": (["-n", "-l"], 128),
    "nor": (["-l"], 64),
    "nor-small-blocks": (["-l"], 16),
    "nand-small-blocks": (["-n", "-l"], 16),
    "padded-to-a-size": (["-n", "-l", "--pad=0x400000"], 128),
    "padded-to-a-block": (["-l", "--pad"], 64),
    "wide-clean-marker": (["-l", "-c", "64"], 64),
    "nodes-of-8-KiB": (["-n", "-l", "-s", "8192"], 128),
    "nodes-of-1-KiB": (["-n", "-l", "-s", "1024"], 128),
    "big-endian": (["-n", "-b"], 128),
    "big-endian-nor": (["-b"], 64),
    "uncompressed": (["-n", "-l", "-m", "none"], 128),
    "zlib": (["-n", "-l", "-x", "rtime", "-X", "zlib"], 128),
    "rtime": (["-n", "-l", "-x", "zlib", "-X", "rtime"], 128),
    "lzo": (["-n", "-l", "-x", "zlib", "-x", "rtime", "-X", "lzo"], 128),
    "smallest": (["-n", "-l", "-m", "size", "-X", "lzo"], 128),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_image_of_mkfs_is_read_identical(variant: str, tree: Path, device_table: Path, tmp_path: Path) -> None:
    options, block_KiB = VARIANTS[variant]  # noqa: N806
    image = mkfs(tree, device_table, tmp_path / "image", options, block_KiB)
    read = read_image(image, block_KiB=block_KiB)
    assert_same(read, expected_tree(tree))
    links = {entry.path: (entry.ino, entry.links) for entry in read.entries}
    assert links["names/hard link"] == links["text"]
    assert links["text"][1] == 2


def test_an_image_is_extracted_identical(tree: Path, device_table: Path, tmp_path: Path, ffslab: Command) -> None:
    image = mkfs(tree, device_table, tmp_path / "image", ["-n", "-l"], 128)
    ran = ffslab("extract", image, tmp_path / "out")
    expected = expected_tree(tree)
    if os.geteuid() == 0:
        assert (ran.returncode, ran.stderr) == (0, "")
        assert "JFFS2, little-endian" in ran.stdout
    else:
        # Device files are for root; everything else is there.
        assert ran.returncode == 1
        assert all("only root can make device files" in line for line in ran.stderr.splitlines())
        expected = {path: seen for path, seen in expected.items() if "device" not in seen.kind}
    found = {path.relative_to(tmp_path / "out").as_posix(): path for path in (tmp_path / "out").rglob("*")}
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        info = found[name].lstat()
        if wanted.kind in ("file", "symlink", "directory"):
            assert from_host(found[name]).data == wanted.data, name
            assert wanted.modified_s in (None, int(info.st_mtime)), name
        else:
            assert info.st_rdev == wanted.device, name
        if wanted.kind != "symlink" and os.geteuid() == 0:
            assert (stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid) == (wanted.permissions, *wanted.owner), name
    assert found["text"].samefile(found["names/hard link"])


def test_the_list_shows_what_is_in_an_image(tree: Path, device_table: Path, tmp_path: Path, ffslab: Command) -> None:
    image = mkfs(tree, device_table, tmp_path / "image", ["-b"], 64)
    ran = ffslab("extract", image, "--block-KiB", "64")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"^crw--w----   1     5     6        5,1 .* /dev/console$", ran.stdout, re.MULTILINE)
    assert re.search(r"^lrwxrwxrwx .* /relative -> etc/fstab$", ran.stdout, re.MULTILINE)
    assert "-rwsr-x---   1  1000  1001         10" in ran.stdout


def test_erase_blocks_of_the_wrong_size_are_not_passed_over_in_silence(
    tree: Path, device_table: Path, tmp_path: Path, ffslab: Command
) -> None:
    image = mkfs(tree, device_table, tmp_path / "image", ["-n", "-l"], 64)
    ran = ffslab("extract", image, tmp_path / "out", "--block-KiB", "16")
    assert ran.returncode == 1
    assert "crosses the end of its erase block of 16 KiB; blocks of" in ran.stderr.splitlines()[0]


def test_what_is_no_image_is_refused(tmp_path: Path, ffslab: Command) -> None:
    nothing_known = (
        "nothing is known in it: no JFFS2 node, no YAFFS2 object header, no UBI header, no FAT boot sector, "
        "no RFS superblock, no superblock of littlefs, no SPIFFS magic number, no squashfs superblock, "
        "no EROFS superblock, no page of ESP-IDF's NVS, no sector of Zephyr's NVS, no sector of Zephyr's ZMS, "
        "no sector of Zephyr's FCB; it holds text; "
        "the commands file and binwalk know other formats"
    )
    for name, content, told in (
        ("nothing", b"", "the image is empty"),
        ("erased", b"\xff" * 300_000, "no file system that is read here: erased flash: all of its 300000 B are 0xFF"),
        ("text", text(300_000, 1), nothing_known),
    ):
        (tmp_path / name).write_bytes(content)
        ran = ffslab("extract", name, "out")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr == f"ffslab: {name}: {told}\n"
        assert not (tmp_path / "out").exists()
    ran = ffslab("extract", "missing", "out")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)


# ---- ffslab -> others ---------------------------------------------------------------------------------------


def test_jffs2dump_notices_a_wrong_byte(tree: Path, device_table: Path, tmp_path: Path) -> None:
    image = mkfs(tree, device_table, tmp_path / "image", ["-n", "-l"], 128)
    assert wrong_crcs(image) == []
    data = bytearray(image.read_bytes())
    data[data.index(b"/dev/root / jffs2")] ^= 1
    image.write_bytes(data)
    assert [line.split(" at ")[0] for line in wrong_crcs(image)] == ["Wrong data_crc"]
    # JFFS2 drops the node, it was the only one of its inode.
    damage, lost = read_image(image).complaints
    assert damage.endswith("an inode node whose data have a wrong CRC: files or parts of them may be missing")
    told = "/etc/fstab: EIO: input/output error: names lead to an inode of which no sound node is left (inode "
    assert lost.startswith(told)


@pytest.mark.parametrize("compression", ["none", "zlib", "rtime", "lzo", "size"])
def test_an_image_of_ffslab_is_read_identical_by_others(compression: str, tmp_path: Path) -> None:
    tool("jffs2dump")
    source = contents(tmp_path / "contents")
    done = run(experiment(busy_steps(), compression=compression), tmp_path)
    copies = [row for row in done.summary["variants"][0]["by_cause"] if row["reason"] == "gc copy"]
    assert sum(row["page_programs"] for row in copies) > 100, "garbage should have been collected"
    raw, dump = tmp_path / "raw.bin", tmp_path / "dump.bin"
    raw.write_bytes(done.images["raw.bin"])
    dump.write_bytes(done.images["dump.bin"])
    assert (raw.stat().st_size, dump.stat().st_size) == (64 * 64 * 2048, 64 * 64 * 2112)
    assert wrong_crcs(raw) == []

    ours = {entry.path: entry for entry in read_image(raw).entries if entry.path}
    with_oob = {entry.path: entry for entry in read_image(dump, oob=True).entries if entry.path}
    assert ours == with_oob
    assert ours["target"].size_B == 1 << 20
    copied = {path.relative_to(source).as_posix(): path for path in source.rglob("*")}
    renamed = {f"dir0/file{i:02}": f"dir0/renamed{i:02}" for i in (5, 10)}
    deleted = {f"dir1/file{i:02}" for i in (1, 6, 11)}
    assert ours.keys() == {renamed.get(name, name) for name in copied.keys() - deleted} | {"target"}
    for name in copied.keys() - deleted:
        assert ours[renamed.get(name, name)].data == from_host(copied[name]).data, name

    theirs = jefferson(raw, tmp_path / "theirs")
    assert theirs.keys() - ours.keys() <= deleted, "jefferson shows what never was there"
    assert ours.keys() <= theirs.keys()
    for name, entry in ours.items():
        seen = from_host(theirs[name])
        assert (seen.kind, seen.data) == (entry.kind, entry.data), name


def test_an_image_of_mkfs_goes_on_living_in_ffslab(tree: Path, device_table: Path, tmp_path: Path) -> None:
    """Small nodes, in-band clean markers and both byte orders survive writes and garbage collection.

    Nodes of more than 4 KiB would not: Linux takes a data node that crosses a page's end for a hole when it cannot copy
    it as it is (`fs/jffs2/gc.c`), and so does ffslab.
    """
    for options, endian in ((["-n", "-s", "2048"], "little"), (["-s", "1024"], "big"), ([], "little")):
        mkfs(tree, device_table, tmp_path / "image", [*options, "-l" if endian == "little" else "-b"], 128)
        steps = [
            step("mount"),
            step("create", file="target", bytes="2 MiB"),
            step("open", file="target", flags=["wronly"]),
            step("requests", file="target", op="write", pattern="random", request_B="4 KiB", count=6000, seed=5),
            step("requests", file="target", op="write", pattern="sequential", request_B="4 KiB", count=512),
            step("close", file="target"),
            step("sleep", us="60 s"),
            step("umount"),
            step("mount"),
            step("umount"),
            step("save_image", file="raw.bin"),
        ]
        stack = {"image": "image", "endian": endian, "compression": "zlib"}
        done = run(experiment(steps, partition_blocks=48, **stack), tmp_path)
        variant = done.summary["variants"][0]
        assert variant["totals"]["erases"] > 96, "too little was erased: two times the blocks are wanted"
        raw = tmp_path / "raw.bin"
        raw.write_bytes(done.images["raw.bin"])
        assert wrong_crcs(raw, endian == "big") == []
        read = read_image(raw)
        rest = ImageTree([entry for entry in read.entries if entry.path != "target"], read.notes)
        assert_same(rest, expected_tree(tree))


def test_summaries_of_sumtool_are_understood(tree: Path, device_table: Path, tmp_path: Path) -> None:
    plain = mkfs(tree, device_table, tmp_path / "plain", ["-n", "-l"], 128)
    summed = tmp_path / "summed"
    command: list[str | Path] = [tool("sumtool"), "-n", "-l", "-e", "128KiB", "-i", plain, "-o", summed]
    subprocess.run(command, check=True, capture_output=True)
    assert_same(read_image(summed), expected_tree(tree))
    steps = [step("mount"), step("stat", file="etc/fstab"), step("umount"), step("save_image", file="raw.bin")]
    reads = {}
    for summary in (False, True):
        done = run(experiment(steps, image="summed", summary=summary), tmp_path)
        reads[summary] = done.summary["variants"][0]["steps"][0]["counts"]["page_reads"]
        (tmp_path / "raw.bin").write_bytes(done.images["raw.bin"])
        assert_same(read_image(tmp_path / "raw.bin"), expected_tree(tree))
    assert reads[True] < reads[False] / 2, "a mount with summaries reads little of the full blocks"


def test_images_of_a_run_are_in_its_results(tmp_path: Path, ffslab: Command) -> None:
    steps = [step("mount"), step("create", file="a", bytes=5000), step("umount"), step("save_image", file="nand.bin")]
    text = experiment(steps, partition_blocks=8) + "[axes]\nsummary = [false, true]\n"
    (tmp_path / "two.toml").write_text(text, encoding="utf-8")
    for _ in range(2):  # the second replaces the results of the first
        ran = ffslab("run", "two.toml")
        assert (ran.returncode, ran.stderr) == (0, "")
    for number in (1, 2):
        image = tmp_path / "results" / "two" / "images" / str(number) / "nand.bin"
        assert [entry.path for entry in read_image(image).entries] == ["", "a"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"image": "missing"}, "missing: cannot read the image"),
        ({"image": "small", "partition_blocks": 8}, None),
        ({"image": "large"}, "do not fit"),
        ({"image": "odd", "image_oob": True}, "not a whole number of pages"),
        ({"image_oob": True}, "image_oob is set, but there is no image"),
    ],
)
def test_images_that_cannot_be_loaded_are_refused(change: dict[str, Any], told: str | None, tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"\xff" * 100)
    (tmp_path / "large").write_bytes(b"\xff" * (64 * 131072 + 1))
    (tmp_path / "odd").write_bytes(b"\xff" * 2113)
    text = experiment([step("mount")], **change)
    if told is None:
        run(text, tmp_path)
        return
    with pytest.raises(ffslab.InputError, match=re.escape(told)) as caught:
        run(text, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([step("save_image", file="a/b")], "file must be a plain name without folders"),
        ([step("save_image", file="a"), step("save_image", file="a")], 'two save_image steps have the file "a"'),
        ([step("mount"), step("copy_in", **{"from": "nowhere"})], "nowhere: cannot be read"),
    ],
)
def test_steps_that_cannot_work_are_refused(steps: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(ffslab.InputError, match=re.escape(told)):
        run(experiment(steps), tmp_path)


# ---- sizes --------------------------------------------------------------------------------------------------

NODE = re.compile(r"Inode +node at 0x([0-9a-f]+), .*#ino +(\d+),.*csize +(\d+), dsize +(\d+), offset +(\d+)")


def node_sizes(image: Path) -> dict[tuple[int, int], int]:
    """Stored bytes of each node with a whole page of a file, by inode and offset.

    Nodes near the end of their erase block are left out: the compressor gets its input in pieces there.
    """
    dump = subprocess.run([tool("jffs2dump"), "-l", "-c", image], check=True, capture_output=True, text=True)
    sizes = {}
    for match in filter(None, map(NODE.search, dump.stdout.splitlines())):
        room = (128 << 10) - int(match[1], 16) % (128 << 10)
        ino, stored, plain, offset = map(int, match.groups()[1:])
        if plain == 4096 and offset % 4096 == 0 and room > 4096 + 100:
            sizes[ino, offset] = stored
    return sizes


@pytest.mark.parametrize("compression", ["zlib", "rtime"])
def test_pages_shrink_to_the_same_size_as_in_mkfs(compression: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    draw = random.Random(5)
    repeats = b"".join(draw.randbytes(16) * draw.randint(1, 40) for _ in range(600))
    for name, content in (("text", text(400_000, 9)), ("repeats", repeats), ("zeros", bytes(40_000))):
        (source / name).write_bytes(content)
    other = {"zlib": "rtime", "rtime": "zlib"}[compression]
    command: list[str | Path] = [tool("mkfs.jffs2"), "-n", "-l", "-e", "128KiB", "-d", source, "-o", tmp_path / "mkfs"]
    subprocess.run([*command, "-x", other], check=True, capture_output=True)
    steps = [step("mount"), step("copy_in", **{"from": "source"}), step("umount"), step("save_image", file="raw.bin")]
    (tmp_path / "ours").write_bytes(run(experiment(steps, compression=compression), tmp_path).images["raw.bin"])

    def by_name(image: Path) -> dict[tuple[str, int], int]:
        names = {entry.ino: entry.path for entry in read_image(image).entries}
        return {(names[ino], offset): stored for (ino, offset), stored in node_sizes(image).items()}

    ours, theirs = by_name(tmp_path / "ours"), by_name(tmp_path / "mkfs")
    # Where an erase block ends, a page is split, and not at the same place in both.
    both = ours.keys() & theirs.keys()
    assert len(both) > 120
    # mkfs.jffs2 links the zlib of today, which finds the last bytes of a page of zeros before a flush; the older one in
    # the kernel does not (tests/referee/test_compressors.py compares its bytes).
    more = {"zlib": {"zeros": 1}, "rtime": {}}[compression]
    assert {key: (ours[key], theirs[key]) for key in both if ours[key] != theirs[key] + more.get(key[0], 0)} == {}
