"""`ffslab reference run`: Linux counts, the simulator counts, and how far they may differ; that it can be repeated and
stopped."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ffslab.measured.reference.kit import Kit
from helpers.command import FFSLAB, ROOT

EXPERIMENTS = ROOT / "experiments" / "reference"
READS = [f"read_ahead_KiB={KiB}/requests.pattern={how}" for KiB in (0, 128) for how in ("sequential", "random")]
APPENDS = [f"append.request_B={size}" for size in ("128 B", "4 KiB")]
MOUNTS = [f"setup.create.bytes={size}" for size in ("4 KiB", "2 MiB")]
VARIANTS = {"reads": READS, "appends": APPENDS, "mount": MOUNTS, "saturated": ["base"]}
CONTENTS = [
    f"compression={compressor}/create.content={content}"
    for compressor in ("lzo", "zlib", "priority")
    for content in ("text", "mix", "random", "zero")
]
# Experiments beside those of both file systems.
OTHERS = {
    "jffs2-compression": CONTENTS,
    "jffs2-links": [f"chmod.permissions={octal}" for octal in ("640", "4755")],
    "ubifs-names": [f"create_many.bytes={size}" for size in ("0 B", "100 B", "5000 B")],
    "ubifs-programs": ["base"],
    "jffs2-rtime": [f"create.content={content}" for content in ("text", "mix", "random", "zero")],
    "ubifs-crash": ["base"],
    "ubifs-weak-pages": ["base"],
    "mtd-loops": ["base"],
    "mtd-nor-loops": ["base"],
    "jffs2-nor-boot": ["base"],
    "ubifs-nor-appends": APPENDS,
    "jffs2-mmap-reads": [name.replace("requests.", "mmap.") for name in READS],
    "ubifs-mmap-writes": [
        f"mmap.msync={when}/mmap.pattern={how}" for when in ("none", "each", "end") for how in ("sequential", "random")
    ],
}
OF_BOTH = {f"{fs}-{kind}": names for fs in ("jffs2", "ubifs") for kind, names in VARIANTS.items()}
CASES = [f"{experiment}/{name}" for experiment, names in (OF_BOTH | OTHERS).items() for name in names]

# By how many operations the simulator may be off, by case and counter; 0 where nothing is said. What JFFS2's thread
# does beside the program depends on when it gets the CPU, and its victims on the tick at which they are drawn: the
# kernel itself is off by 2 % from phase to phase (docs/reference.md).
OFF_BY_MAX = {
    "jffs2-appends/append.request_B=128 B": {"page_reads": 10, "oob_programs": 1},
    "jffs2-appends/append.request_B=4 KiB": {
        "page_reads": 25,
        "page_programs": 2,
        "oob_programs": 1,
        "partial_page_reads": 3,
    },
    "jffs2-saturated/base": {
        "page_reads": 140,
        "page_programs": 75,
        "erases": 2,
        "oob_programs": 3,
        "partial_page_reads": 12,
    },
    "ubifs-saturated/base": {"page_programs": 3, "erases": 3},
}


def reference_run(names: Iterable[str], out: Path, boots: int = 1) -> dict[str, dict[str, Any]]:
    """Runs experiments in one boot, or several; the compared cases by identity."""
    files = [EXPERIMENTS / f"{name}.toml" for name in names]
    command: list[str | Path] = [FFSLAB, "reference", "run", *files, "--out", out, "--boots", str(boots), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return {case["id"]: case for case in json.loads(ran.stdout)["cases"]}


def measured(folder: Path) -> dict[str, tuple[dict[str, Any], bytes]]:
    """Case and log of flashmon by identity: all that was measured, each operation, latency and time stamp."""
    found = {}
    for number, line in enumerate((folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()):
        case = json.loads(line)
        found[case["id"]] = (case, (folder / "traces" / f"{number + 1}.log").read_bytes())
    return found


@pytest.fixture(scope="module")
def all_cases(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The folder and the compared cases of all experiments: one boot for all tests."""
    folder = tmp_path_factory.mktemp("reference") / "all"
    return folder, reference_run([*OF_BOTH, *OTHERS], folder)


@pytest.mark.parametrize("name", CASES)
def test_the_simulator_counts_as_the_real_kernel(name: str, all_cases: tuple[Path, dict[str, dict[str, Any]]]) -> None:
    case = all_cases[1][f"reference/{name}"]
    assert case["error"] is None
    off_by = {counter: pair["simulated"] - pair["expected"] for counter, pair in case["counters"].items()}
    assert {"page_reads", "page_programs", "erases"} <= set(off_by)
    assert "-nor-" in name or {"oob_reads", "oob_programs"} <= set(off_by)
    assert sum(pair["expected"] for pair in case["counters"].values()) > 10
    limits = OFF_BY_MAX.get(name, {})
    assert all(abs(n) <= limits.get(counter, 0) for counter, n in off_by.items()), off_by


