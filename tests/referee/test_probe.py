"""The on-target kit in the unmodified kernel, judged by what nandsim itself says that it did, and by known delays.

nandsim prints each operation when it is told to (`log=1`, and `dyndbg=+p` because it says so by pr_debug). That is
independent of the functions that flashmon probes: it is what the chip was sent.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ffslab.measured.reference.machine import Done, Machine
from referee.probe_kit import UNPACK, archive, read_log

BLOCKS = 32
CHIP = "insmod /modules/nandsim.ko id_bytes=0x20,0xda,0x90,0x95 parts={blocks} {settings}"
SAID = re.compile(r"\[nandsim\] log: (read page|programm page|erase sector) (\d+)")

WORKLOADS = {
    # Erase, clean markers in the OOB area, whole pages with and without OOB, reads.
    "mtd": """
        flash_erase -q -j /dev/mtd0 0 0
        dd if=/dev/urandom of=/tmp/image bs=2048 count=200 2> /dev/null
        nandwrite -q /dev/mtd0 /tmp/image
        nanddump -q -f /dev/null /dev/mtd0
        nanddump -q --noecc --oob -l 131072 -f /dev/null /dev/mtd0
        flash_erase -q /dev/mtd0 131072 3
        """,
    "jffs2": """
        mount_fs jffs2 compr=none
        dd if=/dev/urandom of=/mnt/a bs=4096 count=200 2> /dev/null
        for i in $(seq 20); do
          dd if=/dev/urandom of=/mnt/a bs=3000 seek=$((i * 7)) count=1 conv=notrunc,fsync 2> /dev/null
        done
        umount /mnt
        mount_fs jffs2 compr=none
        cat /mnt/a > /dev/null
        rm /mnt/a
        umount_fs
        """,
    "ubifs": """
        mount_fs ubifs compr=none
        dd if=/dev/urandom of=/mnt/a bs=4096 count=200 2> /dev/null
        for i in $(seq 20); do
          dd if=/dev/urandom of=/mnt/a bs=4096 seek=$((i * 7)) count=1 conv=notrunc,fsync 2> /dev/null
        done
        umount /mnt
        mount_fs ubifs compr=none
        cat /mnt/a > /dev/null
        rm /mnt/a
        umount_fs
        """,
}


def trace(machine: Machine, monitors: dict[str, str], workload: str, settings: str = "", blocks: int = BLOCKS) -> Done:
    """Runs a workload under some monitors; each log is `NAME.log`. `monitors`: options of start, by name."""
    # What a failed job left running.
    ended = "for name in flashmon vfsmon funcmon; do ffslab-probe $name stop > /dev/null 2>&1 || true; done"
    lines = [UNPACK, ended, "clean_up", CHIP.format(blocks=blocks, settings=settings)]
    # What an event costs is measured in test_reference.py.
    lines += [f"ffslab-probe {name} start --overhead-ns 1000 {options}" for name, options in monitors.items()]
    lines += ["dmesg -c > /dev/null", workload, "dmesg -s 16000000 > said"]
    lines += [f"ffslab-probe {name} stop -o {name}.log" for name in monitors]
    return machine.run("\n".join(lines), {"probe.tar": archive()})


@pytest.mark.parametrize("workload", WORKLOADS)
def test_flashmon_sees_what_the_chip_was_sent_one_by_one(machine: Machine, workload: str) -> None:
    """Type and number of every operation, in order.

    nandsim copies a page once more when the driver changes the column, for the ECC bytes of a part of a page; funcmon
    tells when.
    """
    monitors = {"flashmon": "", "funcmon": "nand_change_read_column_op"}
    done = trace(machine, monitors, WORKLOADS[workload], "log=1 dyndbg=+p")
    log, columns = read_log(done.folder / "flashmon.log"), read_log(done.folder / "funcmon.log")
    assert (log.end["lost"], columns.end["lost"]) == ("0", "0")
    assert log.end["events"] == str(len(log.rows))
    # The change of the column comes after the read, also when the clock shows the same.
    events = sorted(log.rows + columns.rows, key=lambda row: float(row["t_s"]))
    seen: list[tuple[str, int]] = []
    for row in events:
        name = {"R": "read page", "r": "read page", "W": "programm page", "w": "programm page", "E": "erase sector"}
        seen.append((name[row["type"]], int(row["address"])) if "type" in row else seen[-1])
    said = (done.folder / "said").read_text(encoding="utf-8", errors="replace")
    sent = [(what, int(number)) for what, number in SAID.findall(said)]
    assert len(sent) > 400
    assert seen == sent


def hits(profile: Path) -> int:
    """Hits of flashmon's probes so far, from the kernel's own table."""
    lines = profile.read_text(encoding="utf-8").splitlines()
    events = {"read_page_op", "read_oob_op", "prog_page_op", "prog_page_begin_op", "erase_op"}
    return sum(int(line.split()[1]) for line in lines if line.split()[0] in events)


@pytest.mark.parametrize("options", ["", "--keep first", "--stream /tmp/stream"])
def test_what_is_lost_is_said(machine: Machine, options: str) -> None:
    """With room for a few hundred events; seen and lost together are what the kernel's own table counted."""
    table = "/sys/kernel/tracing/kprobe_profile"
    script = f"cat {table} > before\n{WORKLOADS['mtd']}\ncat {table} > after"
    done = trace(machine, {"flashmon": f"--buffer-KiB 16 {options}"}, script)
    log = read_log(done.folder / "flashmon.log")
    lost = int(log.end["lost"])
    # Reads of the OOB area alone hit two probes.
    all_seen = (
        hits(done.folder / "after") - hits(done.folder / "before") == len(log.rows) + len(log.of_type("r")) + lost
    )
    if "stream" in options:
        assert lost < 1000
    else:
        assert lost > 1000
        assert f"{lost} events were LOST" in done.log
    assert all_seen


