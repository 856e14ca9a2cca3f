"""The command `ffslab` without its start: a process that has loaded it forks one for each command of a test.

Python, pyarrow, pydantic, pandas and scipy take up to three seconds of CPU time to load; most commands of tests need
less for what they do.
A command from here is a process as any other: it has its own arguments, folder, environment, standard files and exit
code. At its end it waits for its threads, calls what was registered and empties its standard files, as any other does.
It differs in three things: what a library reads of the environment while it is loaded was read before, the seed of
hashes is the same for all commands of a server, and what was loaded is not taken apart at the end: most commands would
need less for all else together, since a child has a copy of each page in which it takes something apart. A test that is
about the start or the end itself, or about such variables, starts the command (`conftest.started`).

A fork of a process that runs something would not do: the threads of the simulation would be missing in the child. This
process loads and waits, so nothing holds a lock when it forks.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import IO

# What functions load when they are called, and slow to load. Modules of ours load the others.
LIBRARIES = ("jinja2", "pandas", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "scipy.stats", "typer._adapters")
# A plugin of pytest, and the programs themselves.
NOT_LOADED = ("ffslab.testing", "__main__")
# An order is one message: arguments and environment fit.
ORDER_BYTES = 1 << 17
# Python, the C library and the linker read them at their start.
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "_FFSLAB_COMPLETE")


class Server:
    """The side of the tests: one server, one command at a time."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # Files that are no terminal, as those of the commands.
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def run(
        self,
        command: list[str],
        cwd: Path,
        environment: Mapping[str, str],
        timeout_s: float,
        stdin: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with the output captured as text; raises its `TimeoutExpired`.

        `stdin`: `None` for nothing.
        """
        order = json.dumps({"command": command, "cwd": str(cwd), "environment": dict(environment)}).encode()
        with (
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
            (stdin or Path(os.devnull)).open() as given,
        ):
            self._channel.settimeout(timeout_s)
            socket.send_fds(self._channel, [order], [given.fileno(), out.fileno(), err.fileno()])
            child = self._answer()
            try:
                status = self._answer()
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self._channel.settimeout(None)
                self._answer()
                raise subprocess.TimeoutExpired(command, timeout_s) from None
            code = os.waitstatus_to_exitcode(status)
            return subprocess.CompletedProcess(command, code, _text(out), _text(err))

    def _answer(self) -> int:
        """A number from the server."""
        said = self._channel.recv(ORDER_BYTES)
        assert said, "the server of commands has ended: what it said stands above"
        return int(said)

    def end(self) -> None:
        """Ends it: it reads that nobody is there any more."""
        self._channel.close()
        self._process.wait()


def can_run(changed: Mapping[str, str]) -> bool:
    """Whether a command with these changes of the environment needs no start of its own."""
    return not any(name.startswith(READ_AT_START) for name in changed)


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


# ---- the process itself ---------------------------------------------------------------------------------------------


def _load() -> None:
    import ffslab

    ours = [module.name for module in pkgutil.walk_packages(ffslab.__path__, "ffslab.")]
    for name in (*LIBRARIES, *(name for name in ours if not any(part in name for part in NOT_LOADED))):
        import_module(name)
    # What is loaded stays as it is: a child that collected would copy it.
    gc.collect()
    gc.freeze()


def _serve(channel: socket.socket) -> None:
    """Forks a process for each order, and says its number and then how it ended. Returns in those processes."""
    while True:
        order, files, _, _ = socket.recv_fds(channel, ORDER_BYTES, 3)
        if not order:
            os._exit(0)
        child = os.fork()
        if child == 0:
            channel.close()
            return _become(json.loads(order), files)
        for file in files:
            os.close(file)
        channel.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        channel.send(str(status).encode())


def _become(order: dict[str, object], files: list[int]) -> None:
    command, cwd, environment = order["command"], order["cwd"], order["environment"]
    assert isinstance(command, list) and isinstance(cwd, str) and isinstance(environment, dict)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command


# What a command that ended by itself has said to its caller; `None` before.
_said: int | None = None


def _leave() -> None:
    """Ends a command that has nothing left to do. What cannot be written is for Python to tell, and also the rest."""
    if _said is None:
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_said & 0xFF)


if __name__ == "__main__":
    # The first that is registered is called last.
    atexit.register(_leave)
    # Libraries for linear algebra have threads that wait; they begin again in the child.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
    # As the installed command, which finds nothing beside itself.
    del sys.path[0]
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from ffslab.__main__ import main

    try:
        main()
    except SystemExit as ended:
        _said = ended.code if isinstance(ended.code, int) else None
        raise
