"""`ffslab image build`: what it makes is read back, fits its part, is always the same, and is what ubinize makes."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from ffslab import InputError, Stack
from ffslab.api.machine import Machine, Value
from ffslab.images import ImageEntry, read_image, read_partitions
from ffslab.images.build.chip import Built, build
from ffslab.images.build.description import read
from ffslab.images.build.script import script
from ffslab.images.build.told import mtdparts
from ffslab.images.lint import lint
from helpers.command import ROOT, Command
from helpers.jffs2_images import tool
from helpers.schemas import check

# Each chip with what stands on it; `tree` is a folder with a symbolic link, `plain` one without.
UBI = """
[[partition]]
name = "ubi"
size = "%s"
[[partition.volume]]
vol_name = "data"
vol_flags = "autoresize"
fs = "ubifs"
srcpath = "tree"
[[partition.volume]]
vol_name = "kernel"
vol_type = "static"
vol_id = 7
image = "kernel"
[[partition.volume]]
vol_name = "settings"
vol_size = "3MiB"
fs = "ubifs"
srcpath = "plain"
compression = "zstd"
"""
LOG = """
[[partition]]
name = "log"
size = "6M"
fs = "jffs2"
srcpath = "tree"
"""


class Chip(NamedTuple):
    """A description, whether OOB areas are made, and the partitions that are asked whether they fit."""

    text: str
    oob: bool = False
    fits: tuple[str, ...] = ("ubi",)


RAW = 'part = "k9f1g08u0a"\nboard = "omap3evm"\n'
YAFFS2 = '[[partition]]\nname = "y"\nsize = "20M"\nfs = "yaffs2"\nsrcpath = "tree"\n'
CHIPS = {
    "SPI NAND": Chip('board = "luckfox-pico-max"\npart = "w25n01gv"\n' + UBI % "40M" + LOG, fits=("ubi", "log")),
    "raw NAND": Chip(RAW + UBI % "40M"),
    "OOB areas, ECC of the driver": Chip(RAW + 'ecc = "sw"\n' + LOG + YAFFS2 + UBI % "40M", oob=True),
    "OOB areas without ECC": Chip(RAW + YAFFS2 + UBI % "40M", oob=True),
    "in-band tags": Chip(RAW + YAFFS2 + "inband_tags = true\n", fits=()),
    "before 3.7": Chip('part = "k9f1208u0b"\nboard = "omap3evm"\nkernel = "2.6.37"\n' + UBI % "20M", fits=()),
    "NOR": Chip('board = "licheepi-nano"\npart = "w25q128jv"\n' + LOG + UBI % "10M", fits=("log", "ubi")),
    "NOR without a system": Chip(
        'board = "licheepi-nano"\nerase_block_KiB = 4\n'
        '[[partition]]\nname = "l"\nsize = "4M"\nfs = "littlefs"\nsrcpath = "plain"\n'
        '[[partition]]\nname = "f"\nsize = "4M"\nfs = "fat"\nfat.translation = "wear-levelling"\nsrcpath = "plain"\n',
        fits=("l",),
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where descriptions find their contents."""
    deep = tmp_path / "tree/etc/deep"
    deep.mkdir(parents=True)
    (deep / "empty").touch()
    (tmp_path / "tree/link").symlink_to("etc/names")
    (tmp_path / "tree/etc/names").write_bytes(b"".join(b"%d\n" % number for number in range(20_000)))
    (tmp_path / "tree/etc/names").chmod(0o640)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/a.txt").write_text("plain\n", encoding="utf-8")
    (tmp_path / "kernel").write_bytes(bytes(range(251)) * 2000)
    return tmp_path


def built(folder: Path, text: str, name: str = "chip", *, oob: bool = False) -> tuple[Path, str, Built]:
    """The image of a description, and its partitions as `--mtdparts` has them."""
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    image = folder / f"{name}.img"
    description = read(file)
    made = build(description, image, oob=oob)
    return image, mtdparts(description).strip("'"), made


def held(entries: list[ImageEntry], below: str = "") -> dict[str, object]:
    """Files, folders and links, without the root."""
    rows = {entry.path: entry for entry in entries if entry.path.startswith(below)}
    return {
        path.removeprefix(below).lstrip("/"): (entry.kind, entry.data, entry.permissions & 0o777)
        for path, entry in rows.items()
        if path not in ("", below)
    }


