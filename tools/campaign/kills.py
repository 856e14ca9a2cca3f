"""A command is killed at a random moment, with a store; the same command then gives the bytes that it gives unharmed.

A signal that can be caught ends it in one line, with the exit code that names it, and leaves nothing beside the store.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from campaign import experiments
from campaign.case import Case, Found, Verdict, judged
from helpers.command import ROOT

# What docs/verbs.md promises of each.
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGKILL": -9}
WAIT_S = 120
# The commands, each with what it writes.
COMMANDS = {"run": ["run", "a.toml", "--out", "out"], "sweep": ["sweep", "a.toml", "--out", "out", "--jobs", "1"]}
KILLS = 3


class Kills:
    """See the head of this file."""

    name = "kills"
    weight = 2

    def draw(self, draw: random.Random) -> Case:
        case = experiments.drawn(draw)
        if not case["axes"]:
            case["axes"] = {"setup.sleep.us": [1000, 2000]}
        kills = [[draw.choice(sorted(CODES)), round(draw.random(), 3)] for _ in range(KILLS)]
        return {**case, "repeat": 1, "command": draw.choice(sorted(COMMANDS)), "kills": kills}

    def run(self, case: Case, folder: Path) -> Verdict:
        return judged(run, case, folder)

    def smaller(self, case: Case) -> Iterator[Case]:
        for at in range(len(case["kills"])):
            yield {**case, "kills": [case["kills"][at]]} if len(case["kills"]) > 1 else case
        yield from experiments.smaller(case)


def run(case: Case, folder: Path, counts: Counter[str]) -> None:
    text = experiments.toml(case)
    words = COMMANDS[case["command"]]
    whole, place = folder / "whole", folder / "killed"
    for made in (whole, place):
        made.mkdir()
        (made / "a.toml").write_text(text, encoding="utf-8")
    began = time.monotonic()
    code, said = ended(start(words, whole))
    took_s = time.monotonic() - began
    if code == 2:
        counts["ended early"] += 1
        return
    if code != 0:
        raise Found("command", f"exit code {code}: {said[-300:]}")
    wanted = experiments.files_of(whole / "out")
    for name, share in case["kills"]:
        killed(words, place, name, share * took_s)
        counts["kills"] += 1
    code, said = ended(start(words, place))
    if code:
        raise Found("again", f"after {case['kills']} the same command ends with {code}: {said[-300:]}")
    found = experiments.files_of(place / "out")
    if found != wanted:
        differ = sorted(path for path in {*found, *wanted} if found.get(path) != wanted.get(path))
        raise Found("another", f"after {case['kills']} other bytes than without: {', '.join(differ)}")


def start(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """The command as a user starts it, with a store of its own."""
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "FFSLAB_STORE": str(folder / "store"), "FFSLAB_STATES": "", "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, "-m", "ffslab", *words],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and standard error.

    Raises `Found` when it does not end.
    """
    try:
        _, said = process.communicate(timeout=WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Found("hang", f"has not ended after {WAIT_S} s") from None
    return process.returncode, said


def killed(words: list[str], folder: Path, name: str, after_s: float) -> None:
    """Kills the command so late; it may be over by then."""
    # What was killed without a word before has left what it has left.
    before = names_in(folder)
    process = start(words, folder)
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.Signals[name])
    code, said = ended(process)
    if code not in (0, CODES[name]):
        # Before Python has taken care of signals the system ends it.
        if code == -signal.Signals[name] and not said:
            return
        raise Found("code", f"{name} after {after_s:.2f} s: exit code {code}: {said[-400:]}")
    if "Traceback" in said or "panicked" in said:
        raise Found("traceback", f"{name} after {after_s:.2f} s: {said[-400:]}")
    beside = sorted(names_in(folder) - before - {"out", "store"})
    if beside and name != "SIGKILL":
        raise Found("left", f"{name} after {after_s:.2f} s leaves {beside}")


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
