"""One recogniser for all who take an image: what an image is, its sizes, and the partitions of a whole chip."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import ffslab
from ffslab.images import read_image
from ffslab.images.inspection import inspect_image
from helpers import inspect_images as made
from helpers import yaffs2_images
from helpers.command import Command
from helpers.jffs2_images import experiment, run, step, tool
from helpers.mounted import need_fuse
from helpers.wear import workload
from helpers.yaffs2_images import Layout, build

PAGE_B, OOB_B, BLOCK_PAGES = 2048, 64, 64
STRIDE_B = PAGE_B + OOB_B
BLOCK_KIB = 128
FILES = {f"f{i}": random.Random(i).randbytes(60_000) for i in range(3)}


def stack_with(fs: str, blocks: int = 40, files: dict[str, bytes] | None = None) -> ffslab.Stack:
    """A partition with files, unmounted."""
    stack = ffslab.Stack(fs, board="omap3evm", partition_blocks=blocks, max_beb_per1024=1 if fs == "ubifs" else None)
    stack.mount()
    for name, content in (FILES if files is None else files).items():
        stack.write_file(name, content)
    stack.umount()
    return stack


def held(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def dumps() -> dict[str, bytes]:
    """Of each file system a dump with OOB areas."""
    return {fs: stack_with(fs).image(oob=True) for fs in ("jffs2", "yaffs2", "ubifs")}


def boot_loader(blocks: int, oob: bool = True) -> bytes:
    """What no file system wrote: code, and its OOB areas."""
    draw = random.Random(99)
    pages = (draw.randbytes(PAGE_B) + (b"\xff" * OOB_B if oob else b"") for _ in range(blocks * BLOCK_PAGES))
    return b"".join(pages)


@pytest.fixture(scope="module")
def chip(dumps: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dump of a whole chip: a boot loader, UBI, JFFS2 and YAFFS2."""
    path = tmp_path_factory.mktemp("chip") / "chip.bin"
    path.write_bytes(boot_loader(4) + dumps["ubifs"] + dumps["jffs2"] + dumps["yaffs2"])
    return path


MTDPARTS = "mtdparts=omap2-nand.0:512k(boot)ro,5M(system),5M(config),-(data)"


# ---- what it is, without a word -----------------------------------------------------------------------------


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_a_dump_with_oob_areas_is_extracted_without_saying_so(
    fs: str, dumps: dict[str, bytes], tmp_path: Path, ffslab: Command
) -> None:
    (tmp_path / "dump").write_bytes(dumps[fs])
    ran = ffslab("extract", "dump", "files")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "40 erase blocks of 128.0 KiB, pages of 2048 B + 64 B OOB" in ran.stdout, "what was found is said"
    assert held(tmp_path / "files") == FILES


def test_a_contradiction_is_one_line(dumps: dict[str, bytes], tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "raw").write_bytes(stack_with("jffs2").image(oob=False))
    for fs, dump in dumps.items():
        (tmp_path / fs).write_bytes(dump)
    wrong = [
        (
            "raw",
            ["--oob"],
            "OOB areas, contradicts what is found, jffs2 little-endian, pages of 2048 B without OOB areas",
        ),
        ("jffs2", ["--no-oob"], "no OOB areas, contradicts what is found, jffs2 little-endian, pages of 2048 + 64 B"),
        ("ubifs", ["--block-KiB", "256"], "erase blocks of 256 KiB, contradicts what is found, ubifs"),
        ("ubifs", ["--block-KiB", "64"], "erase blocks of 64 KiB, contradicts what is found, ubifs"),
        ("yaffs2", ["--block-KiB", "512"], "erase blocks of 512 KiB, contradicts what is found, yaffs2"),
        ("yaffs2", ["--page-B", "4096"], "pages of 4096 B, contradicts what is found, yaffs2"),
        ("jffs2", ["--fs", "ubifs"], "ubifs, contradicts what is found, jffs2"),
    ]
    for name, options, told in wrong:
        for verb in ("extract", "inspect"):
            if verb == "inspect" and "oob" in options[0]:
                continue
            ran = ffslab(verb, name, *options)
            assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), (verb, name, options)
            assert told in ran.stderr, ran.stderr


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
@pytest.mark.parametrize("how", ["image", "load"])
def test_an_experiment_needs_no_word_about_oob_areas(
    fs: str, how: str, dumps: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "dump").write_bytes(dumps[fs])
    stack = {"fs": fs, "partition_blocks": 40, **({"max_beb_per1024": 1} if fs == "ubifs" else {})}
    steps = [step("mount"), step("stat", file="f2"), step("umount"), step("save_image", file="after", oob=True)]
    if how == "image":
        done = run(experiment(steps, image="dump", **stack), tmp_path)
        assert "image_oob = true" in done.resolved_toml, "what was found is said"
    else:
        done = run(experiment([step("load", image="dump"), *steps], **stack), tmp_path)
    (tmp_path / "after").write_bytes(done.images["after"])
    assert {e.path: e.data for e in read_image(tmp_path / "after").entries if e.kind == "file"} == FILES


