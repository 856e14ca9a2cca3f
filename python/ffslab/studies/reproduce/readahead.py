"""The read-ahead study: what is read off its runs (`readahead_runs`), and its figures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Literal

from ffslab.sqlite.look_ups import SELECT_CPU_US
from ffslab.studies.reproduce.claims import ALIKE_POINTS, SLACK_POINTS, Claims, Judged, alike, falls, percent_list
from ffslab.studies.reproduce.readahead_runs import (
    FS,
    PATTERNS,
    POSTMARK,
    PUBLISHED_FS,
    SIZE_COUNTS,
    SIZES_KIB,
    STUDIED,
    planned,
)
from ffslab.studies.reproduce.rows import NotMeasuredError, Row, as_far_as_measured, chosen_of

__all__ = ["judge", "planned"]

Series = dict[str, list[Row]]

# UBIFS with the window forced on, which the paper did not run.
FORCED = " (forced on)"
NAMES = {fs: fs if fs in PUBLISHED_FS else fs + FORCED for fs in FS}
BYTES_PER_US = 1_000_000 / 2**20  # in the MB/s of table 1, whose values are whole bytes per us

Measure = Literal["latency_sum_us", "energy_uJ", "page_reads", "time_us"]
TIME: Measure = "latency_sum_us"
ENERGY: Measure = "energy_uJ"
READS: Measure = "page_reads"
# What steps say of it.
OF_STEPS: dict[Measure, Literal["us", "uJ", "page_reads"]] = {TIME: "us", ENERGY: "uJ", READS: "page_reads"}


def gains_of_draws(rows: list[Row], of: Measure = TIME, **chosen: object) -> list[float]:
    """Shares of `of` that are saved without read-ahead, in the pair of runs that `chosen` names, draw by draw."""
    pair = {row["read_ahead_KiB"]: row for row in chosen_of(rows, chosen)}
    if not pair:
        raise NotMeasuredError(str(chosen))
    without, ahead = (_draws(pair[kib], of) for kib in (0, 128))
    return [1 - b / a for a, b in zip(ahead, without, strict=True)]


def gain(rows: list[Row], of: Measure = TIME, **chosen: object) -> float:
    """The gain of the middle draw: on a board one draw is measured, and the mean depends on a few large windows."""
    return median(gains_of_draws(rows, of, **chosen))


def _draws(row: Row, of: Measure) -> list[float]:
    # Before each draw there is the step that drops the caches.
    key = OF_STEPS.get(of)
    if key and "steps" in row:
        return [step[key] for step in row["steps"][1::2]]
    if of not in row:
        raise NotMeasuredError(of)
    return [row[of]]


def by_number(series: Series, fs: str, pattern: str, of: Measure = TIME) -> dict[int, float]:
    """Gains by number of requests; of the real kernel not all numbers were measured."""
    rows = [row for row in series[f"number {pattern}"] if row["fs"] == fs]
    counts = sorted({row["uflip.io_count"] for row in rows})
    return {count: gain(rows, of, fs=fs, **{"uflip.io_count": count}) for count in counts}


def by_size(series: Series, fs: str, pattern: str, of: Measure = TIME) -> dict[tuple[int, int], float]:
    """Gains by number of requests and their size in KiB."""
    rows = [row for row in series[f"size {pattern}"] if row["fs"] == fs]
    there = {(row["uflip.io_count"], row["uflip.io_size_B"]) for row in rows}
    return {
        (count, size): gain(rows, of, **{"uflip.io_count": count, "uflip.io_size_B": f"{size} KiB"})
        for count in SIZE_COUNTS
        for size in SIZES_KIB
        if (count, f"{size} KiB") in there
    }


def throughputs(series: Series, fs: str, files: str, read_ahead_kib: int) -> list[float]:
    """Of read() when 25, 50 and 100 % of each of Postmark's files are read, in bytes per us."""
    wanted = {"fs": fs, "postmark.file": files, "read_ahead_KiB": read_ahead_kib}
    (row,) = chosen_of(series["postmark"], wanted)
    at_shares = zip(*row["steps"][0]["read_shares"], strict=True)
    return [sum(run["read_B"] for run in runs) / sum(run["read_us"] for run in runs) for runs in at_shares]


