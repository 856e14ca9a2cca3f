"""The smallest test of power cuts, with comments: what `ffslab crashtest --new` writes."""

from __future__ import annotations

from pathlib import Path

from ffslab._native import InputError
from ffslab.files.results import write_text

SMALLEST = """\
# Are settings whole whenever the power goes? Next: ffslab crashtest {file}
# docs/power-cuts.md says what else may stand here.
title = "settings"

[stack]                          # the machine, as in experiments
board = "omap3evm"
fs = "ubifs"
partition_blocks = 40

# What is there before; during these steps the power stays.
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "settings"
bytes = "4 KiB"
[[setup]]
step = "sync"
[[setup]]
step = "umount"

# The work during which the power is cut, at each program and erase of the flash: new settings take the place of the old
# ones. Without the fsync the test fails: try it.
[[steps]]
step = "create"
file = "settings.new"
bytes = "4 KiB"
[[steps]]
step = "open"
file = "settings.new"
flags = ["rdwr"]
[[steps]]
step = "fsync"
file = "settings.new"
[[steps]]
step = "close"
file = "settings.new"
[[steps]]
step = "rename"
file = "settings.new"
to = "settings"
# What is still in memory is written by and by, as on the device: first the new name, and much later data.
[[steps]]
step = "sleep"
us = "60 s"

# What must hold after each cut: a command that ends with 0, in a folder with the files. What was synced is looked at
# in any case.
[judge]
kind = "command"
command = "test $(wc -c < settings) -eq 4096"
"""


def write_smallest(file: Path) -> None:
    """Writes the test.

    Raises `ffslab.InputError` when the file is there already, or cannot be written.
    """
    if file.exists():
        raise InputError(f"{file}: is there already, and would be lost: name another file")
    write_text(file, SMALLEST.format(file=file))
