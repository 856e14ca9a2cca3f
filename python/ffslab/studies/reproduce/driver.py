"""The driver level: loops of operations below every file system, and the mean power of what runs above it.

The method is that of the slides: the total time of n operations for several n, and a straight line through them, whose
slope is the time of one; the mean power while a loop runs, times that time, is its energy. The board's profile holds
the published times and energies, so DRV-1 and DRV-2 check the way from the profile through chip, bus and driver and
back, no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ffslab import steps
from ffslab.answers.typed_keys import MtdOp, Pattern
from ffslab.api.steps import DROP_CACHES, MOUNT, SYNC, Data, opened
from ffslab.studies.calibrate import Fit, Observations, fit
from ffslab.studies.reproduce.claims import ALIKE_POINTS, Claims, Judged
from ffslab.studies.reproduce.rows import RAILS, Rail, Row
from ffslab.studies.reproduce.runs import LookUps, PlannedRun

OPERATIONS: tuple[MtdOp, ...] = ("read", "program", "erase")
COUNTERS: tuple[Literal["page_reads", "page_programs", "erases"], ...] = ("page_reads", "page_programs", "erases")
# Of erases those of the slides' figure.
COUNTS = {
    "read": (256, 512, 1024, 2048, 4096),
    "program": (256, 512, 1024, 2048, 4096),
    "erase": (50, 100, 200, 400, 800),
}
EXAMPLE = 32768
FS = ("jffs2", "yaffs2")
PATTERNS: tuple[Pattern, ...] = ("sequential", "random")
READ_AHEAD_KIB = {"on": 128, "off": 0}

Series = dict[str, list[Row]]
Energy = Literal["rails_uJ", "with_idle_uJ"]

_BOARD = {"board": "omap3evm", "kernel": "2.6.37", "compression": "none"}


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    runs = [PlannedRun(f"sqlite {fs}", look_ups=LookUps(fs, "large")) for fs in FS]
    runs.append(PlannedRun("example", _loop("read", (EXAMPLE,))))
    runs += [PlannedRun(f"{fs} {pattern}", _reads(fs, pattern)) for fs in FS for pattern in PATTERNS]
    return [*runs, *(PlannedRun(op, _loop(op, COUNTS[op])) for op in OPERATIONS)]


def _loop(op: MtdOp, counts: Sequence[int]) -> Data:
    return {
        "title": op,
        "stack": {**_BOARD, "fs": "none", "partition_blocks": 800},
        "measure": [steps.mtd_loop(op=op, count=1)],
        "axes": {"mtd_loop.count": counts},
    }


def _reads(fs: str, pattern: Pattern) -> Data:
    """A file that is read once, page after page or here and there, as in the paper's loops of read()."""
    file = "target"
    return {
        "title": "read()",
        "initial": "fresh",
        "stack": {**_BOARD, "fs": fs, "partition_blocks": 200},
        "setup": [
            MOUNT,
            steps.sleep(us="60 s"),
            steps.create(file=file, bytes="5 MiB"),
            SYNC,
            opened(file, "rdonly"),
            DROP_CACHES,
        ],
        "measure": [steps.requests(file=file, op="read", pattern=pattern, request_B="4 KiB", count=256)],
        "axes": {"read_ahead_KiB": list(READ_AHEAD_KIB.values())},
    }


# ---- readings -----------------------------------------------------------------------------------------------


def regression(rows: list[Row], operation: str) -> Fit:
    """The line through the times of loops."""
    key = f"driver.{operation}_us"
    amounts = [{key: float(row["mtd_loop.count"]), "loop.start_us": 1.0} for row in rows]
    return fit(Observations.of("simulated loops", operation, "us", amounts, [row["time_us"] for row in rows]))


def mean_power_w(rows: list[Row], rail: Rail, energy: Energy = "rails_uJ") -> float:
    """Energy over time of all rows. uJ / us = W"""
    return sum(_energy_uj(row, rail, energy) for row in rows) / sum(row["time_us"] for row in rows)


def _energy_uj(row: Row, rail: Rail, energy: Energy) -> float:
    by_rail = row[energy]
    # Boards of the studies have an idle power.
    assert by_rail is not None
    return by_rail[rail]


