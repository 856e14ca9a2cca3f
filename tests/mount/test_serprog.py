"""`ffslab chip serve --protocol serprog`: flashrom, which knows nothing of ffslab, on simulated parts."""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab.mount.serprog import ACK, NAK, Programmer
from helpers.command import Command, Ran
from helpers.jffs2_images import tool

# Each SPI NOR part that ships with ffslab, and one of the names that flashrom has for its identity.
FOUND = {
    "gd25q128": "GD25Q127C/GD25Q128C",
    "is25lp128f": "IS25LP128",
    "mx25l25635e": "MX25L25635F/MX25L25645G",
    "mx25l8005": "MX25L8005/MX25L8006E/MX25L8008E/MX25V8005",
    "n25q128a13": "N25Q128..3E",
    "n25q256a": "N25Q256..3E",
    "s25fl128s": "S25FL128S......0",
    "w25q128jv": "W25Q128.V",
    "w25q16jv": "W25Q16.V",
    "w25q256": "W25Q256FV",
    "w25q32jv": "W25Q32.V",
}


@pytest.fixture
def flashrom(ffslab: Command) -> Callable[..., Ran]:
    """Runs flashrom on a part; options of `chip serve` come first, those of flashrom behind `--`."""
    program = tool("flashrom")

    def run(part: str, *words: str) -> Ran:
        with socket.create_server(("127.0.0.1", 0)) as line:
            port = line.getsockname()[1]
        at = words.index("--")
        served = ["--part", part, "--tcp", str(port), "--protocol", "serprog", *words[:at]]
        client = [program, "-p", f"serprog:ip=127.0.0.1:{port},spispeed=20M", *words[at + 1 :]]
        return ffslab("chip", "serve", *served, "--", *client)

    return run


def test_flashrom_finds_each_part_by_its_identity(flashrom: Callable[..., Ran]) -> None:
    # In KiB.
    sizes = {"gd25q128": 16384, "mx25l8005": 1024, "w25q16jv": 2048, "w25q256": 32768}
    for part, name in FOUND.items():
        ran = flashrom(part, "--no-results", "--")
        found = dict(re.findall(r'Found \S+ flash chip "([^"]+)" \((\d+) kB, SPI\)', ran.stdout.replace("/ST", "")))
        assert name in found, (part, ran.stdout)
        assert int(found[name]) == sizes.get(part, int(found[name])), part


def test_flashrom_erases_and_writes_what_differs(flashrom: Callable[..., Ran], tmp_path: Path) -> None:
    old = random.Random(1).randbytes(2 << 20)
    new = bytearray(old)
    new[5_000:9_000] = random.Random(2).randbytes(4_000)
    (tmp_path / "old.bin").write_bytes(old)
    (tmp_path / "new.bin").write_bytes(new)
    ran = flashrom("w25q16jv", "--image", "old.bin", "--dump", "dump.bin", "--json", "--", "-w", "new.bin")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "dump.bin").read_bytes() == new
    summary = json.loads(ran.stdout[ran.stdout.index("{\n") :])
    variant = summary["variants"][0]
    totals = variant["totals"]
    # Two sectors are touched, each of 16 pages.
    assert (totals["erases"], totals["page_programs"]) == (2, 32)
    # Each byte that comes out takes eight clocks of the 20 MHz that were asked for, and an erase 45 ms.
    read_bytes = sum(cause["bus_out_B"] for cause in variant["by_cause"])
    assert read_bytes >= 2 << 20
    assert variant["time_us"] > read_bytes * 8 / 20 + 2 * 45_000


def test_raw_nand_is_on_no_spi_bus(ffslab: Command) -> None:
    ran = ffslab("chip", "serve", "--part", "mt29f2g08abaea", "--socket", "s", "--protocol", "serprog")
    assert ran.returncode == 2
    assert "--protocol serprog: mt29f2g08abaea is raw NAND, and serprog knows parts on an SPI bus" in ran.stderr


def test_commands_come_in_any_pieces() -> None:
    asked = []

    def feed(request: bytes) -> bytes:
        asked.append(request)
        taken = int.from_bytes(request[8:12], "little")
        return bytes(4) + taken.to_bytes(4, "little") + bytes(8) + b"x" * taken

    said = (
        b"\x10\x14\x40\x42\x0f\x00\x0b\x0e\x0a\x00\x00\x00\x0f\x13\x01\x00\x00\x03\x00\x00\x9f\x0a\x12\x02\x14"
        + bytes(4)
    )
    whole = Programmer(feed).takes(said)
    assert whole == NAK + ACK + ACK + b"\x40\x42\x0f\x00" + 3 * ACK + ACK + b"xxx" + NAK + NAK + NAK
    # One byte and three at 1 MHz, behind a delay of 10 us.
    assert int.from_bytes(asked[0][12:20], "little") == 42_000
    piecemeal = Programmer(feed)
    assert b"".join(piecemeal.takes(said[at : at + 1]) for at in range(len(said))) == whole
    assert asked[0] == asked[1]
