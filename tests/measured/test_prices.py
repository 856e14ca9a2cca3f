"""Latencies of calls that wait for no flash, or for a compressor, on the machine on which reference runs measure.

The cases are reference runs on Linux 6.1: appends, writes over what is in memory, new files, and appends of 4 KiB with
fsync, half of which compresses, each with the latency that the guest measured.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from ffslab import Experiment
from ffslab.measured import validation

CASES = Path(__file__).parent / "prices.jsonl.gz"


class Compared(NamedTuple):
    """A measured step: its mean latency, simulated beside measured."""

    case: str
    step: str
    ratio: float


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    with gzip.open(CASES, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    written = validation.write_experiments(CASES, "*", tmp_path_factory.mktemp("cases"))
    assert len(written) == len(cases)
    return [one for case, file in zip(cases, written, strict=True) for one in steps(case, file)]


def steps(case: dict[str, Any], file: Path) -> Iterator[Compared]:
    requests = Experiment.from_file(file).run().requests
    for name, measured in case["measured"]["latency_us"].items():
        # "requests 2" is the third measured step; a step without a number is the first of its kind.
        word, _, number = name.partition(" ")
        at = int(number) if number else next(i for i, step in enumerate(case["measure"]) if step["step"] == word)
        simulated = requests[requests.step == at].latency_us.mean()
        yield Compared(case["id"], word, simulated / measured["mean"])


@pytest.mark.parametrize("compressed", [False, True], ids=["in-memory", "compressed"])
def test_calls_take_as_long_as_on_the_kernel(compared: list[Compared], compressed: bool) -> None:
    off = sorted(abs(one.ratio - 1) for one in compared if ("comp/" in one.case) == compressed)
    assert median(off) <= 0.1 and off[len(off) * 9 // 10] <= 0.2, off