def slowed(series: Series, fs: str, files: str) -> list[float]:
    """Throughput with read-ahead over that without, at the three shares."""
    pairs = zip(throughputs(series, fs, files, 128), throughputs(series, fs, files, 0), strict=True)
    return [ahead / without for ahead, without in pairs]


def judge(claims: Claims, series: Series) -> None:
    """Puts our readings, or those of the real kernel as far as it was measured, beside every claim."""
    with as_far_as_measured(series):
        _judge_postmark(claims["RA-1"], series)
    with as_far_as_measured(series):
        _judge_think(claims["RA-2"], series)
    _judge_number(claims, series)
    _judge_random(claims["RA-5"], series)
    _judge_size(claims, series)
    with as_far_as_measured(series):
        _judge_sqlite(claims["RA-9"], series)
    _judge_levels(claims, series)


def _judge_postmark(claim: Judged, series: Series) -> None:
    for fs in FS:
        ours = slowed(series, fs, STUDIED)
        if fs in PUBLISHED_FS:
            on, off = claim.values("on_MB_per_s", fs), claim.values("off_MB_per_s", fs)
            for share, value, with_it, without in zip((25, 50, 100), ours, on, off, strict=True):
                claim.number(f"{fs}, {share} % read", with_it / without, value)
            rates = [[rate * BYTES_PER_US for rate in throughputs(series, fs, STUDIED, kib)] for kib in (128, 0)]
            claim.evidence.append(
                f"{fs}: {_megabytes(rates[0])} MB/s with read-ahead (published {_megabytes(on)}), "
                f"{_megabytes(rates[1])} without ({_megabytes(off)})"
            )
        rises = ours == sorted(ours) and abs(ours[-1] - 1) < 0.02
        values = ", ".join(f"{value:.2f}" for value in ours)
        claim.shape(f"{NAMES[fs]}, order", "slower in part, equal in whole", values, rises)
    first, second = (throughputs(series, fs, STUDIED, 0)[-1] for fs in PUBLISHED_FS)
    claim.shape("whole files, JFFS2 against YAFFS2", "slower", f"{first / second:.2f} of it", first < second)
    claim.evidence.append("sizes are not published: those of the readings are inferred from 25 % on yaffs2")
    for files in POSTMARK:
        values = "; ".join(f"{fs} " + ", ".join(f"{v:.2f}" for v in slowed(series, fs, files)) for fs in PUBLISHED_FS)
        claim.evidence.append(f"files of {files}: {values} at 25, 50, 100 %")


def _megabytes(rates: list[float]) -> str:
    return ", ".join(f"{rate:.1f}" for rate in rates)


def _judge_think(claim: Judged, series: Series) -> None:
    for fs in FS:
        means = [row["latency_mean_us"] for row in series["think"] if row["fs"] == fs and row["read_ahead_KiB"]]
        text = f"{min(means):.1f} to {max(means):.1f} us"
        claim.shape(f"{NAMES[fs]}, mean latency over 0 to 100 ms", "constant", text, max(means) <= 1.02 * min(means))


def _judge_number(claims: Claims, series: Series) -> None:
    gains = {(fs, pattern): by_number(series, fs, pattern) for fs in FS for pattern in PATTERNS}
    never, few, whole = (claims[f"RA-{number}"] for number in (3, 4, 6))
    for pattern in PATTERNS:
        for fs in FS:
            lowest = min(gains[fs, pattern].values())
            never.shape(f"{NAMES[fs]} {pattern}, least gain", "0 % or more", f"{lowest * 100:.1f} %", lowest >= -1e-9)
        for other in FS[1:]:
            curves = (list(gains[fs, pattern].values()) for fs in ("jffs2", other))
            apart, holds = alike(*curves)
            never.shape(f"{pattern}, jffs2 against {NAMES[other]}", "same curve", apart, holds)
    with as_far_as_measured(series):
        left = [row[TIME] for row in series["alone"]]
        without = [
            row[TIME] for row in series["number sequential"] if row["fs"] == "ubifs" and not row["read_ahead_KiB"]
        ]
        off = max(abs(a / b - 1) for a, b in zip(left, without, strict=True))
        never.shape("ubifs as it is, against no read-ahead", "switched off", f"{off * 100:.1f} % apart", off < 1e-9)
    for fs in FS:
        saved = by_number(series, fs, "sequential", READS)
        ours = [value for count, value in saved.items() if count < 64]
        least = few.value("page_reads_gain_min")
        few.shape(
            f"{NAMES[fs]}, page reads saved at 8, 16, 32", "more than 50 %", percent_list(ours), min(ours) > least
        )
        by_count = list(saved.values())
        few.shape(f"{NAMES[fs]}, saved by number of requests", "falls", percent_list(by_count), falls(by_count))
        last = gains[fs, "sequential"][1024]
        holds = last == min(gains[fs, "sequential"].values()) and last <= whole.value("gain_max")
        whole.shape(f"{NAMES[fs]}, 1024 requests", "minimal", f"{last * 100:.1f} %", holds)
        with as_far_as_measured(series):
            per_request = _per_request(series, fs)
            never.evidence.append(
                f"{fs}: {per_request[0]:.1f} page reads for each aligned random request of 4 KiB without, "
                f"{per_request[128]:.1f} with; {_cpu_share(series, fs) * 100:.0f} % of the time without is CPU"
            )


