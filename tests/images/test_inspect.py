"""`ffslab inspect`: what is in an image is found, with the sizes that nobody said; damage is told, and survived."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ffslab import InputError
from ffslab.images import inspection, read_image
from ffslab.images import page as report
from ffslab.images.inspection import text, tree_of
from helpers import inspect_images as made
from helpers.command import ROOT, Command
from helpers.jffs2_images import experiment, run, step
from helpers.mounted import need_fuse
from helpers.yaffs2_images import Layout, build
from inspect_campaign import FORMATS, LOADED, Tally, campaign

# Images of which much is known: each test says what it expects to be there.
inspect_image: Callable[..., Any] = inspection.inspect_image

KIB = 1024


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Raw images and dumps of the simulator, by file system."""
    folder = tmp_path_factory.mktemp("images")
    places = {}
    for fs in ("jffs2", "yaffs2", "ubifs"):
        for name, image in made.simulated(folder, fs).items():
            places[f"{fs} {name}"] = folder / f"{fs}-{name}"
            places[f"{fs} {name}"].write_bytes(image)
    return places


def sizes(facts: dict[str, Any]) -> tuple[str, int, int, int]:
    layout = facts["layout"]
    return layout["fs"], layout["page_B"], layout["oob_B"], layout["block_B"] // KIB


# ---- what it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "page", "oob"),
    [
        ("jffs2 raw.bin", 2048, 0),
        ("jffs2 dump.bin", 2048, 64),
        ("yaffs2 dump.bin", 2048, 64),
        ("ubifs raw.bin", 2048, 0),
        ("ubifs dump.bin", 2048, 64),
    ],
)
def test_the_sizes_of_a_dump_are_found(name: str, page: int, oob: int, images: dict[str, Path]) -> None:
    facts = inspect_image(images[name])
    assert sizes(facts) == (name.split()[0], page, oob, 128)
    assert facts["damage_count"] == 0
    files = {entry["path"]: entry for entry in facts["files"]}
    assert files["hot"]["size_B"] == 1 << 20
    assert files["large"]["size_B"] == 600_000
    assert not [entry for entry in facts["files"] if entry["error"]]
    assert facts["bad_blocks"] == ([] if oob else None)
    # What the blocks hold adds up to them, and there is as much as the files need.
    held = facts["space"]
    assert sum(held.values()) == 64 * 128 * KIB
    assert held["valid_B"] > (1 << 20) + 600_000
    assert facts["mount"]["time_us"] > 0


@pytest.mark.parametrize("kib", [16, 64, 128, 256])
@pytest.mark.parametrize("order", ["-l", "-b"])
@pytest.mark.parametrize("marker", [(), ("-n",)])
def test_images_of_mkfs_jffs2_are_recognised(kib: int, order: str, marker: tuple[str, ...], tmp_path: Path) -> None:
    image = made.made_by_mkfs_jffs2(tmp_path, "-e", f"{kib}KiB", order, *marker)
    facts = inspect_image(image)
    assert facts["layout"]["endian"] == {"-l": "little", "-b": "big"}[order]
    assert sizes(facts)[0] == "jffs2"
    if not marker:
        assert sizes(facts)[3] == kib
        assert "clean markers" in facts["layout"]["because"][-1]
    assert [entry for entry in facts["files"] if entry["error"]] == []
    assert sum(entry["kind"] == "file" for entry in facts["files"]) == 25


