"""`ffslab chip serve`: firmware in Python and C on a part's bus, power cuts, what a chip holds from run to run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helpers import wire_client as wires
from helpers.command import FFSLAB, ROOT, Command
from helpers.wire_client import SpiNand, Wire

INCLUDE = ROOT / "python/ffslab/foreign/include"
PAGE = bytes(range(256)) * 8


@dataclass
class Served:
    """A chip in another process; `variant` is its summary after its end."""

    where: str
    process: subprocess.Popen[str]
    code: int = 0
    errors: str = ""
    variant: dict[str, Any] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)

    def wire(self) -> Wire:
        """A client, which stays until the end."""
        self.wires.append(Wire(self.where))
        return self.wires[-1]

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        for wire in self.wires:
            wire.close()
        if self.process.stdout is not None and self.process.stdout.closed:
            return
        out, self.errors = self.process.communicate(timeout=60)
        self.code = self.process.returncode
        self.variant = json.loads(out)["variants"][0] if self.code == 0 else {}


@contextmanager
def served(folder: Path, part: str, *words: str | Path, tcp: bool = False) -> Iterator[Served]:
    place = ("--tcp", "0") if tcp else ("--socket", folder / "chip.sock")
    command = [FFSLAB, "chip", "serve", "--part", part, *place, *words, "--no-results", "--json"]
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    server = Served(":".join(said.split(":")[: 3 if tcp else 2]), process)
    try:
        assert "end it with Ctrl-C" in said, said
        yield server
    finally:
        server.end()
    assert "Traceback" not in server.errors, server.errors
    assert not (folder / "chip.sock").exists()


@pytest.mark.parametrize("tcp", [False, True], ids=["socket", "port"])
def test_a_firmware_drives_a_part_and_finds_what_it_wrote(tmp_path: Path, tcp: bool) -> None:
    with served(tmp_path, "w25n01gv", "--cause", "0-128K=bootloader", tcp=tcp) as server:
        wire = server.wire()
        chip = SpiNand(wire)
        assert (wire.bus, chip.read_id()) == (2, b"\xef\xaa\x21")
        assert chip.erase(0) and chip.program(0, PAGE) and chip.program(1, PAGE[::-1])
        assert chip.read(0) == PAGE and chip.read(1) == PAGE[::-1] and chip.read(2) == b"\xff" * 2048
        # Two programs take 0.5 ms, an erase 2 ms, three reads 0.18 ms, as the firmware's own clock has it.
        assert wire.now_ns >= 2_680_000
        wire.ask(wires.LABEL, b"log")
        assert chip.program(64, PAGE)
        wire.close()
    assert server.code == 0, server.errors
    counts = {cause["reason"]: (cause["page_programs"], cause["erases"]) for cause in server.variant["by_cause"]}
    assert counts == {"bootloader": (2, 1), "log": (1, 0)}
    assert "requests, 4 programs and erases" in server.errors


def test_many_requests_at_once_are_answered_in_their_order(tmp_path: Path) -> None:
    with served(tmp_path, "w25q128jv") as server:
        wire = server.wire()
        sent = b"".join(wire.request(wires.SPI, b"\x9f", 3, tag=number) for number in range(5000))
        # In pieces that end anywhere.
        for at in range(0, len(sent), 7001):
            wire.line.sendall(sent[at : at + 7001])
        answers = [wire.answer() for _ in range(5000)]
        assert [answer.tag for answer in answers] == list(range(5000))
        assert {answer.data for answer in answers} == {b"\xef\x40\x18"}
        # What nobody understands is answered, and another client goes on.
        other = server.wire()
        assert other.ask(99).status == 1 and other.ask(wires.NAND, b"Cp").data.startswith(b"the part is on an SPI bus")
        other.line.sendall(other.request(wires.SPI, b"", 1 << 30))
        assert other.answer().status == 1
        with pytest.raises(EOFError):
            other.answer()
        assert wire.spi(b"\x05", 1) == b"\0"


def test_a_cut_ends_the_server_and_what_is_saved_is_what_it_leaves(tmp_path: Path, ffslab: Command) -> None:
    saved, dump = tmp_path / "chip.bin", tmp_path / "dump.bin"
    small = ("--set", "chip_blocks=8")
    with served(tmp_path, "w25n01gv", *small, "--cut-after", "3", "--save", saved, "--dump", dump) as server:
        wire = server.wire()
        chip = SpiNand(wire)
        assert chip.erase(0) and chip.program(0, PAGE)
        wire.spi(b"\x06")
        wire.spi(b"\x02\x00\x00" + bytes(2048))
        answer = wire.ask(wires.SPI, b"\x10\x00\x00\x01")
        assert not answer.flags & wires.POWERED
        server.process.wait(timeout=60)
    assert server.code == 0 and "power cut at program or erase 3, which is left partial" in server.errors
    held = dump.read_bytes()
    assert len(held) == 8 * 64 * 2112 and held[:2048] == PAGE
    torn = held[2112 : 2112 + 2048]
    done = len(torn) - len(torn.lstrip(b"\0"))
    assert 0 < done < 2048 and torn[done:] == b"\xff" * (2048 - done)
    for image in (saved, dump):
        with served(tmp_path, "w25n01gv", *small, "--image", image) as again:
            chip = SpiNand(again.wire())
            assert chip.read(0) == PAGE
            # The ECC of a page that was torn says so; the bytes of a plain image know nothing of it.
            assert (chip.read(1), chip.status() >> 4) == (torn, 2 if image == saved else 0)
    refused = ffslab("chip", "serve", "--part", "w25q128jv", "--tcp", "0", "--image", saved)
    assert refused.returncode == 2 and "was saved by another chip (w25n01gv)" in refused.stderr


def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    with served(tmp_path, "mt29f2g08abaea") as server:
        wire = server.wire()
        assert wire.ask(wires.NAND, b"C\x90A\x01\x00R\x05\x00", 5).data == b"\x2c\xda\x90\x95\x06"
        # What goes on comes to its end.
        wire.ask(wires.NAND, b"C\x80A\x05\x00\x00\x00\x00\x00W\x01\x00\x00C\x10")
        server.end(signal.SIGINT)
    assert server.code == 0, server.errors
    assert server.variant["totals"]["page_programs"] == 1


BAD = [
    ((), "--part NAME"),
    (("--part", "w25n01gx", "--tcp", "0"), "w25n01gv"),
    (("--part", "w25n01gv"), "--socket FILE or --tcp PORT"),
    (("--part", "s29gl256p", "--tcp", "0"), "parallel NOR"),
    (("--part", "nand512w3a2s", "--tcp", "0"), "512 B"),
    (("--part", "micron-slc-omap3evm", "--tcp", "0"), "--read-id"),
    (("--part", "w25n01gv", "--tcp", "0", "--read-id", "EFX"), "hexadecimal"),
    (("--part", "w25n01gv", "--tcp", "0", "--read-id", "EF"), "two bytes"),
    (("--part", "w25n01gv", "--tcp", "0", "--cause", "0-x=boot"), "FROM-END=NAME"),
    (("--part", "w25n01gv", "--tcp", "0", "--cause", "2M-1M=boot"), "behind the begin"),
    (("--part", "w25n01gv", "--tcp", "0", "--set", "fs=jffs2"), "--set fs"),
    (("--part", "w25n01gv", "--tcp", "0", "--image", "missing.bin"), "missing.bin"),
    (("--part", "w25n01gv", "--tcp", "0", "--save", "missing/chip.bin"), "no such folder"),
    (("--part", "w25q128jv", "--tcp", "0", "--set", "chip_blocks=7"), "multiple of 16"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[said for _, said in BAD])
def test_what_cannot_be_served_says_why_in_one_line(ffslab: Command, words: tuple[str, ...], said: str) -> None:
    done = ffslab("chip", "serve", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C, which is a client by the header."""
    program = tmp_path_factory.mktemp("wire") / "settings"
    source = str(ROOT / "examples/wire/settings.c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", source, "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("careless", [False, True], ids=["careful", "careless"])
def test_a_firmware_in_c_is_cut_at_each_operation(settings: Path, tmp_path: Path, careless: bool) -> None:
    words = [FFSLAB, "chip", "serve", "--part", "w25q128jv", "--socket", "chip.sock", "--no-results", "--json", "--"]
    done = subprocess.run(
        [*map(str, words), str(settings), *(["careless"] if careless else [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == careless, done.stderr
    last = next(line for line in done.stdout.splitlines() if " cuts, " in line)
    cuts, wrong = int(last.split()[0]), int(last.split()[2])
    assert cuts == 12 and (wrong > 0) == careless, done.stdout
    assert sys.platform != "linux" or not (tmp_path / "chip.sock").exists()
