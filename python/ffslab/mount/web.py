"""`ffslab mount stat --web`: a mount in the browser, from a server on the loopback address alone.

The address holds a word that nobody guesses, so that other users of the machine and pages of others see nothing; the
page asks nobody but this server, and changes nothing about the mount.
"""

from __future__ import annotations

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

from ffslab._native import InputError
from ffslab.answers.mount import MountStat
from ffslab.files.os_errors import reason
from ffslab.mount.control import is_there, stat, timeline
from ffslab.report.live import html
from ffslab.terminal.printing import detail, say
from ffslab.text.causes import titles
from ffslab.text.slowest import HEAD, cells_of

HOST = "127.0.0.1"
# How often is looked whether the mount goes on.
LOOK_EVERY_S = 0.5
CHUNK_BYTES = 1 << 16


def serve(mountpoint: Path, port: int = 0) -> None:
    """Serves the page until the mount ends, or Ctrl-C. Port 0: any that is free.

    Raises `ffslab.InputError` when there is no mount, or the port is taken.
    """
    page = html(stat(mountpoint)).encode()
    word = secrets.token_urlsafe(9)
    try:
        server = _Server(mountpoint, page, word, port)
    except (OSError, OverflowError) as error:
        why = reason(error) if isinstance(error, OSError) else "there are ports up to 65535"
        raise InputError(f"--port {port}: {why}") from None
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        say(f"http://{HOST}:{server.server_port}/{word}/  ends with Ctrl-C, or with the mount")
        ended = threading.Event()
        try:
            while is_there(mountpoint):
                ended.wait(LOOK_EVERY_S)
        except KeyboardInterrupt:
            pass
        finally:
            server.shutdown()
            thread.join()


def answer(now: MountStat) -> dict[str, object]:
    """What the page asks for each time: what the mount has done, and words for it."""
    return {"stat": now, "titles": titles(now), "slowest": [HEAD, *cells_of(now)]}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, mountpoint: Path, page: bytes, word: str, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.mountpoint, self.page, self.word = mountpoint, page, word


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "ffslab"
    sys_version = ""

    # The name is http.server's.
    def do_GET(self) -> None:
        """Answers the page, and the three things that it asks for."""
        base = f"/{self.server.word}/"
        # A page of others that names this server by a name of its own sees nothing.
        if self.headers.get("Host") != f"{HOST}:{self.server.server_port}" or not self.path.startswith(base):
            self._send(404, "text/plain", b"not here\n")
            return
        try:
            match self.path.removeprefix(base):
                case "":
                    self._send(200, "text/html; charset=utf-8", self.server.page)
                case "stat.json":
                    now = json.dumps(answer(stat(self.server.mountpoint)))
                    self._send(200, "application/json", now.encode())
                case "timeline.pftrace":
                    file, count_bytes = timeline(self.server.mountpoint)
                    with file.open("rb") as read:
                        self._send_file(read, count_bytes, file.name)
                case _:
                    self._send(404, "text/plain", b"not here\n")
        except (InputError, FileNotFoundError) as error:
            self._send(410, "application/json", json.dumps({"error": str(error)}).encode())
        except ConnectionError:
            # The reader has gone.
            self.close_connection = True

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self._head(status, kind, len(body))
        self.wfile.write(body)

    def _send_file(self, read: BinaryIO, count_bytes: int, name: str) -> None:
        plain = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name)
        self._head(
            200, "application/octet-stream", count_bytes, {"Content-Disposition": f'attachment; filename="{plain}"'}
        )
        while count_bytes and (part := read.read(min(CHUNK_BYTES, count_bytes))):
            self.wfile.write(part)
            count_bytes -= len(part)

    def _head(self, status: int, kind: str, count_bytes: int, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        always = {"Content-Type": kind, "Content-Length": str(count_bytes), "Cache-Control": "no-store"}
        always |= {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
        for name, value in {**always, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tells of requests when `--verbose` was asked for."""
        detail(format % args)
