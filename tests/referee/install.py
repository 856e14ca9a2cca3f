"""Installs the Debian packages that tests need when something is missing and this is root; says nothing otherwise.

    python tests/referee/install.py            programs that `make test` calls
    python tests/referee/install.py kernels    and those of `make test-kernels`: a kernel, QEMU, busybox

It never fails: the tests say what is left out, or fail where nothing may be (`FFSLAB_NOTHING_LEFT_OUT`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ffslab.measured.reference.kit import install_command, program
from referee.parts import HOST_PROGRAMS, PACKAGES, find_kit

# Programs that tests call beside those of the referee, and their packages.
OTHERS = dict.fromkeys(HOST_PROGRAMS, "mtd-utils")
OTHERS |= {name: name for name in ("unyaffs", "fio", "postmark", "strace", "sqlite3", "git", "shellcheck")}
# Shells that complete what is typed.
OTHERS |= {name: name for name in ("zsh", "fish")}
# The browser in which pages are opened.
OTHERS |= {"chromium": "chromium"}
# Shells and awks of small systems.
OTHERS |= {"busybox": "busybox-static"}
OTHERS |= {"mkfs.fat": "dosfstools", "mcopy": "mtools", "fusermount3": "fuse3"}
# A client of chips on their bus.
OTHERS |= {"flashrom": "flashrom"}
OTHERS |= {"mksquashfs": "squashfs-tools", "mkfs.erofs": "erofs-utils", "mkimage": "u-boot-tools"}


def main() -> None:
    wanted = sorted(set(OTHERS.values()))
    missing = [name for name in OTHERS if program(name) is None]
    if sys.argv[1:] == ["kernels"]:
        wanted += PACKAGES.split()
        missing += find_kit()[1]
    if not missing:
        return
    packages = " ".join(wanted)
    lacking = f"packages: {', '.join(missing)} missing"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"{lacking}: tests are left out; to have them, as root: {install_command(packages)}", file=sys.stderr)
        return
    print(f"{lacking}: installing {packages}", file=sys.stderr)
    # No initial RAM disk: this kernel never boots here, only in the virtual machine, which brings its own.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "INITRD": "No"}
    install = ["apt-get", "install", "-qq", "--no-install-recommends", *packages.split()]
    for command in (["apt-get", "update", "-qq"], install):
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            reason = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"packages: {' '.join(command[:2])} failed: {reason}", file=sys.stderr)
            return


if __name__ == "__main__":
    main()