def judge(claims: Claims, series: Series) -> None:
    """Puts our readings beside every claim."""
    _judge_operations(claims, series)
    _judge_example(claims, series["example"][0])
    _judge_reads(claims["DRV-6"], series)
    _judge_power(claims["DRV-7"], cells_of(claims["DRV-7"], series))
    _asked_of_computing(claims, series)
    _judge_gains(claims)


def _judge_operations(claims: Claims, series: Series) -> None:
    time, energy, beyond = claims["DRV-1"], claims["DRV-2"], claims["DRV-3"]
    totals: dict[str, dict[str, float]] = {}
    for op in OPERATIONS:
        rows = series[op]
        line = regression(rows, op)
        slope = line.constants[f"driver.{op}_us"]
        time.number(op, time.value("us", op), slope.value, "us")
        linear = line.r2 is not None and line.r2 >= time.value("r2_min")
        time.shape(f"{op}, time over n", "a straight line", f"R2 {line.r2:.6f}", linear)
        if slope.ci95 is not None:
            time.evidence.append(f"{op}: 95 % interval {slope.ci95[0]:.3f} to {slope.ci95[1]:.3f} us")
        by_rail: dict[str, float] = {rail: mean_power_w(rows, rail) * slope.value for rail in RAILS}
        totals[op] = ours = {**by_rail, "total": sum(by_rail.values())}
        for rail, value in ours.items():
            energy.number(f"{op}, {rail}", energy.value("uJ", rail, op), value, "uJ")
        flash = rows[0]["flash"]
        assert flash is not None
        array_us = {"read": flash["t_read_us"], "program": flash["t_program_us"], "erase": flash["t_erase_us"]}[op]
        moved_bytes = 0 if op == "erase" else flash["page_B"] + flash["oob_B"]
        chip_us = array_us + moved_bytes * flash["bus_ns_per_B"] / 1e3
        beyond.number(f"{op}, over {chip_us:.1f} us", beyond.value("overhead", op), slope.value / chip_us - 1, "%")
    more = all(ours["cpu"] > ours["memory"] for ours in totals.values())
    energy.shape("CPU against memory", "more", "more" if more else "not for each operation", more)


def _judge_example(claims: Claims, row: Row) -> None:
    claim, by_power = claims["DRV-4"], claims["DRV-5"]
    claim.number("time", claim.value("time_s"), row["time_us"] / 1e6, "s")
    for rail in RAILS:
        with_idle_w = mean_power_w([row], rail, "with_idle_uJ")
        above_w = mean_power_w([row], rail)
        claim.number(f"{rail}, mean power", claim.value("power_W", rail) * 1e3, with_idle_w * 1e3, "mW")
        for what, power_w in (("with_idle_J", with_idle_w), ("above_idle_J", above_w)):
            words = what.removesuffix("_J").replace("_", " ")
            energy_mj = claim.value(what, rail) * 1e3
            claim.number(f"{rail}, energy {words}", energy_mj, power_w * row["time_us"] / 1e3, "mJ")
            by_power.number(f"{rail}, energy {words}", energy_mj, power_w * claim.value("time_s") * 1e3, "mJ")
    more = _energy_uj(row, "cpu", "with_idle_uJ") > _energy_uj(row, "memory", "with_idle_uJ")
    claim.shape("CPU against memory", "more energy", "more" if more else "less", more)


def _chosen(series: Series, fs: str, patterns: tuple[str, ...], switch: str) -> list[Row]:
    rows = [row for pattern in patterns for row in series[f"{fs} {pattern}"]]
    return [row for row in rows if row["read_ahead_KiB"] == READ_AHEAD_KIB[switch]]


def cells_of(claim: Judged, series: Series) -> dict[Rail, dict[str, list[Row]]]:
    """The rows of each cell of a table, by rail and the name of the cell."""
    if claim.id == "DRV-6":
        cpu = {f"{fs} {on}": _chosen(series, fs, PATTERNS, on) for fs in FS for on in READ_AHEAD_KIB}
        names = ((fs, pattern, on) for fs in FS for pattern in PATTERNS for on in READ_AHEAD_KIB)
        return {"cpu": cpu, "memory": {f"{fs} {p} {on}": _chosen(series, fs, (p,), on) for fs, p, on in names}}
    # A large run: as many records as there are.
    most = max(row["records"] for row in series[f"sqlite {FS[0]}"])
    cells: dict[str, list[Row]] = {f"{fs} {on}": [] for fs in FS for on in READ_AHEAD_KIB}
    for fs in FS:
        for row in series[f"sqlite {fs}"]:
            if row["records"] == most:
                cells[f"{fs} {'on' if row['read_ahead_KiB'] else 'off'}"].append(row)
    return dict.fromkeys(RAILS, cells)