def test_no_case_goes_without_a_bound(all_cases: tuple[Path, dict[str, dict[str, Any]]]) -> None:
    assert set(all_cases[1]) == {f"reference/{name}" for name in CASES}
    assert set(OFF_BY_MAX) <= set(CASES)


def test_a_case_is_the_same_again(all_cases: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path) -> None:
    """Without other machines beside it; to the last time stamp."""
    reference_run(["ubifs-appends"], tmp_path / "alone")
    again = measured(tmp_path / "alone")
    assert len(again) == 2
    assert {name: found for name, found in measured(all_cases[0]).items() if name in again} == again


def test_a_further_boot_counts_the_same_reads_later(
    all_cases: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    """Nothing runs beside them. And the first boot is what it is without the other one."""
    reference_run(["jffs2-reads"], tmp_path / "twice", boots=2)
    alone = measured(all_cases[0])
    for name, (case, log) in measured(tmp_path / "twice").items():
        (other,) = case.pop("boots")
        assert (case, log) == alone[name]
        assert other["page_reads"] == case["expect"]["page_reads"] > 0
        assert other["uptime_us"] > case["system"]["uptime_us"] + 2e6
    assert (tmp_path / "twice" / "traces" / "4.boot2.log").exists()


def test_it_tells_how_far_it_is_and_leaves_nothing_behind_when_it_is_interrupted(kit: Kit, tmp_path: Path) -> None:
    """On a terminal, where Ctrl-C goes to all processes of the command."""
    for name in ("results", "temporary"):
        (tmp_path / name).mkdir()
    terminal, its_end = pty.openpty()
    command: list[str | Path] = [FFSLAB, "reference", "run"]
    command += [EXPERIMENTS / "ubifs-appends.toml", "--out", tmp_path / "results" / "out"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "TERM": "xterm", "COLUMNS": "140"}
    running = subprocess.Popen(
        command, stdout=its_end, stderr=its_end, env=environment, start_new_session=True, preexec_fn=heed_ctrl_c
    )
    os.close(its_end)
    screen = b""
    while b": append" not in screen:
        assert running.poll() is None, screen
        screen += os.read(terminal, 4096)
    (machine,) = machines(running.pid)
    os.killpg(running.pid, signal.SIGINT)
    screen += the_rest_of(terminal)
    assert running.wait() == 130
    assert not machine.exists()
    assert [list((tmp_path / name).iterdir()) for name in ("results", "temporary")] == [[], []]
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.decode())
    assert "boot" in shown
    assert re.search(r"ubifs-appends/append.request_B=128 B: measure, step \d of \d: append", shown), shown
    assert shown.rstrip().splitlines()[-1] == "ffslab: interrupted"


def heed_ctrl_c() -> None:
    """In the background shells ignore it, for all processes below."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def the_rest_of(terminal: int) -> bytes:
    """Until the last process has closed its end, which Linux tells by EIO."""
    said = b""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            said += piece
    os.close(terminal)
    return said


def test_the_machine_goes_when_the_command_is_killed(kit: Kit, tmp_path: Path) -> None:
    command: list[str | Path] = [
        FFSLAB,
        "reference",
        "run",
        EXPERIMENTS / "ubifs-appends.toml",
        "--out",
        tmp_path / "out",
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    while not (found := machines(running.pid)):
        assert running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.wait()
    deadline = time.monotonic() + 30
    while is_alive(found[0]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (tmp_path / "out").exists()


def machines(pid: int) -> list[Path]:
    """Folders in /proc of the virtual machines that a process has started."""
    found = []
    for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
        with contextlib.suppress(OSError):  # a compiler that has ended meanwhile
            if b"qemu" in (Path("/proc") / word / "cmdline").read_bytes():
                found.append(Path("/proc") / word)
    return found


def is_alive(process: Path) -> bool:
    """Whether it runs; one that has ended may still be listed as a zombie."""
    with contextlib.suppress(OSError):
        return (process / "stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.soak
def test_all_cases_are_the_same_again_in_the_opposite_order(
    all_cases: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    reference_run(reversed([*OF_BOTH, *OTHERS]), tmp_path / "again")
    assert measured(tmp_path / "again") == measured(all_cases[0])
