"""Rows of a published study's runs as they are planned, with made-up values: its figures are made in no time."""

from __future__ import annotations

import random
from itertools import product
from typing import Any, cast

from ffslab.studies.reproduce import PAPERS
from ffslab.studies.reproduce.rows import Row

RECORDS = (1, 10, 100, 1000)
# As many as any run has.
STEPS = 40
Axes = dict[str, Any]


def series_of(paper: str) -> dict[str, list[Row]]:
    """Of each planned run a row for each combination of its axes."""
    values = random.Random(0)
    series: dict[str, list[Row]] = {}
    for run in PAPERS[paper].planned():
        rows = series.setdefault(run.series, [])
        if run.look_ups is not None:
            asked = run.look_ups
            told: Axes = {"in_transaction": asked.in_transaction, "selects_together": asked.selects_together}
            for pattern, records, kib in product(("sequential", "random"), RECORDS, (0, 128)):
                axes = {"pattern": pattern, "records": records, "read_ahead_KiB": kib, "selects": records}
                rows.append(_row(told | axes | {"fs": asked.fs, "kind": asked.kind}, values))
            continue
        experiment = cast(Axes, run.experiment)
        listed = experiment.get("axes") or {}
        keys = {key: experiment["stack"][key] for key in ("fs", "fs_block_B") if key in experiment["stack"]}
        for chosen in product(*listed.values()):
            rows.append(_row(keys | dict(zip(listed, chosen, strict=True)), values))
    return series


def _row(axes: Axes, values: random.Random) -> Row:
    def some() -> float:
        return values.uniform(1, 100)

    rails = {"cpu": some(), "memory": some()}
    shares = [[{"read_B": 1000, "read_us": some()} for _ in range(3)]]
    steps = [{"page_reads": 10, "us": some(), "uJ": some(), "read_shares": shares} for _ in range(STEPS)]
    made = {
        **dict.fromkeys(("latency_sum_us", "latency_mean_us", "cpu_us", "energy_uJ", "erases_per_block"), 0.0),
        "time_us": 1e3 * axes.get("mtd_loop.count", some()) + some(),
        "calls": 10,
        "page_reads": 10,
        "page_programs": 10,
        "erases": 10,
        "erases_per_block_sd": some(),
        "rails_uJ": rails,
        "with_idle_uJ": rails,
        "flash": {
            "t_read_us": 25,
            "t_program_us": 200,
            "t_erase_us": 500,
            "page_B": 2048,
            "oob_B": 64,
            "bus_ns_per_B": 50,
        },
        "read_B": 1000,
        "written_B": 1000,
        "counters": {},
        "files": [1],
        "job_errors": [],
        "spent_us": {"idle": 1.0, "read": 1.0},
        "steps": steps,
    }
    made |= {key: some() for key, value in made.items() if value == 0.0 and isinstance(value, float)}
    return cast(Row, made | axes)
