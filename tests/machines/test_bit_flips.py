"""What UBI does about flipped bits, operation by operation as Linux 6.1 on nandsim."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from helpers.command import Command

TEXT = """\
title = "Flips"
probe_logs = true
[stack]
board = "qemu-debian-amd64"
kernel = "6.1"
fs = "ubifs"
partition_blocks = 120
compression = "none"
[stack.faults]
bitflips = 1
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "a"
bytes = "4 MiB"
[[setup]]
step = "sync"
[[setup]]
step = "sleep"
us = "20 s"
[[setup]]
step = "drop_caches"
[[measure]]
step = "open"
file = "a"
flags = ["rdonly"]
[[measure]]
step = "requests"
file = "a"
op = "read"
pattern = "sequential"
request_B = "4 KiB"
count = 1024
[[measure]]
step = "sleep"
us = "1 s"
"""


def test_a_scrub_does_the_operations_of_the_kernel(ffslab: Command, tmp_path: Path) -> None:
    """As traced: header and data are read, a header written and read back, data written, the old block erased."""
    (tmp_path / "flips.toml").write_text(TEXT, encoding="utf-8")
    ffslab("run", "flips.toml", "--out", "out", cwd=tmp_path)
    lines = (tmp_path / "out" / "logs" / "flashmon.log").read_text(encoding="utf-8").splitlines()
    rows = [line.split(";") for line in lines if "ubi_bgt" in line]
    found = [(kind, len(list(group))) for kind, group in groupby(row[1] for row in rows)]
    assert found[:6] == [("R", 64), ("W", 1), ("R", 1), ("W", 63), ("E", 1), ("W", 1)]
