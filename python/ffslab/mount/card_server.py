"""`ffslab card serve`: a simulated device on a socket of this computer, until a signal comes or a command has ended."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat as modes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ffslab import _native
from ffslab._native import InputError, __version__
from ffslab.answers.summary import Summary
from ffslab.api.run import Run
from ffslab.files.os_errors import reason
from ffslab.mount.card import Card, Wanted
from ffslab.mount.card_record import Marks, RecordedCard, Recorder
from ffslab.mount.nbd import Connection, Disk
from ffslab.mount.point import check_save
from ffslab.mount.running import Running, stops_heard
from ffslab.terminal.printing import remark, say
from ffslab.text.quoting import quoted

# How often it is looked whether the server shall end.
LOOK_S = 0.05
# Only programs of this computer are served: there is neither encryption nor a password.
LOOPBACK = "127.0.0.1"
# `sun_path` of unix(7), with its end.
SOCKET_PATH_MAX_B = 107


@dataclass(frozen=True)
class Listening:
    """Where clients come: a socket in the file system, or a port of this computer (0: one that is free)."""

    path: Path | None = None
    port: int | None = None

    def opened(self) -> socket.socket:
        """The socket, on which nobody but programs of this computer can call; of a file: of this user."""
        return self._at_path(self.path) if self.path is not None else self._at_port(self.port or 0)

    def _at_path(self, path: Path) -> socket.socket:
        if len(os.fsencode(path)) > SOCKET_PATH_MAX_B:
            raise InputError(
                f"--socket {path}: is longer than the {SOCKET_PATH_MAX_B} bytes that a socket's path may have"
            )
        _remove_dead(path)
        line = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            line.bind(str(path))
        except OSError as error:
            line.close()
            raise InputError(f"--socket {path}: cannot be made: {reason(error)}") from None
        finally:
            os.umask(before)
        return line

    def _at_port(self, port: int) -> socket.socket:
        line = socket.socket(socket.AF_INET)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            line.bind((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            line.close()
            why = reason(error) if isinstance(error, OSError) else "ports end at 65535"
            raise InputError(f"--tcp {port}: cannot be opened: {why}") from None
        return line

    def uri(self, line: socket.socket) -> str:
        """What clients call it (doc/uri.md of NetworkBlockDevice/nbd)."""
        if self.path is not None:
            return f"nbd+unix:///?socket={self.path}"
        return f"nbd://{LOOPBACK}:{line.getsockname()[1]}"

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _remove_dead(path: Path) -> None:
    """Takes away a socket on which nobody listens any more; anything else stays."""
    try:
        found = path.lstat()
    except OSError:
        return
    if not modes.S_ISSOCK(found.st_mode):
        raise InputError(f"--socket {path}: is there already, and is no socket: name a new file")
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(path))
    except OSError:
        path.unlink(missing_ok=True)
        return
    raise InputError(f"--socket {path}: another program listens there: name another file, or end that one")


@dataclass(frozen=True)
class Service:
    """A device to be served. `think`: time between requests passes on the device, too."""

    wanted: Wanted
    listening: Listening
    think: bool = False
    realtime: bool = False
    cut_after: int | None = None
    seed: int = 1
    save: Path | None = None
    record: Path | None = None

    def serve(self, command: Sequence[str] = (), to: TextIO | None = None) -> tuple[Run, int]:
        """Serves until a signal comes, `command` has ended or the power is cut. What was done; the command's code."""
        if self.save is not None:
            check_save(self.save)
        if self.record is not None:
            check_save(self.record, "--record")
        card = Card(self.wanted, self.seed, self.cut_after, think=self.think, realtime=self.realtime)
        line = self.listening.opened()
        recorder = None
        try:
            disks: list[Disk] = [card]
            if self.record is not None:
                recorder = Recorder(self.record, self.wanted, self.seed, think=self.think)
                disks = [RecordedCard(card, recorder), Marks(recorder)]
            uri = self.listening.uri(line)
            with stops_heard() as wishes:
                running = Running(command, {**os.environ, "FFSLAB_NBD": uri}, wishes)
                failed = asyncio.run(self._serve(card, disks, line, running, "" if command else uri, to))
                card.end()
                if self.save is not None:
                    card.save(self.save)
                if recorder is not None and failed is None:
                    recorder.end()
        finally:
            if recorder is not None:
                recorder.close()
            line.close()
            self.listening.remove()
        if failed is not None:
            raise failed
        if card.cut is not None:
            remark(card.cut.text())
        if not card.is_asked:
            remark(f"nothing was asked of {card.name}: no client came that reads or writes")
        return self._run(card, command), running.code()

    async def _serve(
        self, card: Card, disks: list[Disk], line: socket.socket, running: Running, uri: str, to: TextIO | None
    ) -> Exception | None:
        """Lets clients come until the end. What went wrong on our side ends it, and is returned."""
        failures: list[Exception] = []

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await Connection(disks, reader, writer).serve()
            except Exception as error:
                failures.append(error)
            finally:
                writer.close()

        start = asyncio.start_server if self.listening.path is None else asyncio.start_unix_server
        server = await start(client, sock=line)
        if uri:
            say(f"{uri}: {card.name}, {card.size_bytes >> 20} MiB; end it with Ctrl-C", to)
        else:
            running.start()
        while not (failures or card.cut is not None or running.shall_end()):
            await asyncio.sleep(LOOK_S)
        server.close()
        return failures[0] if failures else None

    def _run(self, card: Card, command: Sequence[str]) -> Run:
        title = f"{card.name}, served" + (f" to {command[0]}" if command else "")
        summary, requests, blocks = card.result()
        told: Summary = {
            "title": title,
            "version": __version__,
            "generator": "card serve",
            "seed": self.seed,
            "variants": [json.loads(summary)],
        }
        served = {
            "think": "real" if self.think else "none",
            "realtime": self.realtime,
            "seed": self.seed,
            "cut_after": self.cut_after,
            "image": None if self.wanted.image is None else quoted(self.wanted.image),
            "command": list(command) or None,
        }
        # What an image holds is taken as it is.
        begun = {"initial": "fresh"} if self.wanted.image is None else {}
        data = {"title": title, **begun, "stack": card.used_keys, "card": served}
        resolved = "# What `ffslab card serve` served.\n" + _native.toml_of(data)
        return Run(told, requests, blocks, resolved)
