"""`ffslab calibrate --speedtest --bootlog`: a board is found again from the two logs that everyone has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ffslab import InputError
from ffslab.registries import socs
from ffslab.registries.profiles import listed
from ffslab.studies import boot
from ffslab.studies.calibrate import boot_logs, verb
from ffslab.studies.calibrate.calibration import Calibration
from ffslab.studies.calibrate.verb import Inputs
from helpers.boot_logs import write_boot, write_speedtest
from helpers.command import ROOT

if TYPE_CHECKING:
    from helpers.command import Command

BOARD = """title = "A board"
base = "omap3evm"
part = "mt29f2g08abaea"

[driver]
read_us = 310
program_us = 520
erase_us = 1500

[cpu]
attach_block_us = 77
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    (folder / "truth.toml").write_text(BOARD, encoding="utf-8")
    board = str(folder / "truth.toml")
    write_speedtest(folder / "speed.log", board)
    for name, old, fastmap in (("boot", False, False), ("old", True, False), ("fastmap", False, True)):
        write_boot(folder / f"{name}.log", board, 900, old=old, fastmap=fastmap)
    return folder


def calibrated(logs: Path, out: Path, boot_log: str) -> tuple[dict[str, Any], Calibration]:
    given = Inputs(part="mt29f2g08abaea", speedtest=logs / "speed.log", boot_log=logs / boot_log)
    done = verb.calibrate(given)
    verb.save(done, out)
    return tomllib.loads((out / "board.toml").read_text(encoding="utf-8")), done


@pytest.mark.parametrize("boot_log", ["boot.log", "old.log"])
def test_a_board_is_found_again(logs: Path, tmp_path: Path, boot_log: str) -> None:
    written, done = calibrated(logs, tmp_path / "out", boot_log)
    for key, truth in (("read_us", 310), ("program_us", 520), ("erase_us", 1500)):
        assert written["driver"][key]["value"] == pytest.approx(truth, rel=2e-3)
    price = written["cpu"]["attach_block_us"]
    assert price["value"] == pytest.approx(77, abs=1.5) and price["status"] == "measured"
    assert price["source"].startswith(f"{boot_log}: UBI attaches 900 blocks in ")
    assert [line["what"] for line in done.boot] == ["UBI attaches 900 blocks", "UBIFS mounts"]
    assert all(abs(line["unexplained_s"]) < 2e-3 for line in done.boot)
    assert "UBI attaches 900 blocks" in verb.text(done, tmp_path)


def test_a_board_of_classes_is_a_base_and_a_chip_may_erase_faster_than_its_data_sheet_says(tmp_path: Path) -> None:
    """The clock of the core stayed behind without the core, and a total below the chip's time was no profile."""
    base = tmp_path / "classes.toml"
    base.write_text(
        'title = "Classes"\nbase = "omap3evm"\npart = "mt29f2g08abaea"\ncontroller = "gpmi"\ncore = "arm926"\n'
        "clock_MHz = 454\nbad_block_table = true\n",
        encoding="utf-8",
    )
    write_speedtest(tmp_path / "speed.log", str(base))
    fast = tmp_path / "speed.log"
    fast.write_text(
        re.sub(r"(?m)erase speed is \d+", "erase speed is 512000", fast.read_text(encoding="utf-8")), encoding="utf-8"
    )
    done = verb.calibrate(Inputs(base=str(base), speedtest=fast))
    board = str(verb.save(done, tmp_path / "out") / "board.toml")
    was, found = boot.speeds(str(base)), boot.speeds(board)
    assert found.read_kib_per_s == pytest.approx(was.read_kib_per_s, rel=2e-3)
    assert found.erase_kib_per_s == pytest.approx(512000, rel=2e-3)
    assert any("t_erase_us as measured" in warning for warning in done.warnings)


