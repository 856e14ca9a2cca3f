"""Profiles of one's own: docs/profiles.md at its word, files to begin with, a chip of more blocks by one key."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

import ffslab
from ffslab.api.profiles import write_new
from ffslab.registries.profiles import borne_by
from helpers.bench_logs import Bench
from helpers.command import ROOT
from helpers.published_cases import LOOP

if TYPE_CHECKING:
    from helpers.command import Command

GUIDE = (ROOT / "docs/profiles.md").read_text(encoding="utf-8")
EXPERIMENT = """
title = "x"
[stack]
board = "./my-board.toml"
fs = "jffs2"
partition_blocks = 160
[[measure]]
step = "mount"
"""


def test_every_command_of_the_guide_works(ffslab: Command, tmp_path: Path) -> None:
    commands = [shlex.split(line, comments=True)[1:] for line in re.findall(r"^    (ffslab .*)$", GUIDE, re.MULTILINE)]
    assert [command[1] for command in commands] == ["new", "new", "new", "ls", "new", "new", "new", "show", "diff"]
    for command in commands:
        done = ffslab(*command)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert "0 of 55 values differ" in done.stdout
    again = ffslab(*commands[0])
    assert again.returncode == 2 and "is there already, and would be lost" in again.stderr


def test_the_board_of_the_guide_runs(ffslab: Command, tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    assert example is not None
    (tmp_path / "my-board.toml").write_text(example[1], encoding="utf-8")
    shown = json.loads(ffslab("profiles", "show", "my-board.toml", "--json").stdout)
    assert (shown["base"], shown["part"], shown["cpu_time_scale"]) == ("omap3evm", "tc58nvg1s3e", 1.5)
    values = {value["key"]: value for value in shown["values"]}
    assert values["page_cache_KiB"]["source"] == "given without a source"
    assert values["driver.read_overhead_us"]["status"] == "measured"
    assert values["cpu.page_write_us"]["value"] == pytest.approx(1.5 * 36.5)
    assert {value["status"] for key, value in values.items() if key.startswith("cpu.")} == {"unverified"}
    (tmp_path / "x.toml").write_text(EXPERIMENT, encoding="utf-8")
    done = ffslab("run", "x.toml")
    assert done.returncode == 0, done.stderr


def test_a_new_file_builds_on_a_file_wherever_that_lies(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "boards").mkdir()
    assert ffslab("profiles", "new", "boards/first.toml").returncode == 0
    assert ffslab("profiles", "new", "--base", "boards/first.toml", "second.toml").returncode == 0
    assert 'base = "boards/first.toml"' in (tmp_path / "second.toml").read_text(encoding="utf-8")
    assert ffslab("profiles", "new", "--base", "./second.toml", "boards/third.toml").returncode == 0
    assert "0 of 55 values differ" in ffslab("profiles", "diff", "omap3evm", "boards/third.toml").stdout


def test_the_board_of_classes_of_the_guide_is_read(ffslab: Command, tmp_path: Path) -> None:
    example = next(text for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "controller =" in text)
    (tmp_path / "gateway.toml").write_text(example, encoding="utf-8")
    shown = json.loads(ffslab("profiles", "show", "gateway.toml", "--json").stdout)
    values = {value["key"]: value["value"] for value in shown["values"]}
    # A Cortex-A7 of 528 MHz does 1.9 DMIPS a MHz, the one of omap3evm 2.0 at 720; GPMI has two cycles of 10 ns a byte.
    slower = 2.0 * 720 / (1.9 * 528)
    assert values["cpu.page_write_us"] == pytest.approx(36.5 * slower, rel=0.001)
    assert values["driver.read_overhead_us"] == pytest.approx(75 * slower, rel=0.001)
    assert (values["driver.bus_ns_per_B"], values["nand_wait"]) == (20, "sleep")


def test_what_the_cpu_loads_it_waits_for_and_what_it_stores_it_does_not(tmp_path: Path) -> None:
    """The slower CPU takes longer for overheads, and not for the bus between it and the controller."""
    took = {}
    for load_ns in (0, 60):
        own = f"[driver]\nload_ns_per_B = {load_ns}\n"
        head = 'title = "x"\nbase = "omap3evm"\ncontroller = "atmel-pio"\npart = "mt29f2g08abaea"\ncpu_time_scale = 3\n'
        board = tmp_path / f"load-{load_ns}.toml"
        board.write_text(head + own, encoding="utf-8")
        stack = f'title = "x"\n[stack]\nboard = "./{board.name}"\nfs = "none"\npartition_blocks = 8\n'
        (variant,) = (
            ffslab.Experiment(stack + LOOP.format("program", 16) + LOOP.format("read", 16), "x.toml", tmp_path)
            .run()
            .summary["variants"]
        )
        took[load_ns] = [step["elapsed_us"] for step in variant["steps"]]
    (program_us, read_us), (other_program_us, other_read_us) = took[0], took[60]
    assert other_program_us == program_us
    assert other_read_us - read_us == pytest.approx(16 * 2112 * 0.060, abs=1)


def test_the_board_with_serial_flash_of_the_guide_is_read(ffslab: Command, tmp_path: Path) -> None:
    example = next(text for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "[spi]" in text)
    (tmp_path / "camera.toml").write_text(example, encoding="utf-8")
    shown = json.loads(ffslab("profiles", "show", "camera.toml", "--json").stdout)
    values = {value["key"]: (value["value"], value["status"]) for value in shown["values"]}
    assert (shown["part"], values["spi.clock_MHz"]) == ("mt29f1g01abafd", (50, "published"))
    assert values["spi.read_lines"] == (4, "unverified")


@pytest.mark.parametrize("kind", ["nand", "spi-nand", "spi-nor", "parallel-nor"])
def test_a_new_part_says_what_to_look_up(ffslab: Command, tmp_path: Path, kind: str) -> None:
    done = ffslab("profiles", "new", "--kind", kind, "chip.toml")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "chip.toml").read_text(encoding="utf-8")
    keys = re.findall(r"^# \w+ = ", text, re.MULTILINE)
    assert len(keys) > 15 and text.count("# Data sheet: ") == len(keys)
    shown = json.loads(ffslab("profiles", "show", "chip.toml", "--json").stdout)
    assert shown["part_kind"] == kind and {value["status"] for value in shown["values"]} == {"unverified"}


def test_parts_are_listed_by_kind(ffslab: Command) -> None:
    entries = json.loads(ffslab("profiles", "ls", "--json").stdout)
    parts = [entry for entry in entries if entry["kind"] == "part"]
    assert len(parts) >= 30 and all("part" not in entry for entry in entries if entry["kind"] != "part")
    for entry in entries:
        shown = json.loads(ffslab("profiles", "show", entry["name"], "--json").stdout) if entry in parts[:2] else None
        if shown:
            statuses = [value["status"] for value in shown["values"]]
            assert {status: statuses.count(status) for status in entry["statuses"]} == entry["statuses"]
    of_kind = json.loads(ffslab("profiles", "ls", "--kind", "spi-nand", "--json").stdout)
    assert of_kind == [entry for entry in parts if entry["part"]["kind"] == "spi-nand"]
    text = ffslab("profiles", "ls").stdout
    heads = re.findall(r"^parts: (.*)$", text, re.MULTILINE)
    assert sorted(heads) == ["nand, MLC", "nand, SLC", "parallel-nor", "spi-nand, SLC", "spi-nor"]
    line = next(line for line in text.splitlines() if line.startswith("w25n01gv"))
    assert line.split()[1:5] == ["128", "128", "2048+64", "*1/512"]
    assert "omap3evm" not in ffslab("profiles", "ls", "--kind", "spi-nor").stdout
    refused = ffslab("profiles", "ls", "--kind", "nor")
    assert refused.returncode == 2 and "there is no such kind of part" in refused.stderr
    other = ffslab("profiles", "diff", "w25n01gv", "mt29f2g08aac")
    assert other.returncode == 2 and "is a part (spi-nand), mt29f2g08aac a part (nand)" in other.stderr


def test_a_kernel_is_shown_with_the_ages_of_its_rules_and_its_faults(ffslab: Command) -> None:
    text = ffslab("profiles", "show", "5.10").stdout
    head, rule = (next(line for line in text.splitlines() if line.startswith(key)) for key in ("key", "mlc_rules"))
    assert re.split(r"  +", head) == ["key", "value", "unit", "since", "until", "status", "source"]
    assert rule.split()[1:3] == ["5.8", "5.8"], "its value, and since when"
    fault = text.partition("Known faults that lose data:")[2]
    assert "JFFS2: after a truncation" in fault and "mended in its stable releases, and present before" in fault
    assert "    present; mended in Linux 6.3: fs/jffs2/file.c" in ffslab("profiles", "show", "5.8").stdout
    assert ffslab("profiles", "show", "6.12").stdout.endswith("No fault that loses data is known of it.\n")
    assert "since" not in ffslab("profiles", "show", "omap3evm").stdout.splitlines()[4]


def test_a_kernel_between_two_listed_ones_runs_and_says_so(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(EXPERIMENT.replace("./my-board.toml", "omap3evm"), encoding="utf-8")
    done = ffslab("run", "x.toml", "--kernel", "6.8")
    assert done.returncode == 0, done.stderr
    assert "Linux 6.8 is not among the listed kernels: it has the rules of 6.6" in done.stdout
    assert "listed kernels" not in ffslab("run", "x.toml", "--kernel", "6.6").stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--kind", "nand", "--base", "omap3evm", "x.toml"), "--base omap3evm: is a board, and a part was asked for"),
        (("--base", "omap3ev", "x.toml"), "unknown profile `omap3ev`: did you mean `omap3evm`?"),
        (("absent/x.toml",), "absent/x.toml"),
        (("--kind", "spi-nadn", "x.toml"), "--kind spi-nadn: there is no such kind of part: did you mean spi-nand?"),
        (("--kind", "device", "--base", "omap3evm", "x.toml"), "is a board, and a block device was asked for"),
        (
            ("--kind", "spi-nor", "--base", "w25n01gv", "x.toml"),
            "--base w25n01gv: is of kind spi-nand, and --kind spi-nor was asked for",
        ),
    ],
)
def test_what_cannot_be_begun_is_one_line(
    ffslab: Command, tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    done = ffslab("profiles", "new", *options)
    assert done.returncode == 2 and complaint in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "x.toml").exists()


def test_a_chip_of_more_blocks_is_one_key(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "my-board.toml").write_text('base = "omap3evm"\n', encoding="utf-8")
    text = EXPERIMENT.replace("partition_blocks = 160", "partition_blocks = 9000")
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    small = ffslab("run", "x.toml")
    assert (
        small.returncode == 2
        and "which has 2048 blocks; `partition_blocks` in [stack] makes the partition" in small.stderr
    )
    (tmp_path / "x.toml").write_text(text.replace('fs = "jffs2"', 'fs = "jffs2"\nchip_blocks = 9000'), encoding="utf-8")
    assert ffslab("run", "x.toml").returncode == 0
    resolved = (tmp_path / "results/x/resolved.toml").read_text(encoding="utf-8")
    assert "chip_blocks = 9000" in resolved
    summary = json.loads((tmp_path / "results/x/summary.json").read_text(encoding="utf-8"))
    assert "9000" in json.dumps(summary)


@pytest.mark.parametrize("system", ["linux", "bare"])
def test_ubi_and_programs_without_a_system_see_the_larger_chip(system: str) -> None:
    keys = {"fs": "ubifs"} if system == "linux" else {"system": system, "fs": "yaffs2"}
    keys |= {"board": "omap3evm"}
    stack = ffslab.Stack(**keys, partition_blocks=2100, chip_blocks=4096)  # type: ignore[arg-type]
    stack.mount()
    with pytest.raises(ffslab.InputError, match="2048 blocks"):
        ffslab.Stack(**keys, partition_blocks=2100)  # type: ignore[arg-type]


def test_what_was_measured_replaces_what_a_board_builds_on(ffslab: Command, tmp_path: Path) -> None:
    """`calibrate` writes a whole profile, also from one that is little more than the name of its base."""
    text = 'base = "omap3evm"\ncpu_time_scale = 2\n[driver]\nread_overhead_us = 40\n'
    (tmp_path / "my-board.toml").write_text(text, encoding="utf-8")
    bench = Bench(repeats=2, time_us={"read": 185.0, "program": 507.6, "erase": 2536.4}, counts=(200, 400, 800))
    bench.write_loops(tmp_path / "loops.csv")
    done = ffslab("calibrate", "--loops", "loops.csv", "--base", "./my-board.toml", "--title", "Mine")
    assert done.returncode == 0, done.stderr
    shown = json.loads(ffslab("profiles", "show", "results/calibrate-loops/board.toml", "--json").stdout)
    values = {value["key"]: value for value in shown["values"]}
    assert "base" not in shown and "driver.read_overhead_us" not in values
    assert values["driver.read_us"]["value"] == pytest.approx(185, rel=0.01)
    assert values["cpu.page_write_us"]["value"] == 2 * 36.5


def test_a_new_profile_that_does_not_fit_the_disk_is_not_left_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: Path, mode: str, **_: object) -> IO[str]:
        path.touch()
        return os.fdopen(os.open("/dev/full", os.O_WRONLY), mode.replace("x", "w"), encoding="utf-8")

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(ffslab.InputError, match=r"own\.toml: cannot be written: no space left on device"):
        write_new(tmp_path / "own.toml", "omap3evm")
    assert list(tmp_path.iterdir()) == []


def test_a_stack_that_says_what_its_blocks_bear_is_believed_before_its_part() -> None:
    part = {"part": "mt29f1g01abafd"}
    assert borne_by({**part, "ageing": {"endurance_erases": 300}}) == (300, "[stack.ageing]")
    assert borne_by(part) == borne_by({**part, "ageing": {"endurance_erases": None}})
    assert borne_by({}) is None