def _per_request(series: Series, fs: str) -> dict[int, float]:
    """Page reads of one aligned random request of 4 KiB, by read-ahead."""
    rows = [row for row in series["number aligned"] if row["fs"] == fs and row["uflip.io_count"] == 32]
    return {row["read_ahead_KiB"]: row[READS] / row["calls"] for row in rows}


def _cpu_share(series: Series, fs: str) -> float:
    rows = [row for row in series["number random"] if row["fs"] == fs and not row["read_ahead_KiB"]]
    return float(sum(row["cpu_us"] for row in rows) / sum(row["time_us"] for row in rows))


def _judge_random(claim: Judged, series: Series) -> None:
    for fs in FS:
        gains = by_number(series, fs, "random")
        if fs in PUBLISHED_FS:
            for count, published in claim.table("gain").items():
                with as_far_as_measured(series):
                    claim.number(f"{fs}, {count} requests", published, _at(gains, int(count)), "%")
        with as_far_as_measured(series):
            rises = _at(gains, 32) < _at(gains, 256) and gains[1024] < gains[256]
            claim.shape(f"{NAMES[fs]}, 8 to 1024", "rises to 256", percent_list(list(gains.values())), rises)
        counts = ", ".join(map(str, gains))
        claim.evidence.append(f"{fs}, {counts} requests: {percent_list(list(gains.values()))}")
    for fs in PUBLISHED_FS:
        with as_far_as_measured(series):
            draws = gains_of_draws(series["number random"], TIME, fs=fs, **{"uflip.io_count": 32})
            claim.evidence.append(f"{fs}, draws of 32 requests: {percent_list(sorted(draws))}")
            for name, what in (
                ("aligned", "offsets that are multiples of 4 KiB"),
                ("6.1", "by the rules of Linux 6.1"),
            ):
                others = percent_list(list(by_number(series, fs, name).values()))
                claim.evidence.append(f"{fs}, {what}: {others} for 8 to 1024 requests")


def _at(gains: dict[int, float], count: int) -> float:
    if count not in gains:
        raise NotMeasuredError(f"{count} requests")
    return gains[count]


