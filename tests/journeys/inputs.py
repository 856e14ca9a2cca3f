"""What a person brings to a journey: logs of a bench, logs of a board. `python tests/journeys/inputs.py KIND PLACE`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from helpers import littlefs_versions
from helpers.bench_logs import Bench
from helpers.command import ROOT
from helpers.compare_logs import vfs_log
from helpers.trace_logs import write_session

BENCH = Bench(repeats=2, time_us={"read": 185.065, "program": 507.6, "erase": 2536.4}, counts=(200, 400, 800))


def _littlefs(place: Path) -> None:
    littlefs_versions.sources("2.9.3", place.parent).rename(place)


def _results_of_c(place: Path) -> None:
    """What `examples/libffslab/logger.c` wrote when the tests of crates/capi ran it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    shutil.copytree(target / "tmp/libffslab/logger/results", place)


def _program(name: str) -> Callable[[Path], object]:
    """A program of `examples/crashtest` as the tests of crates/capi compiled it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return lambda place: shutil.copy(target / "tmp/libffslab" / name / place.name, place)


KINDS: dict[str, Callable[[Path], object]] = {
    "loops": BENCH.write_loops,
    "capture": lambda place: BENCH.write_capture(place, rate_hz=1000),
    "session": write_session,
    "calls": vfs_log,
    "littlefs": _littlefs,
    "results-of-c": _results_of_c,
    "updater": _program("updater/0"),
    "bootloader": _program("programs/bootloader"),
    "environment": _program("programs/environment"),
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](Path(sys.argv[2]))
