"""squashfs on raw flash: its files are those of the image, nothing writes it, it reads the flash as real kernels do."""

from __future__ import annotations

import errno
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import ffslab
from helpers.jffs2_images import experiment, run, step, tool
from helpers.squashfs_cases import BLOCK_B, FILES, read_what_can_be, simulated
from helpers.squashfs_images import squashfs

DEVICES = ("ubiblock", "mtdblock")
# Debian's 5.10.0-32, 6.1.0-57 and 6.12.117 (amd64), as tests/referee/test_squashfs_reads.py runs them.
KERNELS = ("5.10", "6.1", "6.12")
# Page reads of the mount and of each case of the image that `squashfs` makes, as all of them made them on nandsim.
KNOWN: dict[str, dict[str, int]] = {
    "ubiblock": {
        "mount": 10,
        "look up": 6,
        "list": 0,
        "stat": 0,
        "small": 43,
        "mid": 0,
        "exact": 132,
        "tail": 132,
        "noise": 264,
        "big": 726,
        "again": 0,
        "dropped": 726,
        "pages": 528,
        "sparse": 66,
        "link": 726,
        "files": 0,
    },
    "mtdblock": {
        "mount": 26,
        "look up": 16,
        "list": 0,
        "stat": 0,
        "small": 172,
        "mid": 0,
        "exact": 516,
        "tail": 516,
        "noise": 1030,
        "big": 2838,
        "again": 0,
        "dropped": 2838,
        "pages": 2064,
        "sparse": 258,
        "link": 2838,
        "files": 0,
    },
}

# Likewise on ubiblock, of an image without fragments: what differs, and a file that does not, by 5.10, 6.1 and 6.12.
ENDS = {
    "mid": (25, 25, 25),
    "tail": (151, 170, 151),
    "noise": (202, 206, 202),
    "big": (756, 786, 756),
    "dropped": (756, 786, 756),
    "link": (756, 786, 756),
}


def stack(folder: Path, image: bytes, **keys: object) -> ffslab.Stack:
    """A mounted image."""
    (folder / "root.sqfs").write_bytes(image)
    given = {"board": "zero-overhead", "kernel": "6.1", "partition_blocks": 64, "image": "root.sqfs", **keys}
    made = ffslab.Stack("squashfs", base_dir=folder, **given)  # type: ignore[arg-type]
    made.mount()
    return made


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("compressor", "block_B"), [("none", BLOCK_B), ("gzip", 4096), ("gzip", BLOCK_B)])
def test_files_are_those_of_the_image(device: str, compressor: str, block_B: int, tmp_path: Path) -> None:  # noqa: N803
    root = stack(tmp_path, squashfs(FILES, compressor, block_B), block_device=device)
    for path, content in FILES.items():
        assert root.read_file(path) == (FILES["big"] if isinstance(content, str) else content), path
    assert sorted(root.listdir("many")) == sorted(path[5:] for path in FILES if path.startswith("many/"))
    with pytest.raises(FileNotFoundError):
        root.stat("many/none")
    root.drop_caches()
    # From the end to the begin, so that read-ahead is of no use.
    fd = root.open("big")
    big = FILES["big"]
    assert isinstance(big, bytes)
    for at in reversed(range(0, len(big), 50_000)):
        assert root.pread(fd, 50_000, at) == big[at : at + 50_000]


def test_nothing_is_written(tmp_path: Path) -> None:
    root = stack(tmp_path, squashfs(FILES))
    held = root.image()
    calls: list[Callable[[], object]] = [
        lambda: root.write_file("new", b"x"),
        lambda: root.open("small", "rdwr"),
        lambda: root.unlink("small"),
        lambda: root.rename("small", "other"),
        lambda: root.mkdir("new"),
    ]
    for call in calls:
        with pytest.raises(OSError) as raised:
            call()
        assert raised.value.errno == errno.EROFS
    root.sync()
    root.mount("remount", "rw")
    with pytest.raises(OSError) as raised:
        root.mkdir("new")
    assert raised.value.errno == errno.EROFS
    assert root.image() == held


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("device", KNOWN)
def test_it_reads_the_flash_as_a_kernel_does(device: str, kernel: str, tmp_path: Path) -> None:
    (tmp_path / "root.sqfs").write_bytes(squashfs(FILES, "none", BLOCK_B))
    assert simulated(tmp_path / "root.sqfs", device, kernel=kernel) == KNOWN[device]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_shorter_last_block_is_read_as_often_as_by_a_kernel(kernel: str, tmp_path: Path) -> None:
    """6.1 reads it twice, where a window begins before it."""
    (tmp_path / "root.sqfs").write_bytes(squashfs(FILES, "none", BLOCK_B, packs_ends=False))
    found = simulated(tmp_path / "root.sqfs", "ubiblock", kernel=kernel)
    assert {name: found[name] for name in ENDS} == {
        name: counts[KERNELS.index(kernel)] for name, counts in ENDS.items()
    }


