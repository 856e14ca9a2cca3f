"""Lives in one table: reads what `ffslab lifetime --json` prints."""

import json
import sys

# Why a life ended where no call failed; others are told as they are called.
ENDS = {"limit": "it still works", "endurance": "a block has had its erases"}

print(f"{'':20}{'years':>10}{'worst write':>14}{'99 %, at most':>15}{'writes per erase':>18}  ends because")
for workload in json.load(sys.stdin)["workloads"]:
    for life in workload["lives"]:
        latency, ended = life["latency"], life["ended"]
        years = "over {:.3g}" if ended["by"] == "limit" else "{:.3g}"
        erases = life["erases"]["mean"] * life["stack"]["partition_blocks"]
        writes = latency["calls"] / life["repetitions_run"] * life["repetitions"]
        print(
            f"{life['stack']['fs']:20}{years.format(life['years']):>10}"
            f"{latency['max_us'] / 1000:>11,.1f} ms{latency['p99_us'] / 1000:>12,.1f} ms"
            f"{writes / erases:>18,.2f}  {ended['error'] or ENDS.get(ended['by'], ended['by'])}"
        )