def test_an_image_of_another_file_system_is_refused_by_an_experiment(dumps: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(dumps["yaffs2"])
    told = "dump: what is given, jffs2, pages of 2048 B, erase blocks of 128 KiB, contradicts what is found, yaffs2"
    for text in (
        experiment([step("mount")], fs="jffs2", partition_blocks=40, image="dump"),
        experiment([step("load", image="dump"), step("mount")], fs="jffs2", partition_blocks=40),
    ):
        with pytest.raises(ffslab.InputError) as caught:
            run(text, tmp_path)
        assert told.removeprefix("dump: ") in str(caught.value) and "\n" not in str(caught.value)


# ---- YAFFS2 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filler", [0, None], ids=["zeros", "noise"])
def test_a_block_of_zeros_does_not_hide_yaffs2(filler: int | None, tmp_path: Path, ffslab: Command) -> None:
    """A lightly used partition, one of whose blocks was overwritten by something else."""
    image = bytearray(stack_with("yaffs2", files={"a": FILES["f0"]}).image(oob=True))
    start, length = 20 * BLOCK_PAGES * STRIDE_B, BLOCK_PAGES * STRIDE_B
    image[start : start + length] = bytes(length) if filler == 0 else random.Random(1).randbytes(length)
    (tmp_path / "dump").write_bytes(image)
    ran = ffslab("extract", "dump", "files")
    # What stands in its OOB areas marks it as a bad block.
    assert (ran.returncode, ran.stderr) == (0, "")
    assert held(tmp_path / "files") == {"a": FILES["f0"]}
    everything = ("--fs", "yaffs2", "--page-B", 2048, "--oob-B", 64, "--block-KiB", BLOCK_KIB)
    assert ffslab("extract", "dump", *everything).returncode == 0
    inspected = ffslab("inspect", "dump", *everything)
    assert inspected.returncode == 0, inspected.stderr
    assert "pages of 2048 B + 64 B OOB" in inspected.stdout
    assert inspect_image(tmp_path / "dump", block_KiB=BLOCK_KIB)["bad_blocks"] == [20]


@pytest.fixture
def yaffs2_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], bytes]:
    """So many written pages, then erased ones up to 16 MiB."""

    def make(pages: int) -> bytes:
        monkeypatch.setattr(yaffs2_images, "FIRST_SEQUENCE", 0x1001)  # the first that YAFFS2 itself gives
        (tmp_path / "source").mkdir()
        (tmp_path / "source/a").write_bytes(random.Random(3).randbytes((pages - 1) * PAGE_B))
        return build(tmp_path / "source", Layout()).ljust(128 * BLOCK_PAGES * STRIDE_B, b"\xff")

    return make


def test_the_size_of_blocks_is_asked_for_when_nothing_tells_it(
    yaffs2_of: Callable[[int], bytes], tmp_path: Path, ffslab: Command
) -> None:
    (tmp_path / "begun").write_bytes(yaffs2_of(20))
    told = "the size of its erase blocks cannot be told: 64, 128, 256 or 512 KiB fit, say which (--block-KiB"
    ran = ffslab("inspect", "begun")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert told in ran.stderr
    ran = ffslab("inspect", "begun", "--block-KiB", "128")
    assert ran.returncode == 0 and "128 erase blocks of 128.0 KiB" in ran.stdout
    # Files do not depend on it.
    ran = ffslab("extract", "begun", "files")
    assert ran.returncode == 0 and "64, 128, 256, 512 KiB fit" in ran.stdout


