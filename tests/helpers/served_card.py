"""A card of `ffslab card serve` in another process."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.command import FFSLAB
from helpers.nbd_client import Client

# Flash of 8 MiB with pages of 2 KiB, and a buffer of 16 pages.
SMALL = (
    "page-map",
    *("--set", "device.part=micron-slc-omap3evm", "--set", "device.blocks=64", "--set", "device.spare=0.15"),
)
BUFFERED = (*SMALL, "--set", "device.buffer_pages=16")
PAGE_B = 2048


@dataclass
class Served:
    """A server in another process, `uri` to its clients; `variant` is its summary after its end."""

    socket: Path
    uri: str
    process: subprocess.Popen[str]
    errors: str = ""
    code: int = 0
    variant: dict[str, Any] = field(default_factory=dict)

    def client(self) -> Client:
        """One that has chosen the device."""
        client = Client(self.socket)
        client.go()
        return client

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=60)
        self.errors, self.code = errors, self.process.returncode
        self.variant = json.loads(out)["variants"][0] if self.code == 0 else {}


@contextmanager
def served(folder: Path, *words: str, tcp: bool = False) -> Iterator[Served]:
    """`tcp`: on a port of this computer, not on a socket in `folder`."""
    path = folder / "card.sock"
    place = ("--tcp", "0") if tcp else ("--socket", path)
    command = [FFSLAB, "card", "serve", *words, *place, "--no-results", "--json"]
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    server = Served(path, said.partition(": ")[0], process)
    try:
        assert "end it with Ctrl-C" in said, said
        yield server
    finally:
        server.end()
    assert (server.code, "Traceback" in server.errors) == (0, False), server.errors
    assert not path.exists()
