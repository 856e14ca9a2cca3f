"""What attaching UBI and mounting cost beside the reads: prices of the board, for what the kernel does there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command

FREE = """\
base = "omap3evm"
console_char_us = 0
[cpu]
attach_block_us = 0
scan_ns_per_B = 0
replay_node_us = 0
lpt_node_us = 0
"""
MOUNT = """\
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "f"
bytes = 100000
[[setup]]
step = "umount"
[[measure]]
step = "mount"
"""
ATTACH = """\
[[setup]]
step = "ubi_attach"
[[setup]]
step = "ubi_make_volume"
[[setup]]
step = "sleep"
us = "60 s"
[[setup]]
step = "ubi_detach"
[[measure]]
step = "ubi_attach"
"""


def run(ffslab: Command, folder: Path, board: str, steps: str, fs: str = "ubifs") -> dict[str, Any]:
    (folder / "board.toml").write_text(board, encoding="utf-8")
    stack = f'title = "Mounting"\n[stack]\nboard = "./board.toml"\nfs = "{fs}"\nkernel = "6.1"\npartition_blocks = 64\n'
    (folder / "x.toml").write_text(stack + steps, encoding="utf-8")
    done = ffslab("run", "x.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    (variant,) = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))["variants"]
    assert isinstance(variant, dict)
    return variant


def test_each_price_is_paid_where_the_kernel_does_the_work(ffslab: Command, tmp_path: Path) -> None:
    def took_us(key: str | None, value: float, steps: str = MOUNT) -> float:
        board = FREE if key is None else FREE.replace(f"{key} = 0", f"{key} = {value}")
        return float(run(ffslab, tmp_path, board, steps)["steps"][0]["elapsed_us"])

    free_us = took_us(None, 0)
    # Six lines of text.
    assert took_us("console_char_us", 10) - free_us == pytest.approx(5_900)
    # Two master LEBs and the log are searched to their ends, and what the journal has of other LEBs.
    assert 3 * 1_269 < took_us("scan_ns_per_B", 10) - free_us < 9 * 1_269
    # The file's inode, its name and its pages are in the journal, where a sync has not ended by a commit.
    synced = '"open"\nfile = "f"\nflags = ["rdwr"]\n[[setup]]\nstep = "fsync"\nfile = "f"\n[[setup]]\nstep = "crash"'
    cut = MOUNT.replace('"umount"', synced)
    assert took_us("replay_node_us", 100, cut) - took_us(None, 0, cut) >= 20 * 100
    assert took_us("lpt_node_us", 100) - free_us >= 100
    attached_us = took_us("attach_block_us", 100, ATTACH) - took_us(None, 0, ATTACH)
    assert attached_us == pytest.approx(64 * 100)


def test_a_driver_of_another_board_is_told(ffslab: Command, tmp_path: Path) -> None:
    other = 'base = "omap3evm"\npart = "mt29f2g08abaea"\n'
    notes = run(ffslab, tmp_path, other, MOUNT, "jffs2")["notes"]
    assert any("the driver of the NAND is that of omap3evm, omap-gpmc: ./board.toml names no" in note for note in notes)
    own = run(ffslab, tmp_path, other + 'controller = "gpmi"\n', MOUNT, "jffs2")["notes"]
    assert not any("driver" in note for note in own)
