"""Dumps in which nothing is known are described from the first to the last byte, and the next command is named."""

from __future__ import annotations

import gzip
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab.images import read_image
from helpers.command import Command
from helpers.dumps import saved
from helpers.flipped_bits import fat, jffs2

KIB = 1024


def test_a_dump_is_described_from_its_first_to_its_last_byte(tmp_path: Path, ffslab: Command) -> None:
    draw = random.Random(4)
    program = bytes(draw.choices(range(64), k=40 * KIB))
    # 64 KiB that bear no magic number, then a file of gzip from a boundary on.
    packed = gzip.compress(draw.randbytes(20 * KIB)).ljust(24 * KIB, b"\xff")
    image = program.ljust(64 * KIB, b"\xff") + draw.randbytes(64 * KIB) + packed + b"\0" * 40 * KIB
    ran = ffslab("inspect", saved(tmp_path, image))
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert (
        "it holds a program or tables at 0x0 (40 KiB), erased flash at 0xa000 (24 KiB), compressed or encrypted data "
        "at 0x10000 (64 KiB), gzip data at 0x20000 (24 KiB), bytes 0x00 at 0x26000 (40 KiB); the commands file"
    ) in ran.stderr


@pytest.mark.parametrize("word", [2, 4])  # bytes
@pytest.mark.parametrize("make", [jffs2, fat])
def test_bytes_in_another_order_are_told_and_read_when_put_right(
    make: Callable[[Path], bytes],
    word: int,
    tmp_path: Path,
    ffslab: Command,
) -> None:
    image = make(tmp_path)
    turned = b"".join(image[at : at + word][::-1] for at in range(0, len(image), word))
    path = saved(tmp_path, turned)
    ran = ffslab("inspect", path)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert f"a bus of {8 * word} bits" in ran.stderr
    command = ran.stderr.split("(")[-1].split(")")[0].replace("IMAGE", str(path)).replace("RIGHT", f"{tmp_path}/right")
    subprocess.run(command.split(), check=True)
    assert read_image(tmp_path / "right").entries


@pytest.mark.parametrize(
    ("turn", "word"), [(lambda b: 255 - b, "inverted"), (lambda b: int(f"{b:08b}"[::-1], 2), "bits of each byte")]
)
def test_other_bits_are_told_and_read_when_put_right(
    turn: Callable[[int], int], word: str, tmp_path: Path, ffslab: Command
) -> None:
    image = jffs2(tmp_path)
    path = saved(tmp_path, bytes(map(turn, image)))
    ran = ffslab("inspect", path)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1) and word in ran.stderr, ran.stderr
    command = ran.stderr[ran.stderr.index("(python3") + 1 : ran.stderr.rindex(")")]
    subprocess.run(command.replace("IMAGE", "dump.bin").replace("RIGHT", "right"), shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "right").read_bytes() == image
