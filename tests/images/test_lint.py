"""`ffslab inspect --lint`: images of the real tools, each made with one option that is wrong for a part or a board."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ffslab.answers.image_lint import ImageLint, LintCheck
from ffslab.images.lint import lint, text
from helpers.command import Command
from helpers.dumps import with_oob
from helpers.inspect_images import files
from helpers.jffs2_images import tool
from helpers.schemas import check
from helpers.yaffs2_images import Layout, build

# A raw SLC part of 1024 blocks, of which 20 may be bad, that asks for one bit in 512 B; omap3evm corrects it.
RAW = ("k9f1g08u0a", "omap3evm")
SPI_NAND = ("w25n01gv", "luckfox-pico-max")
SPI_NOR = ("w25q128jv", "licheepi-nano")
PARALLEL_NOR = ("js28f256p30", None)


@dataclass(frozen=True)
class Ubi:
    """Options of mkfs.ubifs and ubinize; those that are not said are right for `RAW`."""

    m: int = 2048
    e: int = 129024
    c: int = 1000
    ubi: tuple[str, ...] = ("-m", "2048", "-p", "128KiB", "-s", "512")
    volume: str = "vol_flags=autoresize"
    fixup: tuple[str, ...] = ("-F",)

    def make(self, folder: Path, root: Path) -> Path:
        volume, image, table = folder / "v.ubifs", folder / "v.ubi", folder / "v.ini"
        options = ["-m", str(self.m), "-e", str(self.e), "-c", str(self.c), *self.fixup, "-o", str(volume)]
        subprocess.run([tool("mkfs.ubifs"), "-q", "-r", str(root), *options], check=True)
        if not self.ubi:
            return volume
        head = f"[v]\nmode=ubi\nimage={volume}\nvol_id=0\nvol_type=dynamic\nvol_name=root"
        table.write_text(f"{head}\n{self.volume}\n", encoding="utf-8")
        subprocess.run([tool("ubinize"), "-o", image, *self.ubi, table], check=True, capture_output=True)
        return image


@dataclass(frozen=True)
class Jffs2:
    """Options of mkfs.jffs2."""

    options: tuple[str, ...] = ("-e", "128KiB", "-n")

    def make(self, folder: Path, root: Path) -> Path:
        image = folder / "root.jffs2"
        subprocess.run([tool("mkfs.jffs2"), "-d", root, "-o", image, *self.options], check=True)
        return image


@dataclass(frozen=True)
class Yaffs2:
    """As mkyaffs2image lays pages out."""

    layout: Layout = field(default_factory=Layout)

    def make(self, folder: Path, root: Path) -> Path:
        image = folder / "root.yaffs2"
        image.write_bytes(build(root, self.layout))
        return image


Target = tuple[str, str | None]
# Without sub-pages, as on SPI NAND.
NO_SUBPAGES = ("-m", "2048", "-p", "128KiB", "-s", "2048")
OF_SPI_NAND = Ubi(e=126976, ubi=NO_SUBPAGES)
OF_NOR = Ubi(m=1, e=65408, c=252, ubi=("-m", "1", "-p", "64KiB"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files(tmp_path_factory.mktemp("root"))


def linted(image: Path, target: Target = RAW, blocks: int | None = None) -> ImageLint:
    return lint(image, *target, None, blocks)


def row(answer: ImageLint, about: str) -> LintCheck:
    return next(each for each in answer["checks"] if each["about"] == about)


@pytest.mark.parametrize(
    ("fs", "target", "blocks"),
    [
        ("ubifs", RAW, "400"),
        ("ubifs", SPI_NAND, "1024"),
        ("ubifs", SPI_NOR, "256"),
        ("jffs2", RAW, "400"),
        ("jffs2", SPI_NOR, "64"),
    ],
)
def test_the_commands_that_are_printed_make_what_fits(
    fs: str, target: Target, blocks: str, root: Path, tmp_path: Path, ffslab: Command
) -> None:
    machine = ["--part", target[0], "--board", str(target[1]), "--blocks", blocks]
    printed = ffslab("image", "commands", *machine, "--fs", fs)
    assert printed.returncode == 0, printed.stderr
    where = {**os.environ, "PATH": f"{Path(tool('mkfs.jffs2')).parent}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", printed.stdout, "sh", str(root)], cwd=tmp_path, env=where, check=True)
    image = tmp_path / ("root.ubi" if fs == "ubifs" else "root.jffs2")
    assert ffslab("inspect", str(image), "--lint", *machine).returncode == 0


def test_no_commands_are_printed_where_none_is_right(ffslab: Command) -> None:
    wrong = {
        "name the --board": ["--part", RAW[0]],
        "UBI leaves volumes nothing": ["--part", SPI_NAND[0], "--blocks", "24"],
        "--fs yaffs2: ": ["--part", SPI_NAND[0], "--fs", "yaffs2"],
        "name the part": [],
        "has 1024 erase blocks": ["--part", SPI_NAND[0], "--blocks", "2000"],
    }
    for message, options in wrong.items():
        done = ffslab("image", "commands", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


@pytest.mark.parametrize(
    ("made", "target"),
    [
        (Ubi(), RAW),
        (OF_SPI_NAND, SPI_NAND),
        (OF_NOR, SPI_NOR),
        (Ubi(volume="vol_size=8MiB", c=66), RAW),
        (Jffs2(), RAW),
        (Jffs2(("-e", "64KiB")), SPI_NOR),
        (Jffs2(("-e", "128KiB", "-b")), PARALLEL_NOR),
        (Yaffs2(), RAW),
    ],
)
def test_what_is_right_is_ok(made: Ubi | Jffs2 | Yaffs2, target: Target, root: Path, tmp_path: Path) -> None:
    answer = linted(made.make(tmp_path, root), target)
    assert [each for each in answer["checks"] if each["verdict"] != "ok"] == []
    assert answer["fits"]
    check("image_lint", json.dumps(answer))


@pytest.mark.parametrize(
    ("made", "target", "blocks", "about", "right"),
    [
        (Ubi(ubi=("-m", "512", "-p", "128KiB")), RAW, None, "page (minimum I/O)", "ubinize -m 2048"),
        (Ubi(), SPI_NOR, None, "page (minimum I/O)", "ubinize -m 1"),
        (Ubi(ubi=("-m", "2048", "-p", "256KiB", "-s", "512")), RAW, None, "erase block", "ubinize -p 128KiB"),
        (Ubi(ubi=("-m", "2048", "-p", "128KiB")), RAW, None, "sub-page (header at)", "ubinize -s 512 (or -O 512)"),
        (Ubi(ubi=(*Ubi.ubi, "-O", "1024")), RAW, None, "sub-page (header at)", "ubinize -s 512 (or -O 512)"),
        (Ubi(), SPI_NAND, None, "sub-page (header at)", "ubinize -s 2048 (or -O 2048)"),
        (Ubi(m=512), RAW, None, "UBIFS minimum I/O", "mkfs.ubifs -m 2048"),
        (Ubi(e=126976), RAW, None, "UBIFS LEB", "mkfs.ubifs -e 129024"),
        (Ubi(e=129024, ubi=NO_SUBPAGES), SPI_NAND, None, "UBIFS LEB", "mkfs.ubifs -e 126976"),
        (Ubi(e=100352, ubi=()), (RAW[0], None), None, "UBIFS LEB", "mkfs.ubifs -e 129024 or mkfs.ubifs -e 126976"),
        (Ubi(c=200), RAW, None, "UBIFS LEBs at most", "mkfs.ubifs -c 1000"),
        (Ubi(c=200), RAW, 500, "UBIFS LEBs at most", "mkfs.ubifs -c 476"),
        (Ubi(c=200, volume="vol_size=40MiB"), RAW, None, "UBIFS LEBs at most", "mkfs.ubifs -c 326"),
        (
            Ubi(volume="vol_size=200MiB"),
            RAW,
            None,
            "volumes and UBI's own",
            "vol_size of at most 1,000 LEBs in all, or a partition of 1650 blocks",
        ),
        (
            Ubi(volume="vol_size=8MiB"),
            RAW,
            80,
            "with the bad-block reserve",
            "vol_size of at most 56 LEBs in all, or a partition of 90 blocks",
        ),
        (OF_SPI_NAND, ("pn26g01a", None), None, "bad-block reserve", "CONFIG_MTD_UBI_BEB_LIMIT=21"),
        (
            Ubi(),
            ("tc58nvg0s3hta00", "omap3evm"),
            None,
            "ECC",
            "nand-ecc-strength = <8>, nand-ecc-step-size = <512>",
        ),
        (
            Ubi(m=8192, e=2080768, c=99, ubi=("-m", "8192", "-p", "2MiB")),
            ("h27ucg8t2a", "omap3evm"),
            None,
            "bits of a cell",
            "a part of SLC, or a volume without UBI",
        ),
        (Jffs2(("-e", "256KiB", "-n")), RAW, None, "erase block", "mkfs.jffs2 -e 128KiB"),
        (Jffs2(("-e", "128KiB", "-n", "-s", "16384")), RAW, None, "data of a node", "mkfs.jffs2 -s 4096"),
        (Jffs2(("-e", "64KiB")), PARALLEL_NOR, None, "erase block", "mkfs.jffs2 -e 128KiB"),
        (Jffs2(("-e", "128KiB")), RAW, None, "clean markers", "mkfs.jffs2 -n"),
        (Jffs2(("-e", "64KiB", "-c", "16")), SPI_NOR, None, "size of a clean marker", "mkfs.jffs2 -c 12"),
        (Jffs2(), RAW, 5, "image", "a partition of 6 blocks"),
        (Jffs2(), RAW, 25, "image and bad blocks", "a partition of 26 blocks"),
        (Jffs2(), RAW, 28, "room to collect garbage", "a partition of 29 blocks"),
        (
            Yaffs2(Layout(oob_B=128)),
            RAW,
            None,
            "OOB area",
            "an image with 64 B of OOB behind each page",
        ),
        (Yaffs2(Layout(page_B=4096, oob_B=128, tags_offset=4098)), RAW, None, "page (chunk)", "chunks of 2048 B"),
    ],
)
def test_a_mistake_is_found_by_its_line(
    made: Ubi | Jffs2 | Yaffs2,
    target: Target,
    blocks: int | None,
    about: str,
    right: str,
    root: Path,
    tmp_path: Path,
) -> None:
    answer = linted(made.make(tmp_path, root), target, blocks)
    found = row(answer, about)
    assert (found["verdict"], found["right"]) == ("wrong", right), text(answer)
    assert not answer["fits"]
    assert any(line.startswith("wrong") and right in line for line in text(answer).splitlines())


def test_what_nobody_said_is_not_known(root: Path, tmp_path: Path) -> None:
    """Sub-pages are the driver's; what the part asks for may be unknown without harm."""
    image = Ubi().make(tmp_path, root)
    answer = linted(image, (RAW[0], None))
    unknown = {each["about"] for each in answer["checks"] if each["verdict"] == "not known"}
    assert (unknown, answer["fits"]) == ({"sub-page (header at)", "ECC"}, False)
    plain = linted(Ubi(c=2004).make(tmp_path, root), ("micron-slc-omap3evm", "omap3evm"))
    unknown = {each["about"] for each in plain["checks"] if each["verdict"] == "not known"}
    assert (unknown, plain["fits"]) == ({"bad-block reserve", "ECC"}, True)