def test_a_scope_is_one_partition(machine: Machine) -> None:
    workload = """
        flash_erase -q /dev/mtd0 0 2
        flash_erase -q /dev/mtd1 0 3
        nanddump -q -l 4096 -f /dev/null /dev/mtd1
        """
    done = trace(machine, {"flashmon": "--scope mtd1"}, workload)
    log = read_log(done.folder / "flashmon.log")
    assert [row["address"] for row in log.of_type("E")] == [str(BLOCKS), str(BLOCKS + 1), str(BLOCKS + 2)]
    assert [row["address"] for row in log.of_type("R")] == [str(BLOCKS * 64), str(BLOCKS * 64 + 1)]
    assert log.header["scope"] == "mtd1"


def test_the_levels_agree_on_a_workload(machine: Machine) -> None:
    """What the MTD layer asks for page by page, and what the chip does, is the same without a file system."""
    counts = {}
    for level in ("chip", "mtd"):
        done = trace(machine, {"flashmon": f"--level {level}"}, WORKLOADS["mtd"])
        rows = read_log(done.folder / "flashmon.log").rows
        counts[level] = {kind: sum(row["type"] == kind for row in rows) for kind in "RWE"}
    assert counts["chip"] == counts["mtd"]


def test_bench_writes_to_nothing_that_is_not_named_or_in_use(machine: Machine) -> None:
    name = "'NAND simulator partition 0'"
    refused = {
        "bench loops mtd0 --confirm mtd0": "nothing was written",
        "bench loops mtd7": "there is no such device",
        "bench loops mtd0 --counts 100000": "has 2048 pages",
        "bench files /mnt --confirm /tmp": "say the directory twice",
    }
    lines = [f"! ffslab-probe {command} 2> refused.{number}" for number, command in enumerate(refused)]
    lines += ["mount_fs jffs2", f"! ffslab-probe bench loops mtd0 --confirm {name} 2> mounted", "umount_fs"]
    lines += ["attach", f"! ffslab-probe bench loops mtd0 --confirm {name} 2> attached", "ubidetach -d 0"]
    lines += ["flash_erase -q -j /dev/mtd0 0 0", "mount_fs jffs2 compr=none"]
    lines += ["ffslab-probe bench files /mnt --confirm /mnt --MiB 1 > files", "ls /mnt > left", "umount_fs"]
    lines += ["ffslab-probe bench reread mtd0 --block 3 --times 5 > reread"]
    done = trace(machine, {}, "\n".join(lines))
    said = [(done.folder / f"refused.{number}").read_text() for number in range(len(refused))]
    assert all(text in line for text, line in zip(refused.values(), said, strict=True)), said
    assert "is mounted; nothing was written" in (done.folder / "mounted").read_text()
    assert "is attached to UBI; nothing was written" in (done.folder / "attached").read_text()
    rows = [line.split(",") for line in (done.folder / "files").read_text().splitlines()]
    assert rows[0] == ["pattern", "request_B", "n", "time_us"]
    assert len(rows) == 9
    assert all(int(row[3]) > 0 for row in rows[1:])
    assert (done.folder / "left").read_text() == ""
    assert (done.folder / "reread").read_text().splitlines()[1] == "5 0 0 0 0"


