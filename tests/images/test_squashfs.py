"""Images of squashfs: files are what was put in, whatever stands around them; damage is told of its file alone."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest

from ffslab.images import ImageTree, read_image, read_partitions
from ffslab.images.inspection import inspect_image
from helpers.command import Command
from helpers.dumps import contents, expected, saved, ubinized
from helpers.flipped_bits import jffs2
from helpers.jffs2_images import tool
from helpers.partition_tables import SECTOR_B, Held, gpt
from helpers.squashfs_images import COMPRESSORS, DIRECTORY, FILE, Image, squashfs

KIB = 1024
NOISE = random.Random(5)
FILES: dict[str, bytes | str] = {
    "etc/hostname": b"board\n",
    "etc/config/big": b"all work and no play " * 3000,
    "bin/noise": NOISE.randbytes(10_000),
    "empty": b"",
    "hole": bytes(20_000) + b"end",
    "etc/link": "hostname",
    **{f"many/{number}": b"%d" % number * 300 for number in range(400)},
}
CONTENT = {path: data for path, data in FILES.items() if isinstance(data, bytes)}
KEPT = sorted(Path(__file__).parent.glob("hostile/kept/squashfs-*.img"))
# What is in those, which mksquashfs 4.5.1 has made.
OF_MKSQUASHFS = {
    "etc/hostname": b"board\n",
    "etc/config/big": b"all work and no play " * 1000,
    "bin/app": random.Random(3).randbytes(500),
    "bin/again": random.Random(3).randbytes(500),
    "empty": b"",
    "hole": bytes(20_000) + b"end",
}


def trees(path: Path) -> dict[str, ImageTree | None]:
    return {part.name: tree for part, tree in read_partitions(path)}


def held(tree: ImageTree | None) -> dict[str, bytes]:
    assert tree is not None
    assert tree.complaints == []
    return {entry.path: entry.data for entry in tree.entries if entry.kind == "file"}


@pytest.mark.parametrize("compressor", ["gzip", "xz"])
@pytest.mark.parametrize("block_B", [4096, 131_072])
def test_all_files_are_those_that_were_put_in(tmp_path: Path, compressor: str, block_B: int) -> None:  # noqa: N803
    tree = read_image(saved(tmp_path, squashfs(FILES, compressor, block_B)))
    assert held(tree) == CONTENT
    links = [(entry.path, entry.data) for entry in tree.entries if entry.kind == "symlink"]
    assert links == [("etc/link", b"hostname")]
    assert {entry.owner for entry in tree.entries} == {(1000, 1000)}
    assert [entry.path for entry in tree.entries[:3]] == ["", "bin", "bin/noise"]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_mksquashfs_makes_is_read_with_each_compressor(path: Path) -> None:
    tree = read_image(path)
    assert held(tree) == OF_MKSQUASHFS
    by_path = {entry.path: entry for entry in tree.entries}
    assert by_path["bin/app"].ino == by_path["bin/again"].ino
    assert by_path["etc/link"].data == b"hostname"


def test_a_superblock_is_told(tmp_path: Path) -> None:
    facts = inspect_image(saved(tmp_path, squashfs(FILES, "xz")))
    told = dict(facts["superblock"])
    assert (told["compressor"], told["block size, B"], told["version"]) == ("xz", 4096, "4.0")
    assert facts["damage_count"] == 0
    assert any('an experiment with fs = "squashfs" says it' in note for note in facts["notes"])


def test_a_kernel_before_it_is_passed_over(tmp_path: Path) -> None:
    path = saved(tmp_path, NOISE.randbytes(5000) + squashfs(FILES))
    assert contents(path) == CONTENT


def test_both_copies_of_a_system_and_what_stands_between_are_partitions(tmp_path: Path) -> None:
    first, second = squashfs(FILES), squashfs({"version": b"2"})
    image = first.ljust(512 * KIB, b"\xff") + NOISE.randbytes(64 * KIB) + second + b"\xff" * 9000
    found = trees(saved(tmp_path, image))
    assert list(found) == ["squashfs", "unknown", "squashfs-2"]
    assert held(found["squashfs"]) == CONTENT
    assert held(found["squashfs-2"]) == {"version": b"2"}


def test_the_overlay_behind_it_is_a_partition_of_its_own(tmp_path: Path) -> None:
    """As OpenWrt lays a NOR chip out: boot loader and kernel, squashfs, JFFS2 at the next erase block."""
    overlay = jffs2(tmp_path)
    image = (NOISE.randbytes(70_000) + squashfs(FILES)).ljust(256 * KIB, b"\xff") + overlay.ljust(256 * KIB, b"\xff")
    found = trees(saved(tmp_path, image))
    assert list(found) == ["unknown", "squashfs", "jffs2"]
    assert held(found["squashfs"]) == CONTENT
    assert held(found["jffs2"]) == expected(tmp_path)


def test_it_is_found_in_a_partition_and_in_a_volume_of_ubi(tmp_path: Path) -> None:
    image = squashfs(FILES)
    # Partitions are whole sectors.
    image = image.ljust(-(-len(image) // SECTOR_B) * SECTOR_B, b"\0")
    table = gpt([Held("rom", 128 * KIB, image)], 1 << 20)
    assert contents(saved(tmp_path, table)) == CONTENT
    (tmp_path / "rom").write_bytes(image)
    (tmp_path / "kernel").write_bytes(NOISE.randbytes(9000))
    volumes = ubinized(tmp_path, {"kernel": tmp_path / "kernel", "rom": tmp_path / "rom"})
    found = contents(saved(tmp_path, volumes))
    assert found == {
        "kernel": (tmp_path / "kernel").read_bytes(),
        **{f"rom/{name}": data for name, data in CONTENT.items()},
    }
    assert contents(saved(tmp_path, volumes), volume="rom") == CONTENT


def test_one_that_is_a_file_of_something_else_is_no_partition(tmp_path: Path) -> None:
    rom = tmp_path / "files" / "rom"
    rom.parent.mkdir()
    rom.write_bytes(squashfs(FILES))
    assert contents(saved(tmp_path, ubinized(tmp_path, {"rom": rom}))) == CONTENT, "a volume that is alone"
    image = tmp_path / "image"
    options = ("-e", "8KiB", "-m", "none", "-l", "-p")
    subprocess.run([tool("mkfs.jffs2"), "-d", rom.parent, "-o", image, *options], check=True, capture_output=True)
    assert contents(image) == {"rom": rom.read_bytes()}
    image.write_bytes(bytes(2 << 20))
    subprocess.run([tool("mkfs.fat"), image], check=True, capture_output=True)
    subprocess.run([tool("mcopy"), "-i", image, rom, "::"], check=True, capture_output=True)
    assert contents(image) == {"rom": rom.read_bytes()}


@pytest.mark.parametrize("before_B", [64, 5001, 70_003])
def test_it_is_found_behind_anything(tmp_path: Path, before_B: int) -> None:  # noqa: N803
    assert contents(saved(tmp_path, random.Random(2).randbytes(before_B) + squashfs(FILES))) == CONTENT


def test_damage_is_told_of_the_files_that_it_hits(tmp_path: Path, ffslab: Command) -> None:
    image = bytearray(squashfs({"a": NOISE.randbytes(4000) + b"a" * 9000, "b": b"b" * 9000}))
    # The first block of the first file, which stands behind the superblock.
    image[96 + 20 : 96 + 40] = bytes(20)
    path = saved(tmp_path, image)
    run = ffslab("extract", path, tmp_path / "out")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "/a: at offset 0: a block of data that does not expand (offset 0x60)" in run.stderr
    assert (tmp_path / "out" / "b").read_bytes() == b"b" * 9000
    assert not (tmp_path / "out" / "a").exists()


def test_a_table_that_would_end_behind_the_image_is_damage(tmp_path: Path, ffslab: Command) -> None:
    """No damage was told of 4,294,967,295 fragments."""
    image = bytearray(squashfs(FILES))
    struct.pack_into("<I", image, 16, 0xFFFFFFFF)
    run = ffslab("inspect", saved(tmp_path, image))
    assert (run.returncode, "4294967295 fragments, and their table would end" in run.stdout) == (1, True), run.stdout


def test_what_is_not_read_is_named(tmp_path: Path, ffslab: Command) -> None:
    def says(image: bytes | bytearray) -> tuple[int, str]:
        run = ffslab("extract", saved(tmp_path, image))
        return run.returncode, run.stderr

    image = squashfs(FILES, "unknown")
    code, text = says(image)
    assert code == 1
    assert "its compressor has the number 9, which is not known" in text
    old = bytearray(image)
    struct.pack_into("<HH", old, 28, 3, 1)
    code, text = says(old)
    assert (code, "it is squashfs 3.1" in text) == (2, True)
    code, text = says(squashfs(FILES)[:-3000])
    assert code == 1
    assert "B that its superblock says" in text


def test_directories_that_cannot_be_lead_nowhere(tmp_path: Path) -> None:
    image = Image("gzip", 4096)
    file = image.file(b"x")
    here = image.inodes.place()
    loop = image.directory([(b"self", DIRECTORY, here), (b"..", FILE, file), (b"a/b", FILE, file), (b"ok", FILE, file)])
    tree = read_image(saved(tmp_path, image.finish(loop)))
    assert [entry.path for entry in tree.entries] == ["", "ok", "self"]
    assert len(tree.complaints) == 3


@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_whatever_is_changed_is_no_traceback(tmp_path: Path, compressor: str) -> None:
    draw = random.Random(compressor)
    image = squashfs({**FILES, "many/1": b"1"}, compressor)
    for _ in range(40):
        broken = bytearray(image)
        for _ in range(draw.randrange(1, 6)):
            # Most of it in the superblock and the tables, where it does most.
            at = draw.randrange(96) if draw.random() < 0.3 else draw.randrange(len(image) * 3 // 4, len(image))
            broken[at] ^= 1 << draw.randrange(8)
        try:
            read_partitions(saved(tmp_path, broken))
        except ValueError as error:
            assert "\n" not in str(error)
