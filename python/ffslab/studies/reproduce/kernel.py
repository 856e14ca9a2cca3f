"""What the real Linux 2.6.37 did in the set-ups of the studies: the column between the published and the simulated one.

`linux-2.6.37/wear-gc.csv` and `readahead.csv` have a row a run of that kernel, on an emulated ARM board whose flash
counts exactly. Each run is a measured case; `python -m ffslab.studies.reproduce.kernel PAPER CASES.jsonl.gz` makes the
rows of such cases, and a test compares those that ship in `tests/measured`. The readings of the real kernel are made of
these rows by the functions that judge our own runs, as far as the rows reach. `wear-gc.toml` says which runs make
which set-up.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, cast

from ffslab.studies.reproduce.claims import Claims
from ffslab.studies.reproduce.rows import Measured, Row, StepDone, as_far_as_measured

# What a case file holds of a run: free JSON, whose format is that of measured cases.
Case = dict[str, Any]
Cells = dict[str, str]


# ---- the wear-levelling and garbage-collection study ------------------------------------------------------------


@cache
def set_ups() -> dict[str, Sequence[str]]:
    """The runs of the file that make each set-up, the inferred one first."""
    data = tomllib.loads(_file("wear-gc.toml"))
    return {one["name"]: one["runs"] for one in data["set_up"]}


def _wear_gc_row(case: Case) -> Cells | None:
    parts = case["id"].split("/")
    if parts[1] != "P":
        return None
    _, _, fs, run, pattern, size, gap = parts
    return {
        "run": run,
        "fs": fs,
        "op": _requests(case)["op"],
        "pattern": pattern,
        "gap_ms": gap.removeprefix("gap").removesuffix("ms"),
        "size_KiB": size.removesuffix("KiB"),
        "latency_mean_us": f"{case['expect']['latency_us']['mean']}",
        "erases_per_block": f"{fmean(case['expect'].get('erases_per_block', [0])):.6g}",
        "erases_per_block_sd": f"{pstdev(case['expect'].get('erases_per_block', [0])):.6g}",
    }


def _wear_gc_series(cells: Cells) -> Iterator[str]:
    pattern, run = cells["pattern"][0].upper(), cells["run"]
    if run.startswith("fill"):
        yield f"fill {run[4:6]}"
    elif cells["op"] == "read":
        yield f"{pattern}R"
    else:
        if cells["gap_ms"] == "0":
            yield f"{pattern}W"
        if pattern == "R":
            yield f"pause {cells['gap_ms']}"


def wear_gc() -> dict[str, Measured]:
    """The runs of each set-up, the inferred one first."""
    all_of = rows("wear-gc")
    return {name: _wear_gc_of(all_of, runs) for name, runs in set_ups().items()}


def _wear_gc_of(all_of: Sequence[Cells], runs: Sequence[str]) -> Measured:
    series, there = Measured(), set()
    for run in runs:
        for cells in (cells for cells in all_of if cells["run"] == run):
            for name in _wear_gc_series(cells):
                if (place := (name, cells["fs"], cells["size_KiB"])) in there:
                    continue
                there.add(place)
                row: Row = {
                    "fs": cells["fs"],
                    "uflip.io_size_B": f"{cells['size_KiB']} KiB",
                    "latency_mean_us": float(cells["latency_mean_us"]),
                    "erases_per_block": float(cells["erases_per_block"]),
                    "erases_per_block_sd": float(cells["erases_per_block_sd"]),
                }
                series.setdefault(name, []).append(row)
    return series


# ---- the read-ahead study ---------------------------------------------------------------------------------------


def _readahead_row(case: Case) -> Cells | None:
    name = case["id"].split("/")
    if case["family"] not in ("R1", "R2", "R3", "R4") or name[-1] != "hw-busy":
        return None
    requests, expect = _requests(case), {"latency_us": {}} | case["expect"]
    return {
        "family": case["family"],
        "fs": name[2],
        "file": "pieces" if "frag" in name else "whole",
        "file_B": str(requests["range_B"]),
        "read_ahead_KiB": name[3].removeprefix("ra"),
        "pattern": requests["pattern"],
        "size_KiB": str(requests["request_B"] >> 10),
        "count": str(requests["count"]),
        "gap_ms": str(requests["gap_us"] // 1000),
        # Of the requests alone: JFFS2's thread, which ends what the set-up began, reads some pages in the same time.
        "page_reads": str(expect["by_task"]["caller"]["page_reads"]),
        "latency_sum_us": f"{expect['latency_us'].get('sum', '')}",
        "latency_mean_us": f"{expect['latency_us'].get('mean', '')}",
    }


def readahead() -> dict[str, Measured]:
    """The one set-up that was run: aligned offsets, one draw of them, and a chip of 130.6 us a page."""
    names = {"R1": "number {}", "R2": "size {}", "R3": "think {}", "R4": "fragmented"}
    series, fragmented = Measured(), dict[str, StepDone]()
    for cells in rows("readahead"):
        name = names[cells["family"]].format(cells["pattern"])
        row: Row = {
            "fs": cells["fs"],
            "read_ahead_KiB": int(cells["read_ahead_KiB"]),
            "uflip.io_count": int(cells["count"]),
            "uflip.io_size_B": f"{cells['size_KiB']} KiB",
            "page_reads": int(cells["page_reads"]),
            "calls": int(cells["count"]),
            "latency_sum_us": float(cells["latency_sum_us"]),
            "latency_mean_us": float(cells["latency_mean_us"]),
        }
        series.setdefault(name, []).append(row)
        # As our run of it: JFFS2 with read-ahead, each file once, in order.
        of = name, cells["fs"], cells["pattern"], cells["file_B"], cells["read_ahead_KiB"]
        if of == ("fragmented", "jffs2", "sequential", "5242880", "128"):
            fragmented[cells["file"]] = _step(row["page_reads"], row["latency_sum_us"])
    series["think"] = series.pop("think sequential")
    del series["think random"]
    dropped = _step(0, 0.0)
    steps = [dropped, fragmented["whole"], dropped, fragmented["pieces"]]
    series["fragmented"] = [{"fs": "jffs2", "steps": steps}]
    return {"aligned offsets, one draw": series}


def _step(page_reads: int, us: float) -> StepDone:
    return {"page_reads": page_reads, "us": us, "uJ": 0.0, "read_shares": []}


# ---- files ------------------------------------------------------------------------------------------------------

STUDIES: Mapping[str, tuple[Callable[[Case], Cells | None], Callable[[], dict[str, Measured]]]] = {
    "wear-gc": (_wear_gc_row, wear_gc),
    "readahead": (_readahead_row, readahead),
}


def judged(paper: str, judge: Callable[[Claims, dict[str, list[Row]]], None]) -> dict[str, Claims]:
    """The claims of a paper as the real kernel meets them, by set-up; empty if it was not run for the paper."""
    made: dict[str, Claims] = {}
    if paper in STUDIES:
        for name, series in STUDIES[paper][1]().items():
            made[name] = Claims(paper)
            with as_far_as_measured(series):
                judge(made[name], series)
    return made


def rows_of_cases(paper: str, lines: Iterable[str]) -> list[Cells]:
    """The rows that measured cases, one JSON object a line, give for a paper."""
    row_of = STUDIES[paper][0]
    return [row for line in lines if (row := row_of(cast(Case, json.loads(line)))) is not None]


def _requests(case: Case) -> Case:
    return next(cast(Case, step) for step in case["measure"] if step["step"] == "requests")


def rows(paper: str) -> list[Cells]:
    """The measured runs of a paper, as the file holds them."""
    return list(csv.DictReader(io.StringIO(_file(f"{paper}.csv"))))


def _file(name: str) -> str:
    return files("ffslab.studies.reproduce").joinpath("linux-2.6.37", name).read_text(encoding="utf-8")


def _main(paper: str, path: str) -> None:
    text = gzip.decompress(Path(path).read_bytes()).decode()
    made = rows_of_cases(paper, text.splitlines())
    out = csv.DictWriter(sys.stdout, made[0], lineterminator="\n")
    out.writeheader()
    out.writerows(made)


if __name__ == "__main__":
    _main(*sys.argv[1:])
