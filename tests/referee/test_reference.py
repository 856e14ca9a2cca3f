"""The virtual machine of reference runs as a board with known delays: what the on-target kit measures there.

Time in the guest is the number of instructions, so durations can be compared with delays that are set, on any machine.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from ffslab.measured.reference.first_jobs import run_first_jobs
from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from helpers.command import Command
from referee.parts import GUEST_SCRIPT
from referee.probe_kit import Log, archive, read_log

# Page read, page program in us, erase in ms; ns a byte. nandsim adds the page's 2048 bytes to a read and a program.
DELAYS_US = {"read": 100, "program": 400, "erase": 3000}
BUS_NS_PER_B = 50
BUS_US = BUS_NS_PER_B * 2048 // 1000
TIMES_US = {"read": DELAYS_US["read"] + BUS_US, "program": DELAYS_US["program"] + BUS_US, "erase": DELAYS_US["erase"]}
CHIP = (
    f"insmod /modules/nandsim.ko id_bytes=0x20,0xda,0x90,0x95 parts=32 do_delays=1 access_delay={DELAYS_US['read']} "
    f"programm_delay={DELAYS_US['program']} erase_delay={DELAYS_US['erase'] // 1000} input_cycle={BUS_NS_PER_B} "
    f"output_cycle={BUS_NS_PER_B}"
)
LOOPS = "ffslab-probe bench loops mtd0 --repeats 2 --counts '128 512' --confirm 'NAND simulator partition 0'"
JOB = f"""
. /guest.sh
tar -C /tmp -xf /probe.tar
export PATH=$PATH:/tmp/probe
mount -t tracefs tracefs /sys/kernel/tracing
{CHIP}
ffslab-probe overhead > overhead
{LOOPS} > bare
ffslab-probe flashmon start
{LOOPS} > traced
ffslab-probe flashmon stop -o flashmon.log
ffslab-probe funcmon start nand_do_write_ops nand_erase_nand nand_read_oob
ffslab-probe vfsmon start
ffslab-probe flashmon start
flash_erase -q /dev/mtd0 0 4
dd if=/dev/zero of=/dev/mtd0 bs=2048 count=50 2> /dev/null
dd if=/dev/mtd0 of=/dev/null bs=2048 count=50 2> /dev/null
flash_erase -q -j /dev/mtd0 0 0
mount_fs jffs2 compr=none
dd if=/dev/zero of=/mnt/a bs=4096 count=8 conv=fsync 2> /dev/null
ls -i /mnt/a > inode
ffslab-probe vfsmon stop --raw vfsmon
ffslab-probe flashmon stop -o operations.log
ffslab-probe funcmon stop -o funcmon.log
"""


@pytest.fixture(scope="module")
def measured(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the job left: one boot for all tests."""
    folder = tmp_path_factory.mktemp("counted")
    programs = {"first.sh": JOB.encode(), "probe.tar": archive()}
    machine = Machine(kit, folder / "machine", GUEST_SCRIPT.read_bytes(), programs, instructions_per_us=250)
    return run_first_jobs([machine], timeout_s=400)[0].folder