def test_a_full_block_tells_the_size_of_all(yaffs2_of: Callable[[int], bytes], tmp_path: Path) -> None:
    """Most of the partition is erased: one block of another size that is half used is no damage."""
    (tmp_path / "light").write_bytes(yaffs2_of(100))
    assert inspect_image(tmp_path / "light")["layout"]["block_B"] == 128 * 1024


@pytest.mark.parametrize("version", ["2010", "today"])
@pytest.mark.parametrize("pages", [200, 3000])
def test_our_own_lightly_used_partition_is_recognised(version: str, pages: int, tmp_path: Path) -> None:
    """With the summaries and checkpoints that the version writes."""
    steps = [step("mount"), step("create", file="a", bytes=pages * PAGE_B), step("umount")]
    steps += [step("save_image", file="dump", oob=True)]
    stack = {"fs": "yaffs2", "partition_blocks": 400, "yaffs2_version": version}
    (tmp_path / "dump").write_bytes(run(experiment(steps, **stack), tmp_path).images["dump"])
    layout = inspect_image(tmp_path / "dump")["layout"]
    assert (layout["page_B"], layout["oob_B"], layout["block_B"]) == (2048, 64, 128 * 1024)


# ---- UBIFS without UBI --------------------------------------------------------------------------------------


@pytest.mark.parametrize("leb_B", [126_976, 129_024])
def test_a_volume_without_ubi_is_read_and_begins_no_life(leb_B: int, tmp_path: Path, ffslab: Command) -> None:  # noqa: N803
    root = made.files(tmp_path / "root")
    make = [tool("mkfs.ubifs"), "-q", "-r", str(root), "-m", "2048", "-e", str(leb_B), "-c", "200"]
    make += ["-o", str(tmp_path / "bare")]
    subprocess.run(make, check=True)
    ran = ffslab("extract", "bare", "files")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "UBIFS without UBI: " in ran.stdout
    assert held(tmp_path / "files") == held(root)
    (tmp_path / "wear.toml").write_text(workload("ubifs"), encoding="utf-8")
    ran = ffslab("inspect", "bare")
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = ffslab("lifetime", "bare", "--workload", "wear.toml")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    sub_pages = " -s 512" if leb_B == 129_024 else ""
    assert "UBIFS without UBI" in ran.stderr and f"ubinize -o image.ubi -m 2048{sub_pages} -p 128KiB" in ran.stderr


# ---- whole chips --------------------------------------------------------------------------------------------


