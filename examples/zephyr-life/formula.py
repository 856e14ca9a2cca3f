"""Lives beside the formulas of Zephyr's documentation: reads what `ffslab lifetime --json` prints.

python formula.py BYTES: the size of the value that is set. How many values can be set until the block that is erased
most has had its erases.
"""

import json
import sys

value_bytes = int(sys.argv[1])

print(f"{'':12}{'sectors':>8}{'unit':>6}{'formula':>14}{'simulated':>14}{'ratio':>7}")
for workload in json.load(sys.stdin)["workloads"]:
    for life in workload["lives"]:
        stack, erases = life["stack"], life["endurance_erases"]
        keys = stack[stack["fs"].replace("-", "_")]
        sector_bytes, unit_bytes = keys["sector_size_B"], keys["write_block_B"]
        sectors = stack["partition_blocks"] * stack["erase_block_KiB"] * 1024 // sector_bytes
        if stack["fs"] == "zephyr-nvs":
            # doc/services/storage/nvs/nvs.rst, "Calculating expected device lifetime".
            formula = sectors * sector_bytes * erases / (value_bytes + 8)
        else:
            # doc/services/storage/zms/zms.rst, "Device lifetime calculation".
            formula = (sector_bytes - 80) * sectors * erases / (16 + (value_bytes if value_bytes > 8 else 0))
        values = life["latency"]["calls"] / life["repetitions_run"] * life["repetitions"]
        simulated = values * erases / life["erases"]["max"]
        print(
            f"{stack['fs']:12}{sectors:>8}{unit_bytes:>4} B{formula:>14,.0f}{simulated:>14,.0f}"
            f"{simulated / formula:>7.2f}"
        )
