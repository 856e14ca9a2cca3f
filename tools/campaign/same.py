"""One experiment gives the same files byte for byte: with one worker and with two, elsewhere on earth, from the store.

And its numbers add up: causes to totals, and to the clock.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign import experiments
from campaign.case import Case, Found, Verdict, judged
from campaign.commands import RUN_SECONDS_MAX, called, faults_of

COUNTERS = ("page_reads", "page_programs", "erases", "oob_reads", "oob_programs")
ELSEWHERE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONUTF8": "0"}
# Rounding of times in the summary, for each cause of a variant.
ROUNDING_US = 0.01


class Same:
    """See the head of this file."""

    name = "same"
    weight = 4

    def draw(self, draw: random.Random) -> Case:
        return experiments.drawn(draw)

    def run(self, case: Case, folder: Path) -> Verdict:
        return judged(run, case, folder)

    def smaller(self, case: Case) -> Iterator[Case]:
        yield from experiments.smaller(case)


def run(case: Case, folder: Path, counts: Counter[str]) -> None:
    (folder / "a.toml").write_text(experiments.toml(case), encoding="utf-8")
    store = {"FFSLAB_STORE": str(folder / "store")}
    runs: dict[str, tuple[list[str], dict[str, str]]] = {
        "one worker": (["--jobs", "1"], {}),
        "two workers": (["--jobs", "2"], ELSEWHERE),
        "a new store": ([], store),
        "the store": ([], store),
    }
    first: dict[str, bytes] = {}
    for name, (options, environment) in runs.items():
        out = folder / name.replace(" ", "-")
        outcome = called(["run", "a.toml", "--out", out, *options], folder, RUN_SECONDS_MAX, environment)
        if wrong := faults_of(outcome):
            raise Found("command", f"with {name}: {', '.join(wrong)}: {outcome['errors'][-300:]}")
        if outcome["code"]:
            # No room for a step, or one that this file system lacks: the same each time, but nothing to compare.
            counts["ended early"] += 1
            return
        counts["runs"] += 1
        found = experiments.files_of(out)
        counts["bytes"] += sum(map(len, found.values()))
        first = first or found
        if found != first:
            differ = sorted(path for path in {*found, *first} if found.get(path) != first.get(path))
            raise Found("another", f"with {name} other bytes than with one worker: {', '.join(differ)}")
    for variant in json.loads(first["summary.json"])["variants"]:
        check(variant)


def check(variant: dict[str, Any]) -> None:
    """Sums over causes are the totals, and every nanosecond has a cause."""
    causes = variant["by_cause"]
    for counter in COUNTERS:
        total = sum(cause[counter] for cause in causes)
        if total != variant["totals"][counter]:
            says = f"{variant['name']}: {counter} are {variant['totals'][counter]} in all and {total} over causes"
            raise Found("sums", says)
    caused = sum(cause["cpu_us"] + cause["driver_us"] + cause["busy_us"] for cause in causes)
    missing_us = variant["time_us"] - caused - variant["program_us"] - variant["idle_us"]
    if abs(missing_us) > 1 + ROUNDING_US * len(causes):
        raise Found("sums", f"{variant['name']}: {missing_us:.3f} us of {variant['time_us']:.3f} us have no cause")
