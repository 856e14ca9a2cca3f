"""Released versions of littlefs as crates of the Rust registry carry their sources, for tests that build them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from helpers.left_out import leave_out

# Versions of littlefs, by the version of the crate littlefs2-sys whose folder `littlefs` is that release.
CRATES = {"2.2.1": "0.2.0", "2.9.3": "0.4.0"}
_MANIFEST = """[package]
name = "sources"
version = "0.0.0"
edition = "2021"
[dependencies]
littlefs2-sys = "={version}"
[workspace]
"""


def sources(version: str, place: Path) -> Path:
    """The folder of lfs.c of a version, copied to `place`; the test is left out when nobody has it."""
    crate = CRATES[version]
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry/src"
    pattern = f"*/littlefs2-sys-{crate}/littlefs"
    if not sorted(registry.glob(pattern)):
        _fetched(crate, place / "manifest")
    found = sorted(registry.glob(pattern))
    if not found:
        leave_out(
            f"{registry} does not hold littlefs2-sys {crate}, the littlefs {version}, and cargo fetch brings none"
        )
    folder = place / f"littlefs-{version}"
    folder.mkdir()
    for file in found[0].glob("*.[ch]"):
        shutil.copy(file, folder)
    return folder


def _fetched(crate: str, folder: Path) -> None:
    """Lets cargo bring the crate's sources, if it can."""
    (folder / "src").mkdir(parents=True)
    (folder / "src/lib.rs").write_text("", encoding="utf-8")
    (folder / "Cargo.toml").write_text(_MANIFEST.format(version=crate), encoding="utf-8")
    try:
        subprocess.run(["cargo", "fetch", "--quiet"], cwd=folder, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return
