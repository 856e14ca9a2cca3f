"""ext4 and F2FS of a real kernel on cards that `ffslab card serve` serves: cut, mounted again, checked; and by the
kernel's own client of NBD."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.measured.reference.architecture import AMD64
from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from helpers.command import FFSLAB, ROOT
from helpers.served_card import served

GUEST = (sys.executable, str(ROOT / "tools" / "card_guest.py"))
# Raw flash of 128 MiB below a page map that keeps 64 pages in a buffer until they are flushed.
BUFFERED = (
    "page-map",
    *("--set", "device.part=micron-slc-omap3evm", "--set", "device.blocks=1024", "--set", "device.buffer_pages=64"),
)
MKFS = {"ext4": ("mkfs.ext4", "-q", "-b", "4096"), "f2fs": ("mkfs.f2fs", "-q")}


def made(kit: Kit, folder: Path, fs: str) -> Path:
    """An empty file system."""
    image = folder / f"{fs}.img"
    image.touch()
    os.truncate(image, 96 << 20)
    name, *options = MKFS[fs]
    subprocess.run([kit.host_programs[name], *options, image], check=True, capture_output=True)
    return image


def card(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (FFSLAB, "card", *words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("fs", "options", "word"), [("ext4", "nobarrier", "bad"), ("f2fs", "rw", "ok")])
def test_fsynced_files_are_there_after_power_cuts_unless_nobody_flushes(
    kit: Kit, tmp_path: Path, fs: str, options: str, word: str
) -> None:
    image = made(kit, tmp_path, fs)
    socket, guest = ("--socket", "card.sock"), (*GUEST, "write", fs, "--rounds", "8", "--options", options)
    ran = card(
        tmp_path, "serve", *BUFFERED, "--image", image, *socket, "--record", "log.rec", "--no-results", "--", *guest
    )
    assert ran.returncode == 0, ran.stderr
    ran = card(tmp_path, "cuts", "log.rec", *socket, "--cuts", "6", "--json", "--", *GUEST, "check", fs)
    assert ran.returncode == (word == "bad"), ran.stderr
    answer = json.loads(ran.stdout)
    assert word in {row["verdict"].partition(":")[0] for row in answer["verdicts"]}, ran.stderr
    assert answer["cuts"][-1]["marks"] > 10


def test_the_client_of_the_kernel_itself(kit: Kit, tmp_path: Path) -> None:
    with_net = replace(
        AMD64,
        board=(*AMD64.board, "-netdev", "user,id=n", "-device", "virtio-net-pci,netdev=n"),
        modules=(*AMD64.modules, "virtio_net", "nbd", "crc32c_generic", "ext4"),
    )
    client = {"nbd-client": kit.host_programs["nbd-client"]}
    machine = Machine(replace(kit, guest_programs=client, architecture=with_net), tmp_path / "machine", b":\n")
    image = made(kit, tmp_path, "ext4")
    with served(tmp_path, "emmc-slc-cache", "--image", str(image), tcp=True) as server:
        port = server.uri.rpartition(":")[2]
        try:
            done = machine.run(
                f"ifconfig eth0 10.0.2.15 up\nnbd-client 10.0.2.2 {port} /dev/nbd0 -b 4096\n"
                "cat /sys/block/nbd0/queue/write_cache /sys/block/nbd0/queue/fua\n"
                "mount -t ext4 /dev/nbd0 /mnt\ndd if=/bin/busybox of=/mnt/a bs=64k conv=fsync\numount /mnt\n"
                "mount -t ext4 -o ro /dev/nbd0 /mnt\ncmp /bin/busybox /mnt/a\numount /mnt\nnbd-client -d /dev/nbd0\n"
            )
        finally:
            machine.stop()
    assert "write back\n1\n" in done.log
    assert not [line for line in done.kernel_log if "error" in line.lower()], done.kernel_log
    assert server.variant["totals"]["page_programs"] >= kit.busybox.stat().st_size >> 14


def test_the_requests_of_a_logger_are_those_of_virtual_minutes(kit: Kit, tmp_path: Path) -> None:
    recording, logger = tmp_path / "log.blkparse", (sys.executable, str(ROOT / "tools" / "card_logger.py"))
    made_by = (*logger, "record", "f2fs", "--image", made(kit, tmp_path, "f2fs"), "--days", "0.007", "--together", "60")
    ran = subprocess.run([*made_by, "--out", recording], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    times_s = [float(line.split()[3]) for line in recording.read_text().splitlines()]
    assert 600 <= times_s[-1] - times_s[0] < 700
    ran = subprocess.run(
        [*logger, "table", recording, "--device", "emmc-slc-cache"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    writes, flushes = (int(cell.replace(",", "")) for cell in ran.stdout.splitlines()[2].split(" | ")[2:6:2])
    # Once a minute the file's page and its node are written, and a flush is asked for.
    assert writes >= 20
    assert flushes >= 10
