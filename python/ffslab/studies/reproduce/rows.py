"""What runs of the studies did: rows of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypedDict, cast

from ffslab.answers.summary import FlashSummary, ReadShare, VariantSummary

Rail = Literal["cpu", "memory"]
RAILS: tuple[Rail, ...] = ("cpu", "memory")


class Rails(TypedDict):
    """Energy by rail, in uJ."""

    cpu: float
    memory: float


class StepDone(TypedDict):
    """What a step of a run took."""

    page_reads: int
    us: float
    uJ: float
    # Of each run of Postmark.
    read_shares: list[list[ReadShare]]


# A variant of an experiment with the values of its axes, or look-ups in a data base: each has the keys that it knows.
Row = TypedDict(
    "Row",
    {
        # Axes.
        "fs": str,
        "read_ahead_KiB": int,
        "mtd_loop.count": int,
        "uflip.io_count": int,
        "uflip.io_size_B": str,
        "uflip.pause_us": str,
        "postmark.file": str,
        "fio.file": str,
        "requests.op": str,
        "fs_block_B": int,
        "cluster_B": int,
        "bdbuf_cache_KiB": int,
        # What was done.
        "time_us": float,
        "calls": int,
        "latency_mean_us": float,
        "latency_sum_us": float,
        "page_reads": int,
        "page_programs": int,
        "erases": int,
        "cpu_us": float,
        "erases_per_block": float,
        "erases_per_block_sd": float,
        "energy_uJ": float,
        "rails_uJ": Rails,
        "with_idle_uJ": Rails | None,
        "flash": FlashSummary | None,
        "read_B": int,
        "written_B": int,
        "counters": dict[str, int],
        "files": list[int | None],
        "job_errors": list[str | None],
        "spent_us": dict[str, float],
        "steps": list[StepDone],
        # Of look-ups.
        "kind": str,
        "pattern": str,
        "records": int,
        "selects": int,
        "in_transaction": int,
        "selects_together": bool,
    },
    total=False,
)


class NotMeasuredError(Exception):
    """A run that a reading needs was not made on the real kernel."""


class Measured(dict[str, list[Row]]):
    """Series of runs of the real kernel. One that was not run ends the reading that asks for it."""

    def __missing__(self, series: str) -> list[Row]:
        raise NotMeasuredError(series)


@contextmanager
def as_far_as_measured(series: Mapping[str, list[Row]]) -> Iterator[None]:
    """Leaves out a reading of the real kernel for which runs are missing. Where one of ours is, that is an error."""
    try:
        yield
    except NotMeasuredError:
        if not isinstance(series, Measured):
            raise


def chosen_of(rows: Iterable[Row], wanted: Mapping[str, object]) -> list[Row]:
    """The rows that have these values under these keys."""

    def fits(row: Mapping[str, object]) -> bool:
        return all(row[key] == value for key, value in wanted.items())

    return [row for row in rows if fits(row)]


# Steps whose calls the programs of the papers did not time: they are around what was measured.
_AROUND = frozenset(["open", "close", "fsync", "sync", "create", "rename", "unlink", "stat"])


def _timed(variant: VariantSummary) -> tuple[int, float, float | None]:
    """Number, sum and mean of the latencies that the programs of the papers timed."""
    steps = [step["latency_us"] for step in variant["steps"] if step["step"].split()[0] not in _AROUND]
    timed = [latency for latency in steps if latency["n"]]
    if len(timed) == 1:
        return timed[0]["n"], timed[0]["sum"], timed[0]["mean"]
    calls, sum_us = sum(latency["n"] for latency in timed), sum(latency["sum"] for latency in timed)
    return calls, sum_us, sum_us / calls if calls else None


def row_of(variant: VariantSummary) -> Row:
    """What a variant of an experiment did."""
    from ffslab.text.time_table import spent

    # Axes of a study are keys of `Row`.
    axes = cast("Row", variant["axes"])
    totals = variant["totals"]
    calls, sum_us, mean_us = _timed(variant)
    row: Row = {
        **axes,
        "time_us": variant["time_us"],
        "calls": calls,
        "latency_sum_us": sum_us,
        "page_reads": totals["page_reads"],
        "page_programs": totals["page_programs"],
        "erases": totals["erases"],
        "cpu_us": totals["cpu_us"],
        "erases_per_block": variant["erases_per_block"]["mean"],
        "erases_per_block_sd": variant["erases_per_block"]["sd"],
        "with_idle_uJ": variant["energy_with_idle_uJ"],
        "flash": variant["flash"],
        "read_B": variant["user_read_B"],
        "written_B": variant["user_written_B"],
        "counters": variant.get("counters", {}),
        "files": [step["files"] for step in variant["steps"]],
        "job_errors": [
            job.get("error_name")
            for step in variant["steps"]
            if (done := step.get("fio")) is not None
            for job in done["jobs"]
            if job["error"]
        ],
        "spent_us": spent(variant),
        "steps": [
            {
                "page_reads": step["counts"]["page_reads"],
                "us": step["elapsed_us"],
                "uJ": 0.0 if step["energy_uJ"] is None else step["energy_uJ"]["total"],
                # Of each run of Postmark.
                "read_shares": [done["read_shares"] for done in step.get("postmark", [])],
            }
            for step in variant["steps"]
        ],
    }
    if (energy := variant["energy_uJ"]) is not None:
        row["energy_uJ"] = energy["total"]
        row["rails_uJ"] = energy
    if mean_us is not None:
        row["latency_mean_us"] = mean_us
    return row