def _judge_reads(claim: Judged, series: Series) -> None:
    cells = cells_of(claim, series)
    _judge_power(claim, cells)
    totals = [sum(mean_power_w(rows, rail) for rail in RAILS) for rows in cells["memory"].values()]
    apart = (max(totals) / min(totals) - 1) * 100
    claim.shape("all cells, both rails", "nearly the same", f"{apart:.1f} % apart", apart <= ALIKE_POINTS)


def _asked_of_computing(claims: Claims, series: Series) -> None:
    """Which power of the CPU's own work would make the mean powers of both tables ours.

    A mean power is that of the driver for the share of time in which it works, and that of computing for the rest.
    """
    for rail in RAILS:
        key, shares, missing_mw = f"cpu.{rail}_power_mW", [], []
        for claim in (claims["DRV-6"], claims["DRV-7"]):
            for name, rows in cells_of(claim, series)[rail].items():
                time_us = sum(row["time_us"] for row in rows)
                flash_us, flash_uj = 0.0, 0.0
                for op, counter in zip(OPERATIONS, COUNTERS, strict=True):
                    # Look-ups only read.
                    count = sum(row[counter] for row in rows if counter in row)
                    each_us = regression(series[op], op).constants[f"driver.{op}_us"].value
                    flash_us += count * each_us
                    flash_uj += count * each_us * mean_power_w(series[op], rail)
                shares.append({key: max(0.0, 1 - flash_us / time_us)})
                missing_mw.append((claim.value("power_W", rail, name) - flash_uj / time_us) * 1e3)
        found = fit(Observations.of("tables 2 and 3", rail, "mW", shares, missing_mw)).constants[key]
        text = "these runs compute nothing, so it cannot be told"
        if found.identified and found.ci95 is not None:
            low, high = found.ci95
            text = f"{found.value:.0f} mW, 95 % interval {low:.0f} to {high:.0f}"
        computing = [share[key] for share in shares]
        read, select = (max(part) * 100 for part in (computing[:-4], computing[-4:]))
        text += f" (share of computing: up to {read:.0f} % of read(), {select:.0f} % of SELECT)"
        claims["DRV-7"].evidence.append(f"{rail} power of computing that tables 2 and 3 ask for: {text}")


def _judge_power(claim: Judged, cells: dict[Rail, dict[str, list[Row]]]) -> None:
    for rail, of_rail in cells.items():
        for name, published in claim.table("power_W", rail).items():
            claim.number(f"{rail}, {name}", published * 1e3, mean_power_w(of_rail[name], rail) * 1e3, "mW")
    for name, rows in cells["memory"].items():
        fs, *_, switch = name.split()
        total_w = claim.value("power_W", "cpu", f"{fs} {switch}") + claim.value("power_W", "memory", name)
        time_us, ours_uj = (
            sum(row["time_us"] for row in rows),
            sum(sum(row["rails_uJ"][r] for r in RAILS) for row in rows),
        )
        # W x us = uJ
        claim.number(f"E = t (P_cpu + P_mem), {name}", total_w * time_us / 1e3, ours_uj / 1e3, "mJ")
    mean = {rail: [mean_power_w(rows, rail) for rows in of_rail.values()] for rail, of_rail in cells.items()}
    more = min(mean["cpu"]) > max(mean["memory"])
    text = f"{min(mean['cpu']) * 1e3:.0f} mW or more against {max(mean['memory']) * 1e3:.0f} mW or less"
    claim.shape("CPU against memory", "more", text, more)


def _judge_gains(claims: Claims) -> None:
    claim, power = claims["DRV-8"], claims["DRV-7"]
    for name, time_gain in claim.table("time_gain").items():
        fs = name.split()[0]
        on, off = (sum(power.value("power_W", rail, f"{fs} {switch}") for rail in RAILS) for switch in ("on", "off"))
        claim.number(name, claim.value("energy_gain", name), 1 - (1 - time_gain) * off / on, "%")
