"""A folder of published cases, as `ffslab reproduce published --cases` reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ffslab.answers.evidence import Evidence, PublishedCase
from ffslab.studies.reproduce.published import study

STACK = '[stack]\nboard = "omap3evm"\nfs = "none"\npartition_blocks = 8\n'
LOOP = '[[measure]]\nstep = "mtd_loop"\nop = "{}"\ncount = {}\n'
# A case as short as may be: the second step of `loops`, 64 reads of a page.
READ: dict[str, Any] = {
    "id": "a.read",
    "kind": "raw read",
    "source": "a thread",
    "quantity": "read speed",
    "unit": "KiB/s",
    "published": 9000,
    "experiment": "loops",
    "board": "omap3evm",
    "get": {"rate_KiB": 128, "step": 1},
}


def case(**keys: object) -> dict[str, Any]:
    """That case with other values; `None` leaves a key out."""
    return {key: value for key, value in (READ | keys).items() if value is not None}


def write(folder: Path, cases: Sequence[Mapping[str, Any]], experiments: Mapping[str, str] | None = None) -> Path:
    """The folder with these cases, and the experiments beside `loops`."""
    (folder / "exps").mkdir(parents=True)
    loops = f'title = "loops"\n{STACK}{LOOP.format("program", 64)}{LOOP.format("read", 64)}'
    for name, text in {"loops": loops, **(experiments or {})}.items():
        (folder / "exps" / f"{name}.toml").write_text(text, encoding="utf-8")
    lines = "".join(f"{json.dumps(one)}\n" for one in cases)
    (folder / "published.jsonl").write_text(lines, encoding="utf-8")
    return folder


def row(name: str, kind: str, published: float, ratio: float | None) -> PublishedCase:
    """A case that was simulated; without `ratio` one that could not be."""
    return {
        "id": name,
        "kind": kind,
        "counted": not kind.endswith("*"),
        "quantity": "speed",
        "unit": "KiB/s",
        "published": published,
        "simulated": None if ratio is None else ratio * published,
        "ratio": ratio,
        "error": None if ratio is None else ratio - 1,
        "driver_0": None,
        "driver_0_ratio": None,
        "failure": "no space" if ratio is None else None,
        "board": "omap3evm",
        "experiment": "loops",
        "set_up": "a board",
        "unknown": "its clock",
        "not_simulated": "a script",
        "note": "",
        "source": "a thread",
        "reference": "",
    }


def evidence() -> Evidence:
    """Two kinds, a case that counts in no sum, and one that could not be simulated."""
    rows = [row(f"f{ratio}", "raw read", 9000, ratio) for ratio in (1.19, 0.82, 1.24, 3.0)]
    rows += [row("p", "raw program", 4000, 0.9), row("q", "raw program", 5000, None), row("v", "raw read*", 9, 100)]
    return study.told(rows, "board omap3evm; 1 run seen.", 1)
