"""Tries a wheel where nothing is: a fresh Debian in a folder, without Rust or a compiler. Needs root and debootstrap.

    python packaging/clean_root.py WHEEL ROOTS [--arch arm64]

The root is made once and kept in ROOTS; another processor's programs run by qemu-user-static. In it the wheel is
installed with pip, then the demo runs. What is printed: the seconds from `pip install` to the demo's report, and how
many packages that took. It is an error when a compiler or Rust is there, when the report is not, or when a verb of an
extra does not say which one.
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

ROOT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
HOST = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
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


def made(roots: Path, arch: str) -> Path:
    """The root; it is complete or not there."""
    root = roots / f"{SUITE}-{arch}"
    if root.is_dir():
        return root
    fresh = roots / f"{SUITE}-{arch}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    packages = "--include=python3,python3-venv,ca-certificates"
    command = ["debootstrap", "--variant=minbase", f"--arch={arch}", packages]
    subprocess.run([*command, SUITE, str(fresh)], check=True, stdout=subprocess.DEVNULL)
    return fresh.rename(root)


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


def main() -> None:
    """Installs, runs, says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=Path)
    parser.add_argument("roots", type=Path)
    parser.add_argument("--arch", default=HOST)
    given = parser.parse_args()
    given.roots.mkdir(parents=True, exist_ok=True)
    root = made(given.roots, given.arch)
    for file in map(Path, FILES):
        if file.is_file():
            place = root / file.relative_to("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    for tool in ("cc", "gcc", "rustc", "cargo"):
        if run(root, "sh", "-c", f"command -v {tool}", check=False).returncode == 0:
            sys.exit(f"{root}: has {tool}: it is not clean")
    trial = root / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    trial.mkdir()
    shutil.copy(given.wheel, trial)
    for folder in ("experiments/first-run", "examples/sqlite"):
        shutil.copytree(ROOT / folder, trial / folder)
    run(root, "python3", "-m", "venv", "/trial/venv")
    began_s = time.monotonic()
    run(root, "/trial/venv/bin/pip", "install", "--quiet", f"/trial/{given.wheel.name}")
    installed_s = time.monotonic()
    demo = run(root, "/trial/venv/bin/ffslab", "run", "experiments/first-run/sqlite.toml", where="/trial")
    ended_s = time.monotonic()
    print(demo.stdout[: demo.stdout.index("\n\n", demo.stdout.index("\n\n") + 2)])
    report = trial / "results" / "sqlite" / "report.html"
    packages = run(root, "/trial/venv/bin/pip", "list", "--format=freeze").stdout.splitlines()
    names = [line.partition("==")[0] for line in packages]
    print(
        f"\n{given.wheel.name} in a clean {SUITE} ({given.arch}): "
        f"{ended_s - began_s:.1f} s from pip install to the report, of it {ended_s - installed_s:.1f} s the demo; "
        f"report {report.stat().st_size / 1024:.0f} KiB; {len(names)} packages: {', '.join(names)}"
    )
    told = run(root, "/trial/venv/bin/ffslab", "sqlite", check=False)
    wanted = "ffslab: sqlite: needs apsw, which is not installed: pip install 'ffslab[sqlite]'\n"
    if (told.returncode, told.stderr) != (2, wanted):
        sys.exit(f"ffslab sqlite without its extra: exit code {told.returncode}, {told.stderr}")
    print(told.stderr.rstrip())
    # The extra comes as the message says.
    run(root, "/trial/venv/bin/pip", "install", "--quiet", "ffslab[sqlite]")
    print(run(root, "/trial/venv/bin/ffslab", "sqlite", "--help").stdout.splitlines()[0])


if __name__ == "__main__":
    main()