def test_on_a_serial_bus_the_driver_is_what_is_left_of_the_speed_test(tmp_path: Path) -> None:
    """A total cannot stand there, and so such a board could not be calibrated at all."""
    base = tmp_path / "serial.toml"
    base.write_text(
        'title = "Serial"\nbase = "luckfox-pico-max"\npart = "w25n01gv"\ncontroller = "mt7621-spi"\n'
        'core = "mips-1004k"\n[spi]\nclock_MHz = 40\nread_lines = 1\nprogram_lines = 1\n',
        encoding="utf-8",
    )
    slower = tmp_path / "slower.toml"
    slower.write_text(
        base.read_text(encoding="utf-8")
        + "[driver]\nread_overhead_us = 150\nprogram_overhead_us = 90\nerase_overhead_us = 700\n",
        encoding="utf-8",
    )
    write_speedtest(tmp_path / "speed.log", str(slower))
    done = verb.calibrate(Inputs(base=str(base), speedtest=tmp_path / "speed.log"))
    written = tomllib.loads((verb.save(done, tmp_path / "out") / "board.toml").read_text(encoding="utf-8"))
    for key, truth in (("read", 150), ("program", 90), ("erase", 700)):
        assert written["driver"][f"{key}_overhead_us"]["value"] == pytest.approx(truth, rel=2e-2)


def test_of_several_devices_the_largest_of_the_part_counts_and_this_is_told(logs: Path, tmp_path: Path) -> None:
    more = (logs / "boot.log").read_text(encoding="utf-8")
    for mtd, blocks, block_bytes in ((5, 100, 131072), (6, 5000, 65536), (7, 20, 131072)):
        more += (
            f"[    8.000000] ubi{mtd}: attaching mtd{mtd}\n[    8.500000] ubi{mtd}: scanning is finished\n"
            f"[    8.500000] ubi{mtd}: PEB size: {block_bytes} bytes\n[    8.500000] ubi{mtd}: good PEBs: {blocks}\n"
        )
    (tmp_path / "boot.log").write_text(more, encoding="utf-8")
    written, done = calibrated(logs, tmp_path / "out", str(tmp_path / "boot.log"))
    assert written["cpu"]["attach_block_us"]["value"] == pytest.approx(77, abs=1.5)
    told = "\n".join(done.warnings)
    assert "cpu.attach_block_us is that of the largest, mtd4 (900 blocks), beside mtd5 (100), mtd7 (20)" in told
    assert "mtd7: 20 blocks are not simulated: " in told
    assert "mtd6 is on another chip, with eraseblocks of 65536 B" in told
    assert [line["what"] for line in done.boot[:-1]] == ["UBI attaches 900 blocks", "UBI attaches 100 blocks"]


def test_nothing_is_inferred_from_a_fastmap(logs: Path, tmp_path: Path) -> None:
    written, done = calibrated(logs, tmp_path / "out", "fastmap.log")
    assert written["cpu"]["attach_block_us"]["status"] == "unverified"
    assert [line["what"] for line in done.boot] == ["UBIFS mounts"]
    assert any("by fastmap" in warning for warning in done.warnings)


def test_the_pools_of_the_next_device_are_no_fastmap_of_this_one(logs: Path, tmp_path: Path) -> None:
    """The kernel tells their sizes before it attaches, and a device whose attach failed has nothing more to say."""
    text = (logs / "boot.log").read_text(encoding="utf-8")
    text += "[    9.000000] ubi1: default fastmap pool size: 50\n[    9.000001] ubi1: attaching mtd5\n"
    (tmp_path / "boot.log").write_text(text, encoding="utf-8")
    (attach,) = boot_logs.boot_log(tmp_path / "boot.log").attaches
    assert not attach.fastmap and attach.blocks == 900


BETWEEN = """[    1.500000] UBI: attaching mtd4 to ubi0
[    2.100000] UBI: scanning is finished
[    2.200000] UBI: attached mtd4 (name "data", size 128 MiB) to ubi0
[    2.200001] UBI: PEB size: 131072 bytes (128 KiB), LEB size: 126976 bytes
[    2.200002] UBI: good PEBs: 900, bad PEBs: 0, corrupted PEBs: 0
"""


