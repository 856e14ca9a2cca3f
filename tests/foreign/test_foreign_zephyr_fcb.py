"""`ffslab foreign build zephyr-fcb`: FCB of a user's Zephyr tree, a log in which keys stand as Zephyr's settings do.

As for the other stores of Zephyr (test_foreign_zephyr.py) a stand-in is compiled here, or the tree that FFSLAB_ZEPHYR
names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.answers.summary import VariantSummary
from ffslab.cli import root
from helpers.command import ROOT
from helpers.loaded_stores import DELETED, VALUE_B, VALUES, Work, nor, refuses
from helpers.small_work import spent_by
from helpers.zephyr_fcb import ZephyrFcb

STAND_IN = ROOT / "tests/foreign/zephyr-fcb"
ZEPHYR = "FFSLAB_ZEPHYR"
NOR = nor("zephyr-fcb")
WORK = Work(keys=40, count=1000)
# So few that all of them fit.
SHORT = Work(keys=40, count=60)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with zephyr-fcb.so."""
    place = tmp_path_factory.mktemp("built")
    words = ["foreign", "build", "zephyr-fcb", "--source", os.environ.get(ZEPHYR, str(STAND_IN))]
    assert root.run([*words, "--out", str(place / "zephyr-fcb.so")]) == 0
    (place / "values.bin").write_bytes(VALUES)
    return place


def ran(built: Path, work: Work, when_full: str, keys: str = "", **stack: object) -> ffslab.Run:
    text = work.experiment(NOR | stack, "zephyr-fcb.so", f'when_full = "{when_full}"\n{keys}')
    return ffslab.Experiment(text, "fcb.toml", built).run()


def only(run: ffslab.Run) -> VariantSummary:
    (variant,) = run.summary["variants"]
    return variant


@pytest.mark.parametrize(
    ("when_full", "work", "keys", "stack"),
    [
        ("stop", SHORT, "", {}),
        ("compress", WORK, "", {}),
        ("compress", WORK, "sector_size_B = 8192\nwrite_block_B = 8\n", {"partition_blocks": 8}),
    ],
)
def test_each_key_has_its_newest_value(
    built: Path, when_full: str, work: Work, keys: str, stack: dict[str, Any]
) -> None:
    variant = only(ran(built, work, when_full, keys, **stack))
    fills, sets, deletes, _, _, gets, listed, _ = variant["steps"]
    done = [step["requests_done"] for step in (fills, sets, deletes, gets)]
    assert done == [work.keys, work.count, DELETED, work.left]
    assert listed["bytes_accepted_B"] == work.left * VALUE_B
    spent = spent_by(variant)
    assert {"set", "get", "iterate", "deletion", "mount scan", "sector header"} <= set(spent)
    assert "other" not in spent
    assert (when_full == "compress") == ("gc move" in spent) == ("sector erase" in spent)


def test_a_log_loses_its_oldest_sector_and_is_what_the_format_says(built: Path, tmp_path: Path) -> None:
    run = ran(built, WORK, "rotate")
    fcb = ZephyrFcb(4, 4096)
    for number, value in WORK.writes():
        fcb.append(b"key%04d=" % number + value)
    for number in range(DELETED):
        fcb.append(b"key%04d=" % number)
    image = run.save(tmp_path / "results") / "images/after.bin"
    assert image.read_bytes() == fcb.image()
    variant = only(run)
    # Keys that are not set again are gone with their sectors.
    assert variant["steps"][5]["requests_done"] in range(WORK.left) and "gc move" not in spent_by(variant)
    # Of the others the newest values are read.
    assert root.run(["extract", str(image), str(tmp_path / "files")]) == 0
    newest = {f"key{number:04}": value for number, value in WORK.writes() if DELETED <= number < 10}
    found = {path.name: path.read_bytes() for path in (tmp_path / "files/settings").iterdir()}
    assert found.items() >= newest.items()


def test_a_log_that_is_to_stop_is_full(built: Path) -> None:
    steps = only(ran(built, WORK, "stop"))["steps"]
    assert steps[1]["requests_done"] in range(1, WORK.count)


@pytest.mark.parametrize(
    ("stack", "keys", "told"),
    [
        ({"partition_blocks": 300}, {}, "partition_blocks = 300: 2 to 255 sectors of 4096 bytes"),
        ({}, {"write_block_B": 64}, "zephyr_fcb.write_block_B = 64: 1, 2, 4, 8, 16 or 32"),
        ({}, {"when_full": "wait"}, "rotate"),
        ({}, {"names": "key####"}, "names"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    built: Path, stack: dict[str, Any], keys: dict[str, Any], told: str
) -> None:
    refuses(NOR | stack, {"library": str(built / "zephyr-fcb.so")} | keys, told)


@pytest.mark.parametrize(("name", "error"), [("a=####", "EINVAL"), ("k" * 61 + "####", "ENAMETOOLONG")])
def test_a_name_that_no_entry_can_have_is_told(built: Path, name: str, error: str) -> None:
    text = WORK.experiment(NOR, "zephyr-fcb.so").replace("count = 3", f'count = 3\nname = "{name}"')
    with pytest.raises(ffslab.InputError, match=error):
        ffslab.Experiment(text, "fcb.toml", built).run()
