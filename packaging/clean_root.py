"""Tries wheels where nothing is: a fresh Debian or a root for musl, in a folder, without compilers. Needs root.

    python packaging/clean_root.py ROOTS WHEEL...

A root is made once and kept in ROOTS: Debian's by debootstrap, that for musl by musl_root.py; programs for other
processors run by qemu-user-static. In it the wheel is installed with pip, then the demo runs. What is printed: the
seconds from `pip install` to the demo's report, and how many packages that took. It is an error when a
compiler or Rust is there, when the report is not, or when a verb of an extra does not say which one. A wheel for which
no root can be made here is said, and is no error.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import musl_root

ROOT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
# As Debian calls the processors.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# What in this environment says where packages come from and whom to trust.
PASSED_ON = (
    "PIP_",
    "SSL_",
    "REQUESTS_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")


class NotHereError(Exception):
    """No root for a wheel can be made on this machine; the text says why."""


class Place(NamedTuple):
    """A root. `said`: what it is."""

    root: Path
    said: str


def runs_here(processor: str) -> None:
    """Refuses a processor whose programs this machine cannot run."""
    if processor != platform.machine() and not Path(f"/proc/sys/fs/binfmt_misc/qemu-{processor}").exists():
        raise NotHereError(f"programs for {processor} do not run here: apt install qemu-user-static binfmt-support")


def debian(roots: Path, processor: str) -> Place:
    """A fresh Debian; it is complete or not there."""
    arch = ARCHITECTURES[processor]
    root = roots / f"{SUITE}-{arch}"
    place = Place(root, f"a clean {SUITE} ({arch})")
    if root.is_dir():
        return place
    if shutil.which("debootstrap") is None:
        raise NotHereError("debootstrap is missing: apt install debootstrap")
    fresh = roots / f"{SUITE}-{arch}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    packages = "--include=python3,python3-venv,ca-certificates"
    command = ["debootstrap", "--variant=minbase", f"--arch={arch}", packages]
    subprocess.run([*command, SUITE, str(fresh)], check=True, stdout=subprocess.DEVNULL)
    fresh.rename(root)
    return place


def musl(roots: Path, processor: str) -> Place:
    """A root in which everything is for musl."""
    root = roots / f"musl-{processor}"
    if not root.is_dir() and (reason := musl_root.missing()):
        raise NotHereError(reason)
    return Place(musl_root.made(root, processor), f"a root with musl ({processor})")


def made(roots: Path, wheel: Path) -> Place:
    """The root for a wheel, by its tag."""
    tag = wheel.stem.rpartition("-")[2]
    processor = next(name for name in ARCHITECTURES if tag.endswith(name))
    runs_here(processor)
    return (musl if "musllinux" in tag else debian)(roots, processor)


def run(root: Path, *command: str, where: str = "/", check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a command in the root, with nothing of this machine's environment but the way to packages."""
    environment = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    # chroot(8) changes to "/": the shell goes where the command is run.
    shell = ["/bin/sh", "-c", 'cd "$1"; shift; exec "$@"', "sh", where, *command]
    ran = subprocess.run(
        ["chroot", str(root), *shell],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if check and ran.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran


def prepare(root: Path, wheel: Path) -> None:
    """Lays out the trial and an environment in the root."""
    for file in map(Path, FILES):
        if file.is_file():
            copy = root / file.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    for tool in ("cc", "gcc", "rustc", "cargo"):
        if run(root, "sh", "-c", f"command -v {tool}", check=False).returncode == 0:
            sys.exit(f"{root}: has {tool}: it is not clean")
    trial = root / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    trial.mkdir()
    shutil.copy(wheel, trial)
    for folder in ("experiments/first-run", "examples/sqlite"):
        shutil.copytree(ROOT / folder, trial / folder)
    run(root, "python3", "-m", "venv", "/trial/venv")


def tried(place: Place, wheel: Path) -> None:
    """Installs, runs, says."""
    root = place.root
    prepare(root, wheel)
    install = ["/trial/venv/bin/pip", "install", "--quiet"]
    began_s = time.monotonic()
    run(root, *install, f"/trial/{wheel.name}")
    installed_s = time.monotonic()
    demo = run(root, "/trial/venv/bin/ffslab", "run", "experiments/first-run/sqlite.toml", where="/trial")
    ended_s = time.monotonic()
    print(demo.stdout[: demo.stdout.index("\n\n", demo.stdout.index("\n\n") + 2)])
    report = root / "trial" / "results" / "sqlite" / "report.html"
    packages = run(root, "/trial/venv/bin/pip", "list", "--format=freeze").stdout.splitlines()
    names = [line.partition("==")[0] for line in packages]
    print(
        f"\n{wheel.name} in {place.said}: "
        f"{ended_s - began_s:.1f} s from pip install to the report, of it {ended_s - installed_s:.1f} s the demo; "
        f"report {report.stat().st_size / 1024:.0f} KiB; {len(names)} packages: {', '.join(names)}"
    )
    told = run(root, "/trial/venv/bin/ffslab", "sqlite", check=False)
    wanted = "ffslab: sqlite: needs apsw, which is not installed: pip install 'ffslab[sqlite]'\n"
    if (told.returncode, told.stderr) != (2, wanted):
        sys.exit(f"ffslab sqlite without its extra: exit code {told.returncode}, {told.stderr}")
    print(told.stderr.rstrip())
    # The extra comes as the message says.
    run(root, *install, "ffslab[sqlite]")
    print(run(root, "/trial/venv/bin/ffslab", "sqlite", "--help").stdout.splitlines()[0])


def main() -> None:
    """Tries each wheel."""
    parser = argparse.ArgumentParser()
    parser.add_argument("roots", type=Path, metavar="ROOTS")
    parser.add_argument("wheels", type=Path, nargs="+", metavar="WHEEL")
    given = parser.parse_args()
    given.roots.mkdir(parents=True, exist_ok=True)
    for wheel in given.wheels:
        try:
            place = made(given.roots, wheel)
        except NotHereError as reason:
            print(f"{wheel.name}: not tried: {reason}", flush=True)
            continue
        tried(place, wheel)


if __name__ == "__main__":
    main()