@pytest.mark.parametrize(
    "before", ["", "<5>", "Thu Jan  1 00:00:10 2026 kern.notice kernel: ", "kern  :notice: ", "\x1b[32m"]
)
def test_logs_of_kernels_from_3_8_to_3_18_however_they_were_taken(tmp_path: Path, before: str) -> None:
    log = "".join(before + line for line in BETWEEN.splitlines(keepends=True)).replace("\n", "\r\n")
    # What a serial line says while its speed is not set yet.
    (tmp_path / "boot.log").write_bytes(b"\xff\xc3\r\n" + log.encode())
    (attach,) = boot_logs.boot_log(tmp_path / "boot.log").attaches
    assert (round(attach.took_s, 6), attach.blocks, attach.block_bytes) == (0.6, 900, 131072)


def test_what_lacks_a_line_is_told_and_no_end_is_taken_for_that_of_another(tmp_path: Path) -> None:
    """A volume that is mounted to be read has no thread, so its mount began at no line of the log."""
    cut = "[   3.0] ubi1: attaching mtd5\n[   4.0] ubi1: scanning is finished\n[   4.1] ubi1: PEB size: 131072 bytes\n"
    mounts = (
        '[   5.0] UBIFS (ubi0:0): background thread "ubifs_bgt0_0" started, PID 70\n'
        '[  20.0] UBIFS (ubi0:1): UBIFS: mounted UBI device 0, volume 1, name "other", R/O mode\n'
    )
    (tmp_path / "boot.log").write_text(BETWEEN + cut + mounts, encoding="utf-8")
    found = boot_logs.boot_log(tmp_path / "boot.log")
    assert [attach.blocks for attach in found.attaches] == [900] and found.mounts == []
    assert found.partial == ['"ubi1: attaching mtd5" at 3.000000 s: no line of it has "good PEBs"']


def test_a_log_that_begins_within_an_attach_says_so(logs: Path, tmp_path: Path) -> None:
    """Its mount alone was compared, and nobody was told why there was no price of a block."""
    lines = (logs / "boot.log").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "boot.log").write_text("".join(lines[1:]), encoding="utf-8")
    found = boot_logs.boot_log(tmp_path / "boot.log")
    (said,) = found.partial
    assert said.startswith('"ubi0: scanning is finished" at ') and 'no line "attaching mtd" stands before it' in said
    assert (found.attaches, len(found.mounts)) == ([], 1)


