"""One table from the estimates that the benchmarks left behind (`make bench`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ffslab.text.tables import text_table

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))


def main() -> None:
    """Prints a row per benchmark: time of one iteration, its 95 % interval, and the rate where one is declared."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    rows = [_row(path.parent) for path in sorted((target / "criterion").rglob("new/estimates.json"))]
    if not rows:
        raise SystemExit(f"{target / 'criterion'}: no estimates there; run `make bench`")
    print(text_table(["benchmark", "one iteration", "95 % interval", "rate"], rows, "lrrr"))


def _row(folder: Path) -> list[str]:
    mean = json.loads((folder / "estimates.json").read_text(encoding="utf-8"))["mean"]
    benchmark: dict[str, Any] = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
    interval = mean["confidence_interval"]
    spread = f"{_time(interval['lower_bound'])} .. {_time(interval['upper_bound'])}"
    return [benchmark["full_id"], _time(mean["point_estimate"]), spread, _rate(benchmark, mean["point_estimate"])]


def _time(time_ns: float) -> str:
    scale, unit = next((scale, unit) for scale, unit in UNITS if time_ns >= scale or scale == 1.0)
    return f"{time_ns / scale:.3g} {unit}"


def _rate(benchmark: dict[str, Any], time_ns: float) -> str:
    throughput = benchmark.get("throughput") or {}
    if "Elements" in throughput:
        return f"{throughput['Elements'] / time_ns * 1e3:.3g} M/s"
    if "Bytes" in throughput:
        return f"{throughput['Bytes'] / time_ns * 1e9 / 2**20:,.0f} MiB/s"
    return ""


if __name__ == "__main__":
    main()
