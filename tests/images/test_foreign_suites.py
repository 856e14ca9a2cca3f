"""pjdfstest, LTP's fsx, fsstress and growfiles, and mtd-utils' integck on the mount of each file system.

`make soak` runs them with the user's own copies; see `foreign_suites.py`. What fails is what docs/mount.md says, with
the reason, and no more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import foreign_suites as suites
from helpers.mounted import FILE_SYSTEMS, mounted

pytestmark = pytest.mark.soak

POWER_CUTS = 20


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_pjdfstest(fs: str, tmp_path: Path) -> None:
    copy = suites.copy_of(suites.PJDFSTEST)
    with mounted(tmp_path, fs, "-o", "suid,dev") as mount:
        folder = mount.place / "pjdfstest"
        folder.mkdir()
        tests, failed = suites.pjdfstest(copy, folder)
    assert tests > 8000
    assert failed == suites.PJDFSTEST_FAILS[fs]


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_fsx_of_the_linux_test_project(fs: str, tmp_path: Path) -> None:
    copy = suites.copy_of(suites.LTP)
    with mounted(tmp_path, fs, "--think", "none") as mount:
        ran = suites.fsx(copy, mount.place, 20_000)
    said = ran.stdout + ran.stderr
    if fs == "jffs2":
        # It maps a file that is open for writing, which JFFS2 refuses: EINVAL on Linux (generic_file_readonly_mmap),
        # on a mount what FUSE answers.
        assert ran.returncode != 0 and "mmap" in said and "TFAIL" not in said, said
    else:
        assert ran.returncode == 0 and "TFAIL" not in said, said


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_fsstress_of_the_linux_test_project(fs: str, tmp_path: Path) -> None:
    """What four processes have made by chance is found again after the end and after a new mount."""
    copy = suites.copy_of(suites.LTP)
    image = tmp_path / "nand.bin"
    with mounted(tmp_path, fs, "--save", image, "--blocks", "800", "-o", "dev") as mount:
        for seed in range(1, 4):
            folder = mount.place / str(seed)
            folder.mkdir()
            suites.fsstress(copy, folder, seed, 400)
        before = suites.tree(mount.place)
    assert len(before) > 300
    with mounted(tmp_path, fs, "--image", image, "-o", "dev") as mount:
        after = suites.tree(mount.place)
    if fs == "yaffs2":
        # After fdatasync(2) it writes no header at close (`yaffs_flush_file`): the time of the last write is lost.
        before, after = suites.without_times(before), suites.without_times(after)
    assert after == before


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_growfiles_of_the_linux_test_project(fs: str, tmp_path: Path) -> None:
    copy = suites.copy_of(suites.LTP)
    with mounted(tmp_path, fs, "--blocks", "800") as mount:
        folder = mount.place / "growfiles"
        folder.mkdir()
        assert suites.growfiles(copy, folder) == []


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_integck_of_mtd_utils(fs: str, tmp_path: Path) -> None:
    """It fills the file system, changes it by chance, unmounts and mounts it, and compares everything."""
    copy = suites.copy_of(suites.INTEGCK)
    code, printed = suites.integck(copy, tmp_path, fs, "-e", "-n", "2")
    assert code == 0, printed[-3000:]
    assert "cannot be unmounted" not in printed


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
def test_integck_finds_what_was_synced_after_power_cuts(fs: str, tmp_path: Path) -> None:
    copy = suites.copy_of(suites.INTEGCK)
    code, printed = suites.integck(copy, tmp_path, fs, cuts=POWER_CUTS)
    assert code is None, printed[-3000:]