def test_speeds_of_two_chips_are_not_put_together(logs: Path, tmp_path: Path) -> None:
    """Other tests of the kernel say their device's sizes, too; what counts is whose speeds these are."""
    of_one = (logs / "speed.log").read_text(encoding="utf-8")
    other = of_one.replace("page size 2048", "page size 4096")
    (tmp_path / "speed.log").write_text(other.splitlines()[0] + "\n" + of_one * 2, encoding="utf-8")
    assert boot_logs.speedtest(tmp_path / "speed.log")[0].page_bytes == 2048
    (tmp_path / "speed.log").write_text(of_one + other, encoding="utf-8")
    with pytest.raises(InputError, match="tests of two devices"):
        boot_logs.speedtest(tmp_path / "speed.log")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"speedtest": "a page"}, 'no line "MTD device size'),
        ({"speedtest": "MTD device size 8, eraseblock size 8, page size 8, count of eraseblocks 1"}, "no line such as"),
        ({"part": "w25n01gv", "speed": ("page size 2048", "page size 4096")}, "its page size is 4096 B"),
        ({"speed": ("read speed is ", "read speed is 0 KiB/s; ")}, "0 KiB/s is no speed"),
        ({"speed": ("KiB/s", "MiB/s")}, "a speed is a whole number of KiB/s"),
        ({"speed": ("speed is ", f"speed is {'9' * 400}")}, "a speed is a whole number of KiB/s"),
        ({"boot_log": "ubi0: attaching mtd4\n"}, "no line has the kernel's time"),
        (
            {"boot_log": "[    1.0] ubi0: attaching mtd4\n[    2.0] ubi0: PEB"},
            '"scanning is finished", none "PEB size"',
        ),
        ({"boot_log": "[    1.0] usb\n"}, "neither UBI attaches"),
        ({"boot_log": BETWEEN.replace("131072", "65536")}, "its eraseblock size is 65536 B"),
        ({"speedtest": None}, "--bootlog: what attaching takes"),
        ({"part": "w25q128jv"}, "has no pages"),
    ],
)
def test_bad_input_is_one_line(logs: Path, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    change = dict(change)
    if found := change.pop("speed", None):
        change["speedtest"] = (logs / "speed.log").read_text(encoding="utf-8").replace(*found)
    given: dict[str, Any] = {"part": "mt29f2g08abaea", "speedtest": logs / "speed.log", "boot_log": logs / "boot.log"}
    for key in ("speedtest", "boot_log"):
        if isinstance(change.get(key), str):
            (tmp_path / key).write_text(change[key], encoding="utf-8")
            change[key] = tmp_path / key
    with pytest.raises(InputError, match=said):
        verb.calibrate(Inputs(**given | change))


def test_every_soc_is_a_board_that_loads(tmp_path: Path, ffslab: Command) -> None:
    """Classes that it names are there, and the key file is as the board would be written."""
    classes = {entry["name"] for entry in listed() if entry["kind"] in ("controller", "core")}
    for soc in socs.known().values():
        assert {soc.core, *filter(None, (soc.nand, soc.spi))} <= classes
    made = ffslab("profiles", "new", "--soc", "IMX28", "--part", "mt29f2g08abaea", tmp_path / "board.toml")
    assert "page read speed is" in made.stdout
    speeds = boot.speeds(str(tmp_path / "board.toml"))
    assert f"page read speed is {speeds.read_kib_per_s:.0f} KiB/s" in made.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--soc", "imx29", "--part", "w25n01gv"], "--soc imx29: there is no such class: did you mean imx28?"),
        (["--soc", "imx28"], "--soc: give the part, too"),
        (
            ["--soc", "imx28", "--part", "w25n01gv", "--bus-MHz", "50", "--lines", "4"],
            "no class of controllers for parts",
        ),
        (["--soc", "mt7981", "--part", "w25n01gv"], "is on a serial bus: say its clock and its data lines"),
        (
            ["--soc", "mt7981", "--part", "w25n01gv", "--bus-MHz", "50", "--lines", "3"],
            "--lines 3: must be 1, 2, 4 or 8",
        ),
        (["--soc", "mt7981", "--part", "w25n01gv", "--bus-MHz", "0", "--lines", "4"], "--bus-MHz 0: must be above 0"),
        (["--soc", "mt7981", "--part", "w25n01gv", "--bus-MHz", "nan", "--lines", "4"], "--bus-MHz nan: must be above"),
        (["--soc", "mt7981", "--part", "w25n01gv", "--bus-MHz", "52e6", "--lines", "4"], "at most 1000 MHz"),
        (["--soc", "imx28", "--part", "mt29f2g08abaea", "--lines", "4"], "is on no serial bus"),
        (["--soc", "imx28", "--part", "mt29f2g08abaea", "--clock-MHz", "0"], "--clock-MHz 0: must be above 0"),
        (["--part", "w25n01gv"], "--part: belongs to --soc NAME"),
    ],
)
def test_a_soc_is_refused_in_one_line(tmp_path: Path, ffslab: Command, words: list[str], said: str) -> None:
    ran = ffslab("profiles", "new", *words, tmp_path / "board.toml")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1) and said in ran.stderr
    assert not (tmp_path / "board.toml").exists()


def test_the_logs_that_ship_are_of_one_board(tmp_path: Path) -> None:
    logs = ROOT / "examples/boot"
    done = verb.calibrate(Inputs(part="mt29f4g08abada", speedtest=logs / "speedtest.log", boot_log=logs / "boot.log"))
    assert done.boot[0]["unexplained_s"] == pytest.approx(0, abs=1e-3)