def test_a_static_volume_of_an_image_of_ubi_is_checked_once(tmp_path: Path) -> None:
    """As `ubi_open_volume` does."""
    image = squashfs({"a": b"x" * 300_000}, "none")
    # As long as mksquashfs makes it: ubiblock leaves out what is no whole sector at the end of a static volume.
    (tmp_path / "root.sqfs").write_bytes(image.ljust(-(-len(image) // 4096) * 4096, b"\0"))
    volume = "[root]\nmode=ubi\nimage=root.sqfs\nvol_id=0\nvol_type=static\nvol_name=root\n"
    (tmp_path / "root.ini").write_text(volume, encoding="utf-8")
    command = [tool("ubinize"), "-o", "root.ubi", "-m", "2048", "-p", "128KiB", "root.ini"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    steps = [step("ubi_attach"), step("sleep", us="1 s"), step("mount"), step("umount"), step("mount")]
    keys = {"board": "zero-overhead", "kernel": "6.1", "fs": "squashfs", "max_beb_per1024": 2, "image": "root.ubi"}
    (variant,) = run(experiment(steps, **keys), tmp_path).summary["variants"]
    counts = [found["counts"]["page_reads"] for found in variant["steps"]]
    pages = -(-(tmp_path / "root.sqfs").stat().st_size // 2048)
    # Its check sums stand in the header of each LEB, which has 62 pages of data.
    assert counts[2] == counts[4] + pages + -(-pages // 62)
    assert "of a UBI, which mtdblock knows nothing of" in refusal(tmp_path, image="root.ubi", block_device="mtdblock")


def refusal(folder: Path, **keys: object) -> str:
    (folder / "root.sqfs").write_bytes(squashfs({"a": b"x"}))
    (folder / "root.toml").write_bytes(b"no image")
    (folder / "cut").write_bytes(squashfs({"a": b"x" * 9000}, "none")[:5000])
    given = {"board": "zero-overhead", "kernel": "6.1", "fs": "squashfs", "image": "root.sqfs", **keys}
    with pytest.raises(ffslab.InputError) as raised:
        run(experiment([step("mount")], **{key: value for key, value in given.items() if value is not None}), folder)
    return str(raised.value)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"kernel": "5.4"}, 'kernel = "5.4": squashfs is read as Linux 5.8 to 5.17 and 6.0 and later do'),
        (
            {"block_device": "mtdblock", "fastmap": True},
            "fastmap is UBI's, and mtdblock stands on the partition itself",
        ),
        ({"block_device": "ubiblok"}, "ubiblock"),
        ({"fs": "jffs2", "block_device": "ubiblock"}, "block_device"),
        ({"compression": "zlib"}, "compression"),
        ({"image": None}, "no squashfs begins on ubiblock"),
        ({"partition_blocks": 3}, "not enough erase blocks"),
        ({"image": "root.toml"}, "neither squashfs nor a UBI begins with its first byte"),
        ({"image": "cut"}, "it ends after 5000 of the "),
        ({"image_offset_B": 512}, "leave the other keys of the image out"),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, object], told: str, tmp_path: Path) -> None:
    assert told in refusal(tmp_path, **keys)


def test_a_volume_of_another_mount_takes_no_image(tmp_path: Path) -> None:
    """It was ignored."""
    mount = '[[stack.mount]]\nat = "/data"\nfs = "squashfs"\nvolume_B = "2 MiB"\nimage = "root.sqfs"\n'
    (tmp_path / "root.sqfs").write_bytes(squashfs({"a": b"x"}))
    text = experiment([], fs="ubifs", kernel="6.1", partition_blocks=128) + mount + step("mount")
    with pytest.raises(ffslab.InputError, match="that of the whole UBI: a volume takes none"):
        run(text, tmp_path)


def test_a_damaged_image_is_an_error_and_no_more(tmp_path: Path) -> None:
    """A mount is refused, or calls fail, or content is another; nothing hangs or ends the machine."""
    files = {name: FILES[name] for name in ("small", "exact", "sparse", "link", "many/f001", "deep/a0/b/file0")}
    whole = squashfs(files, "gzip", 16_384)
    draw = random.Random(4)
    mounted = 0
    for _ in range(60):
        image = bytearray(whole)
        for _ in range(draw.choice((1, 3, 30))):
            # Half of them in the superblock and the tables at the end.
            place = draw.choice((draw.randrange(8, 96), draw.randrange(len(image) - 3000, len(image))))
            image[place] = draw.randrange(256)
        try:
            root = stack(tmp_path, bytes(image), block_device=draw.choice(DEVICES))
        except ffslab.InputError:
            continue
        mounted += 1
        read_what_can_be(root)
    assert mounted > 5
