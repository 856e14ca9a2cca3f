"""The on-target kit in the unmodified kernel, judged by what nandsim itself says that it did, and by known delays.

nandsim prints each operation when it is told to (`log=1`, and `dyndbg=+p` because it says so by pr_debug). That is
independent of the functions that flashmon probes: it is what the chip was sent.
"""

from __future__ import annotations

import re

import pytest

from ffslab.reference.machine import Done, Machine
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
    lines = [UNPACK, "clean_up", CHIP.format(blocks=blocks, settings=settings)]
    lines += [f"ffslab-probe {name} start {options}" for name, options in monitors.items()]
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
