"""What `make dist` makes beside wheels: the probe kit as one file, unpacked and run as on a board."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command import ROOT

PROBE = ROOT / "probe"
SHELLS = [[name] for name in ("dash", "bash") if shutil.which(name)]
SHELLS += [["busybox", "sh"]] if shutil.which("busybox") else []


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    made = tmp_path / "ffslab-probe.sh"
    subprocess.run([sys.executable, ROOT / "packaging" / "probe_kit.py", made, "1.2.3"], check=True)
    return made


def ran(*command: object, place: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"FFSLAB_PROBE_KIT": str(place)}
    return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_the_kit_unpacks_itself(kit: Path, tmp_path: Path, shell: list[str]) -> None:
    folder = tmp_path / "with a space"
    assert ran(*shell, kit, "--unpack", folder, place=tmp_path / "x").returncode == 0
    files = {path.relative_to(PROBE) for path in PROBE.rglob("*") if path.is_file()}
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == files
    for file in files:
        assert filecmp.cmp(PROBE / file, folder / file, shallow=False), file
        assert os.access(PROBE / file, os.X_OK) == os.access(folder / file, os.X_OK), file
    again = ran(*shell, kit, "--unpack", folder, place=tmp_path / "x")
    assert (again.returncode, again.stderr) == (2, f"{kit}: --unpack {folder}: is there already\n")


def test_the_kit_runs_from_one_file(kit: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    told = subprocess.run(["sh", PROBE / "ffslab-probe", "help"], capture_output=True, text=True, check=True).stdout
    for _ in range(2):
        assert ran("sh", kit, "help", place=place).stdout == told
    assert ran("sh", kit, "flashmonn", place=place).returncode == 2


def test_the_kit_runs_nothing_that_others_put_there(kit: Path, tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "ffslab-probe").write_text("echo others\n", encoding="utf-8")
    place.symlink_to(elsewhere)
    told = ran("sh", kit, "help", place=place)
    assert (told.returncode, told.stdout) == (2, "") and "was not made by this user's kit" in told.stderr


def test_a_wheel_that_cannot_be_tried_here_is_told(tmp_path: Path) -> None:
    """Without tools no root can be made: that is said of each wheel, and is no error."""
    script = ROOT / "packaging" / "clean_root.py"
    wheels = [f"ffslab-1.2.3-cp311-abi3-{tag}_x86_64.whl" for tag in ("musllinux_1_2", "manylinux_2_17")]
    command: list[str | Path] = [sys.executable, script, tmp_path / "roots", *(tmp_path / wheel for wheel in wheels)]
    nothing = os.environ | {"PATH": str(tmp_path)}
    told = subprocess.run(command, env=nothing, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(told) == 2
    for line, wheel in zip(told, wheels, strict=True):
        assert line.startswith(f"{wheel}: not tried: ")


def test_a_target_that_is_none_is_refused(tmp_path: Path) -> None:
    for script, wrong in (("wheels.py", "manylinux-x86-64"), ("board.py", "arm64")):
        command: list[str | Path] = [sys.executable, ROOT / "packaging" / script, tmp_path, wrong]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        assert told.returncode == 2 and f"{wrong}: known are " in told.stderr
