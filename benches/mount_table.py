"""Real programs on mounts of each file system: did they find anything wrong, what did they cost here and on the board?

    .venv/bin/python benches/mount_table.py [--scale N]

Prints a table for docs/mount.md. Think time is left out: the board's seconds are those of the calls.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.mount_programs import INSTALLED, PROGRAMS
from helpers.mounted import FILE_SYSTEMS, mounted

HEAD = ("program", "fs", "passed", "host s", "board s", "page reads", "programs", "erases", "energy mJ")
BLOCKS_PER_SCALE = 400


def row(program: str, fs: str, scale: int) -> list[str]:
    """What a program did on a new file system. Mounting and unmounting are included."""
    folder = Path(tempfile.mkdtemp(prefix="ffslab-programs-"))
    passed = "yes"
    try:
        with mounted(folder, fs, "--think", "none", "--blocks", str(BLOCKS_PER_SCALE * max(1, scale // 4))) as mount:
            work = mount.place / "work"
            work.mkdir()
            begun_s = time.monotonic()
            try:
                PROGRAMS[program](work, scale)
            except AssertionError as error:
                passed = f"no: {str(error)[:200]}"
            host_s = time.monotonic() - begun_s
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    done = mount.variant
    totals = done["totals"]
    cells = [f"{host_s:.1f}", f"{done['time_us'] / 1e6:.1f}"]
    cells += [f"{totals[key]:,}" for key in ("page_reads", "page_programs", "erases")]
    return [program, fs, passed, *cells, f"{done['energy_uJ']['total'] / 1e3:,.0f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=int, default=1, help="multiplies the work of each program")
    scale: int = parser.parse_args().scale
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * 3}{'--:|' * (len(HEAD) - 3)}")
    failed = 0
    for program in PROGRAMS:
        if program in INSTALLED and shutil.which(program) is None:
            print(f"{program}: left out, it is not installed", file=sys.stderr)
            continue
        for fs in FILE_SYSTEMS:
            cells = row(program, fs, scale)
            failed += cells[2] != "yes"
            print(f"| {' | '.join(cells)} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
