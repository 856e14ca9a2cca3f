"""Real programs work on the mount of each file system, and what they cost on the board is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fio_cuts import need_fio, soak
from helpers.left_out import leave_out
from helpers.mount_programs import INSTALLED, PROGRAMS
from helpers.mounted import FILE_SYSTEMS, mounted


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_programs_find_nothing_wrong(fs: str, tmp_path: Path) -> None:
    """One after the other on the same file system, so that each finds what the one before left."""
    with mounted(tmp_path, fs) as mount:
        for name, program in PROGRAMS.items():
            if name in INSTALLED and shutil.which(name) is None:
                leave_out(f"{name} is missing; as root: make packages")
            folder = mount.place / name
            folder.mkdir()
            program(folder, 1)
    totals = mount.variant["totals"]
    assert totals["page_programs"] > 2000
    assert mount.variant["energy_uJ"]["total"] > 0
    # JFFS2's blocks are drawn by the tick counter, and it says so.
    assert [note for note in mount.variant["notes"] if "tick counter" not in note] == []


@pytest.mark.long
@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_fio_finds_what_it_synced_after_power_cuts(fs: str, tmp_path: Path) -> None:
    need_fio()
    done = soak(tmp_path, fs, cuts=2, cut_after_max=1500)
    assert (done.cuts, done.errors) == (2, [])
    assert done.verified_B > 8 << 20
    # It would find a byte that is wrong.
    with mounted(tmp_path, fs, "--image", tmp_path / "nand.bin") as mount:
        job, _ = next(iter(done.safe.values()))
        with (mount.place / "records").open("r+b") as file:
            file.seek(job.region << 20)
            file.write(bytes(1 << 20))
        done.verify(mount.place)
    assert len(done.errors) == 1, done.errors
    assert str(job) in done.errors[0]
