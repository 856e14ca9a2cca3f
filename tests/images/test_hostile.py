"""The hostile corpus at every verb: no hang, bounded memory, no traceback, documented exit codes, nothing left behind.

tests/images/hostile/README.md says what is thrown. A sample runs with the other tests, a larger one in
`make test-long`, everything in `make soak`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from helpers.command import SMALL
from hostile import calls, corpus
from hostile.runner import faults

SECONDS_MAX = 20
BYTES_MAX = 1 << 30
RUNNER = Path(__file__).parent / "hostile" / "runner.py"
SEED = 18

GOOD_CALLS = "op,path,offset_B,size_B\nwrite,a,0,512\nread,a,0,512\n"
GOOD_LOOPS = "operation,n,time_us\nread,8,900\nread,16,1700\nread,32,3400\nread,64,6600\n"

Call = dict[str, Any]
Outcome = dict[str, Any]


def ground(folder: Path, seeds: int) -> list[Path]:
    """The folder in which the calls are made: hostile files, which are returned, and good ones."""
    hostile = corpus.make(folder, seeds)
    goods = {
        "good.toml": SMALL.replace("count = 600", "count = 20"),
        "good.csv": GOOD_LOOPS,
        "calls.csv": GOOD_CALLS,
        "good.fio": "[a]\nrw=write\nbs=4k\nsize=16k\n",
        "good.pmrc": "set number 5\nset transactions 5\nrun\n",
        "good.log": "1.000000001;R;5;task\n2.000000001;E;1;task\n",
    }
    for name, text in goods.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "good.img").write_bytes(corpus.images()["jffs2"].content)
    (folder / "point").mkdir()
    return hostile


def everything(hostile: Sequence[Path]) -> list[Call]:
    """All calls: each file in each place of each verb that takes one, each text in each other place."""
    made = []
    for verb in calls.verbs():
        for place in calls.files_of(verb):
            made += [calls.call(verb, place, path.name) for path in hostile]
        for place in calls.words_of(verb):
            made += [calls.call(verb, place, text) for text in calls.TEXTS]
    return [{"args": args} for args in made]


def run_all(todo: Sequence[Call], folder: Path, workers: int = 2) -> list[Outcome]:
    """The outcomes, in the order of the calls."""
    parts = [list(todo[start::workers]) for start in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        outcomes = list(pool.map(lambda part: _run(part, folder), parts))
    return [outcome for part in outcomes for outcome in part]


def _run(todo: Sequence[Call], folder: Path) -> list[Outcome]:
    lines = "".join(json.dumps(call) + "\n" for call in todo)
    # No program of the host is found: nothing is fetched and no machine starts.
    env = {**os.environ, "PATH": "", "FFSLAB_STATES": "", "COLUMNS": "120", "OPENBLAS_NUM_THREADS": "1"}
    runner = [sys.executable, str(RUNNER), str(SECONDS_MAX), str(BYTES_MAX), str(folder)]
    ran = subprocess.run(runner, input=lines, capture_output=True, text=True, env=env, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def judged(outcomes: Sequence[Outcome]) -> tuple[str, list[str]]:
    """The figures in a sentence, and a line for each call that went wrong."""
    wrong = [(outcome, faults(outcome)) for outcome in outcomes]
    of = Counter(fault for _, found in wrong for fault in found)
    codes = Counter(outcome["code"] for outcome in outcomes)
    hangs, large = of["over the limit of time"], of["over the limit of memory"]
    others = {fault: n for fault, n in of.items() if not fault.startswith("over the limit")}
    peak, slowest = max(o["peak_B"] for o in outcomes), max(o["seconds"] for o in outcomes)
    figures = (
        f"{len(outcomes)} calls: {hangs} hangs ({SECONDS_MAX} s), {large} over {BYTES_MAX >> 20} MiB, "
        f"{of['traceback']} tracebacks; exit codes {dict(sorted(codes.items()))}; other faults {others}; "
        f"most memory {peak >> 20} MiB, longest {slowest:.1f} s"
    )
    told = [
        f"{', '.join(found)}: {' '.join(repr(arg[:80]) for arg in outcome['args'])}: {outcome['errors'][-300:]!r}"
        for outcome, found in wrong
        if found
    ]
    return figures, told


@pytest.mark.parametrize("calls_per_verb", [2, pytest.param(6, marks=pytest.mark.long)])
def test_a_sample_of_the_hostile_corpus(calls_per_verb: int, tmp_path: Path) -> None:
    hostile = ground(tmp_path, seeds=1)
    todo = everything(hostile)
    draw = random.Random(SEED)
    chosen: list[Call] = []
    for verb in calls.verbs():
        of_verb = [call for call in todo if tuple(call["args"][: len(verb.words)]) == verb.words]
        chosen += draw.sample(of_verb, min(len(of_verb), calls_per_verb))
    for call in chosen[::40]:
        call["alone"] = True
    figures, told = judged(run_all(chosen, tmp_path))
    assert not told, "\n".join([figures, *told])


@pytest.mark.soak
def test_the_whole_hostile_corpus(tmp_path: Path) -> None:
    hostile = ground(tmp_path, seeds=12)
    outcomes = []
    # This takes an hour or more. What each verb did is printed at its end: an interruption would lose it otherwise.
    for verb, todo in groupby(everything(hostile), key=lambda call: call["args"][0]):
        of_verb = run_all(list(todo), tmp_path)
        figures, told = judged(of_verb)
        print(f"{verb}: {figures}", *told, sep="\n", flush=True)
        outcomes += of_verb
    figures, told = judged(outcomes)
    print(figures)
    assert not told, "\n".join([figures, *told])