def test_the_partitions_of_a_chip_are_found(chip: Path, ffslab: Command) -> None:
    ran = ffslab("inspect", chip, "--json")
    assert ran.returncode == 0, ran.stderr
    parts = json.loads(ran.stdout)["partitions"]
    mib = 1 << 20
    assert [(p["name"], p["offset_B"], p["size_B"]) for p in parts] == [
        ("unknown", 0, mib // 2),
        ("ubifs", mib // 2, 5 * mib),
        ("jffs2", mib * 11 // 2, 5 * mib),
        ("yaffs2", mib * 21 // 2, 5 * mib),
    ]
    assert parts[0]["facts"] is None, "a boot loader is no damage"
    for part in parts[1:]:
        assert part["facts"]["damage_count"] == 0
        assert {entry["path"] for entry in part["facts"]["files"] if entry["kind"] == "file"} == set(FILES)
    text = ffslab("inspect", chip).stdout
    assert "4 partitions" in text and "unknown data" in text and text.count("no damage was found") == 3


@pytest.mark.parametrize("given", [[], ["--mtdparts", MTDPARTS]])
def test_each_partition_is_extracted_into_its_own_folder(
    given: list[str], chip: Path, tmp_path: Path, ffslab: Command
) -> None:
    ran = ffslab("extract", chip, "files", *given)
    assert (ran.returncode, ran.stderr) == (0, "")
    names = ["system", "config", "data"] if given else ["ubifs", "jffs2", "yaffs2"]
    assert held(tmp_path / "files") == {f"{part}/{name}": data for part in names for name, data in FILES.items()}
    one = ffslab("extract", chip, "one", "--partition", names[1], *given)
    assert (one.returncode, one.stderr) == (0, "")
    assert held(tmp_path / "one") == FILES


def test_a_partition_is_given_by_its_place(chip: Path, tmp_path: Path, ffslab: Command) -> None:
    place = ("--offset", "0x580000", "--size", "5M")
    assert ffslab("extract", chip, "files", *place).returncode == 0
    assert held(tmp_path / "files") == FILES
    assert ffslab("inspect", chip, *place).stdout.count("JFFS2") > 0
    for wrong, told in [
        (
            ["--partition", "nowhere"],
            "there is no partition nowhere in it: unknown (unknown data, 512 KiB at 0x0), ubifs",
        ),
        (["--mtdparts", "nand:1M(a"], "a name is not closed"),
        (["--offset", "1G"], "the image has 16252928 B of page data"),
        (["--offset", "many"], "must be a number of bytes"),
        (["--offset", "0", "--mtdparts", MTDPARTS], "give one of them"),
        (["--mtdparts", "nand:1000(odd),-(rest)"], "does not begin with a page of 2048 B"),
    ]:
        for verb in ("extract", "inspect"):
            ran = ffslab(verb, chip, *wrong)
            assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
            assert told in ran.stderr, ran.stderr


def test_a_boot_loader_before_a_file_system_is_no_damage(
    dumps: dict[str, bytes], tmp_path: Path, ffslab: Command
) -> None:
    """Page data only, and one partition that is known: it is meant, whoever asks."""
    raw = stack_with("jffs2").image(oob=False)
    (tmp_path / "chip").write_bytes(boot_loader(8, oob=False) + raw)
    ran = ffslab("inspect", "chip")
    assert ran.returncode == 0 and "unknown data" in ran.stdout and "no damage was found" in ran.stdout
    done = run(
        experiment([step("mount"), step("stat", file="f1")], fs="jffs2", partition_blocks=40, image="chip"), tmp_path
    )
    assert done.summary["variants"][0]["totals"]["page_reads"] > 0


def test_of_several_partitions_one_must_be_chosen(chip: Path, tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "wear.toml").write_text(workload("jffs2"), encoding="utf-8")
    (tmp_path / "place").mkdir()
    several = "it holds several partitions, choose one: unknown (unknown data, 512 KiB at 0x0), ubifs (ubifs"
    for arguments in (
        ["lifetime", chip, "--workload", "wear.toml"],
        ["mount", "--image", chip, "--no-results", "place", "--", "true"],
    ):
        ran = ffslab(*arguments)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
        assert several in ran.stderr, ran.stderr
    ran = ffslab("lifetime", chip, "--workload", "wear.toml", "--partition", "jffs2", "--reckon")
    assert ran.returncode == 0, ran.stderr
    steps = [step("mount"), step("stat", file="f1")]
    for keys in ({"image_partition": "jffs2"}, {"image_mtdparts": MTDPARTS, "image_partition": "config"}):
        run(experiment(steps, fs="jffs2", partition_blocks=40, image=str(chip), **keys), tmp_path)
    load = step("load", image=str(chip), partition="jffs2")
    run(experiment([load, *steps], fs="jffs2", partition_blocks=40), tmp_path)


def test_a_partition_of_a_chip_is_mounted(chip: Path, tmp_path: Path, ffslab: Command) -> None:
    need_fuse()
    (tmp_path / "place").mkdir()
    for fs in ("jffs2", "yaffs2", "ubifs"):
        reserve = ("--set", "max_beb_per1024=1") if fs == "ubifs" else ()
        which = ("--image", chip, "--partition", fs)
        ran = ffslab("mount", *which, *reserve, "--no-results", "place", "--", "ls", "place")
        assert ran.returncode == 0, ran.stderr
        assert set(FILES) <= set(ran.stdout.split()), ran.stdout
