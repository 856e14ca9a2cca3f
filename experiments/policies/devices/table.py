"""Victim policies, mappings and levellers on four workloads, in one table.

    python experiments/policies/devices/table.py docs/worked/translation-layers.csv

runs the four experiments of this folder, writes a row for each of their variants, and prints the write amplification
in Markdown: a row for each mapping and leveller, a column for each victim policy. Block maps and log blocks do not
ask a victim policy, so their columns are alike. What has no row did not end: with 15 % spare, DFTL under a policy that
takes old blocks can come to where collection costs as many pages of the map as it gives.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from ffslab import Experiment

HERE = Path(__file__).parent
WORKLOADS = ("uniform", "zipf", "sequential", "sqlite-day")
SCAN = "FTL recovery scan"
KINDS = ("switch", "partial", "full")
COLUMNS = (
    *("workload", "mapping", "victim", "levelling", "write_amplification"),
    *(f"{kind}_merges" for kind in KINDS),
    *("erases_mean", "erases_sd", "erases_max", "latency_p99_9_us", "map_B", "recovery_us"),
)


def rows_of(workload: str) -> list[dict[str, Any]]:
    """A row for each variant of one workload."""
    run = Experiment.from_file(HERE / f"{workload}.toml").run()
    erases = run.blocks.groupby("variant")["erases_main"].max()
    rows = []
    for one in run.summary["variants"]:
        counters = one.get("counters", {})
        # Pages of the host that the layer itself counted: RTEMS writes some of them from its cache, later.
        host_pages = counters["ftl_host_pages"]
        spent = {cause["reason"]: cause for cause in one["by_cause"]}
        rows.append(
            {
                "workload": workload,
                "mapping": one["axes"]["device.ftl"],
                "victim": one["axes"]["policy.victim"],
                "levelling": one["axes"]["policy.levelling"],
                "write_amplification": round(one["totals"]["page_programs"] / host_pages, 3),
                **{f"{kind}_merges": int(counters.get(f"ftl_{kind}_merges", 0)) for kind in KINDS},
                "erases_mean": round(one["erases_per_block"]["mean"], 2),
                "erases_sd": round(one["erases_per_block"]["sd"], 2),
                "erases_max": int(erases[one["name"]]),
                "latency_p99_9_us": one["latency_us"]["p99_9"],
                "map_B": one["flash"]["map_B"],
                "recovery_us": round(spent[SCAN]["busy_us"], 1) if SCAN in spent else None,
            }
        )
    return rows


def markdown(rows: list[dict[str, Any]]) -> str:
    """Write amplification: a row for each workload, mapping and leveller, a column for each victim policy."""
    victims = list(dict.fromkeys(row["victim"] for row in rows))
    lines = [
        "| workload | mapping | levelling | " + " | ".join(victims) + " |",
        "|---|---|---" + "|---:" * len(victims) + "|",
    ]
    places = dict.fromkeys((row["workload"], row["mapping"], row["levelling"]) for row in rows)
    for place in places:
        of = {row["victim"]: row for row in rows if (row["workload"], row["mapping"], row["levelling"]) == place}
        cells = (f"{of[victim]['write_amplification']:.2f}" if victim in of else "-" for victim in victims)
        lines.append("| " + " | ".join([*place, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    rows = [row for workload in WORKLOADS for row in rows_of(workload)]
    with Path(sys.argv[1]).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