@pytest.mark.parametrize(
    "layout",
    [
        Layout(),
        Layout(tags_offset=2048, extra=False),
        Layout(oob_B=0, tags_offset=2032),
        Layout(page_B=4096, oob_B=128, tags_offset=4098, ecc=False),
    ],
)
def test_yaffs2_images_are_recognised(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(build(made.files(tmp_path / "root"), layout))
    facts = inspect_image(tmp_path / "image")
    assert sizes(facts)[:3] == ("yaffs2", layout.page_B, layout.oob_B)
    assert facts["layout"]["tags_at_B"] == layout.tags_offset
    assert sum(entry["kind"] == "file" for entry in facts["files"]) == 25
    # Where tags stand, there are no marks of bad blocks.
    has_marks = layout.oob_B > 0 and layout.tags_offset != layout.page_B
    assert facts["bad_blocks"] == ([] if has_marks else None)


def test_an_image_of_ubinize_is_recognised(tmp_path: Path) -> None:
    facts = inspect_image(made.made_by_ubinize(tmp_path))
    assert sizes(facts) == ("ubifs", 2048, 0, 128)
    assert facts["superblock"]["volume 0"]["name"] == "rootfs"
    assert facts["superblock"]["UBIFS compression"] == "lzo"
    assert facts["superblock"]["volume identifier header at"] == 2048
    assert facts["wear"] == {
        "kind": "erase counter",
        "blocks": facts["layout"]["blocks"],
        "min": 0,
        "mean": 0,
        "max": 0,
        "histogram": [{"from": 0, "to": 0, "blocks": facts["layout"]["blocks"]}],
    }


@pytest.mark.parametrize("layout", [Layout(), Layout(oob_B=0, tags_offset=2032)], ids=["oob", "in-band"])
def test_an_update_in_a_file_does_not_make_the_image_another(
    layout: Layout, images: dict[str, Path], tmp_path: Path
) -> None:
    """A YAFFS2 partition with an image of UBI in it, as one waits there to be installed."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "update.ubi").write_bytes(images["ubifs raw.bin"].read_bytes())
    image = tmp_path / "data.yaffs2"
    image.write_bytes(build(tmp_path / "source", layout))
    assert inspect_image(image)["layout"]["fs"] == "yaffs2"


@pytest.mark.parametrize(
    ("mebibytes", "flags", "kind"),
    [(2, (), "FAT12"), (16, ("-F", "16"), "FAT16"), (40, ("-F", "32", "-s", "1"), "FAT32")],
)
def test_fat_volumes_are_recognised(mebibytes: int, flags: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    image = made.made_by_mkfs_fat(tmp_path, mebibytes, *flags)
    facts = inspect_image(image)
    assert facts["superblock"]["type"] == kind
    found = {entry["path"]: entry for entry in facts["files"]}
    assert found["large"]["size_B"] == 600_000
    assert found["large"]["read"]["pieces"] == 1, "mcopy fills an empty volume front to back"
    assert facts["damage_count"] == 0
    clusters, free = facts["superblock"]["clusters"], facts["superblock"]["free clusters"]
    assert facts["space"]["free_B"] == free * facts["superblock"]["cluster B"] > 0
    assert free < clusters


@pytest.mark.parametrize("name", ["jffs2 dump.bin", "yaffs2 dump.bin", "ubifs raw.bin"])
def test_an_experiment_starts_from_the_image_as_the_text_says(
    name: str, images: dict[str, Path], tmp_path: Path
) -> None:
    said = text(inspect_image(images[name]))
    keys = said.partition("with [stack] ")[2].splitlines()[0]
    steps = step("mount") + step("stat", file="hot")
    stack = ["[stack]", 'board = "zero-overhead"', *keys.split(", "), *["max_beb_per1024 = 1"] * ("ubifs" in name)]
    done = run("\n".join(['title = "x"', *stack, steps]), tmp_path)
    assert done.summary["variants"][0]["totals"]["page_programs"] < 10, "a new file system was made"


def test_what_is_no_image_is_refused(tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(300_000))
    (tmp_path / "erased").write_bytes(b"\xff" * 300_000)
    (tmp_path / "empty").write_bytes(b"")
    for name, told in (("noise", "nothing is known in it"), ("erased", "erased flash"), ("empty", "is empty"),
                       ("missing", "cannot read the image")):  # fmt: skip
        ran = ffslab("inspect", name)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert told in ran.stderr and ran.stderr.count("\n") == 1


def test_sizes_that_cannot_be_are_refused(images: dict[str, Path], tmp_path: Path) -> None:
    image = images["jffs2 dump.bin"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"page_B": 1000}, "pages of 1000 B: a power of two"),
        ({"oob_B": 7}, "OOB areas of 7 B"),
        ({"block_KiB": 3}, "erase blocks of 3072 B"),
        ({"fs": "yaffs2"}, "what is given, yaffs2, contradicts what is found, jffs2 little-endian"),
        ({"board": "nowhere"}, "nowhere"),
    ]
    for options, told in wrong:
        with pytest.raises(InputError, match=told):
            inspect_image(image, **options)


def test_sizes_that_are_given_are_taken(images: dict[str, Path]) -> None:
    facts = inspect_image(images["jffs2 dump.bin"], page_B=2048, oob_B=64, block_KiB=64)
    assert sizes(facts) == ("jffs2", 2048, 64, 64)
    assert "as given" in " ".join(facts["layout"]["because"])


# ---- what is in it ------------------------------------------------------------------------------------------


def test_scattered_files_cost_more_than_files_in_one_piece(images: dict[str, Path]) -> None:
    for name in ("jffs2 dump.bin", "yaffs2 dump.bin"):
        files = {entry["path"]: entry["read"] for entry in inspect_image(images[name])["files"]}
        hot, large = files["hot"], files["large"]
        assert hot["pieces"] > 5 * large["pieces"], name
        assert hot["reads"] >= hot["least_reads"] == 512
        assert hot["time_us"] / hot["least_reads"] >= 0.99 * large["time_us"] / large["least_reads"], name


def test_the_cost_of_a_mount_is_that_of_the_experiment_with_the_image(images: dict[str, Path], tmp_path: Path) -> None:
    for fs in ("jffs2", "yaffs2", "ubifs"):
        keys: dict[str, object] = {"image": str(images[f"{fs} dump.bin"]), "image_oob": True, "board": "omap3evm"}
        keys |= {"partition_blocks": 64, "fs": fs} | ({"max_beb_per1024": 1} if fs == "ubifs" else {})
        counts = run(experiment([step("mount")], **keys), tmp_path).summary["variants"][0]["totals"]
        found = inspect_image(images[f"{fs} dump.bin"])["mount"]["counts"]
        assert (found["page_reads"], found["oob_reads"]) == (counts["page_reads"], counts["oob_reads"]), fs


def test_wear_is_that_of_the_headers(images: dict[str, Path]) -> None:
    facts = inspect_image(images["ubifs dump.bin"])
    counters = [block["erases"] for block in facts["blocks"]]
    assert facts["wear"]["max"] == max(counters) > min(counters)
    assert sum(row["blocks"] for row in facts["wear"]["histogram"]) == 64
    facts = inspect_image(images["yaffs2 dump.bin"])
    assert facts["wear"]["kind"] == "sequence number"
    assert facts["wear"]["max"] == facts["superblock"]["highest sequence number"]
    assert inspect_image(images["jffs2 dump.bin"])["wear"] is None


def test_bad_blocks_are_found_by_their_marks(images: dict[str, Path], tmp_path: Path) -> None:
    dump = bytearray(images["jffs2 dump.bin"].read_bytes())
    for block, page in ((3, 0), (60, 1)):
        dump[(block * 64 + page) * 2112 + 2048] = 0
    (tmp_path / "dump").write_bytes(dump)
    facts = inspect_image(tmp_path / "dump")
    assert facts["bad_blocks"] == [3, 60]
    assert [block["block"] for block in facts["blocks"] if block["is_bad"]] == [3, 60]
    assert "2 bad blocks: numbers 3, 60" in text(facts)
    one = facts | {"bad_blocks": [22]}
    for said in (text(one), report.html(one)):
        assert "1 bad block: number 22" in said
        assert "bad blocks: 22" not in said.lower()


def test_damage_is_told_with_its_place(images: dict[str, Path], tmp_path: Path, ffslab: Command) -> None:
    image = bytearray(images["jffs2 raw.bin"].read_bytes())
    # In the data of the first node of the content that does not compress.
    at = image.index(b"\x85\x19\x02\xe0") + 68 + 100
    image[at] ^= 1
    (tmp_path / "image").write_bytes(image)
    ran = ffslab("inspect", "image", "--json")
    assert ran.returncode == 1
    facts = json.loads(ran.stdout)
    assert facts["damage_count"] == 1
    (damage,) = facts["damage"]
    assert damage["block"] == at // (128 * KIB)
    assert 0 <= at - damage["offset"] - 68 < 4096
    assert damage["what"] == "an inode node whose data have a wrong CRC"
    ubi = bytearray(images["ubifs raw.bin"].read_bytes())
    ubi[5 * 128 * KIB + 8] ^= 1
    (tmp_path / "ubi").write_bytes(ubi)
    assert (5, "an erase counter header with a wrong CRC") in [
        (piece["block"], piece["what"]) for piece in inspect_image(tmp_path / "ubi")["damage"]
    ]


def test_fats_that_differ_are_told(tmp_path: Path) -> None:
    image = made.made_by_mkfs_fat(tmp_path)
    facts = inspect_image(image)["superblock"]
    second = (facts["reserved sectors"] + facts["sectors of a FAT"]) * facts["sector B"]
    data = bytearray(image.read_bytes())
    data[second + 11] ^= 0x10
    image.write_bytes(data)
    found = inspect_image(image)
    assert [piece["what"] for piece in found["damage"]] == ["FAT 2 differs from the first, first at cluster 7"]


# ---- the command --------------------------------------------------------------------------------------------


def test_text_report_and_files_come_from_one_look(images: dict[str, Path], tmp_path: Path, ffslab: Command) -> None:
    for name in ("jffs2 dump.bin", "yaffs2 dump.bin", "ubifs dump.bin"):
        folder, report = tmp_path / name.split()[0], tmp_path / f"{name.split()[0]}.html"
        ran = ffslab("inspect", images[name], "--extract", folder, "--out", report)
        assert (ran.returncode, ran.stderr) == (0, "")
        for part in ("space: valid", "a mount takes", "/hot", "no damage was found", f"Report: {report}"):
            assert part in ran.stdout, part
        expected = {
            entry.path: entry.data for entry in read_image(images[name], oob=True).entries if entry.kind == "file"
        }
        found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert found == expected
        html = report.read_text(encoding="utf-8")
        assert 'data-blocks="blocks"' in html and 'data-chart="space"' in html
        assert html.count('data-chart="wear-') == (0 if name.startswith("jffs2") else 2)
        assert "<h2>Space</h2>" in html and "src=" not in html


def test_a_fat_volume_is_extracted(tmp_path: Path, ffslab: Command) -> None:
    image = made.made_by_mkfs_fat(tmp_path)
    assert ffslab("inspect", image, "--extract", tmp_path / "out").returncode == 0
    assert ffslab("extract", image, tmp_path / "again").returncode == 0
    for out in ("out", "again"):
        for path in (path for path in (tmp_path / "root").rglob("*") if path.is_file()):
            assert (tmp_path / out / path.relative_to(tmp_path / "root")).read_bytes() == path.read_bytes()
    tree = tree_of(image, inspect_image(image))
    assert tree.complaints == []


def test_a_report_takes_no_other_name(images: dict[str, Path], tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "precious").write_bytes(b"1")
    ran = ffslab("inspect", images["jffs2 dump.bin"], "--out", "precious")
    assert ran.returncode == 2 and "ends in .html" in ran.stderr
    assert (tmp_path / "precious").read_bytes() == b"1"


# ---- damaged images -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "images", [4, pytest.param(20, marks=pytest.mark.long), pytest.param(1000, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_images_are_looked_into(name: str, images: int, tmp_path: Path) -> None:
    is_survived(campaign(name, images, tmp_path))


@pytest.mark.soak
@pytest.mark.parametrize("does", ["load", "mount"])
@pytest.mark.parametrize("name", LOADED)
def test_damaged_images_are_used(name: str, does: str, tmp_path: Path) -> None:
    """By experiments, and by programs on a mount."""
    if does == "mount":
        need_fuse()
    is_survived(campaign(name, 100, tmp_path, does))


def is_survived(tally: Tally) -> None:
    """No panic, no hang, no memory beyond five times the image; and the damage is not too heavy to test anything."""
    assert tally.is_well(), f"{tally.row()} {tally.others}"
    assert tally.codes.get("0", 0) + tally.codes.get("1", 0) > tally.images / 3


@pytest.mark.parametrize("option", ["--block-KiB 4", "--page-B 512", "--oob-B 16", "--layout 512+16", "--endian big"])
def test_sizes_of_flash_are_refused_of_a_block_device(option: str, ffslab: Command) -> None:
    """They were ignored, as if the image had been read by them."""
    image = ROOT / "tests" / "images" / "hostile" / "kept" / "squashfs-xz.img"
    for verb, options in (("inspect", option.split()), ("extract", option.split()), ("extract", ["--oob"])):
        ran = ffslab(verb, image, *options)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
        assert ran.stderr.startswith(f"ffslab: {options[0]}") and "holds squashfs" in ran.stderr, ran.stderr


def test_clean_blocks_of_nor_are_free(tmp_path: Path, ffslab: Command) -> None:
    """Their clean markers stand among the data: a mount on NAND takes them for dirty."""
    stack = '[stack]\nboard = "licheepi-nano"\npart = "w25q128jv"\nfs = "jffs2"\npartition_blocks = 16\n'
    steps = 'step = "mount"', 'step = "create"\nfile = "a"\nbytes = 1000', 'step = "umount"'
    text = 'title = "nor"\n' + stack + "".join(f"[[measure]]\n{step}\n" for step in steps)
    (tmp_path / "nor.toml").write_text(f'{text}[[measure]]\nstep = "save_image"\nfile = "nor.img"\n', encoding="utf-8")
    assert ffslab("run", "nor.toml", "--out", "made").returncode == 0
    facts = json.loads(ffslab("inspect", "made/images/nor.img", "--json").stdout)
    clean = [block for block in facts["blocks"] if block["holds"] == "clean"]
    assert len(clean) == 15
    assert {(block["valid_B"], block["invalid_B"], block["free_B"]) for block in clean} == {(12, 0, 65536 - 12)}


@pytest.mark.parametrize(
    ("name", "option", "says"),
    [
        ("jffs2 raw.bin", ("--device", "usb-stick"), "JFFS2, which stands on raw flash"),
        ("squashfs", ("--board", "omap3evm"), "squashfs, which stands on a block device"),
        ("squashfs", ("--kernel", "6.1"), "squashfs, which stands on a block device"),
    ],
)
def test_a_machine_of_the_other_kind_is_refused(
    name: str, option: tuple[str, str], says: str, images: dict[str, Path], ffslab: Command
) -> None:
    """It was ignored, as if the costs were those on it."""
    image = images.get(name) or ROOT / "tests" / "images" / "hostile" / "kept" / "squashfs-xz.img"
    refused = ffslab("inspect", image, *option)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"ffslab: {' '.join(option)}: {image} holds {says}: leave it out")
