"""`ffslab calibrate --flashbench`: cards whose inside is known are found again, measured ones as far as known."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ffslab import InputError
from ffslab.answers.card import CardFacts
from ffslab.studies.calibrate.cards import flashbench_log, verb
from ffslab.studies.calibrate.cards.fit import fit
from ffslab.studies.calibrate.cards.lines import Align, OpenAu
from ffslab.studies.calibrate.cards.models import Structure
from helpers.card_logs import MIB, KnownCard
from helpers.command import ROOT

if TYPE_CHECKING:
    from helpers.command import Command

MEASURED = ROOT / "tests/measured" / "cards"
KIB = 1 << 10

LINEAR = KnownCard(Structure("open-segments", 16 * KIB, 4 * MIB, log_blocks=3))
RANDOM = KnownCard(Structure("open-segments", 8 * KIB, 2 * MIB, log_blocks=3, random_segments=2))
LARGE = KnownCard(
    Structure("open-segments", 32 * KIB, 8 * MIB, log_blocks=2, random_segments=2), erase_blocks=(1, 2, 3)
)
BAST = KnownCard(Structure("bast", 16 * KIB, 4 * MIB, log_blocks=3))
FAST = KnownCard(Structure("fast", 16 * KIB, 4 * MIB, log_blocks=6))
CACHE = KnownCard(Structure("slc-cache", 16 * KIB, 4 * MIB, slc_cache_blocks=8, cell_bits=2))


def fitted(card: KnownCard, tmp_path: Path, *, as_fio: bool = False) -> CardFacts:
    log = tmp_path / "card.log"
    log.write_text(card.fio() if as_fio else card.flashbench(), encoding="utf-8")
    return verb.as_dict(fit(verb.read(log)), "A card")


@pytest.mark.parametrize("as_fio", [False, True])
@pytest.mark.parametrize("card", [LINEAR, RANDOM, LARGE], ids=["linear", "random", "large"])
def test_open_segments_are_found_again(card: KnownCard, as_fio: bool, tmp_path: Path) -> None:
    found = fitted(card, tmp_path, as_fio=as_fio)
    best, truth = found["classes"][0], card.structure
    assert best["card_class"] == "open-segments"
    shape = best["structure"]
    assert (shape["page_bytes"], shape["segment_bytes"]) == (truth.page_bytes, truth.segment_bytes)
    assert (shape["log_blocks"], shape["random_segments"]) == (truth.log_blocks, truth.random_segments)
    assert found["median_error"] < 0.05
    values = {of["key"]: of["value"] for of in found["constants"] if of["identified"]}
    assert values["page_program_us"] == pytest.approx(card.costs["page_program_us"], rel=0.1)
    assert values["page_read_us"] == pytest.approx(card.costs["page_read_us"], rel=0.3)


@pytest.mark.parametrize("card", [BAST, FAST], ids=["bast", "fast"])
def test_log_blocks_are_found_again(card: KnownCard, tmp_path: Path) -> None:
    found = fitted(card, tmp_path)
    alike = {of["card_class"] for of in found["classes"] if of["error"] <= found["classes"][0]["error"] + 0.01}
    best = found["classes"][0]["structure"]
    assert "log-blocks" in alike and (best["page_bytes"], best["segment_bytes"]) == (16 * KIB, 4 * MIB)
    # One log block for each of so many erase blocks in any order is what open segments for any order are.
    assert len(alike) == 1 or any("does not tell" in remark for remark in found["remarks"])


def test_an_slc_cache_is_found_again(tmp_path: Path) -> None:
    found = fitted(CACHE, tmp_path)
    best = found["classes"][0]
    assert best["card_class"] == "slc-cache"
    assert best["structure"]["slc_cache_bytes"] == 16 * MIB


def test_the_same_log_gives_the_same_answer(tmp_path: Path) -> None:
    assert fitted(RANDOM, tmp_path) == fitted(RANDOM, tmp_path)


# ---- measured cards ---------------------------------------------------------------------------------------------


@cache
def measured(name: str) -> CardFacts:
    return verb.as_dict(fit(verb.read(MEASURED / f"{name}.log")), name)


def test_the_card_of_flashbenchs_readme_has_two_open_segments_of_4_mib() -> None:
    found = measured("readme-sd")
    of_segments = next(of for of in found["classes"] if of["card_class"] == "open-segments")["structure"]
    assert (of_segments["segment_bytes"], of_segments["page_bytes"]) == (4 * MIB, 16 * KIB)
    assert of_segments["log_blocks"] == 2
    assert found["median_error"] < 0.1


def test_bradfords_kingston_has_three_open_segments() -> None:
    found = measured("kingston-microsd-4g")
    of_segments = next(of for of in found["classes"] if of["card_class"] == "open-segments")["structure"]
    assert (of_segments["segment_bytes"], of_segments["page_bytes"]) == (4 * MIB, 16 * KIB)
    assert (of_segments["log_blocks"], of_segments["random_segments"]) == (3, 3)


def test_the_patriot_stick_has_segments_of_8_mib() -> None:
    found = measured("patriot-usb-16g")
    assert found["classes"][0]["structure"]["segment_bytes"] == 8 * MIB
    assert any("only reads" in remark for remark in found["remarks"])


@pytest.mark.parametrize("name", ["readme-sd", "kingston-microsd-4g", "patriot-usb-16g"])
def test_the_guides_table_says_how_well_they_fit(name: str) -> None:
    guide = (ROOT / "docs" / "cards.md").read_text(encoding="utf-8")
    row = next(line for line in guide.splitlines() if line.startswith(f"| `{name}`"))
    found = measured(name)
    median, worst = (f"{100 * found[key]:.0f} %" for key in ("median_error", "worst_error"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:2] + cells[3:] == [str(len(found["lines"])), median, worst]


# ---- reading ----------------------------------------------------------------------------------------------------


def lines_of(text: str) -> list[Align | OpenAu]:
    return [line.asked for line in flashbench_log.read(Path("x.log"), text)]


def test_commands_of_a_transcript_are_understood() -> None:
    text = (
        "root@host:~# ./flashbench /dev/mmcblk1 --open-au --erasesize=$[2*1024*1024] --blocksize=$((16 * 1024)) \\\n"
        "  --random --open-au-nr=5\n2MiB    4.3M/s   \n512B  38.2K/s\n"
        "flashbench -f /dev/mmcblk1\n4MiB    865K/s   3.56M/s  3.01M/s\n"
        "flashbench -O /dev/mmcblk1\n4MiB 1.2M/s\n"
    )
    assert lines_of(text) == [
        OpenAu(2 * MIB, 2 * MIB, 5, True),
        OpenAu(2 * MIB, 512, 5, True),
        OpenAu(4 * MIB, 4 * MIB, 2, False),
    ]


def test_bad_logs_are_refused_in_one_line(ffslab: Command, tmp_path: Path) -> None:
    align = "align 4096\tpre 735µs\ton 1.08ms\tpost 780µs\tdiff 324µs\n"
    cases = {
        "4MiB    8.79M/s\n": "x.log:1: no command of flashbench above",
        "hello\n": "x.log: holds no line of flashbench -a or -O",
        align: "x.log:1: align 4096 is too small for blocks of 16384 bytes",
        "flashbench -a -b 1024\n" + align.replace("735µs", "735xs"): 'x.log:2: unit "xs"',
        "flashbench -O --open-au-nr=9999\n4MiB 3M/s\n": "--open-au-nr=9999: 1 to 64",
        "flashbench -O --erasesize=3000000\n1MiB 3M/s\n": "powers of two",
        "flashbench -O\n4MiB 0M/s\n": "x.log:2: a speed of 0",
        '{"a": 1}': "x.log: not the output of fio",
        '{"jobs": [{"jobname": "other"}]}': "x.log: has no job of probe/fio/cards",
    }
    for text, said in cases.items():
        (tmp_path / "x.log").write_text(text, encoding="utf-8")
        done = ffslab("calibrate", "--flashbench", "x.log")
        assert done.returncode == 2 and said in done.stderr, (text, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1
    done = ffslab("calibrate", "--flashbench", "x.log", "--loops", "y.csv")
    assert done.returncode == 2 and "give them apart" in done.stderr


# ---- the profile ------------------------------------------------------------------------------------------------


def test_the_profile_is_one_that_simulations_load(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "card.log").write_text(LINEAR.flashbench(), encoding="utf-8")
    done = ffslab("calibrate", "--flashbench", "card.log", "--out", "card.toml", "--title", 'My "card"', "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["title"] == 'My "card"'
    written = tomllib.loads((tmp_path / "card.toml").read_text(encoding="utf-8"))
    assert written["ftl"]["log_blocks"] == {**written["ftl"]["log_blocks"], "value": 3, "status": "measured"}
    shown = ffslab("profiles", "show", "./card.toml")
    assert shown.returncode == 0 and "ftl.page_program_us" in shown.stdout


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.log").write_text(LINEAR.flashbench(), encoding="utf-8")
    with pytest.raises(InputError, match=r"a name that ends in \.toml"):
        verb.run([tmp_path / "card.log"], None, tmp_path, json=False)
