"""Images as initial states: a step puts one on the partition, in the middle of an experiment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ffslab
from ffslab.images import read_image
from helpers.jffs2_images import contents, experiment, run, step


def setup(text: str) -> str:
    """Setup steps instead of measured ones."""
    return text.replace("[[measure]]", "[[setup]]")


def saved(tmp_path: Path, **stack: object) -> dict[str, bytes]:
    """Images of a partition with files, by name."""
    contents(tmp_path / "contents")
    steps = [
        step("mount"),
        step("copy_in", **{"from": "contents"}),
        step("umount"),
        step("save_image", file="dump.bin", oob=True),
    ]
    return run(experiment(steps, **stack), tmp_path).images


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_a_loaded_dump_is_what_is_mounted(fs: str, tmp_path: Path) -> None:
    (tmp_path / "field.bin").write_bytes(saved(tmp_path, fs=fs, partition_blocks=128)["dump.bin"])
    # What was there before is gone, and with it what the driver remembers.
    before = [step("mount"), step("create", file="gone", bytes="1 MiB"), step("umount")]
    before += [step("ubi_detach")] if fs == "ubifs" else []
    before += [step("load", image="field.bin", oob=True), step("save_image", file="loaded.bin", oob=True)]
    after = [step("mount"), step("stat", file="n/" + "l" * 254), step("stat", file="gone", fails="ENOENT")]
    after += [
        step("create", file="new", bytes="64 KiB"),
        step("umount"),
        step("save_image", file="after.bin", oob=True),
    ]
    text = experiment([], fs=fs, partition_blocks=128) + setup("".join(before)) + "".join(after)
    done = run(text, tmp_path)
    assert done.images["loaded.bin"] == (tmp_path / "field.bin").read_bytes()
    (tmp_path / "after.bin").write_bytes(done.images["after.bin"])
    then = {entry.path: entry.data for entry in read_image(tmp_path / "field.bin", oob=True).entries}
    now = {entry.path: entry.data for entry in read_image(tmp_path / "after.bin", oob=True).entries}
    assert len(now.pop("new")) == 65536
    assert now == then
    assert f'image = "{tmp_path}/field.bin"' in done.resolved_toml, "the experiment can be run again from elsewhere"


def test_each_variant_loads_its_own_image(tmp_path: Path) -> None:
    for name, bytes in (("small.bin", 2000), ("large.bin", 200_000)):
        made = run(experiment([step("mount"), step("create", file="a", bytes=bytes), step("umount"),
                               step("save_image", file="x.bin")]), tmp_path)  # fmt: skip
        (tmp_path / name).write_bytes(made.images["x.bin"])
    text = experiment([]) + setup(step("load", image="small.bin")) + step("mount") + step("readdir", dir="")
    axes = '[axes]\n"setup.load.image" = ["small.bin", "large.bin"]\n'
    small, large = (variant["space_after"] for variant in run(text + axes, tmp_path).summary["variants"])
    assert small is not None and large is not None
    assert small["valid_B"] + 150_000 < large["valid_B"]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([step("load", image="nowhere.bin")], "nowhere.bin: cannot read the image"),
        (
            [step("mount"), step("load", image="fits.bin")],
            'load "fits.bin"): the partition is mounted: umount it first',
        ),
        ([step("load", image="large.bin")], "bytes do not fit: the good blocks of the range hold 8388608 bytes"),
        ([step("load", image="odd.bin", oob=True)], "odd.bin: 2113 bytes are not a whole number of pages"),
        ([step("load", image="fits.bin", autoplace=True)], "autoplace is set, but not oob"),
    ],
)
def test_images_that_cannot_be_loaded_are_refused(steps: list[str], told: str, tmp_path: Path) -> None:
    for name, size in (("fits.bin", 100), ("large.bin", 64 * 131072 + 1), ("odd.bin", 2113)):
        (tmp_path / name).write_bytes(b"\xff" * size)
    with pytest.raises(ffslab.InputError, match=re.escape(told)) as caught:
        run(experiment([*steps, step("mount")]), tmp_path)
    assert "\n" not in str(caught.value)


def test_a_state_refuses_the_step_and_names_the_key_that_does_it(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff")
    text = experiment([step("mount")]) + step("load", image="a.bin").replace("[[measure]]", "[[state]]")
    with pytest.raises(ffslab.InputError, match=r"cannot be part of a state, put it into \[\[setup\]\]"):
        run(text, tmp_path)
