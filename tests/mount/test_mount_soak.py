"""What takes long on a mount: a gigabyte verified by fio, fifty power cuts in a row, more work for each program."""

from __future__ import annotations

import os
import random
import shutil
import struct
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from fio_cuts import need_fio, soak
from helpers.left_out import leave_out
from helpers.mount_programs import INSTALLED, PROGRAMS, run
from helpers.mounted import FILE_SYSTEMS, mounted

pytestmark = pytest.mark.soak

GIBIBYTE_IN_LOOPS = 64
POWER_CUTS = 50
RECORD_BYTES = 4096
RECORDS = 512
HEADER = struct.Struct("<IQ")


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_fio_verifies_a_gibibyte(fs: str, tmp_path: Path) -> None:
    need_fio()
    size = 1024 // GIBIBYTE_IN_LOOPS
    job = (
        f"[job]\nioengine=psync\nrw=randwrite\nbsrange=4k-64k\nblockalign=4k\nsize={size}m\nloops={GIBIBYTE_IN_LOOPS}\n"
    )
    job += "fsync=64\nverify=crc32c\nverify_fatal=1\ndo_verify=1\n"
    with mounted(tmp_path, fs, "--think", "none") as mount:
        printed = run(mount.place, "fio", "--minimal", "-", text=job)
        fields = next(line for line in printed.splitlines() if line.startswith("3;")).split(";")
        assert fields[4] == "0", printed
    assert mount.variant["user_written_B"] >= 1 << 30
    assert mount.variant["totals"]["page_programs"] >= (1 << 30) / 2048


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_fio_finds_what_it_synced_after_fifty_power_cuts(fs: str, tmp_path: Path) -> None:
    need_fio()
    done = soak(tmp_path, fs, POWER_CUTS)
    assert done.errors == []
    assert done.cuts == POWER_CUTS
    assert done.written_B > 1 << 30


def record(number: int, version: int) -> bytes:
    """A record that says where it belongs, which version it is, and whether it is whole."""
    body = HEADER.pack(number, version) + random.Random(version).randbytes(RECORD_BYTES - HEADER.size - 4)
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_fifty_power_cuts_lose_nothing_that_was_synced(fs: str, tmp_path: Path) -> None:
    """Each mount finds what the cut before left. A write during which the power goes away may be there or not.

    What fio cannot do: records are overwritten in place for ever, and each must be of its latest version, also those
    around the one that the cut has hit.
    """
    dice = random.Random(7)
    versions = [0] * RECORDS  # 0: never written
    version = 0
    image = tmp_path / "nand.bin"
    for cut in range(POWER_CUTS + 1):
        options: list[str | Path] = ["--think", "none", "--save", image, "--seed", str(cut)]
        options += ["--image", image] if cut else ["--blocks", "96"]
        last = cut == POWER_CUTS
        if not last:
            options += ["--power-cut-after", str(dice.randrange(1, 3000))]
        with mounted(tmp_path, fs, *options) as mount, suppress(OSError):
            (mount.place / "records").touch()
            with (mount.place / "records").open("r+b", buffering=0) as file:
                for number, expected in enumerate(versions):
                    got = os.pread(file.fileno(), RECORD_BYTES, number * RECORD_BYTES)
                    if expected:
                        assert got == record(number, expected), f"cut {cut}: record {number} is not version {expected}"
                if last:
                    return
                while True:
                    number, version = dice.randrange(RECORDS), version + 1
                    versions[number] = 0  # until it is synced nobody knows what is there
                    os.pwrite(file.fileno(), record(number, version), number * RECORD_BYTES)
                    os.fsync(file.fileno())
                    versions[number] = version
        # Nothing but the power cut has ended it.
        assert any("power was cut" in note for note in mount.variant["notes"]), cut
    raise AssertionError("the last mount was not read to its end")


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_programs_find_nothing_wrong_in_much_work(fs: str, tmp_path: Path) -> None:
    with mounted(tmp_path, fs, "--blocks", "2000") as mount:
        for name, program in PROGRAMS.items():
            if name in INSTALLED and shutil.which(name) is None:
                leave_out(f"{name} is missing; as root: make packages")
            folder = mount.place / name
            folder.mkdir()
            program(folder, 10)