def test_whether_erased_pages_are_left_out_stands_in_no_image(root: Path, tmp_path: Path) -> None:
    answer = linted(Ubi(fixup=()).make(tmp_path, root))
    found = row(answer, "space fixup")
    assert (found["verdict"], found["is_decisive"], answer["fits"]) == ("not known", False, True)
    assert found["right"] is not None and "mkfs.ubifs -F" in found["right"]
    nor = linted(Ubi(m=1, e=65408, c=252, ubi=("-m", "1", "-p", "64KiB"), fixup=()).make(tmp_path, root), SPI_NOR)
    assert all(each["about"] != "space fixup" for each in nor["checks"])


def test_littlefs_has_no_more_blocks_than_the_partition(tmp_path: Path) -> None:
    from littlefs import LittleFS, UserContext

    context = UserContext(buffer=bytearray(b"\xff" * (48 * 4096)))
    LittleFS(context=context, block_size=4096, block_count=48).unmount()
    image = tmp_path / "image.littlefs"
    image.write_bytes(bytes(context.buffer))
    for blocks, verdict in ((None, "ok"), (1, "wrong")):
        assert row(linted(image, SPI_NOR, blocks), "blocks of littlefs")["verdict"] == verdict


def test_a_dump_with_oob_areas_is_read_as_one_without(root: Path, tmp_path: Path) -> None:
    image = Ubi().make(tmp_path, root)
    dump = tmp_path / "dump.bin"
    dump.write_bytes(with_oob(image.read_bytes(), 2048, 64))
    plain, with_areas = linted(image), linted(dump)
    assert row(with_areas, "UBIFS LEBs at most") == row(plain, "UBIFS LEBs at most")
    assert row(with_areas, "OOB area")["verdict"] == "ok"
    assert row(linted(dump, ("tc58nvg0s3hta00", "omap3evm")), "OOB area")["verdict"] == "wrong"


