"""SPI NAND in experiments: file systems on parts of it, states, lifetimes, images, mounts, and what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from helpers.command import Command
from helpers.reading_writing import experiment, run

BOARD = "luckfox-pico-max"


@pytest.mark.parametrize(
    ("part", "fs", "more"),
    [
        ("w25n01gv", "jffs2", ""),
        ("w25n02kv", "yaffs2", ""),
        ("w25n01gv", "yaffs2", "inband_tags = true"),
        ("tc58cvg0s3hraig", "ubifs", "max_beb_per1024 = 1"),
        (
            "mt29f1g01abafd",
            "ubifs",
            'max_beb_per1024 = 1\nmedium = "spi-nand"\nfaults = { badblocks = [3], bitflips = 1 }',
        ),
    ],
)
def test_file_systems_run_on_parts_of_spi_nand(ffslab: Command, tmp_path: Path, part: str, fs: str, more: str) -> None:
    variant = run(ffslab, tmp_path, BOARD, part, fs, more, blocks=96)
    totals = variant["totals"]
    assert totals["page_reads"] >= 128 or fs == "ubifs"
    assert totals["page_programs"] > 0
    # Whole pages cross the bus, with their out-of-band bytes only if somebody wants them.
    assert totals["partial_page_reads"] == 0
    resolved = (tmp_path / "out" / "resolved.toml").read_text(encoding="utf-8")
    assert 'ecc = "on-die"' in resolved
    again = ffslab("run", tmp_path / "out" / "resolved.toml", "--out", "again")
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "again" / "summary.json").read_bytes() == (tmp_path / "out" / "summary.json").read_bytes()


def test_a_state_of_spi_nand_is_kept_and_found_again(ffslab: Command, tmp_path: Path) -> None:
    state = '[[state]]\nstep = "mount"\n[[state]]\nstep = "occupy"\nfile = "static"\npercent = 30\n'
    path = experiment(tmp_path, BOARD, "w25n01gv", "jffs2")
    path.write_text(path.read_text(encoding="utf-8").replace("[[setup]]", state + "[[setup]]", 1), encoding="utf-8")
    summaries = []
    for out in ("first", "second"):
        ran = ffslab("run", path, "--out", out, FFSLAB_STATES="kept")
        assert (ran.returncode, ran.stderr) == (0, "")
        summaries.append((tmp_path / out / "summary.json").read_bytes())
    assert len(list((tmp_path / "kept").iterdir())) == 1
    assert summaries[0] == summaries[1]


def test_the_lifetime_of_a_part_is_told(ffslab: Command, tmp_path: Path) -> None:
    path = experiment(tmp_path, BOARD, "w25n01gv", "jffs2", blocks=24)
    ran = ffslab("lifetime", path, "--reckon")
    # Too short to tell years, which is told beside the endurance.
    assert ran.returncode == 1, ran.stderr
    assert "100,000" in ran.stdout and "too short" in ran.stdout


@pytest.mark.parametrize(
    ("part", "fs", "more", "says"),
    [
        ("w25n01gv", "yaffs2", "", "need 28 free out-of-band bytes per page, the chip has 24: use in-band tags"),
        ("w25n01gv", "jffs2", 'ecc = "hw"', "SPI NAND corrects its pages itself"),
        ("w25n01gv", "jffs2", "ecc_strength_bits = 8", "ecc_strength_bits = 8: ECC in the chip corrects 1"),
        ("w25n01gv", "jffs2", 'medium = "nand"', 'medium = "nand": the part w25n01gv is a SPI NAND part'),
        ("mt29f2g08aac", "jffs2", 'medium = "spi-nand"', "the part mt29f2g08aac is a raw NAND part"),
    ],
)
def test_what_does_not_fit_is_one_line(
    ffslab: Command, tmp_path: Path, part: str, fs: str, more: str, says: str
) -> None:
    ran = ffslab("run", experiment(tmp_path, BOARD, part, fs, more), "--out", "out")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
    assert says in ran.stderr
    assert not (tmp_path / "out").exists()


def test_a_board_without_a_controller_and_a_kernel_without_a_driver_are_named(ffslab: Command, tmp_path: Path) -> None:
    path = experiment(tmp_path, BOARD, "w25n01gv", "jffs2")
    text = path.read_text(encoding="utf-8")
    for old, new, says in [
        ("luckfox-pico-max", "omap3evm", "omap3evm"),
        ('kernel = "6.1"', 'kernel = "2.6.37"', "it drives no SPI NAND, which Linux does since 4.19"),
    ]:
        path.write_text(text.replace(old, new), encoding="utf-8")
        ran = ffslab("run", path, "--out", "out")
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
        assert says in ran.stderr


def test_raw_nand_takes_bch_of_a_strength(ffslab: Command, tmp_path: Path) -> None:
    def resolved(ecc: str) -> str:
        path = experiment(tmp_path, BOARD, "mt29f2g08aac", "jffs2", ecc)
        path.write_text(path.read_text(encoding="utf-8").replace("luckfox-pico-max", "omap3evm"), encoding="utf-8")
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        ran = ffslab("run", path, "--out", "out")
        return (tmp_path / "out" / "resolved.toml").read_text(encoding="utf-8") if ran.returncode == 0 else ran.stderr

    assert 'ecc = "bch"' in resolved('ecc = "bch"')
    assert "ecc_strength_bits = 8" in resolved('ecc = "bch"\necc_strength_bits = 8')
    assert "ecc_strength_bits = 4" in resolved('ecc = "hw"\necc_strength_bits = 4')
    # 4 steps with 13 bytes for 8 bits; 16 bits would take 104 bytes.
    assert re.search(r"104 ECC bytes .* do not fit", resolved('ecc = "bch"\necc_strength_bits = 16'))
    assert "corrects 1 in 256 bytes" in resolved('ecc = "sw"\necc_strength_bits = 2')
