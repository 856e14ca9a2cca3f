"""Descriptions of chips that cannot be: a line names partition and volume, and what would be right; nothing is left."""

from __future__ import annotations

from os import mkfifo
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.images.build.chip import build
from ffslab.images.build.description import read

BOARD = 'board = "omap3evm"\n'
A = '[[partition]]\nname = "a"\nsize = "20M"\n'
B = '[[partition]]\nname = "b"\n'
V = '[[partition.volume]]\nvol_name = "v"\n'
W = '[[partition.volume]]\nvol_name = "w"\n'

# What is said, in part, of each text.
BAD = {
    "": "name the chip",
    A: "name the chip",
    BOARD: "there is no partition: write [[partition]]",
    BOARD + "[[partition]": ":2: ",
    'board = "omap3em"\n' + A: "board omap3em: unknown board: did you mean `omap3evm`?",
    'board = "beaglebone-black"\n' + A: 'name the part with part = "w25n01gv"',
    BOARD + 'part = "w25n01g"\n' + A: "did you mean `w25n01gv`?",
    BOARD + 'kernel = "9.9"\n' + A: "kernel 9.9: unknown kernel",
    BOARD + 'ecc = "bhc"\n' + A: "ecc: unknown value `bhc`",
    BOARD + "erase_block_KiB = 4\n" + A: "`erase_block_KiB` is of NOR; micron-slc-omap3evm has blocks of 128.0 KiB",
    'board = "licheepi-nano"\necc = "sw"\n[[partition]]\nname = "a"': "is NOR flash, which has no ECC",
    BOARD + '[partition]\nname = "a"': "write [[partition]], with two brackets",
    BOARD + V: "[[partition.volume]] stands below its partition",
    BOARD + '[[volume]]\nvol_name = "v"': "unknown key `volume`: it is called partition.volume here",
    BOARD + '[[partition]]\nsize = "1M"': "partition 1: `name` is missing",
    BOARD + "[[partition]]\nname = 3": 'partition 1: `name` must be a text in quotes: name = "3"',
    BOARD + '[[partition]]\nname = "a)(b"': "none of ( ) , : ; /",
    BOARD + A + A: "partition a: there are two of this name",
    BOARD + A + 'dir = "tree"': "partition a: unknown key `dir`: it is called srcpath here",
    BOARD + A + 'compresion = "lzo"': "unknown key `compresion`: did you mean compression?",
    # ---- places
    BOARD + B + 'size = "8X"': "partition b: `size`: '8X' is no size",
    BOARD + B + 'size = "1.5M"': "is no size",
    BOARD + B + "size = -4": "is no size",
    BOARD + B + "size = 0": "`size` must be at least an erase block",
    BOARD + B + 'size = "100k"': "0x19000 is no multiple of an erase block, 128.0 KiB: 0x20000 is",
    BOARD + B + 'offset = "0x30000"\nsize = "1M"': "0x30000 is no multiple of an erase block, 128.0 KiB: 0x20000 or",
    BOARD + B + 'size = "1G"': "reach beyond micron-slc-omap3evm, where 256.0 MiB are left",
    BOARD + B + 'offset = "1G"': "begins at 0x40000000, where micron-slc-omap3evm ends",
    BOARD
    + A
    + B
    + 'offset = "10M"\nsize = "20M"': 'over partition a, which has 0x0 to 0x1400000: offset = "0x1400000"',
    BOARD + B + A: "partition b: `size` is missing: only the last partition takes the rest",
    # ---- contents
    BOARD + A + 'image = "kernl"': "`image`: ",
    BOARD + A + 'image = "tree"': 'is a folder: srcpath = "tree" with fs takes its files',
    BOARD + A + 'image = "empty"': "is empty: leave it out for erased flash",
    BOARD + A + 'image = "kernel"\nfs = "jffs2"': "`image` is a file as it is: leave out fs",
    BOARD + B + 'size = "128k"\nimage = "kernel"': 'and the partition 128.0 KiB: size = "0x80000" would do',
    BOARD + A + 'srcpath = "tree"': '`srcpath` needs a file system: fs = "jffs2"',
    BOARD + A + 'fs = "jffs2"\nsrcpath = "tre"': "no such folder: name the folder whose files go into it",
    BOARD + A + 'fs = "jffs2"\nsrcpath = "kernel"': "is a file: name the folder",
    BOARD + A + 'fs = "jffs2"\nsrcpath = "odd"': "is neither a file, a folder nor a symbolic link",
    BOARD + A + 'fs = "littlefs"\nsrcpath = "tree"': "`srcpath`: ",
    BOARD + A + 'fs = "ubifs"\nsrcpath = "tree"': "UBIFS stands in a volume of UBI: write [[partition.volume]]",
    BOARD + A + 'fs = "squashfs"': "is named as it is, image = FILE",
    BOARD + A + 'fs = "littlefs"\ncompression = "lzo"': "`compression` is not of littlefs, but of jffs2",
    BOARD + A + 'fs = "jffs2"\ncompression = "zstd"': 'partition a: compression = "zstd": jffs2 does not have it',
    BOARD + A + 'fs = "yaffs2"\nsrcpath = "tree"': "build with --oob, or say inband_tags = true",
    # ---- volumes
    BOARD + A + "volume = []": "`volume` is empty",
    BOARD + A + 'image = "kernel"\n' + V + 'vol_size = "1M"': "volumes of UBI take all of a partition",
    BOARD + A + '[[partition.volume]]\nvol_size = "1M"': "volume 1: `vol_name` is missing",
    BOARD + A + f'[[partition.volume]]\nvol_name = "{"x" * 128}"': "has 128 bytes; a name of UBI has 1 to 127",
    BOARD + A + '[[partition.volume]]\nvol_name = ""': "has 0 bytes; a name of UBI has 1 to 127",
    BOARD + A + '[[partition.volume]]\nvol_name = "a\\nb"': "`vol_name`: may hold no controls",
    BOARD + A + '[[partition.volume]]\nname = "v"': "unknown key `name`: it is called vol_name here",
    BOARD + A + V: 'say how large it is: vol_size = "8MiB", or vol_flags = "autoresize"',
    BOARD + A + V + 'vol_type = "fixed"': 'must be "static" or "dynamic", not "fixed"',
    BOARD + A + V + 'vol_type = "static"\nvol_size = "1M"': "a static volume is written as a whole",
    BOARD + A + V + 'vol_type = "static"\nfs = "ubifs"': 'only a "dynamic" volume can',
    BOARD + A + V + 'vol_flags = "autorezize"': 'unknown "autorezize": did you mean autoresize?',
    BOARD + A + V + 'vol_flags = "skip-check"\nvol_size = "1M"': "skip-check is of static volumes",
    BOARD + A + V + 'vol_flags = "autoresize"\n' + W + 'vol_flags = "autoresize"': "is said of volume v, too",
    BOARD + A + V + 'vol_size = "1M"\n' + V + 'vol_size = "1M"': "volume v: there are two of this name",
    BOARD + A + V + 'vol_size = "1M"\nvol_id = 1\n' + W + 'vol_size = "1M"\nvol_id = 1': "1 is that of another volume",
    BOARD + A + V + 'vol_size = "1M"\nvol_id = 128': "must be a whole number of 0 to 127, not 128",
    BOARD + A + V + 'vol_size = "1M"\nvol_alignment = 100': "`vol_alignment`: 100 must be 1, or whole pages of 2048 B",
    BOARD + A + V + 'vol_size = "1M"\nfs = "jffs2"': "jffs2 stands on a partition, not in a volume",
    BOARD + A + V + 'vol_size = "1M"\nfs = "ubifs"': '17 LEBs of 129024 B, it gets 9: vol_size = "2193408" would do',
    BOARD + A + V + 'vol_size = "100k"\nimage = "kernel"': '1 LEB of 129024 B hold 126.0 KiB: vol_size = "516096"',
    BOARD + A + V + 'vol_size = "19M"': "160 blocks less 4 of UBI's own, 40 for bad ones (20 of 1024 of",
    BOARD + A + V + 'image = "other.ubifs"': "for LEBs of 126976 B, here they have 129024: mkfs.ubifs -e 129024",
    BOARD + A + V + 'image = "ubi"': "holds UBI already: take what went into ubinize",
    'part = "k9f1g08u0a"\n' + A + V + 'vol_size = "1M"': "name the board, whose driver decides about sub-pages",
    BOARD + 'part = "mt29f32g08cbaca"\n' + A + V + 'vol_size = "1M"': "UBI refuses MLC NAND since Linux 4.17",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    (folder / "tree/sub").mkdir(parents=True)
    (folder / "tree/sub/link").symlink_to("x")
    (folder / "kernel").write_bytes(bytes(range(251)) * 2000)
    (folder / "empty").touch()
    (folder / "odd").mkdir()
    mkfifo(folder / "odd/fifo")
    # A volume for SPI NAND, whose headers take two pages.
    chip = folder / "other.toml"
    text = f'board = "luckfox-pico-max"\npart = "w25n01gv"\n{A}{V}vol_flags = "autoresize"\nfs = "ubifs"\n'
    chip.write_text(text, encoding="utf-8")
    made = build(read(chip), folder / "ubi", oob=False)
    (filled,) = made.partitions[0].volumes
    (folder / "other.ubifs").write_bytes(filled.data)
    chip.unlink()
    return folder


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_cannot_be_is_one_line(text: str, folder: Path) -> None:
    file = folder / "chip.toml"
    file.write_text(text, encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(InputError) as refused:
        build(read(file), folder / "chip.img", oob=False)
    said = str(refused.value)
    assert BAD[text] in said
    assert said.startswith(str(file))
    assert "\n" not in said
    assert sorted(path.name for path in folder.iterdir()) == before
