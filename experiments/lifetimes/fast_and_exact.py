"""Lives that leap over stationary wear beside lives of which every operation is run, on devices that bear few erases.

    python experiments/lifetimes/fast_and_exact.py

prints the table of docs/lifetimes.md: years, and how erases are spread over the blocks at the end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab.studies.lifetime import Given, Workload, lived

if TYPE_CHECKING:
    from ffslab.answers.lives import VariantLife

FOLDER = Path(__file__).parent
# The devices, and the erases that a block endures where their files do not say it.
DEVICES = {
    "logger-ubifs": None,
    "logger-jffs2": None,
    "settings-yaffs2": None,
    "camera-spi-nand": None,
    "meter-nor": 300,
}
PER_DAY = 24.0


def life(name: str, *, fast: bool) -> tuple[VariantLife, float]:
    """A life, and how long it took on this computer."""
    began = time.perf_counter()
    given = Given(endurance=DEVICES[name], per_day=PER_DAY)
    ((_, found),) = lived([Workload.from_file(FOLDER / f"{name}.toml")], given, fast=fast, again=True).lives
    return found, time.perf_counter() - began


def main() -> None:
    """Prints the table."""
    head = ["device", "years: exact", "fast", "erases at 5 %: exact", "fast", "at 95 %: exact", "fast", "run by fast"]
    print(f"| {' | '.join([*head, 'times faster'])} |\n|{'---|' * 9}")
    for name in sys.argv[1:] or DEVICES:
        (exact, exact_s), (fast, fast_s) = life(name, fast=False), life(name, fast=True)
        cells = [
            name,
            f"{exact['years']:.3f}",
            f"{fast['years']:.3f} ({fast['years'] / exact['years'] - 1:+.1%})",
            *(
                text
                for key in ("p5", "p95")
                for text in (
                    str(exact["erases"][key]),
                    f"{fast['erases'][key]} ({fast['erases'][key] / max(exact['erases'][key], 1) - 1:+.1%})",
                )
            ),
            f"{fast['repetitions_run'] / fast['repetitions']:.0%}",
            f"{exact_s / fast_s:.1f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
