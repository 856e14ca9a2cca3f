"""Latencies of kept reference runs, simulated beside measured: how many are within 10 and 20 %, by kernel and call.

    .venv/bin/python tools/compare_latencies.py [--each] [CASES.jsonl.gz ...]

Takes the steps whose calls only work on the page cache or make files: writes, appends and `create_many`
without fsync. Each counts once, with the mean of its calls. `--each` lists them. Without files: the kept cases
`reference.jsonl.gz`, `prices.jsonl.gz` and `beside.jsonl.gz` of `tests/measured`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from ffslab import Experiment
from ffslab.measured import validation

KEPT = Path(__file__).resolve().parent.parent / "tests" / "measured"
CASES = [KEPT / f"{name}.jsonl.gz" for name in ("reference", "prices", "beside")]


class Step(NamedTuple):
    """A measured step, its mean latency in us."""

    case: str
    kernel: str
    kind: str
    simulated_us: float
    measured_us: float

    @property
    def off(self) -> float:
        return abs(self.simulated_us / self.measured_us - 1)


def kind_of(step: dict[str, Any]) -> str | None:
    if step.get("sync", "none") != "none" or step.get("fsync"):
        return None
    if step["step"] == "append" or (step["step"] == "requests" and step["op"] == "write"):
        return "writes and appends"
    return "creations" if step["step"] == "create_many" else None


def steps(cases: Path) -> Iterator[Step]:
    with gzip.open(cases, "rt", encoding="utf-8") as lines:
        given = [json.loads(line) for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        for case, file in zip(given, validation.write_experiments(cases, "*", Path(folder)), strict=True):
            wanted = {at: kind for at, step in enumerate(case["measure"]) if (kind := kind_of(step))}
            if wanted:
                yield from steps_of(case, file, wanted)


def steps_of(case: dict[str, Any], file: Path, wanted: dict[int, str]) -> Iterator[Step]:
    requests = Experiment.from_file(file).run(store=None).requests
    kernel = ".".join(case["system"]["version"].split(".")[:2])
    for name, measured in case["measured"].get("latency_us", {}).items():
        # "requests 2" is the third measured step; a step without a number is the first of its kind.
        word, _, number = name.partition(" ")
        at = int(number) if number else next(i for i, step in enumerate(case["measure"]) if step["step"] == word)
        if at in wanted:
            simulated_us = float(requests[requests.step == at].latency_us.mean())
            yield Step(case["id"], kernel, wanted[at], simulated_us, measured["mean"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", type=Path, default=CASES)
    parser.add_argument("--each", action="store_true")
    said = parser.parse_args()
    groups: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in (step for cases in said.cases for step in steps(cases)):
        groups[step.kind, step.kernel].append(step)
        groups[step.kind, "all"].append(step)
        if said.each:
            print(f"{step.case}: {step.kind}: {step.simulated_us:.1f} us for {step.measured_us:.1f} us")
    print("| calls | kernel | steps | median of what they are off | within 10 % | within 20 % |")
    print("|---|---|--:|--:|--:|--:|")
    for (kind, kernel), found in sorted(groups.items()):
        off = [step.off for step in found]
        within = [sum(one <= limit for one in off) for limit in (0.1, 0.2)]
        print(f"| {kind} | {kernel} | {len(off)} | {100 * median(off):.1f} % | {within[0]} | {within[1]} |")


if __name__ == "__main__":
    main()