def test_yaffs2_that_does_not_tell_its_blocks_is_linted(root: Path, tmp_path: Path) -> None:
    """As mkyaffs2image writes: one sequence number for all."""
    image = Yaffs2(Layout(block_pages=1 << 20)).make(tmp_path, root)
    answer = linted(image)
    assert (row(answer, "erase block")["verdict"], answer["fits"]) == ("not known", True)


def test_the_reserve_is_that_of_the_kernel(root: Path, tmp_path: Path) -> None:
    answer = lint(Ubi().make(tmp_path, root), *RAW, "2.6.37", 400)
    assert row(answer, "bad-block reserve")["has"] == 4


def test_exit_codes(ffslab: Command, root: Path, tmp_path: Path) -> None:
    Ubi().make(tmp_path, root)
    right = ffslab("inspect", "v.ubi", "--lint", "--part", RAW[0], "--board", "omap3evm", "--json")
    answer: dict[str, Any] = json.loads(right.stdout)
    assert (right.returncode, answer["fits"], answer["part"]) == (0, True, RAW[0])
    wrong = ffslab("inspect", "v.ubi", "--lint", "--board", "luckfox-pico-max")
    assert (wrong.returncode, "on w25n01gv, 1,024 blocks of 128.0 KiB" in wrong.stdout) == (1, True)
    (tmp_path / "fat.img").write_bytes(b"\xeb\x3c\x90")
    for words, says in {
        "v.ubi --lint": "name the part that the image is for with --part",
        "v.ubi --blocks 3": "--blocks 3: says how large the partition of --lint is",
        "v.ubi --lint --part k9f1g08u0a --blocks 1025": "--blocks 1025: k9f1g08u0a has 1024 erase blocks",
        "v.ubi --lint --part k9f1g08u0a --recover": "--lint: answers alone: leave out --recover",
        "v.ini --lint --part k9f1g08u0a": "v.ini: nothing is known in it",
    }.items():
        refused = ffslab("inspect", *words.split())
        assert (refused.returncode, refused.stdout, says in refused.stderr) == (2, "", True), words


def test_behind_the_header_of_a_maker_an_image_is_no_partition(root: Path, tmp_path: Path) -> None:
    image = Yaffs2().make(tmp_path, root)
    plain = linted(image)
    image.write_bytes(b"MAKER".ljust(64, b"\1") + image.read_bytes())
    assert linted(image)["checks"] == plain["checks"]
