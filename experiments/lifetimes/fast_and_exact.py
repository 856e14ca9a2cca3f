"""Lives that leap over stationary wear beside lives of which every operation is run, on devices that bear few erases.

    python experiments/lifetimes/fast_and_exact.py

prints the table of docs/lifetimes.md: years, and how wear of the blocks at the end, means of several lives.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
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
# When a life ends hangs on which blocks are weak: a single one says little, and on JFFS2 six do not say much.
LIVES = 6
LIVES_OF = {"logger-jffs2": 24}


def lives(name: str, *, fast: bool) -> tuple[list[VariantLife], float]:
    """Lives that differ in what is drawn, and how long they took on this computer."""
    began = time.perf_counter()
    given = Given(endurance=DEVICES[name], per_day=PER_DAY)
    workload = Workload.from_file(FOLDER / f"{name}.toml")
    several = Workload(name, workload.experiment.changed(repeat=LIVES_OF.get(name, LIVES)))
    found = lived([several], given, fast=fast, again=True).lives
    return [life for _, life in found], time.perf_counter() - began


def main() -> None:
    """Prints the table."""
    head = ["device", "years: exact", "fast", "erases at 5 %: exact", "fast", "at 95 %: exact", "fast", "run by fast"]
    print(f"| {' | '.join([*head, 'times faster'])} |\n|{'---|' * 9}")
    for name in sys.argv[1:] or DEVICES:
        (exact, exact_s), (fast, fast_s) = lives(name, fast=False), lives(name, fast=True)
        cells = [name, *beside(exact, fast, lambda life: life["years"], 3)]
        cells += beside(exact, fast, lambda life: life["erases"]["p5"], 0)
        cells += beside(exact, fast, lambda life: life["erases"]["p95"], 0)
        run, all_of_them = (sum(life[key] for life in fast) for key in ("repetitions_run", "repetitions"))
        print("| " + " | ".join([*cells, f"{run / all_of_them:.0%}", f"{exact_s / fast_s:.1f}"]) + " |", flush=True)


def beside(
    exact: list[VariantLife], fast: list[VariantLife], figure: Callable[[VariantLife], float], digits: int
) -> list[str]:
    """The mean of a figure over exact and over fast lives, and how far the second is off."""
    means = [statistics.mean(map(figure, some)) for some in (exact, fast)]
    return [f"{means[0]:.{digits}f}", f"{means[1]:.{digits}f} ({means[1] / max(means[0], 1e-9) - 1:+.1%})"]


if __name__ == "__main__":
    main()
