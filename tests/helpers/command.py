"""The installed command, the checkout and a small experiment. The fixtures that use them are in `conftest.py`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FFSLAB = Path(sys.executable).with_name("ffslab")

# A few hundred calls on a small partition: enough for every result to hold something.
SMALL = """\
title = "Small"

[stack]
board = "zero-overhead"
fs = "jffs2"
partition_blocks = 32

[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "target"
bytes = "256 KiB"
[[setup]]
step = "sync"
[[setup]]
step = "drop_caches"

[[measure]]
step = "open"
file = "target"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "target"
op = "read"
pattern = "random"
request_B = "4 KiB"
count = 20
range_B = "256 KiB"
[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = 600
range_B = "256 KiB"
[[measure]]
step = "close"
file = "target"
[[measure]]
step = "sync"

[axes]
read_ahead_KiB = [128, 0]
"""

Ran = subprocess.CompletedProcess[str]
Command = Callable[..., Ran]
