"""NOR in experiments: file systems on serial and parallel parts, small erase blocks, states, images, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.command import Command
from helpers.reading_writing import STEPS, experiment, run

SERIAL, PARALLEL = "licheepi-nano", "zero-overhead"


@pytest.mark.parametrize(
    ("part", "fs", "board", "more"),
    [
        ("w25q128jv", "jffs2", SERIAL, ""),
        ("w25q128jv", "jffs2", SERIAL, "erase_block_KiB = 4"),
        ("w25q256", "ubifs", SERIAL, 'medium = "nor"'),
        ("js28f256p30", "jffs2", PARALLEL, 'compression = "zlib"'),
        ("s29gl256p", "ubifs", PARALLEL, ""),
    ],
)
def test_file_systems_run_on_parts_of_nor(
    ffslab: Command, tmp_path: Path, part: str, fs: str, board: str, more: str
) -> None:
    blocks = 512 if "erase_block_KiB" in more else 64
    variant = run(ffslab, tmp_path, board, part, fs, more, blocks=blocks)
    totals = variant["totals"]
    assert totals["page_reads"] >= 64
    assert totals["page_programs"] > 200
    assert totals["oob_reads"] == totals["oob_programs"] == 0
    most = {"w25q128jv": 256, "w25q256": 256, "js28f256p30": 1024, "s29gl256p": 64}[part]
    assert variant["flash"]["page_B"] == most
    # No command carries more than the page or buffer of the part.
    assert totals["bus_in_B"] <= most * totals["page_programs"]
    # What is written is what was asked for, and the nodes' heads: a program of a part of a page is no whole page.
    assert fs == "ubifs" or "compression" in more or 1.0 < variant["write_amplification"] < 1.5
    resolved = (tmp_path / "out" / "resolved.toml").read_text(encoding="utf-8")
    assert "ecc" not in resolved
    again = ffslab("run", tmp_path / "out" / "resolved.toml", "--out", "again")
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "again" / "summary.json").read_bytes() == (tmp_path / "out" / "summary.json").read_bytes()


def test_small_erase_blocks_are_erased_sooner(ffslab: Command, tmp_path: Path) -> None:
    small = run(ffslab, tmp_path, SERIAL, "w25q128jv", "jffs2", "erase_block_KiB = 4", blocks=512)["flash"]
    large = run(ffslab, tmp_path, SERIAL, "w25q128jv", "jffs2", blocks=32)["flash"]
    assert (small["t_erase_us"], large["t_erase_us"]) == (45_000.0, 150_000.0)
    assert (small["chip_blocks"], large["chip_blocks"]) == (4096, 256)


def test_a_state_of_nor_is_kept_and_found_again(ffslab: Command, tmp_path: Path) -> None:
    state = '[[state]]\nstep = "mount"\n[[state]]\nstep = "occupy"\nfile = "static"\npercent = 30\n'
    path = experiment(tmp_path, SERIAL, "w25q128jv", "jffs2", steps=STEPS.replace("[[setup]]", state + "[[setup]]", 1))
    summaries = []
    for out in ("first", "second"):
        ran = ffslab("run", path, "--out", out, FFSLAB_STATES="kept")
        assert (ran.returncode, ran.stderr) == (0, "")
        summaries.append((tmp_path / out / "summary.json").read_bytes())
    assert len(list((tmp_path / "kept").iterdir())) == 1
    assert summaries[0] == summaries[1]


@pytest.mark.parametrize(("fs", "blocks"), [("jffs2", 32), ("ubifs", 48)])
def test_images_of_nor_are_recognised_and_mounted_again(ffslab: Command, tmp_path: Path, fs: str, blocks: int) -> None:
    """The clean markers and UBI's headers stand among the data, where no page of NAND has them."""
    save = '[[measure]]\nstep = "umount"\n[[measure]]\nstep = "save_image"\nfile = "nor.img"\noob = false\n'
    run(ffslab, tmp_path, SERIAL, "w25q128jv", fs, blocks=blocks, steps=STEPS.split("[[measure]]", 1)[0] + save)
    (saved,) = tmp_path.rglob("nor.img")
    image = Path(shutil.copy(saved, tmp_path / "nor.img"))
    inspected = ffslab("inspect", image)
    assert inspected.returncode == 0, inspected.stderr
    assert fs in inspected.stdout.lower()
    extracted = ffslab("extract", image, "files")
    assert (extracted.returncode, extracted.stderr) == (0, ""), extracted.stderr
    assert (tmp_path / "files" / "f").stat().st_size == 256 << 10
    opened = '[[measure]]\nstep = "mount"\n[[measure]]\nstep = "open"\nfile = "f"\nflags = ["rdonly"]\n'
    read = 'step = "requests"\nfile = "f"\nop = "read"\npattern = "sequential"\nrequest_B = "4 KiB"\ncount = 4\n'
    steps = f"{opened}[[measure]]\n{read}"
    more = f'image = "{image.name}"'
    assert run(ffslab, tmp_path, SERIAL, "w25q128jv", fs, more, blocks=blocks, steps=steps)["totals"]["page_reads"] > 4


LOOPS = """\
[[measure]]
step = "mtd_loop"
op = "program"
count = 100
[[measure]]
step = "mtd_loop"
op = "read"
count = 100
[[measure]]
step = "mtd_loop"
op = "erase"
count = 2
"""


def test_a_program_without_an_operating_system_drives_nor(ffslab: Command, tmp_path: Path) -> None:
    path = tmp_path / "bare.toml"
    stack = '[stack]\nsystem = "bare"\nboard = "raspberry-pi-pico"\nfs = "none"\npartition_blocks = 8\n'
    path.write_text('title = "Bare"\n' + stack + "erase_block_KiB = 4\n" + LOOPS, encoding="utf-8")
    ran = ffslab("run", path, "--out", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    (variant,) = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["variants"]
    totals = variant["totals"]
    assert (totals["page_programs"], totals["page_reads"], totals["erases"]) == (100, 100, 2)
    assert totals["bus_in_B"] == 256 * 100


@pytest.mark.parametrize(
    ("part", "fs", "more", "says"),
    [
        ("w25q128jv", "yaffs2", "", "is NOR, which has neither out-of-band areas nor bad blocks"),
        ("w25q128jv", "jffs2", 'ecc = "hw"', "ecc: NOR flash has no ECC"),
        ("w25q128jv", "jffs2", "faults = { badblocks = [1] }", "faults: NOR flash has none"),
        ("w25q128jv", "jffs2", "erase_block_KiB = 32", "the part w25q128jv has erase blocks of 4 or 64 KiB"),
        ("w25q128jv", "jffs2", 'medium = "nand"', "the part w25q128jv is a SPI NOR part"),
        ("w25n01gv", "jffs2", 'medium = "nor"', "the part w25n01gv is a SPI NAND part"),
        ("w25q128jv", "ubifs", "erase_block_KiB = 4", "UBIFS needs LEBs of at least 15 KiB"),
    ],
)
def test_what_does_not_fit_is_one_line(
    ffslab: Command, tmp_path: Path, part: str, fs: str, more: str, says: str
) -> None:
    ran = ffslab("run", experiment(tmp_path, SERIAL, part, fs, more), "--out", "out")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
    assert says in ran.stderr


def test_a_board_without_a_serial_bus_is_named(ffslab: Command, tmp_path: Path) -> None:
    ran = ffslab("run", experiment(tmp_path, "omap3evm", "w25q128jv", "jffs2"), "--out", "out")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
    assert "omap3evm" in ran.stderr
