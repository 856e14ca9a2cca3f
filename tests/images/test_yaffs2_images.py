"""YAFFS2 images both ways: those of others are read here, those written here are read by others.

An independent writer was not found in the package registries. What stands in for it is a writer made from the
specification (`yaffs2_images.build`); where YAFFS2's own `mkyaffs2image` is installed, its images are read, too.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.images import ImageTree, read_image
from helpers.command import Command
from helpers.jffs2_images import Seen, experiment, from_image, run, step
from helpers.yaffs2_images import Layout, build, in_order, make_tree, page, seen_below, tool, unyaffs

AS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("tree") / "root")


def assert_same(image: ImageTree, expected: dict[str, Seen]) -> None:
    assert image.complaints == []
    found = {entry.path: from_image(entry, with_time=True) for entry in image.entries if entry.path}
    assert found.keys() == expected.keys()
    for path, wanted in expected.items():
        assert found[path].data == wanted.data, path
        assert found[path] == wanted, path


# ---- others -> ffslab -----------------------------------------------------------------------------------------

LAYOUTS = {
    "nanddump": Layout(),
    "mkyaffs2image": Layout(tags_offset=2048, extra=False),
    "without-extra-tags": Layout(extra=False),
    "without-ecc": Layout(ecc=False),
    "inband": Layout(oob_B=0, tags_offset=2032),
    "inband-with-oob": Layout(tags_offset=2032),
    "pages-of-4-KiB": Layout(page_B=4096, oob_B=128, tags_offset=4098),
    "pages-of-4-KiB-224": Layout(page_B=4096, oob_B=224, tags_offset=4096, block_pages=128),
    "pages-of-8-KiB": Layout(page_B=8192, oob_B=256, tags_offset=8194),
    "small-blocks": Layout(block_pages=16),
    "large-blocks": Layout(block_pages=256),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_image_made_from_the_specification_is_read_identical(name: str, tree: Path, tmp_path: Path) -> None:
    """All sizes are guessed."""
    (tmp_path / "image").write_bytes(build(tree, LAYOUTS[name]))
    read = read_image(tmp_path / "image")
    assert_same(read, seen_below(tree))
    links = {entry.path: (entry.ino, entry.links) for entry in read.entries}
    assert links["names/hard link"] == links["big"]
    assert links["big"][1] == 2


def test_an_image_of_mkyaffs2image_is_read_identical(tree: Path, tmp_path: Path) -> None:
    program = shutil.which("mkyaffs2image")
    if program is None:  # Debian has no such package, so nothing may depend on it
        pytest.skip("mkyaffs2image is missing: it is in utils/ of YAFFS2's sources")
    # It keeps names of up to 254 bytes of a path of up to 499.
    subprocess.run([program, tree, tmp_path / "image"], check=True, capture_output=True)
    assert_same(read_image(tmp_path / "image"), seen_below(tree))


def test_an_image_is_extracted_identical(tree: Path, tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "image").write_bytes(build(tree, LAYOUTS["mkyaffs2image"]))
    ran = ffslab("extract", "image", "out")
    expected = seen_below(tree)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "YAFFS2" in ran.stdout
    found = seen_below(tmp_path / "out")
    if not AS_ROOT:  # only root keeps set-ID bits
        expected = {path: replace(seen, permissions=seen.permissions & 0o777) for path, seen in expected.items()}
    assert found == expected
    assert (tmp_path / "out/big").samefile(tmp_path / "out/names/hard link")


def test_an_image_is_listed(tree: Path, tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "image").write_bytes(build(tree, LAYOUTS["nanddump"]))
    for options in ([], ["--fs", "yaffs2"], ["--oob", "--page-B", "2048", "--block-KiB", "128"]):
        ran = ffslab("extract", "image", *options)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert re.search(r"^lrwxrwxrwx .* /relative -> etc/fstab$", ran.stdout, re.MULTILINE)
        assert "lost+found" not in ran.stdout


def test_what_is_no_image_is_refused(tree: Path, tmp_path: Path, ffslab: Command) -> None:
    layout = LAYOUTS["nanddump"]
    image = build(tree, layout)
    # Without OOB there are no tags; with a sequence number per page there are no erase blocks.
    (tmp_path / "no-oob").write_bytes(
        b"".join(image[at : at + 2048] for at in range(0, len(image), layout.stride_B)),
    )
    (tmp_path / "no-blocks").write_bytes(build(tree, replace(layout, block_pages=1)))
    for name, fs, told in (
        (
            "no-oob",
            "auto",
            "nothing can be read of it, but it has object headers of YAFFS2: the image needs the OOB areas of its "
            "pages, where their tags are (nanddump --oob; `oob = true` of the step save_image)",
        ),
        (
            "no-oob",
            "yaffs2",
            "there is no YAFFS2 object header in the image: without in-band tags it needs its OOB areas",
        ),
        (
            "no-blocks",
            "auto",
            "pages side by side have different sequence numbers: no size of erase blocks suits the image",
        ),
    ):
        ran = ffslab("extract", name, "--fs", fs)
        assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"ffslab: {name}: {told}\n")


# ---- ffslab -> others -----------------------------------------------------------------------------------------


def busy_steps() -> list[str]:
    """Renames, deletes, overwrites what the image holds until garbage was collected, and unmounts."""
    return [
        step("mount"),
        *[step("rename", file=f"many/f{i:03}", to=f"many/renamed{i:03}") for i in (5, 10, 15)],
        *[step("unlink", file=f"many/f{i:03}") for i in (1, 11, 21)],
        step("create", file="target", bytes="1 MiB"),
        step("open", file="target", flags=["wronly"]),
        step("requests", file="target", op="write", pattern="random", request_B="4 KiB", count=3000, seed=3),
        step("requests", file="target", op="write", pattern="random", request_B=700, count=500, seed=4),
        step("close", file="target"),
        step("umount"),
        step("save_image", file="raw.bin"),
        step("save_image", file="dump.bin", oob=True),
    ]


def expected_afterwards(tree: Path) -> dict[str, Seen]:
    expected = seen_below(tree)
    for i in (1, 11, 21):
        del expected[f"many/f{i:03}"]
    for i in (5, 10, 15):
        expected[f"many/renamed{i:03}"] = expected.pop(f"many/f{i:03}")
    return expected


VARIANTS: dict[str, dict[str, Any]] = {
    "nanddump": {"image_oob": True},
    "mkyaffs2image": {"image_oob": True, "image_autoplace": True},
    "inband": {"inband_tags": True},
    "inband-with-oob": {"image_oob": True, "inband_tags": True},
}


@pytest.mark.parametrize("version", ["2010", "2012", "today"])
@pytest.mark.parametrize("name", VARIANTS)
def test_an_image_goes_on_living_in_ffslab(name: str, version: str, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(build(tree, LAYOUTS[name]))
    stack = {"fs": "yaffs2", "image": "image", "yaffs2_version": version, **VARIANTS[name]}
    done = run(experiment(busy_steps(), partition_blocks=60, **stack), tmp_path)
    assert done.summary["variants"][0]["totals"]["erases"] > 60, "too little was erased"
    for file in ("dump.bin", "raw.bin") if "inband" in name else ("dump.bin",):
        (tmp_path / file).write_bytes(done.images[file])
        read = read_image(tmp_path / file)
        assert {entry.path: entry.size_B for entry in read.entries}["target"] == 1 << 20
        rest = [entry for entry in read.entries if entry.path not in ("", "target", "many")]
        expected = expected_afterwards(tree)
        # Names came and went in it.
        del expected["many"]
        assert_same(ImageTree(rest, read.notes), expected)


@pytest.mark.parametrize("tags_offset", [2048, 2050])
@pytest.mark.parametrize("version", ["2010", "2012", "today"])
def test_unyaffs_extracts_what_ffslab_wrote(version: str, tags_offset: int, tree: Path, tmp_path: Path) -> None:
    tool("unyaffs")
    (tmp_path / "image").write_bytes(build(tree, LAYOUTS["nanddump"]))
    stack = {"fs": "yaffs2", "image": "image", "image_oob": True, "yaffs2_version": version}
    done = run(experiment(busy_steps(), partition_blocks=60, **stack), tmp_path)
    (tmp_path / "dump.bin").write_bytes(done.images["dump.bin"])
    ours = {entry.path: from_image(entry, with_time=True) for entry in read_image(tmp_path / "dump.bin").entries}
    (tmp_path / "ordered").write_bytes(in_order(done.images["dump.bin"], Layout(), tags_offset))
    options = ["-b", "-c", "2", "-s", "64"] if tags_offset == 2050 else []
    theirs = unyaffs(tmp_path / "ordered", tmp_path / "theirs", *options)
    assert theirs.keys() == ours.keys() - {""}
    for path, seen in theirs.items():
        assert seen.data == ours[path].data, path
        wanted = ours[path]
        if seen.kind not in ("file", "directory"):  # unyaffs makes these without set-ID bits
            seen, wanted = (replace(both, permissions=both.permissions & 0o777) for both in (seen, wanted))
        if AS_ROOT:  # others cannot give files away
            assert seen == wanted, path
    assert (tmp_path / "theirs/big").samefile(tmp_path / "theirs/names/hard link")


def test_unyaffs_notices_a_wrong_tag(tree: Path, tmp_path: Path) -> None:
    """The comparison can fail: a data chunk with another number breaks the image for unyaffs."""
    program = tool("unyaffs")
    layout = LAYOUTS["mkyaffs2image"]
    image = bytearray(build(tree, layout))
    draw = random.Random(1)
    chunks = [at for at in range(0, len(image), layout.stride_B) if image[at + 2048 + 8] == 3]
    at = draw.choice(chunks)
    number = int.from_bytes(image[at + 2052 : at + 2056], "little")
    image[at : at + layout.stride_B] = page(layout, bytes(image[at : at + 2048]), (0x1000, number, 77, 2048))
    (tmp_path / "image").write_bytes(image)
    ran = subprocess.run([program, tmp_path / "image", tmp_path / "out"], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "Broken image file" in ran.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"image": "image", "image_autoplace": True}, "autoplace is set, but not oob: there are no OOB bytes to place"),
        ({"image": "image", "image_oob": True, "partition_blocks": 9}, "do not fit"),
    ],
)
def test_images_that_cannot_be_loaded_are_refused(
    change: dict[str, Any], told: str, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "image").write_bytes(build(tree, LAYOUTS["nanddump"]) * 3)
    with pytest.raises(ffslab.InputError, match=re.escape(told)) as caught:
        run(experiment([step("mount")], **{"fs": "yaffs2", **change}), tmp_path)
    assert "\n" not in str(caught.value)
