"""EROFS on raw flash: its files are those of the image, reads are those of Linux, what is damaged is an error."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

import ffslab
from ffslab.images import read_image
from helpers.command import ROOT
from helpers.erofs_images import made
from helpers.jffs2_images import experiment, run, step
from helpers.squashfs_cases import FILES, put, read_what_can_be, simulated

DEVICES = ("ubiblock", "mtdblock")
OPTIONS = {
    "lz4hc": ("-zlz4hc",),
    "big": ("-zlz4hc", "-C65536"),
    "legacy": ("-zlz4", "-Elegacy-compress"),
    "tails": ("-zlz4hc", "-C16384", "-Eztailpacking"),
    "plain": (),
    "chunks": ("--chunksize=16384",),
}
# What 5.10 does not know.
LATER = ("big", "tails", "chunks")
# Page reads on ubiblock of an image that no compressor made, as Debian's 5.10.0-32, 6.1.0-57 and 6.12.117 (amd64) made
# them on nandsim; tests/referee/test_erofs_reads.py measures them.
PLAIN = {
    "mount": 2,
    "look up": 0,
    "list": 2,
    "stat": 120,
    "small": 0,
    "mid": 24,
    "exact": 132,
    "tail": 147,
    "noise": 199,
    "big": 743,
    "again": 0,
    "dropped": 744,
    "pages": 22,
    "sparse": 199,
    "link": 747,
    "files": 40,
}
# An image without a compressor's choices, so that every mkfs.erofs 1.5 makes it.
KEPT = ROOT / "experiments" / "mounts" / "root.erofs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put(tmp_path_factory.mktemp("files") / "files")


def stack(folder: Path, image: bytes, **keys: object) -> ffslab.Stack:
    """A mounted image."""
    (folder / "root.erofs").write_bytes(image)
    given = {"board": "zero-overhead", "kernel": "6.1", "partition_blocks": 64, "image": "root.erofs", **keys}
    mounted = ffslab.Stack("erofs", base_dir=folder, **given)  # type: ignore[arg-type]
    mounted.mount()
    return mounted


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12"])
@pytest.mark.parametrize("name", OPTIONS)
def test_files_are_those_of_the_folder(name: str, kernel: str, folder: Path, tmp_path: Path) -> None:
    image = made(folder, tmp_path / "made", *OPTIONS[name]).read_bytes()
    if kernel == "5.10" and name in LATER:
        with pytest.raises(ffslab.InputError, match="needs features that Linux 5"):
            stack(tmp_path, image, kernel=kernel)
        return
    root = stack(tmp_path, image, kernel=kernel, block_device=DEVICES[len(name) % 2])
    for path, content in FILES.items():
        assert root.read_file(path) == (FILES["big"] if isinstance(content, str) else content), path
    assert sorted(root.listdir("many")) == sorted(path[5:] for path in FILES if path.startswith("many/"))
    with pytest.raises(FileNotFoundError):
        root.stat("many/none")
    root.drop_caches()
    # From the end to the begin, so that windows begin within clusters.
    fd = root.open("big")
    big = FILES["big"]
    assert isinstance(big, bytes)
    for at in reversed(range(0, len(big), 50_000)):
        assert root.pread(fd, 50_000, at) == big[at : at + 50_000]
    # `extract` reads the same.
    tree = read_image(tmp_path / "made")
    assert tree.complaints == []
    assert {entry.path: entry.data for entry in tree.entries if entry.kind == "file"} == {
        path: content for path, content in FILES.items() if isinstance(content, bytes)
    }


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12"])
def test_it_reads_the_flash_as_a_kernel_does(kernel: str, folder: Path, tmp_path: Path) -> None:
    made(folder, tmp_path / "root.erofs")
    assert simulated(tmp_path / "root.erofs", "ubiblock", "erofs", kernel=kernel) == PLAIN


def damaged(draw: random.Random) -> bytes:
    """Bytes changed anywhere but in the superblock, whose check sum is taken away."""
    image = bytearray(KEPT.read_bytes())
    image[1024 + 8] &= 0xFE
    for _ in range(draw.choice((1, 3, 30))):
        image[draw.choice((draw.randrange(1152, 8192), draw.randrange(1152, len(image))))] = draw.randrange(256)
    return bytes(image)


def test_a_damaged_image_is_an_error_and_no_more(tmp_path: Path) -> None:
    """A mount is refused, or calls fail, or content is another; nothing hangs or ends the machine."""
    draw = random.Random(7)
    mounted = 0
    for _ in range(60):
        image = damaged(draw)
        (tmp_path / "damaged").write_bytes(image)
        read_image(tmp_path / "damaged")
        try:
            root = stack(tmp_path, image, block_device=draw.choice(DEVICES))
        except ffslab.InputError:
            continue
        mounted += 1
        read_what_can_be(root)
    assert mounted > 5


def with_field(at: int, value: bytes) -> bytes:
    """The image with another value in its superblock, and without the check sum."""
    image = bytearray(KEPT.read_bytes())
    image[1024 + 8] &= 0xFE
    image[1024 + at : 1024 + at + len(value)] = value
    return bytes(image)


@pytest.mark.parametrize(
    ("keys", "image", "told"),
    [
        ({"kernel": "5.15"}, None, 'kernel = "5.15": EROFS is read as Linux 5.10, 6.1 and 6.6 and later do'),
        ({"kernel": "5.10"}, with_field(80, struct.pack("<I", 0x3)), "features that Linux 5.10 has not (bits 0x2)"),
        ({"image": None}, None, "no EROFS begins on ubiblock"),
        ({}, b"no image" * 1000, "neither EROFS nor a UBI begins with its first byte"),
        ({}, with_field(12, b"\x0b"), "its blocks have 2048 B, and only those of 4096 are read"),
        ({}, with_field(80, struct.pack("<I", 0x1000)), "it needs features that Linux 6.1 has not (bits 0x1000)"),
        ({}, with_field(80, struct.pack("<IH", 3, 2)), "compressed with something else than lz4"),
        ({}, KEPT.read_bytes()[:1060] + b"\x0f" + KEPT.read_bytes()[1061:], "the check sum does not fit"),
        ({"block_device": "mtdblock"}, KEPT.read_bytes()[:20_000], "it ends after 20000 of the "),
    ],
)
def test_what_makes_no_sense_is_refused(
    keys: dict[str, object], image: bytes | None, told: str, tmp_path: Path
) -> None:
    (tmp_path / "root.erofs").write_bytes(KEPT.read_bytes() if image is None else image)
    given = {"board": "zero-overhead", "kernel": "6.1", "fs": "erofs", "image": "root.erofs", **keys}
    with pytest.raises(ffslab.InputError) as raised:
        run(experiment([step("mount")], **{key: value for key, value in given.items() if value is not None}), tmp_path)
    assert told in str(raised.value)
