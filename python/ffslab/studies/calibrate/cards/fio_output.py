"""What fio says (`--output-format=json`) of the jobs in probe/fio/cards, which make flashbench's patterns.

A job's name says what it does: `align-4194304-on`, `open-au-3-linear-65536`; its options say the block size and, of
open-au, the erase block (`size`). An alignment's time is the median latency of a read; a speed is the bytes a second
of all processes together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ffslab._native import InputError
from ffslab.files.inputs import json_of
from ffslab.studies.calibrate.cards.lines import PLACES, Align, Line, OpenAu

ALIGN = re.compile(rf"align-(\d+)-({'|'.join(PLACES)})")
OPEN_AU = re.compile(r"open-au-(\d+)-(linear|random)-(\d+)")
SIZE = re.compile(r"(\d+)([kmg]?)i?b?", re.IGNORECASE)
FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def read(path: Path, text: str) -> list[Line]:
    """The lines in fio's output. fio may print warnings above it.

    Errors: it is not fio's JSON, it has none of the jobs.
    """
    output = json_of(text[text.index("{") :], str(path))
    jobs = output.get("jobs") if isinstance(output, dict) else None
    if not isinstance(jobs, list):
        raise InputError(f"{path}: not the output of fio --output-format=json: it has no jobs")
    of_all = output.get("global options", {})
    lines = [line for job in jobs if (line := _line(path, job, of_all)) is not None]
    if not lines:
        raise InputError(f"{path}: has no job of probe/fio/cards (align-BYTES-pre, open-au-N-linear-BYTES ...)")
    return lines


def _line(path: Path, job: Mapping[str, Any], of_all: Mapping[str, Any]) -> Line | None:
    name = str(job.get("jobname", ""))
    options = {**of_all, **job.get("job options", {})}
    place = f"{path}: {name}"
    if align := ALIGN.fullmatch(name):
        # flashbench takes the shortest of several reads; the median of fio's comes closest to that.
        latency = job["read"]["clat_ns"]
        latency_us = float(latency.get("percentile", {}).get("50.000000", latency["mean"])) / 1e3
        asked = Align(int(align[1]), _size(options.get("bs"), place), align[2])  # type: ignore[arg-type]
        return Line(asked, _positive(latency_us, place), place)
    if found := OPEN_AU.fullmatch(name):
        block_bytes = int(found[3])
        speed = _positive(float(job["write"]["bw_bytes"]), place)
        erase_block_bytes = _size(options.get("size"), place)
        written = OpenAu(erase_block_bytes, block_bytes, int(found[1]), found[2] == "random")
        return Line(written, block_bytes / speed * 1e6, place)
    return None


def _size(text: object, place: str) -> int:
    found = SIZE.fullmatch(str(text))
    if found is None:
        raise InputError(f"{place}: {text}: no size; fio's output must hold the options of its jobs")
    return int(found[1]) * FACTORS[found[2].lower()]


def _positive(value: float, place: str) -> float:
    if value <= 0:
        raise InputError(f"{place}: nothing was measured")
    return value
