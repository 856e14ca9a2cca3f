"""What `ffslab extract` does with images of which something cannot be extracted: the rest is, and what not is told."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.files.workplace import remove_tree, workplace
from ffslab.images import ImageEntry, ImageTree, read_image
from ffslab.images.extraction import extract
from helpers.command import FFSLAB, Command
from helpers.dumps import BLOCK_B, ubinized
from helpers.hostile_images import (
    DT_DIR,
    DT_LNK,
    DT_REG,
    JFFS2_ROOT,
    S_IFDIR,
    S_IFLNK,
    S_IFREG,
    dirent,
    inode,
    jffs2,
    jffs2_nested,
    jffs2_of_names,
    yaffs2_of_names,
)

FOREIGN = [b"..", b".", b"/etc/x", b"../../x", b"a/b"]


def entry(path: str, kind: str = "file", ino: int = 0, permissions: int = 0o644, data: bytes = b"") -> ImageEntry:
    number = ino or abs(hash(path)) % 10**9 + 2
    return ImageEntry(path, kind, number, permissions, (0, 0), 1, 0, len(data), 1_700_000_000, data, None)


def tree(*entries: ImageEntry) -> ImageTree:
    return ImageTree([entry("", "directory", 1, 0o755), *entries], [])


@pytest.mark.parametrize("name", FOREIGN, ids=repr)
def test_a_name_that_cannot_be_is_left_out_and_told(ffslab: Command, tmp_path: Path, name: bytes) -> None:
    image = tmp_path / "image.jffs2"
    image.write_bytes(jffs2_of_names([b"before", name, b"then"]))
    ran = ffslab("extract", image, tmp_path / "out")
    assert ran.returncode == 1, ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"image.jffs2", "out"}
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"before": "0", "then": "2"}
    assert ran.stderr.startswith("ffslab: /: ")
    assert "cannot be a name: what it stands for is left out" in ran.stderr
    looked = ffslab("inspect", image)
    assert looked.returncode == 1
    assert "cannot be a name" in looked.stdout


def test_names_that_cannot_be_in_yaffs2(ffslab: Command, tmp_path: Path) -> None:
    image = tmp_path / "image.yaffs2"
    image.write_bytes(yaffs2_of_names([b"before", b"../../x", b"twice", b"twice", b"then"]))
    ran = ffslab("extract", image, tmp_path / "out")
    assert ran.returncode == 1, ran.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"before", "twice", "then"}
    assert "../../x cannot be a name" in ran.stderr
    assert "twice is there twice" in ran.stderr


def test_many_names_that_cannot_be_are_counted(ffslab: Command, tmp_path: Path) -> None:
    image = tmp_path / "image.jffs2"
    image.write_bytes(jffs2_of_names([b"%d/" % i for i in range(100)]))
    ran = ffslab("extract", image)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 9
    assert "92 more names like that are left out" in ran.stderr


def test_a_flipped_bit_in_a_name_is_told(ffslab: Command, tmp_path: Path) -> None:
    content = bytearray(jffs2_of_names([b"first", b"second-name", b"third"]))
    content[content.index(b"second-name")] ^= 1
    image = tmp_path / "image.jffs2"
    image.write_bytes(content)
    ran = ffslab("extract", image, tmp_path / "out")
    assert ran.returncode == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"first", "third"}
    assert "files or parts of them may be missing" in ran.stderr
    assert ffslab("inspect", image).returncode == 1


def directories_down(folder: Path) -> int:
    """How far directories called d reach, and whether `bottom` is in the last."""
    here = os.open(folder, os.O_RDONLY)
    depth = 0
    while True:
        names = [found.name for found in os.scandir(here)]
        assert len(names) == 1
        if names == ["bottom"]:
            os.close(here)
            return depth
        below = os.open(names[0], os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        depth += 1


def test_three_thousand_nested_directories_are_extracted(ffslab: Command, tmp_path: Path) -> None:
    image = tmp_path / "deep.jffs2"
    image.write_bytes(jffs2_nested(3000, permissions=0o700))
    place = tmp_path / "place"
    place.mkdir()
    try:
        ran = ffslab("extract", image, place / "out")
        assert (ran.returncode, ran.stderr) == (0, "")
        assert directories_down(place / "out") == 3000
        assert [path.name for path in place.iterdir()] == ["out"]
    finally:
        remove_tree(place)
    assert not place.exists()


def test_paths_that_would_take_all_memory_are_left_out(ffslab: Command, tmp_path: Path) -> None:
    image = tmp_path / "deep.jffs2"
    image.write_bytes(jffs2_nested(2000, b"n" * 250))
    ran = ffslab("inspect", image, "--json")
    assert ran.returncode == 1
    assert "all paths of the image together may have 128 MiB" in ran.stdout


def test_holes_that_would_take_all_memory_are_left_out(ffslab: Command, tmp_path: Path) -> None:
    nodes = [inode(JFFS2_ROOT, S_IFDIR | 0o755)]
    for ino in range(2, 12):
        nodes += [dirent(JFFS2_ROOT, b"hole%d" % ino, ino, DT_REG), inode(ino, S_IFREG | 0o644, hole_B=100 << 20)]
    image = tmp_path / "holes.jffs2"
    image.write_bytes(jffs2(nodes))
    ran = ffslab("extract", image, tmp_path / "out")
    assert ran.returncode == 1
    held = list((tmp_path / "out").iterdir())
    assert [path.stat().st_size for path in held] == [100 << 20] * 3
    # Runs of zeros take no place.
    assert sum(path.stat().st_blocks for path in held) * 512 < 1 << 20
    assert "all files of the image together may have 384 MiB here, holes included" in ran.stderr


def test_nothing_is_written_through_a_symbolic_link(ffslab: Command, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    # The name of a link and of a directory: JFFS2 takes the newer, so the link comes from another name of its case.
    nodes = [inode(JFFS2_ROOT, S_IFDIR | 0o755), dirent(JFFS2_ROOT, b"link", 2, DT_LNK)]
    nodes += [inode(2, S_IFLNK | 0o777, os.fsencode(outside)), dirent(2, b"through", 3, DT_REG)]
    nodes += [inode(3, S_IFREG | 0o644, b"x"), dirent(JFFS2_ROOT, b"dir", 4, DT_DIR), inode(4, S_IFDIR | 0o755)]
    image = tmp_path / "image.jffs2"
    image.write_bytes(jffs2(nodes))
    ffslab("extract", image, tmp_path / "out")
    assert (tmp_path / "out" / "link").readlink() == outside
    assert list(outside.iterdir()) == []
    # A tree in which a link stands where a directory is opened, as a host that folds case would have it.
    made = tree(entry("a", "symlink", data=os.fsencode(outside)), entry("a", "directory"), entry("a/b", data=b"x"))
    told = extract(made, tmp_path / "second")
    assert list(outside.iterdir()) == []
    assert told == [
        "/a: directory left out: this computer takes its name for one that is there already, and the 1 entries in it"
    ]


def test_what_the_host_does_not_take_is_left_out(tmp_path: Path) -> None:
    long = "n" * 300
    made = tree(
        entry(long), entry("l", "symlink", data=b"x" * 5000), entry("n", "symlink", data=b"a\0b"), entry("z", data=b"z")
    )
    told = extract(made, tmp_path / "out")
    assert told == [
        f"/{long}: file left out: file name too long",
        "/l: symlink left out: file name too long",
        "/n: symlink left out: a name or target with a null byte",
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["z"]


def test_hard_links_stay_links_behind_closed_directories(tmp_path: Path) -> None:
    made = tree(
        entry("closed", "directory", permissions=0),
        entry("closed/x", ino=9, data=b"same"),
        entry("y", ino=9, data=b"same"),
    )
    assert extract(made, tmp_path / "out") == []
    assert (tmp_path / "out" / "y").stat().st_nlink == 2
    (tmp_path / "out" / "closed").chmod(0o700)
    assert (tmp_path / "out" / "closed" / "x").samefile(tmp_path / "out" / "y")


def test_the_root_keeps_permissions_that_close_it(tmp_path: Path) -> None:
    made = ImageTree([entry("", "directory", 1, 0o500), entry("a", data=b"a")], [])
    assert extract(made, tmp_path / "out") == []
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o500


def test_a_time_of_no_calendar_is_listed(tmp_path: Path) -> None:
    from ffslab.images import listing

    strange = ImageEntry("a", "file", 2, 0o644, (0, 0), 1, 0, 0, 2**62, b"", None)
    assert f"@{2**62}" in listing(tree(strange))
    extract(tree(strange), tmp_path / "out")
    assert (tmp_path / "out" / "a").exists()


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(InputError, match="cannot be written: no space left on device"):
        extract(tree(entry("d", "directory", permissions=0), entry("x", data=b"x")), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_is_known_and_cannot_be_read_is_no_bad_input(ffslab: Command, tmp_path: Path) -> None:
    """Both copies of the volume table of UBI are damaged, and it holds no UBIFS, which is found without."""
    kernel = tmp_path / "kernel"
    kernel.write_bytes(b"kernel" * 5000)
    image = bytearray(ubinized(tmp_path, {"kernel": kernel}))
    for block in (0, 1):
        at = block * BLOCK_B + image[block * BLOCK_B :].index(b"kernel")
        image[at : at + 4] = b"lost"
    dump = tmp_path / "dump.bin"
    dump.write_bytes(image)
    extracted = ffslab("extract", dump, tmp_path / "files")
    assert (extracted.returncode, extracted.stdout) == (1, "")
    assert "volume table" in extracted.stderr and extracted.stderr.count("\n") == 1
    assert ffslab("inspect", dump).returncode == 1
    assert not (tmp_path / "files").exists()
    dump.write_bytes(b"what is this?" * 9000)
    assert [ffslab(verb, dump).returncode for verb in ("extract", "inspect")] == [2, 2]


def test_an_existing_target_is_refused(ffslab: Command, tmp_path: Path) -> None:
    image = tmp_path / "image.jffs2"
    image.write_bytes(jffs2_of_names([b"a"]))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "link").symlink_to(tmp_path / "full")
    (tmp_path / "empty").mkdir()
    assert ffslab("extract", image, tmp_path / "full").returncode == 2
    assert ffslab("extract", image, tmp_path / "link").returncode == 2
    assert ffslab("extract", image, tmp_path / "empty").returncode == 0
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["x"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(tmp_path: Path, number: int) -> None:
    image, place = tmp_path / "many.jffs2", tmp_path / "place"
    image.write_bytes(jffs2_of_names([b"file%05d" % i for i in range(20_000)]))
    place.mkdir()
    running = subprocess.Popen([FFSLAB, "extract", image, place / "out"], stderr=subprocess.PIPE, text=True)
    while running.poll() is None and not list(place.iterdir()):
        time.sleep(0.001)
    running.send_signal(number)
    _, told = running.communicate()
    # A fast machine may have been done already.
    assert (running.returncode, told) in [(128 + number, "ffslab: interrupted\n"), (0, "")]
    assert [path.name for path in place.iterdir()] == ([] if running.returncode else ["out"])


def test_a_signal_within_a_workplace_removes_it(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), workplace(tmp_path / "out") as place:
        (place / "closed").mkdir()
        (place / "closed" / "file").touch()
        (place / "closed").chmod(0)
        signal.raise_signal(signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_image_is_read_the_same_from_python(tmp_path: Path) -> None:
    image = tmp_path / "image.jffs2"
    image.write_bytes(jffs2_of_names([b"a", b".."]))
    found = read_image(image)
    assert [item.path for item in found.entries] == ["", "a"]
    assert found.complaints == ["/: .. cannot be a name: what it stands for is left out"]
