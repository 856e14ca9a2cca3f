"""`ffslab replay`: an experiment for one recorded trace, written from the options."""

from __future__ import annotations

import json
from pathlib import Path

from ffslab._native import InputError
from ffslab.experiment import Experiment


def replay_experiment(
    trace: Path, board: str, fs: str, partition_blocks: int, read_ahead_kib: list[int], think: str
) -> Experiment:
    """The experiment that mounts an empty partition and replays `trace` on it.

    Several read-ahead windows (KiB) make several variants.
    """
    if not trace.is_file():
        raise InputError(f"{trace}: no such trace (a file recorded with strace -f -ttt -T)")
    lines = [
        f"title = {_quoted(f'Replay of {trace.name}')}",
        "[stack]",
        f"board = {_quoted(board)}",
        f"fs = {_quoted(fs)}",
        f"partition_blocks = {partition_blocks}",
    ]
    if len(read_ahead_kib) == 1:
        lines.append(f"read_ahead_KiB = {read_ahead_kib[0]}")
    lines += ["[[setup]]", 'step = "mount"']
    lines += ["[[measure]]", 'step = "replay"', f"file = {_quoted(str(trace.resolve()))}", f"think = {_quoted(think)}"]
    if len(read_ahead_kib) > 1:
        lines += ["[axes]", f"read_ahead_KiB = {read_ahead_kib}"]
    return Experiment("\n".join(lines) + "\n", f"replay of {trace}", Path())


def _quoted(text: str) -> str:
    # A JSON string is a valid basic string of TOML.
    return json.dumps(text, ensure_ascii=False)