def _judge_size(claims: Claims, series: Series) -> None:
    claim, most = claims["RA-7"], claims["RA-8"]
    for fs in FS:
        ordered, random = (by_size(series, fs, pattern) for pattern in PATTERNS)
        few = [gain for (count, _), gain in ordered.items() if count == 32]
        holds = falls(few) and falls([gain for (_, size), gain in ordered.items() if size == 4])
        claim.shape(f"{NAMES[fs]} sequential, 32 requests, 2 to 32 KiB", "falls", percent_list(few), holds)
        stable = [value for key, value in random.items() if key != (1024, 32)]
        spread = (max(stable) - min(stable)) * 100
        text = f"{min(stable) * 100:.0f} to {max(stable) * 100:.0f} %"
        claim.shape(f"{NAMES[fs]} random, all but 1024 x 32 KiB", "stable", text, spread <= ALIKE_POINTS)
        of_2, of_4 = (random[32, size] for size in (2, 4))
        claim.shape(f"{NAMES[fs]} random, 2 against 4 KiB", "more", percent_list([of_2, of_4]), of_2 > of_4)
        with as_far_as_measured(series):
            of_32_kib = {count: gain for (count, size), gain in random.items() if size == 32}
            holds = _at(of_32_kib, 1024) < _at(of_32_kib, 512) - SLACK_POINTS / 100
            gains = percent_list(list(of_32_kib.values()))
            claim.shape(f"{NAMES[fs]} random, 32 KiB, 32 to 1024 requests", "last is lowest", gains, holds)
        with as_far_as_measured(series):
            time, energy = (
                [value for pattern in PATTERNS for value in by_size(series, fs, pattern, of).values()]
                for of in (TIME, ENERGY)
            )
            claim.shape(f"{NAMES[fs]}, energy against time", "same curves", *alike(time, energy))
        by_request = [gain for (count, _), gain in random.items() if count == 32]
        claim.evidence.append(f"{fs} random, 32 requests of 2 to 32 KiB: {percent_list(by_request)}")
    with as_far_as_measured(series):
        claim.evidence.append(_windows(series))
    for of, name in ((TIME, "time"), (ENERGY, "energy")):
        for pattern in PATTERNS:
            with as_far_as_measured(series):
                ours = [value for fs in PUBLISHED_FS for value in by_size(series, fs, pattern, of).values()]
                ours += [value for fs in PUBLISHED_FS for value in by_number(series, fs, pattern, of).values()]
                most.number(f"{pattern}, {name}, up to", most.value("gain", pattern), max(ours), "%")


def _windows(series: Series) -> str:
    """How much a random request reads, with and without read-ahead: on YAFFS2 a page of 4 KiB is 2 pages of flash."""
    lines = []
    for kib in (0, 128):
        wanted = {"fs": "yaffs2", "uflip.io_count": 128, "read_ahead_KiB": kib}
        rows = chosen_of(series["size random"], wanted)
        lines.append(", ".join(f"{row[READS] / row['calls'] / 2:.1f}" for row in rows))
    return f"a random request of 2 to 32 KiB reads {lines[0]} pages of 4 KiB without read-ahead and {lines[1]} with it"


def look_up_gains(
    rows: list[Row], fs: str, pattern: str, of: Measure = "time_us", select_cpu_us: float = SELECT_CPU_US
) -> dict[tuple[str, int], float]:
    """Gains by kind of texts and number of records. With other computing of SQLite for a statement, of time alone."""
    more_us = select_cpu_us - SELECT_CPU_US
    chosen = [
        row | {"time_us": row["time_us"] + row["selects"] * more_us}
        for row in rows
        if row["fs"] == fs and row["pattern"] == pattern
    ]
    keys = dict.fromkeys((row["kind"], row["records"]) for row in chosen)
    return {(kind, records): gain(chosen, of, kind=kind, records=records) for kind, records in keys}


def _mean(gains: dict[tuple[str, int], float], least: int = 1, most: int = 1000) -> float:
    """The mean gain of the runs that select from `least` to `most` records."""
    values = [value for (_, records), value in gains.items() if least <= records <= most]
    return sum(values) / len(values)


def _judge_sqlite(claim: Judged, series: Series) -> None:
    rows = series["sqlite"]
    for pattern, fs in product(PATTERNS, PUBLISHED_FS):
        time, energy = (look_up_gains(rows, fs, pattern, of) for of in ("time_us", ENERGY))
        for what, gains in (("time", time), ("energy", energy)):
            published = claim.value(f"{what}_gain_mean", pattern, fs)
            claim.number(f"{fs} {pattern}, mean {what} gain", published, _mean(gains), "%")
        if pattern == "random":
            published = claim.value("time_gain_max", pattern, fs)
            claim.number(f"{fs} random, largest time gain", published, max(time.values()), "%")
    for fs in FS:
        for kind in ("small", "large"):
            values = [value for (of, _), value in look_up_gains(rows, fs, "random").items() if of == kind]
            claim.shape(f"{NAMES[fs]} random, {kind}, 1 to 1000 records", "falls", percent_list(values), falls(values))
        values = [value for (of, _), value in look_up_gains(rows, fs, "sequential").items() if of == "small"]
        claim.evidence.append(f"{fs} in order, small, 1 to 1000 records: {percent_list(values)}")
    claim.evidence += _other_databases(series)
    claim.evidence += _other_assumptions(claim, series)


# What the paper does not say: how long SQLite computes for a statement, how many records its runs select.
OTHER_CPU_US = (0, 100, 200, 450, 1000, 2000, 4000)
OTHER_RECORDS = ((1, 1000), (1, 100), (10, 100), (50, 500), (100, 1000))


