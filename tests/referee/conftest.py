"""The referee's fixtures: one virtual machine for all tests, and what ffslab shows to it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from helpers.command import ROOT
from helpers.left_out import leave_out
from referee import make_ubifs_samples
from referee.parts import INSTALL, find_kit, machine_of


@pytest.fixture(scope="session")
def kit() -> Kit:
    """The referee's parts; without them its tests are left out."""
    found, missing = find_kit()
    if found is None:
        leave_out(f"no real kernel as referee: {', '.join(missing)} missing; as root: make test-kernels, or {INSTALL}")
    return found


@pytest.fixture(scope="session")
def machine(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A running kernel. Every job gets a fresh chip, so tests do not see each other."""
    machine = machine_of(kit, tmp_path_factory.mktemp("referee") / "machine")
    yield machine
    machine.stop()
    # Dumps of many chips; pytest would keep them for three sessions.
    shutil.rmtree(machine.folder)


# What `make test` has built before: with the features that fewer crates ask for cargo would build all of them again.
BUILD = ["cargo", "build", "--quiet", "--workspace", "--exclude", "ffslab-python", "--message-format", "json"]
BUILD += ["--release", "--config", ".ci/testing.toml"]


def exhibits(fs: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What an example of a file system's crate writes: dumps of chips on which the file system has lived."""
    if shutil.which("cargo") is None:
        leave_out("cargo is missing, which makes dumps for the referee: https://rustup.rs")
    built = subprocess.run(
        [*BUILD, "--example", f"{fs}_exhibits"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (program,) = {made["executable"] for made in map(json.loads, built.stdout.splitlines()) if made.get("executable")}
    folder = tmp_path_factory.mktemp(f"exhibits-{fs}")
    ran = subprocess.run([program, folder], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def jffs2_exhibits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from exhibits("jffs2", tmp_path_factory)


@pytest.fixture(scope="session")
def ubifs_exhibits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from exhibits("ubifs", tmp_path_factory)


@pytest.fixture(scope="session")
def ubifs_samples(kit: Kit, machine: Machine, pytestconfig: pytest.Config) -> Path:
    """Images of UBI and UBIFS by the real kernel and by mkfs.ubifs, with lists; made once, kept in pytest's cache."""
    made_by = hashlib.sha256(kit.kernel.image.name.encode())
    for source in ("guest.sh", "make_ubifs_samples.py"):
        made_by.update(Path(__file__).with_name(source).read_bytes())
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir("ubifs-samples") / made_by.hexdigest()[:16]
    if not folder.exists():
        for old in folder.parent.iterdir():
            shutil.rmtree(old)
        unfinished = folder.with_suffix(".unfinished")
        make_ubifs_samples.make(unfinished, kit, machine)
        unfinished.rename(folder)
    return folder
