"""`ffslab chip serve`: a simulated flash part on a socket, until a signal comes or a command has ended.

What the requests mean stands in `crates/chip/src/wire`; docs/chip-serve.md describes them for who writes a client.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from ffslab import _native
from ffslab._native import InputError, __version__
from ffslab.answers.summary import Summary
from ffslab.api.machine import in_tables, settings_of
from ffslab.api.run import Run
from ffslab.files.inputs import open_input
from ffslab.mount import saved
from ffslab.mount.card_server import LOOK_S, LOOPBACK, Listening
from ffslab.mount.point import check_save
from ffslab.mount.running import Running, stops_heard
from ffslab.mount.serprog import Programmer
from ffslab.registries.profiles import check_known
from ffslab.terminal.printing import remark, say
from ffslab.text.quoting import quoted

SAVED = saved.Kind(b"ffslab chip 1\n", "a saved chip")
BUS_RAW_NAND = 3


@dataclass(frozen=True)
class Wanted:
    """What the options say of the chip. `causes`: first byte, end, name. `image`: what it holds at the start."""

    part: str
    settings: tuple[str, ...] = ()
    read_id: bytes | None = None
    causes: tuple[tuple[int, int, str], ...] = ()
    image: Path | None = None

    def chip(self) -> _native.ServedChip:
        """The chip, with what it holds.

        Raises `ffslab.InputError` for a part that there is not, and for an image of another chip.
        """
        check_known(self.part, "part", "--part")
        found = None if self.image is None else SAVED.load(self.image)
        chip = self._made(None)
        if self.image is None:
            return chip
        if found is None:
            with open_input(self.image, "image") as file:
                chip.load(str(self.image), file.read())
            return chip
        was, held = found
        if json.loads(chip.keys()) != was:
            raise InputError(f"{self.image}: was saved by another chip ({was.get('part')}): name that --part")
        try:
            return self._made(held)
        except InputError as error:
            raise InputError(f"{self.image}: {error}") from None

    def _made(self, held: bytes | None) -> _native.ServedChip:
        tables = in_tables(settings_of(self.settings))
        return _native.ServedChip(self.part, tables, self.read_id, list(self.causes), held)


@dataclass(frozen=True)
class Cut:
    """A power cut at the n-th program or erase, and how that tears."""

    operation: int
    torn: str
    seed: int


class _Bus(asyncio.Protocol):
    """A client's connection."""

    def __init__(self, chip: _native.ServedChip, failures: list[Exception], *, serprog: bool) -> None:
        self._chip, self._failures = chip, failures
        self._programmer = Programmer(self._whole) if serprog else None
        self._number = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._number, greeting = self._chip.connect()
        if self._programmer is None:
            self._transport.write(greeting)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        try:
            if self._programmer is None:
                answers, goes_on = self._chip.feed(self._number, data)
            else:
                answers, goes_on = self._programmer.takes(data), True
        except Exception as error:
            self._failures.append(error)
            goes_on, answers = False, b""
        self._transport.write(answers)
        if not goes_on:
            self._transport.close()

    def _whole(self, request: bytes) -> bytes:
        return self._chip.feed(self._number, request)[0]

    def pause_writing(self) -> None:
        # Who does not take its answers is not asked for more.
        assert self._transport is not None
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        assert self._transport is not None
        self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._chip.leaves(self._number)


def _bus_of(chip: _native.ServedChip) -> int:
    """Its number in the greeting, behind eight bytes of name and two of version."""
    number, greeting = chip.connect()
    chip.leaves(number)
    return int.from_bytes(greeting[10:12], "little")


@dataclass(frozen=True)
class Service:
    """A chip to be served. `serprog`: clients speak flashrom's protocol instead of the chip's own."""

    wanted: Wanted
    listening: Listening
    cut: Cut | None = None
    save: Path | None = None
    dump: Path | None = None
    serprog: bool = False

    def serve(self, command: Sequence[str] = (), to: TextIO | None = None) -> tuple[Run, int]:
        """Serves until a signal comes, `command` has ended or the power is cut. What was done; the command's code."""
        for file, flag in ((self.save, "--save"), (self.dump, "--dump")):
            if file is not None:
                check_save(file, flag)
        chip = self.wanted.chip()
        if self.serprog and _bus_of(chip) == BUS_RAW_NAND:
            raise InputError(
                f"--protocol serprog: {chip.part_name()} is raw NAND, and serprog knows parts on an SPI bus"
            )
        if self.cut is not None:
            chip.cut_after(self.cut.operation, self.cut.torn, self.cut.seed)
        line = self.listening.opened()
        try:
            where = self._where(line)
            with stops_heard() as wishes:
                running = Running(command, {**os.environ, "FFSLAB_CHIP": where}, wishes)
                failed = asyncio.run(self._serve(chip, line, running, "" if command else where, to))
                chip.end()
                if self.save is not None:
                    SAVED.save(self.save, json.loads(chip.keys()), chip.held())
                if self.dump is not None:
                    saved.write_whole(self.dump, chip.dump(), "--dump")
        finally:
            line.close()
            self.listening.remove()
        if failed is not None:
            raise failed
        self._tells(chip)
        return self._run(chip, command), running.code()

    def _where(self, line: socket.socket) -> str:
        if self.listening.path is not None:
            return f"unix:{self.listening.path.absolute()}"
        return f"tcp:{LOOPBACK}:{line.getsockname()[1]}"

    async def _serve(
        self, chip: _native.ServedChip, line: socket.socket, running: Running, where: str, to: TextIO | None
    ) -> Exception | None:
        """Lets clients come until the end. What went wrong on our side ends it, and is returned."""
        failures: list[Exception] = []
        loop = asyncio.get_running_loop()
        make = loop.create_server if self.listening.path is None else loop.create_unix_server
        server = await make(lambda: _Bus(chip, failures, serprog=self.serprog), sock=line)
        if where:
            say(f"{where}: {chip.part_name()}, {chip.size_bytes() >> 20} MiB; end it with Ctrl-C", to)
        else:
            running.start()
        while not (failures or running.shall_end() or (self.cut is not None and not chip.is_powered())):
            await asyncio.sleep(LOOK_S)
        server.close()
        return failures[0] if failures else None

    def _tells(self, chip: _native.ServedChip) -> None:
        transactions, operations, refusals = chip.counts()
        if self.cut is not None and not chip.is_powered():
            remark(f"power cut at program or erase {operations}, which is left {self.cut.torn}")
        said = f"{transactions} requests, {operations} programs and erases"
        if refusals:
            said += f"; {refusals} were refused, the last one so: {chip.why()}"
        remark(said)

    def _run(self, chip: _native.ServedChip, command: Sequence[str]) -> Run:
        title = f"{chip.part_name()}, served" + (f" to {command[0]}" if command else "")
        summary, requests, blocks = chip.result()
        seed = 1 if self.cut is None else self.cut.seed
        told: Summary = {
            "title": title,
            "version": __version__,
            "generator": "chip serve",
            "seed": seed,
            "variants": [json.loads(summary)],
        }
        served = {
            "seed": seed,
            "cut_after": None if self.cut is None else self.cut.operation,
            "image": None if self.wanted.image is None else quoted(self.wanted.image),
            "command": list(command) or None,
        }
        # What an image holds is taken as it is.
        begun = {"initial": "fresh"} if self.wanted.image is None else {}
        data = {"title": title, **begun, "stack": json.loads(chip.keys()), "chip": served}
        return Run(told, requests, blocks, "# What `ffslab chip serve` served.\n" + _native.toml_of(data))
