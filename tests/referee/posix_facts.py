"""The program posix_facts.c: what a file system answers, as a table of facts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ffslab.measured.reference.machine import Machine
from helpers.left_out import leave_out

SOURCE = Path(__file__).with_suffix(".c")

Facts = dict[str, str]


def program(folder: Path) -> Path:
    """The program, compiled so that the guest needs no libraries."""
    built = folder / "posix_facts"
    command: list[str | Path] = ["cc", "-static", "-O1", "-Wall", "-Wno-unused-result", "-o", built, SOURCE]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        leave_out("a C compiler is missing; as root: apt-get install gcc libc6-dev")
    assert ran.returncode == 0, ran.stderr
    return built


def facts_of(printed: str) -> Facts:
    facts = {}
    for line in printed.splitlines():
        name, _, value = line.rpartition(": ")
        facts[name] = value
    return facts


def of_folder(built: Path, folder: Path) -> Facts:
    """The facts of the file system that `folder` stands on."""
    ran = subprocess.run([built, folder], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return facts_of(ran.stdout)


def of_kernel(machine: Machine, built: Path, fs: str) -> Facts:
    """The facts of a real kernel's `fs`, "jffs2" or "ubifs", on a fresh chip."""
    lines = ["chip 64"]
    lines += ["flash_erase -q -j /dev/mtd0 0 0"] if fs == "jffs2" else ["make_volume"]
    lines += [f"mount_fs {fs}", "mkdir /mnt/facts", "cp facts /tmp/facts", "chmod 755 /tmp/facts"]
    lines += ["/tmp/facts /mnt/facts > printed", "umount_fs"]
    done = machine.run("\n".join(lines), {"facts": built})
    return facts_of((done.folder / "printed").read_text(encoding="utf-8"))