def loops(path: Path) -> dict[str, dict[int, int]]:
    """Microseconds by operation and number of operations; of repeated loops the quickest, with programs in memory."""
    found: dict[str, dict[int, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        operation, n, time_us = line.split(",")
        of_operation = found.setdefault(operation, {})
        of_operation[int(n)] = min(int(time_us), of_operation.get(int(n), int(time_us)))
    return found


def slope_us(times: dict[int, int]) -> float:
    """Time of one operation from two loops, without what a loop costs to begin."""
    (few, short_us), (many, long_us) = sorted(times.items())
    return (long_us - short_us) / (many - few)


def test_loops_of_the_driver_give_the_delays_back(measured: Path) -> None:
    """Above the delay stands what the driver computes, ECC above all: tens of us at 250 instructions per us."""
    for operation, times in loops(measured / "bare").items():
        each_us = slope_us(times)
        # What a loop costs to begin differs by some 100 us, and the loops differ by six erases only.
        assert 0.97 * TIMES_US[operation] <= each_us < TIMES_US[operation] + 100, (operation, each_us)


def test_tracing_costs_less_than_flashmon_did(measured: Path) -> None:
    """Flashmon v2 published less than 6 %; the share is that of operations that do nothing else."""
    bare, traced = loops(measured / "bare"), loops(measured / "traced")
    overhead_ns = int((measured / "overhead").read_text(encoding="utf-8"))
    for operation, times in bare.items():
        percent = (slope_us(traced[operation]) / slope_us(times) - 1) * 100
        assert -0.5 < percent < 6, (operation, percent)
    assert 100 < overhead_ns < 10_000
    assert read_log(measured / "flashmon.log").end["overhead_ns_per_event"] == str(overhead_ns)


@pytest.mark.parametrize(
    "source", [("--loops", "bare"), ("--probe", "operations.log", "--probe", "funcmon.log")], ids=["loops", "logs"]
)
def test_calibration_recovers_the_delays(source: tuple[str, ...], measured: Path, ffslab: Command) -> None:
    """The guest as the board: `ffslab calibrate` finds the delays that were set, plus what the driver computes."""
    words = [word if word.startswith("--") else str(measured / word) for word in source]
    ran = ffslab("calibrate", *words, "--json")
    assert ran.returncode == 0, ran.stderr
    found = {constant["key"]: constant["value"] for constant in json.loads(ran.stdout)["constants"]}
    for operation, delay_us in TIMES_US.items():
        assert 0.97 * delay_us < found[f"driver.{operation}_us"] < delay_us + 100, (operation, found)


def calls(log: Log, function: str, task: str = "dd") -> list[float]:
    """Durations in us of the calls of a function by a task."""
    return [float(row["duration_us"]) for row in log.rows if (row["function"], row["task"]) == (function, task)]


def test_durations_of_functions_are_the_delays(measured: Path) -> None:
    log = read_log(measured / "funcmon.log")
    assert log.end["lost"] == "0"
    writes, reads = calls(log, "nand_do_write_ops")[:50], calls(log, "nand_read_oob")[:50]
    erases = calls(log, "nand_erase_nand", "flash_erase")[:4]
    assert (len(writes), len(reads), len(erases)) == (50, 50, 4)
    for durations, operation in ((writes, "program"), (reads, "read"), (erases, "erase")):
        assert min(durations) >= TIMES_US[operation]
        assert statistics.median(durations) < TIMES_US[operation] + 100, operation


def test_durations_of_system_calls_hold_their_flash_operations(measured: Path) -> None:
    log = vfs_log(measured)
    inode = (measured / "inode").read_text(encoding="utf-8").split()[0]
    writes = [row for row in log.rows if row["function"] == "vfs_write" and row["inode"] == inode]
    assert [(row["offset_B"], row["bytes"], row["result"]) for row in writes] == [
        (str(4096 * i), "4096", "4096") for i in range(8)
    ]
    # 4096 B and a header of 68 B: two pages, now and then three.
    assert all(2 * TIMES_US["program"] <= float(row["duration_us"]) < 3.6 * TIMES_US["program"] for row in writes)
    syncs = [row for row in log.rows if row["function"] == "vfs_fsync_range" and row["inode"] == inode]
    assert len(syncs) == 1
    assert float(syncs[0]["duration_us"]) >= TIMES_US["program"]
    ends = [float(row["t_s"]) + float(row["duration_us"] or 0) / 1e6 for row in log.rows if row["duration_us"]]
    assert ends == pytest.approx(sorted(ends), abs=2e-6)


def vfs_log(measured: Path) -> Log:
    """The log that is written here, from what the guest kept."""
    import subprocess

    from referee.probe_kit import PROBE

    command: list[str | Path] = ["sh", PROBE / "ffslab-probe", "format", measured / "vfsmon"]
    (measured / "vfsmon.log").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    return read_log(measured / "vfsmon.log")
