"""Calls the command many times and watches time and memory: `python runner.py SECONDS BYTES FOLDER < CALLS`.

Calls and outcomes are JSON, an object a line. The command is loaded once; each call is a child of this process, so that
its memory is its own and it can be killed without harm, in a folder of its own with links to what it names of FOLDER. A
call is {"args": [...], "alone": BOOL}; `alone` starts the installed command instead, as a user does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import IO, Any, NoReturn

import ffslab

PAGE_B = os.sysconf("SC_PAGE_SIZE")
POLL_S = 0.02
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Who computes for longer than allowed hangs. Who does not compute may be waiting for other programs of a busy machine,
# so that such a call has more time.
WAIT_FACTOR = 6
SAID_B_MAX = 4000


def load() -> None:
    """Loads the whole command, so that no call has to."""
    for module in pkgutil.walk_packages(ffslab.__path__, "ffslab."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    import pyarrow.parquet  # noqa: F401

    # What is loaded stays for good: a collector that walks it in each child would copy all its pages there.
    gc.freeze()


def main() -> None:
    """Makes the calls of the standard input, one after the other."""
    seconds_max, bytes_max, ground = float(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    load()
    there = sorted(ground.iterdir())
    for line in sys.stdin:
        call = json.loads(line)
        # A file that names another one has its name in its own ("names-part-bomb-zeros.gz.toml").
        named = " ".join(call["args"])
        with tempfile.TemporaryDirectory() as folder:
            for path in there:
                if path.name in named or path.stem in ("good", "calls", "point"):
                    Path(folder, path.name).symlink_to(path)
            print(json.dumps(outcome(call, folder, seconds_max, bytes_max)), flush=True)


def outcome(call: dict[str, Any], folder: str, seconds_max: float, bytes_max: int) -> dict[str, Any]:
    """What became of a call: exit code (negative: the signal), seconds of computing, the most memory, what it said."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _be_the_command(call, folder, out, errors)
        most, ended = 0, ""
        while True:
            pid, status, used = os.wait4(child, os.WNOHANG)
            if pid:
                break
            most = max(most, _resident_bytes(child))
            waited_s = time.monotonic() - began
            if most > bytes_max or _computed_s(child) > seconds_max or waited_s > WAIT_FACTOR * seconds_max:
                ended = "memory" if most > bytes_max else "time"
                os.killpg(child, signal.SIGKILL)
                _, status, used = os.wait4(child, 0)
                break
            time.sleep(POLL_S)
        # The peak that the system saw between two looks.
        peak = max(most, used.ru_maxrss * 1024)
        return {
            "args": call["args"],
            "code": os.waitstatus_to_exitcode(status),
            "ended": ended or ("memory" if peak > bytes_max else ""),
            "seconds": used.ru_utime + used.ru_stime,
            "peak_B": peak,
            "out": _said(out),
            "errors": _said(errors),
            "made": sorted(path.name for path in Path(folder).iterdir() if not path.is_symlink()),
            # What is written first stands beside its place; below the target are names of the image, whatever they are.
            "left": sorted(path.name for path in Path(folder).glob(".*")),
        }


def faults(outcome: dict[str, Any]) -> list[str]:
    """What is wrong with an outcome, whatever was thrown."""
    found = []
    if outcome["ended"]:
        found.append(f"over the limit of {outcome['ended']}")
    elif outcome["code"] not in (0, 1, 2):
        found.append(f"exit code {outcome['code']}")
    if any(word in outcome["errors"] for word in ("Traceback", "panicked", "internal error")):
        found.append("traceback")
    lines = outcome["errors"].splitlines()
    if outcome["code"] == 2 and not outcome["ended"] and (len(lines) != 1 or not lines[0].startswith("ffslab: ")):
        found.append("not one line of error")
    return found + (["left behind"] if outcome["left"] else [])


def _be_the_command(call: dict[str, Any], folder: str, out: IO[bytes], errors: IO[bytes]) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        if call.get("alone"):
            command = Path(sys.executable).with_name("ffslab")
            os.execv(command, [str(command), *call["args"]])
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["ffslab", *call["args"]]
        from ffslab.__main__ import main as command_main

        command_main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * PAGE_B
    except (OSError, IndexError):
        return 0


def _computed_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(SAID_B_MAX).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
