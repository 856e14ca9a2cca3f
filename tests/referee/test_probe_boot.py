"""flashmon by the kernel's command line: what is traced before anything of the kit runs, judged by nandsim itself."""

from __future__ import annotations

import shutil

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Done, Machine
from referee.parts import GUEST_SCRIPT
from referee.probe_kit import UNPACK, archive, read_log
from referee.test_probe import SAID

# nandsim says what it does; nothing is set up before. The functions are in modules that are not loaded yet.
BOOTED = """
insmod /modules/nandsim.ko id_bytes=0x20,0xda,0x90,0x95 parts=32 log=1 dyndbg=+p
flash_erase -q -j /dev/mtd0 0 4
dd if=/bin/busybox of=/dev/mtd0 bs=2048 count=100 2> /dev/null
dd if=/dev/mtd0 of=/dev/null bs=2048 count=100 2> /dev/null
dmesg -s 16000000 > said
"""


@pytest.fixture(scope="module")
def booted(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The machine boots twice: to ask for the words, and with them."""
    folder = tmp_path_factory.mktemp("boot")
    asked = Machine(kit, folder / "asked", GUEST_SCRIPT.read_bytes())
    try:
        done = asked.run(
            f"{UNPACK}; ffslab-probe flashmon boot-line --buffer-KiB 2048 > words", {"probe.tar": archive()}
        )
        words = (done.folder / "words").read_text(encoding="utf-8").strip()
        refused = asked.run(
            f"{UNPACK}; ! ffslab-probe flashmon boot-log 2> said; ! ffslab-probe vfsmon boot-log 2>> said",
            {"probe.tar": archive()},
        )
        shutil.copy(refused.folder / "said", folder)
    finally:
        asked.stop()
    machine = Machine(kit, folder / "machine", GUEST_SCRIPT.read_bytes(), kernel_arguments=words)
    job = (
        f"{BOOTED}\n{UNPACK}\nffslab-probe flashmon boot-log -o flash.log\ncat /sys/kernel/tracing/kprobe_events > left"
    )
    try:
        done = machine.run(job, {"probe.tar": archive()})
        shutil.copy(folder / "said", done.folder / "refused")
        return done
    finally:
        machine.stop()


def test_probes_of_the_command_line_see_every_operation(booted: Done) -> None:
    log = read_log(booted.folder / "flash.log")
    said = (booted.folder / "said").read_text(encoding="utf-8", errors="replace")
    names = {"R": "read page", "r": "read page", "W": "programm page", "w": "programm page", "E": "erase sector"}
    sent = [(what, int(number)) for what, number in SAID.findall(said)]
    # The search for bad blocks while the driver is loaded, clean markers, pages.
    assert len(sent) > 200
    assert [(names[row["type"]], int(row["address"])) for row in log.rows] == sent
    assert log.end["lost"] == "0"
    assert log.header["clock"] == "mono"
    assert log.header["functions"].split()[0] == "nand_read_page_op"


def test_their_log_ends_them(booted: Done) -> None:
    assert (booted.folder / "left").read_text() == ""


def test_without_them_there_is_no_log(booted: Done) -> None:
    said = (booted.folder / "refused").read_text(encoding="utf-8")
    assert "the command line of this boot has set no probes" in said
    assert "only flashmon can be set up by the command line" in said
