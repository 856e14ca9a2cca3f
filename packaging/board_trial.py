"""Tries the programs for boards: each lists images as the verb does; other processors' by qemu-user-static.

    python packaging/board_trial.py DIST

The images are made here, one of each file system. A program that cannot be run here is said, and is no error; one that
answers something else than the verb is.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FFSLAB = Path(sys.executable).with_name("ffslab")
# As qemu-user calls the processors.
EMULATORS = {"x86_64": "qemu-x86_64-static", "aarch64": "qemu-aarch64-static", "armv7": "qemu-arm-static"}
EXPERIMENT = """\
title = "An image"
[stack]
board = "omap3evm"
fs = "{fs}"
partition_blocks = 64
max_beb_per1024 = 1
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "data"
bytes = "1 MiB"
[[setup]]
step = "umount"
[[measure]]
step = "save_image"
file = "{fs}.bin"
oob = true
"""


def images(folder: Path) -> list[Path]:
    """An image of each file system."""
    made = []
    for fs in ("jffs2", "yaffs2", "ubifs"):
        text = EXPERIMENT.format(fs=fs)
        experiment = folder / f"{fs}.toml"
        experiment.write_text(text if fs == "ubifs" else text.replace("max_beb_per1024 = 1\n", ""), encoding="utf-8")
        command: list[str | Path] = [FFSLAB, "run", "--quiet", "--out", folder / fs, experiment]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (image,) = (folder / fs).rglob(f"{fs}.bin")
        made.append(image)
    return made


def listed(command: list[str | Path], image: Path) -> object:
    """What `extract --json` prints."""
    ran = subprocess.run([*command, "extract", "--json", image], capture_output=True, check=True)
    return json.loads(ran.stdout)


def main() -> int:
    """Makes, runs, compares, says; the exit code."""
    failed = False
    programs = sorted(Path(sys.argv[1]).glob("ffslab-board-*"))
    if not programs:
        print(f"{sys.argv[1]}: holds no programs for boards: make dist")
    with tempfile.TemporaryDirectory() as folder:
        made = images(Path(folder)) if programs else []
        wanted = {image: listed([FFSLAB], image) for image in made}
        for program in programs:
            processor = program.name.removeprefix("ffslab-board-")
            emulator = [] if processor == platform.machine() else [EMULATORS[processor]]
            if emulator and shutil.which(emulator[0]) is None:
                print(f"{program.name}: not run: {emulator[0]} is missing (Debian: apt install qemu-user-static)")
                continue
            began_s = time.monotonic()
            wrong = [image.name for image in made if listed([*emulator, program], image) != wanted[image]]
            took_s = time.monotonic() - began_s
            by = f" by {emulator[0]}" if emulator else ""
            otherwise = ", ".join(wrong) or "none"
            print(f"{program.name}{by}: {len(made)} images in {took_s:.1f} s, {otherwise} answered otherwise")
            failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