def on_host(root: Path) -> dict[str, object]:
    """The same of a folder."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode & 0o777
        if path.is_symlink():
            value: object = ("symlink", str(path.readlink()).encode(), 0o777)
        elif path.is_dir():
            value = ("directory", b"", mode)
        else:
            value = ("file", path.read_bytes(), mode)
        found[path.relative_to(root).as_posix()] = value
    return found


def bare(rows: dict[str, object]) -> dict[str, object]:
    """Without permissions, which FAT and littlefs do not have."""
    return {path: row[:2] for path, row in rows.items() if isinstance(row, tuple)}


@pytest.mark.parametrize("name", CHIPS)
def test_what_went_in_comes_out_and_fits_the_part(name: str, folder: Path) -> None:
    text, oob, fits = CHIPS[name]
    image, parts, made = built(folder, text, oob=oob)
    lacks_ecc = [note for note in made.notes if note.startswith("ECC: the board's controller makes it (hw)")]
    assert list(made.notes) == lacks_ecc
    assert bool(lacks_ecc) == (name == "OOB areas without ECC")
    tree, plain = on_host(folder / "tree"), on_host(folder / "plain")
    read_back = {part.name: entries for part, entries in read_partitions(image, mtdparts=parts)}
    assert read_back.keys() == {each.partition.name for each in made.partitions}
    for partition, found in read_back.items():
        assert found is not None, partition
        assert found.complaints == []
        if partition == "ubi":
            assert held(found.entries, "data") == tree
            assert held(found.entries, "settings") == plain
            (kernel,) = [entry for entry in found.entries if entry.path == "kernel"]
            assert kernel.data == (folder / "kernel").read_bytes()
        elif partition in ("l", "f"):
            assert {path.lower(): row for path, row in bare(held(found.entries)).items()} == bare(plain)
        else:
            assert held(found.entries) == tree
    description = read(folder / "chip.toml").target
    for partition in fits:
        linted = lint(image, description.part, description.board, None, None, mtdparts=parts, partition=partition)
        wrong = [check for check in linted["checks"] if check["verdict"] == "wrong"]
        assert linted["fits"], wrong
    again, _, _ = built(folder, text, "chip", oob=oob)
    first = image.read_bytes()
    assert built(folder, text, oob=oob)[0].read_bytes() == first == again.read_bytes()


@pytest.mark.parametrize("blocks", [130, 160])
def test_a_volume_that_grows_takes_what_its_partition_has(blocks: int, folder: Path) -> None:
    """Also where the partition is smaller than that of the description. Full, and mounted again, nothing is damaged."""
    growing = UBI.split('[[partition.volume]]\nvol_name = "kernel"')[0] % "20M"
    image, _, made = built(folder, 'board = "omap3evm"\n' + growing)
    (filled,) = made.partitions[0].volumes
    assert filled.lebs < 30 < 116 == filled.plan.lebs
    place: dict[str, Value] = {"image": str(image), "image_offset_B": 0, "image_size_B": blocks << 17}
    stack = Stack.of(Machine("omap3evm", fs="ubifs", partition_blocks=blocks, settings=place).keys())
    stack.mount()
    names = (folder / "tree/etc/names").read_bytes()
    written = 0
    with pytest.raises(OSError, match="no space"):
        while True:
            fd = stack.open(f"new{written}", "wronly create")
            stack.pwrite(fd, random.Random(written).randbytes(500_000), 0)
            stack.close(fd)
            written += 1
    assert written > (blocks - 44 - 30) // 5
    stack.umount()
    stack.mount()
    fd = stack.open("etc/names", "rdonly")
    assert stack.pread(fd, len(names), 0) == names
    stack.close(fd)
    stack.umount()
    (folder / "grown").write_bytes(stack.image())
    assert read_image(folder / "grown").complaints == []


# ---- beside mtd-utils ---------------------------------------------------------------------------------------

# Files alone: what both make of them is equal to the byte.
FILES = """
[[partition]]
name = "ubi"
[[partition.volume]]
vol_name = "kernel"
vol_type = "static"
vol_size = "1MiB"
vol_alignment = 2048
image = "kernel"
[[partition.volume]]
vol_name = "rest"
vol_id = 5
vol_flags = "autoresize"
image = "kernel"
[[partition.volume]]
vol_name = "signed"
vol_type = "static"
vol_flags = "skip-check"
image = "kernel"
[[partition.volume]]
vol_name = "empty"
vol_size = "200000"
"""


def by_script(folder: Path) -> Path:
    """The image that the printed script makes."""
    for name in ("mkfs.ubifs", "ubinize", "mkfs.jffs2"):
        tool(name)
    (folder / "make.sh").write_text(script(read(folder / "chip.toml")), encoding="utf-8")
    subprocess.run(["sh", "make.sh"], cwd=folder, check=True, capture_output=True)
    return folder / "chip.img"


@pytest.mark.parametrize("head", [RAW, 'part = "w25n01gv"\nboard = "luckfox-pico-max"\n', 'board = "licheepi-nano"\n'])
def test_volumes_of_files_are_those_of_ubinize_to_the_byte(head: str, folder: Path) -> None:
    image, _, _ = built(folder, head + FILES)
    ours = image.read_bytes()
    assert by_script(folder).read_bytes() == ours


def test_file_systems_of_mtd_utils_by_the_printed_script_hold_the_same(folder: Path) -> None:
    image, parts, _ = built(folder, RAW + UBI % "40M" + LOG)
    ours = {part.name: tree and held(tree.entries) for part, tree in read_partitions(image, mtdparts=parts)}
    theirs = read_partitions(by_script(folder), mtdparts=parts)
    assert {part.name: tree and held(tree.entries) for part, tree in theirs} == ours


def test_what_ubinize_cannot_be_told_is_refused(folder: Path) -> None:
    text = RAW + FILES.replace('"rest"', '"k;#"')
    assert built(folder, "\ufeff" + text)[2].partitions
    with pytest.raises(InputError, match="volume k;#: `k;#`: ubinize reads it otherwise"):
        script(read(folder / "chip.toml"))
    (folder / "chip.toml").write_text(RAW + YAFFS2 + "inband_tags = true", encoding="utf-8")
    with pytest.raises(InputError, match="partition y: `fs`: mtd-utils make no yaffs2"):
        script(read(folder / "chip.toml"))


# ---- the command --------------------------------------------------------------------------------------------


def test_nothing_is_left_of_what_cannot_be(folder: Path, ffslab: Command) -> None:
    (folder / "chip.toml").write_text(RAW + UBI % "40M", encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    for out, says in (
        ("kernel", "goes into the image"),
        ("tree/chip.img", "goes into the image"),
        ("chip.toml", "goes into the image"),
        ("plain", "is a folder"),
        ("/dev/null", "no regular file"),
    ):
        refused = ffslab("image", "build", "chip.toml", "--out", out, cwd=folder)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert says in refused.stderr
        assert refused.stderr.count("\n") == 1
    (folder / "tree/etc/names").write_bytes(random.Random(1).randbytes(50_000_000))
    refused = ffslab("image", "build", "chip.toml", "--out", "chip.img", cwd=folder)
    assert refused.returncode == 2
    assert "partition ubi: volume data: `srcpath`: tree (47.7 MiB) does not fit into" in refused.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    full = '[[partition]]\nname = "full"\nsize = "512k"\nimage = "kernel"\n'
    (folder / "chip.toml").write_text(RAW + full, encoding="utf-8")
    told = ffslab("image", "build", "chip.toml", cwd=folder)
    assert (told.returncode, "full leaves no block to spare" in told.stderr) == (0, True)
    (folder / "chip.toml").write_text(RAW + UBI % "40M", encoding="utf-8")
    (folder / "tree/etc/names").write_bytes(b"small")
    assert ffslab("image", "build", "chip.toml", cwd=folder).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_root_has_the_permissions_of_its_folder(folder: Path) -> None:
    (folder / "tree").chmod(0o750)
    image, parts, _ = built(folder, RAW + LOG + UBI % "40M")
    found = {part.name: tree.entries for part, tree in read_partitions(image, mtdparts=parts) if tree is not None}
    permissions = {name: {entry.path: entry.permissions for entry in entries} for name, entries in found.items()}
    assert (permissions["log"][""], permissions["ubi"]["data"]) == (0o750, 0o750)
    assert permissions["ubi"]["settings"] == (folder / "plain").stat().st_mode & 0o7777


def test_facts_are_those_of_the_tables(folder: Path, ffslab: Command) -> None:
    (folder / "chip.toml").write_text(RAW + UBI % "40M" + LOG, encoding="utf-8")
    ran = ffslab("image", "build", "chip.toml", "--json", cwd=folder)
    check("built_image", ran.stdout)
    facts = json.loads(ran.stdout)
    ubi, log = facts["partitions"]
    assert (facts["file"], facts["mtdparts"]) == (None, "40960k(ubi),6144k(log)")
    assert [volume["name"] for volume in ubi["volumes"]] == ["data", "kernel", "settings"]
    assert (log["content"], log["leb_B"]) == ({"image": None, "fs": "jffs2", "srcpath": "tree"}, None)
    refused = ffslab("image", "build", "chip.toml", "--json", "--commands", cwd=folder)
    assert (refused.returncode, "leave --json out" in refused.stderr) == (2, True)


def test_the_shipped_example_is_what_its_page_says(ffslab: Command) -> None:
    description = read(ROOT / "examples/chip/chip.toml")
    page = (ROOT / "docs/how-to/chip.md").read_text(encoding="utf-8")
    assert page.count(mtdparts(description)) >= 2
