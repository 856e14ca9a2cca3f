"""Runs a case in a process of its own, so that a crash, a hang or a full memory ends the case and not the campaign."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from campaign.case import Case, Fault, Kind, Verdict
from campaign.commands import resident_bytes

# Of the clock; commands within a case have limits of their own.
WAIT_S = 300
# Of the CPU, of the process of the case itself.
COMPUTE_S = 120
# In use: of what is only reserved a simulation takes more.
MEMORY_BYTES_MAX, LOOK_S = 3 << 30, 1.0


def run(kind: Kind, make: Callable[[], Case], wait_s: float = WAIT_S) -> tuple[Case | None, Verdict]:
    """The case that `make` makes, and its verdict. No case: it could not even be made.

    What the case raises is a fault, too: Rust's panics come as exceptions.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _in_child(kind, make, write_end)
    os.close(write_end)
    said, why = _said(read_end, child, wait_s)
    _, status = os.waitpid(child, 0)
    parts = said.split(b"\n")
    case: Case | None = json.loads(parts[0]) if len(parts) > 1 else None
    if len(parts) > 2:
        answer: dict[str, Any] = json.loads(parts[1])
        fault = Fault(**answer["fault"]) if answer["fault"] else None
        return case, Verdict(fault, Counter(answer["counts"]))
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if why or number == signal.SIGXCPU:
        return case, Verdict(Fault(*(why or ("hang", f"has not ended after {COMPUTE_S} s of the CPU"))))
    name = signal.Signals(number).name if number else f"exit code {os.waitstatus_to_exitcode(status)}"
    return case, Verdict(Fault("crash", f"the process of the case ended with {name}"))


def _said(read_end: int, child: int, wait_s: float) -> tuple[bytes, tuple[str, str] | None]:
    """What the child writes until its end, and why it was ended before."""
    said, deadline_s = b"", time.monotonic() + wait_s
    why: tuple[str, str] | None = None
    try:
        while why is None:
            if select.select([read_end], [], [], LOOK_S)[0]:
                piece = os.read(read_end, 1 << 16)
                if not piece:
                    return said, None
                said += piece
            elif time.monotonic() > deadline_s:
                why = ("hang", f"has not ended after {wait_s:.0f} s")
            elif resident_bytes(child) > MEMORY_BYTES_MAX:
                why = ("memory", f"took more than {MEMORY_BYTES_MAX >> 30} GiB")
        os.killpg(child, signal.SIGKILL)
        return said, why
    except BaseException:
        # Who interrupts the campaign interrupts its case.
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(read_end)


def _in_child(kind: Kind, make: Callable[[], Case], write_end: int) -> None:
    try:
        # Ctrl-C on the terminal is for the campaign, which ends this process; kills have programs of their own below.
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (COMPUTE_S, COMPUTE_S + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        case = make()
        os.write(write_end, json.dumps(case).encode() + b"\n")
        verdict = here(kind, case)
        fault = vars(verdict.fault) if verdict.fault else None
        os.write(write_end, json.dumps({"fault": fault, "counts": verdict.counts}).encode() + b"\n")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def here(kind: Kind, case: Case) -> Verdict:
    """Runs a case in this process."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        try:
            return kind.run(case, Path(folder))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(at.filename).name}:{at.lineno}"
            return Verdict(Fault("raised", f"{type(error).__name__} at {place}: {str(error)[:400]}"))
