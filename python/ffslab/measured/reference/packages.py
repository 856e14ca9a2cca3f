"""Kernels of other architectures, from Debian's mirrors: downloaded and unpacked, never installed.

apt-get gets folders of its own for everything that it keeps, so it needs no root, the machine's own lists and packages
stay as they are, and signatures are checked as always.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ffslab._native import InputError
from ffslab.measured.reference.architecture import Architecture
from ffslab.measured.reference.kit import (
    MODULES_AT_BOOT,
    MODULES_OF_JOBS,
    MODULES_OF_SOME,
    Kernel,
    find_kernel,
    program,
)

MIRROR = "http://deb.debian.org/debian"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb", "depmod")
# Debian 12, Linux 6.1: as the cases of `experiments/reference`.
SUITE = "bookworm"


def fetched(architecture: Architecture) -> Path:
    """The folder that `fetch` fills when it is not told another one."""
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path("~/.cache").expanduser()) / "ffslab" / "reference" / architecture.name


def fetch(architecture: Architecture, folder: Path, suite: str = SUITE, others: Sequence[str] = ()) -> Kernel:
    """Fills `folder` with `boot/`, `lib/modules/` and `bin/busybox` of an architecture; an older one is replaced.

    Of the modules those stay that a guest loads. `others`: further packages, which stay as they are. Raises
    `InputError` when a program is missing, or the mirror does not have the packages.
    """
    missing = [name for name in PROGRAMS if program(name) is None]
    if missing or not KEYS.exists():
        raise InputError(
            f"packages of Debian need {', '.join(missing) or KEYS}; as root: apt-get install apt dpkg kmod"
        )
    # apt-get takes relative folders as below others of its own.
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        apt = Apt(Path(temporary), architecture.name, suite)
        made = Path(temporary) / "made"
        for package in apt.download([apt.newest(architecture.kernel_package), "busybox-static", *others]):
            run(["dpkg-deb", "-x", package, made])
        merge_usr(made)
        kernel = only_needed(made, architecture)
        if folder.exists():
            folder.rename(Path(temporary) / "old")
        made.rename(folder)
    return Kernel(folder / kernel.image.relative_to(made), folder / kernel.modules.relative_to(made))


class Apt:
    """apt-get for one architecture of one release, with lists and caches in `folder`."""

    def __init__(self, folder: Path, architecture: str, suite: str) -> None:
        self._folder = folder
        self._suite = suite
        for name in ("lists/partial", "cache/archives/partial", "debs"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb [signed-by={KEYS}] {MIRROR} {suite} main\n", encoding="utf-8")
        places = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State": folder,
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            # As the user who calls it: the folder is that user's alone.
            "APT::Sandbox::User": "",
            # A mirror that does not answer is an error, not a remark.
            "APT::Update::Error-Mode": "any",
        }
        self._options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
        run(["apt-get", *self._options, "-qq", "update"])

    def newest(self, package: str) -> str:
        """The kernel on which a package like linux-image-armmp depends."""
        said = run(["apt-cache", *self._options, "show", "--no-all-versions", package])
        found = re.search(r"^Depends:.*?\b(linux-image-[^ ,]+)", said, re.MULTILINE)
        if found is None:
            raise InputError(f"{package}: Debian's release {self._suite} has no such package at {MIRROR}")
        return found[1]

    def download(self, packages: Sequence[str]) -> list[Path]:
        run(["apt-get", *self._options, "-qq", "download", *packages], self._folder / "debs")
        return sorted((self._folder / "debs").iterdir())


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        said = ran.stderr.strip().splitlines() or ["no reason given"]
        # apt-get says first what went wrong, and last what that means for its lists.
        reason = next((line for line in said if line.startswith("E: ")), said[-1])
        raise InputError(f"{command[0]} {command[-1]}: {reason}")
    return ran.stdout


def merge_usr(root: Path) -> None:
    """Newer releases have all below usr/; here it is where it always was."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if (root / "usr" / name).exists() and not (root / "usr" / name).is_symlink():
            shutil.copytree(root / "usr" / name, root / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(root / "usr" / name)


def only_needed(root: Path, architecture: Architecture) -> Kernel:
    """Removes what no guest needs: some hundred MB of modules."""
    (modules,) = (root / "lib/modules").iterdir()
    run(["depmod", "-b", root, modules.name])
    kernel = find_kernel(root / "boot", root / "lib/modules")
    if kernel is None:
        raise InputError(f"{modules.name}: this kernel lacks nandsim or another module of {', '.join(MODULES_AT_BOOT)}")
    keep = set(kernel.closure((*architecture.modules, *MODULES_AT_BOOT, *MODULES_OF_JOBS, *MODULES_OF_SOME)))
    for path in modules.rglob("*.ko*"):
        if path not in keep:
            path.unlink()
    for name in ("usr/share", "usr/lib"):
        shutil.rmtree(root / name, ignore_errors=True)
    return kernel
