"""The jobs of fio in a table."""

from __future__ import annotations

from ffslab.answers.summary import FioReport, Latency, VariantSummary
from ffslab.text.units import column


def report(variant: VariantSummary) -> FioReport:
    """What the `fio` step of a variant did."""
    return next(done for step in variant["steps"] if (done := step.get("fio")) is not None)


ALIGN = "ll" + "r" * 7


def job_cells(done: FioReport) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a `fio` step: what each job read, wrote and synced, and how it failed."""
    names: list[list[str]] = []
    figures: list[list[float | None]] = []
    for job in done["jobs"]:
        for direction in ("read", "write"):
            moved = job[direction]
            if moved["total_ios"]:
                names.append([job["jobname"], direction])
                amounts = [moved["total_ios"], moved["iops"], moved["bw_bytes"] / 1024]
                figures.append([*amounts, *_times_us(moved["clat_ns"])])
        if job["sync"]["total_ios"]:
            names.append([job["jobname"], "sync"])
            figures.append([job["sync"]["total_ios"], None, None, *_times_us(job["sync"]["lat_ns"])])
        if job["error"]:
            names.append([job["jobname"], job.get("error_name") or ""])
            figures.append([None] * 7)
    columns = list(zip(*figures, strict=True)) or [()] * 7
    shown = [
        column("requests", "count", columns[0]),
        column("IOPS", "ratio", columns[1], 1),
        column("KiB/s", "ratio", columns[2], 1),
        *(column(name, "time", times) for name, times in zip(("mean", "p50", "p99", "max"), columns[3:], strict=True)),
    ]
    rows = [[*name, *(cells[at + 1] for cells in shown)] for at, name in enumerate(names)]
    return ["job", "", *(cells[0] for cells in shown)], rows


def _times_us(latency: Latency) -> list[float]:
    """Mean, median, 99th percentile and most of a latency."""
    percentile = {float(share): value for share, value in latency["percentile"].items()}
    return [ns / 1e3 for ns in (latency["mean"], percentile[50.0], percentile[99.0], latency["max"])]