def _other_assumptions(claim: Judged, series: Series) -> Iterator[str]:
    """Mean gains under other assumptions, whether they can all be the published ones."""
    published: dict[tuple[str, str], float] = {
        (fs, pattern): claim.value("time_gain_mean", pattern, fs) for pattern in PATTERNS for fs in PUBLISHED_FS
    }
    together = [row for row in series["sqlite other"] if row["selects_together"]]

    def means(rows: list[Row], cpu_us: float, records: tuple[int, int]) -> list[float]:
        return [_mean(look_up_gains(rows, *of, select_cpu_us=cpu_us), *records) for of in published]

    def apart(ours: list[float]) -> float:
        return max(abs(mean - theirs) for mean, theirs in zip(ours, published.values(), strict=True))

    names = ", ".join(f"{fs} {pattern}" for fs, pattern in published)
    yield f"published means: {percent_list(list(published.values()))} ({names})"
    for records in OTHER_RECORDS[:2]:
        for cpu_us in (OTHER_CPU_US[0], round(SELECT_CPU_US), OTHER_CPU_US[-1]):
            ours = percent_list(means(series["sqlite"], cpu_us, records))
            yield f"{cpu_us} us of SQLite for a statement, runs of {_range(records)} records: {ours}"
    all_of = list(product((series["sqlite"], together), OTHER_CPU_US, OTHER_RECORDS))
    rows, cpu_us, records = nearest = min(all_of, key=lambda assumed: apart(means(*assumed)))
    yield (
        f"nearest of {len(all_of)} assumptions: {cpu_us} us, runs of {_range(records)} records, "
        f"{'one transaction' if rows is together else 'each statement a transaction'}: "
        f"{percent_list(means(*nearest))}, up to {apart(means(*nearest)) * 100:.0f} points from the published ones"
    )


def _range(records: tuple[int, int]) -> str:
    return f"{records[0]} to {records[1]}"


def _other_databases(series: Series) -> Iterator[str]:
    alone = [row for row in series["sqlite"] + series["sqlite other"] if not row["selects_together"]]
    for fs, records in product(PUBLISHED_FS, sorted({row["in_transaction"] for row in alone})):
        rows = [row for row in alone if row["kind"] == "small" and row["in_transaction"] == records]
        means = [_mean(look_up_gains(rows, fs, pattern)) for pattern in PATTERNS]
        yield f"{fs}, small, {records} records inserted in a transaction: {percent_list(means)} in order, at random"
    for fs in PUBLISHED_FS:
        rows = [row for row in series["sqlite other"] if row["selects_together"]]
        means = [_mean(look_up_gains(rows, fs, pattern)) for pattern in PATTERNS]
        yield f"{fs}, all look-ups of a run in one transaction: {percent_list(means)} in order, at random"


def _judge_levels(claims: Claims, series: Series) -> None:
    with as_far_as_measured(series):
        claim, row = claims["FFS-1"], series["writes"][0]
        cpu, least = row["cpu_us"] / row["time_us"], claim.value("flash_share_min")
        claim.shape("share of time on flash", "most", f"{(1 - cpu) * 100:.1f} %", 1 - cpu > least)
        claim.shape("share of time on the CPU", "the rest", f"{cpu * 100:.1f} %", cpu > 0)
    claim, steps = claims["FFS-2"], series["fragmented"][0]["steps"]
    kinds: tuple[tuple[Literal["page_reads", "us"], str], ...] = (("page_reads", "page reads"), ("us", "us"))
    for key, unit in kinds:
        # Caches are dropped before each.
        whole, pieces = steps[1][key], steps[3][key]
        claim.shape(f"{unit}", "more in pieces", f"{whole:,.0f} whole, {pieces:,.0f} in pieces", pieces > whole)
    with as_far_as_measured(series):
        _judge_second_read(claims["VFS-1"], series)


def _judge_second_read(claim: Judged, series: Series) -> None:
    for row in series["twice"]:
        _, first, second = row["steps"]
        text = f"{second['page_reads']} page reads, {second['uJ']:.0f} of {first['uJ']:.0f} uJ"
        claim.shape(
            f"{row['fs']}, second read", "none, less", text, not second["page_reads"] and second["uJ"] < first["uJ"]
        )
