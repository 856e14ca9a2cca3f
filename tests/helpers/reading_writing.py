"""An experiment that reads and writes one file on a machine of Linux, as files: its steps, and its run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from helpers.command import Command

STACK = """\
title = "Device"
[stack]
board = "{board}"
kernel = "6.1"
part = "{part}"
fs = "{fs}"
partition_blocks = {blocks}
{more}
"""
STEPS = """\
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "f"
bytes = "256 KiB"
[[setup]]
step = "sync"
[[setup]]
step = "drop_caches"
[[measure]]
step = "open"
file = "f"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "f"
op = "read"
pattern = "sequential"
request_B = "4 KiB"
count = 64
[[measure]]
step = "requests"
file = "f"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = 200
[[measure]]
step = "sync"
"""


def experiment(
    folder: Path, board: str, part: str, fs: str, more: str = "", blocks: int = 64, steps: str = STEPS
) -> Path:
    path = folder / "device.toml"
    path.write_text(STACK.format(board=board, part=part, fs=fs, more=more, blocks=blocks) + steps, encoding="utf-8")
    return path


def run(ffslab: Command, folder: Path, *what: Any, **more: Any) -> dict[str, Any]:
    """The only variant of the summary."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    ran = ffslab("run", experiment(folder, *what, **more), "--out", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    (variant,) = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))["variants"]
    return dict(variant)
