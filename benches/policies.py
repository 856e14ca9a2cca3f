"""What a victim policy in Python costs: whole runs under it beside whole runs under greedy built in.

    .venv/bin/python benches/policies.py [MIB]

Greedy, cost-benefit and a rule that keeps what it was shown, in Python, each on three file systems, with MIB of random
writes to a file of 2 MiB on a partition of 5 MiB (40 erase blocks), and of 24 MiB on one of 50 MiB (400). Both run
here, in turn; the ratios count. Prints the table.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ffslab
from ffslab.api.run import RunGiven

ROUNDS = 5
SMALL = Path(__file__).resolve().parent.parent / "experiments" / "policies" / "small.toml"
SIZES = {40: "2 MiB", 400: "24 MiB"}
ASKED = [0]


def greedy_in_python(candidates: Any) -> int:
    """The block with most to gain."""
    ASKED[0] += 1
    return int(candidates.invalid.argmax())


def cost_benefit_in_python(candidates: Any) -> int:
    """Of three columns, with arrays of floating-point numbers between."""
    ASKED[0] += 1
    gain = candidates.age * candidates.invalid
    return int((gain / (2.0 * candidates.valid + 1e-9)).argmax())


class Keeps:
    """Greedy that keeps the arrays of all its decisions, so that each one needs other memory."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def choose(self, candidates: Any) -> int:
        """The block with most to gain."""
        ASKED[0] += 1
        invalid = candidates.invalid
        self.kept.append(invalid[:4])
        return int(invalid.argmax())


def seconds_of(experiment: ffslab.Experiment, fs: str, victim: str, blocks: int, mib: int) -> float:
    """How long one run takes."""
    axes: dict[str, list[object]] = {
        "fs": [fs],
        "policy.victim": [victim],
        "partition_blocks": [blocks],
        "uflip.total_B": [f"{mib} MiB"],
        "setup.create.bytes": [SIZES[blocks]],
        "uflip.target_size_B": [SIZES[blocks]],
    }
    run = experiment.with_axes(axes)
    began = time.perf_counter()
    run.run_without(RunGiven(jobs=1))
    return time.perf_counter() - began


def main() -> None:
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    experiment = ffslab.Experiment.from_file(SMALL)
    choosers: list[Callable[..., Any]] = [greedy_in_python, cost_benefit_in_python, Keeps]
    print("| blocks | fs | policy | decisions | built in, s | in Python, s | ratio | us a decision more |")
    print("|---|---|---|---|---|---|---|---|")
    for blocks in SIZES:
        for fs in ("jffs2", "yaffs2", "ubifs"):
            for chooser in choosers:
                beside = "cost-benefit" if chooser is cost_benefit_in_python else "greedy"
                name = ffslab.policy(chooser)
                ASKED[0] = 0
                pairs = [
                    tuple(seconds_of(experiment, fs, victim, blocks, mib) for victim in (beside, name))
                    for _ in range(ROUNDS)
                ]
                decisions = ASKED[0] // ROUNDS
                built_in, own = (min(pair[at] for pair in pairs) for at in (0, 1))
                more_us = (own - built_in) * 1e6 / max(decisions, 1)
                row = (blocks, fs, name.rsplit("-", 1)[0], decisions, f"{built_in:.3f}", f"{own:.3f}")
                print("|", *(f"{cell} |" for cell in row), f"{own / built_in:.2f} | {more_us:.1f} |", flush=True)


if __name__ == "__main__":
    main()
