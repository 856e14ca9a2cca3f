"""Traces as a board leaves them for `ffslab trace compare`, of a board that takes the same time for every call."""

from __future__ import annotations

import gzip
from pathlib import Path

from ffslab.measured.compare.board_logs import Call
from ffslab.measured.compare.content import insert_writes
from ffslab.measured.compare.sessions import insert_calls

PACE_S = 0.1


def vfs_log(folder: Path, inserts: int = 3, elapsed_s: float = 0.0002) -> Path:
    _, writes = insert_writes(128, inserts)
    calls = [Call(0, "open", "/mnt/flash/test.db")]
    for insert in writes:
        calls += insert_calls(insert)
    calls.append(Call(0, "close", "/mnt/flash/test.db"))
    lines = ["#<time_stamp>;<sys_call>;<arguments;>;<file_name>;<elapsed>"]
    for i, call in enumerate(calls):
        t_s = f"{1_400_000_000 + i * PACE_S:.2f}"
        middle = {"open": "3;0;0;0", "close": "3"}.get(call.op, f"3;{call.offset};{call.bytes}")
        lines.append(f"{t_s};{call.op};{middle};{call.path};{elapsed_s:.6f}")
    place = folder / "vfs" / "128_run1.csv.gz"
    place.parent.mkdir(parents=True)
    with gzip.open(place, "wt") as log:
        log.write("\n".join(lines) + "\n")
    return place
