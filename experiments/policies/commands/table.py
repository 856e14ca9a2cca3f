"""What cache commands and copy-back save below translation layers, in one table.

    python experiments/policies/commands/table.py

runs the experiment of this folder and prints in Markdown how long a request of 64 KiB takes, its share of the flush at
the end included: a row for each mapping and kind of request, a column for each set of commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ffslab import Experiment

EXPERIMENT = Path(__file__).parent / "requests.toml"
# Cache commands, copy-back.
SETS = {
    (False, False): "usual commands",
    (True, False): "cache commands",
    (False, True): "copy-back",
    (True, True): "both",
}
KINDS = {
    ("write", "sequential"): "writes in a row",
    ("write", "random"): "writes by chance",
    ("read", "sequential"): "reads in a row",
    ("read", "random"): "reads by chance",
}


def times_us(variants: list[Any]) -> dict[tuple[str, str, str], float]:
    """Microseconds of a request by mapping, kind of request and commands."""
    times = {}
    for one in variants:
        axes = one["axes"]
        device = axes["device"]
        commands = SETS[bool(device.get("cache_commands")), "copy_back" in device]
        kind = KINDS[axes["requests.op"], axes["requests.pattern"]]
        times[device["ftl"], kind, commands] = one["time_us"] / one["steps"][0]["requests_done"]
    return times


def markdown() -> str:
    times = times_us(Experiment.from_file(EXPERIMENT).run().summary["variants"])
    lines = [
        "| us a request of 64 KiB | " + " | ".join(SETS.values()) + " |",
        "|---|" + "---:|" * len(SETS),
    ]
    for mapping, kind in dict.fromkeys((mapping, kind) for mapping, kind, _ in times):
        cells = [f"{times[mapping, kind, commands]:,.0f}" for commands in SETS.values()]
        lines.append(f"| {mapping}, {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