def test_a_monitor_is_controlled_while_it_runs(machine: Machine) -> None:
    """Paused, nothing is seen; reset forgets; markers stand among the events; the map counts by block."""
    workload = """
        flash_erase -q /dev/mtd0 0 2
        ffslab-probe flashmon reset
        flash_erase -q /dev/mtd0 131072 1
        ffslab-probe mark 'first; phase'
        ffslab-probe flashmon pause
        flash_erase -q /dev/mtd0 0 3
        ffslab-probe status > paused
        ffslab-probe flashmon resume
        flash_erase -q /dev/mtd0 0 2
        nanddump -q -s 131072 -l 4096 -f /dev/null /dev/mtd0
        ffslab-probe status > running
        ffslab-probe flashmon map > map
        ! ffslab-probe flashmon start 2> twice
        ! ffslab-probe vfsmon stop 2> stopped
        ! ffslab-probe funcmon start no_such_function 2> unknown
        ! ffslab-probe funcmon start 2> unnamed
        ! ffslab-probe vfsmon start --buffer-KiB many 2> number
        """
    done = trace(machine, {"flashmon": ""}, workload)
    log = read_log(done.folder / "flashmon.log")
    assert [(row["type"], row.get("address", row.get("text"))) for row in log.rows] == [
        ("E", "1"),
        ("M", "first; phase"),
        ("E", "0"),
        ("E", "1"),
        ("R", "64"),
        ("R", "65"),
    ]
    assert (done.folder / "map").read_text() == "# block reads programs erases\n0 0 0 1\n1 2 0 2\n"
    assert "flashmon: paused, 2 records" in (done.folder / "paused").read_text()
    assert "flashmon: on, 6 records" in (done.folder / "running").read_text()
    for name, says in (
        ("twice", "flashmon runs already"),
        ("stopped", "vfsmon does not run"),
        ("unknown", "funcmon no_such_function: the kernel has no such function"),
        ("unnamed", "name the functions"),
        ("number", "--buffer-KiB many: a whole number is expected"),
    ):
        assert says in (done.folder / name).read_text()


def test_nothing_stays_behind(machine: Machine) -> None:
    monitors = {"flashmon": "", "vfsmon": "", "funcmon": "mtd_read"}
    traced = trace(machine, monitors, "flash_erase -q /dev/mtd0 0 1")
    # All logs of a session name the same chip.
    chips = {read_log(traced.folder / f"{name}.log").header["chip"] for name in monitors}
    assert chips == {"page_B=2048 oob_B=64 block_B=131072 size_B=268435456"}
    tracing = "/sys/kernel/tracing"
    done = machine.run(
        f"cat {tracing}/kprobe_events > probes; ls {tracing}/instances > instances; ls /tmp/ffslab-probe > state"
    )
    assert (done.folder / "probes").read_text() == ""
    assert (done.folder / "instances").read_text() == ""
    assert "flashmon" not in (done.folder / "state").read_text()
