"""The figures of the driver level: the published line, times and powers, beside those of our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ffslab.studies.reproduce.claims import Claims, Judged
from ffslab.studies.reproduce.driver import (
    FS,
    OPERATIONS,
    PATTERNS,
    READ_AHEAD_KIB,
    Series,
    cells_of,
    mean_power_w,
    regression,
)
from ffslab.studies.reproduce.figures import Figure, Line, Published, stated
from ffslab.studies.reproduce.rows import RAILS, Rail

CELLS = [f"{fs} {switch}" for fs in FS for switch in READ_AHEAD_KIB]
SWITCHES = [f"{fs}, {switch}" for fs in FS for switch in READ_AHEAD_KIB]
READ_AHEAD = "file system, read-ahead"


def figures(claims: Claims, series: Series) -> Iterator[Figure]:
    """The slides' loops, tables and example, and both tables of mean powers."""
    yield from _loops(claims, series)
    yield from _operations(claims, series)
    yield _example(claims)
    yield from _powers(claims, series)
    yield _gains(claims)


def _loops(claims: Claims, series: Series) -> Iterator[Figure]:
    claim, example = claims["DRV-1"], claims["DRV-4"]
    for op in OPERATIONS:
        rows = series[op]
        counts = [row["mtd_loop.count"] for row in rows]
        each_us = claim.value("us", op)
        ends = (0, counts[-1])
        published = [
            Published(
                f"published: {each_us:g} us each", ends, [count * each_us / 1e3 for count in ends], 1, joined=True
            )
        ]
        says = "the slope of the line, from the slides' table; where it begins is not stated, so it is drawn from 0."
        judged: tuple[str, ...] = ("DRV-1",)
        if op == "read":
            other_us = example.value("time_s") * 1e6 / example.value("reads")
            label = f"published example: {other_us:.1f} us each"
            published.append(Published(label, ends, [count * other_us / 1e3 for count in ends], 2, joined=True))
            says += " The slides' example of 32,768 reads has another one."
            judged = ("DRV-1", "DRV-4")
        ours_us = regression(rows, op).constants[f"driver.{op}_us"].value
        lines = [Line(f"ffslab: {ours_us:.1f} us each", counts, [row["time_us"] / 1e3 for row in rows], 0)]
        title = f"Driver level: loops of {op} operations"
        yield Figure(title, "operations", "total time, ms", lines, published, judged, says, x_scale="linear")


def _side_by_side(
    title: str,
    y_label: str,
    claim: Judged,
    kinds: Sequence[str],
    values: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    says: str,
    unit: float = 1.0,
    x_label: str = "",
) -> Figure:
    """For each name what was published and what is ours, of each kind."""
    published, lines = [], []
    for hue, (name, (theirs, ours)) in enumerate(values.items()):
        start = f"{name}, " if name else ""
        published.append(stated(claim, f"{start}published", dict(enumerate(theirs)), hue, unit))
        lines.append(Line(f"{start}ffslab", range(len(ours)), [value * unit for value in ours], hue))
    return Figure(title, x_label, y_label, lines, published, (claim.id,), says, kinds=kinds)


def _operations(claims: Claims, series: Series) -> Iterator[Figure]:
    energy, beyond = claims["DRV-2"], claims["DRV-3"]
    slopes = {op: regression(series[op], op).constants[f"driver.{op}_us"].value for op in OPERATIONS}
    by_rail: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    for rail in RAILS:
        theirs = [energy.value("uJ", rail, op) for op in OPERATIONS]
        by_rail[rail] = theirs, [mean_power_w(series[op], rail) * slopes[op] for op in OPERATIONS]
    says = "all six values, in the slides' table."
    yield _side_by_side("Energy of one operation, by rail", "energy above idle, uJ", energy, OPERATIONS, by_rail, says)
    theirs = [beyond.value("overhead", op) for op in OPERATIONS]
    ours = [reading.value or 0.0 for reading in beyond.readings]
    says = "all three values, in the slides."
    over = {"": (theirs, ours)}
    title = "Time of one operation beyond the data sheet's"
    yield _side_by_side(title, "more than the data sheet, %", beyond, OPERATIONS, over, says, 100)


def _example(claims: Claims) -> Figure:
    claim, by_power = claims["DRV-4"], claims["DRV-5"]
    kinds, keys = [], []
    for rail in RAILS:
        for what in ("with_idle_J", "above_idle_J"):
            kinds.append(f"{rail} {what.removesuffix('_J').replace('_', ' ')}")
            keys.append((what, rail))
    theirs = {at: claim.value(*key) * 1e3 for at, key in enumerate(keys)}
    lines = []
    for hue, (judged, label) in enumerate(
        ((claim, "ffslab"), (by_power, "ffslab's power in the published time")), start=1
    ):
        values = [reading.value or 0.0 for reading in judged.readings if "energy " in reading.what]
        lines.append(Line(label, range(len(values)), values, hue))
    published = [stated(claim, "published", theirs, 0)]
    title = "32,768 page reads in sequence: energy"
    says = "all four values, in the slides; both axes are ours."
    return Figure(title, "", "energy, mJ", lines, published, ("DRV-4", "DRV-5"), says, kinds=kinds)


def _powers(claims: Claims, series: Series) -> Iterator[Figure]:
    for name, title, says in (
        ("DRV-6", "Table 2: mean power during read()", "all twelve values of table 2."),
        ("DRV-7", "Table 3: mean power during SELECT", "all eight values of table 3."),
    ):
        claim = claims[name]
        of = cells_of(claim, series)
        patterns = PATTERNS if name == "DRV-6" else ("",)
        groups: dict[str, tuple[Rail, list[str]]] = {"cpu": ("cpu", CELLS)}
        for pattern in patterns:
            label = f"memory, {pattern}" if pattern else "memory"
            groups[label] = "memory", [_cell(cell, pattern) for cell in CELLS]
        values: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
        for label, (rail, names) in groups.items():
            theirs = [claim.value("power_W", rail, cell) for cell in names]
            values[label] = theirs, [mean_power_w(of[rail][cell], rail) for cell in names]
        yield _side_by_side(title, "mean power above idle, mW", claim, SWITCHES, values, says, 1e3, READ_AHEAD)


def _cell(of: str, pattern: str) -> str:
    """Name of a cell of the memory's rail: with the pattern of access, if the table has it."""
    fs, switch = of.split()
    return f"{fs} {pattern} {switch}" if pattern else of


def _gains(claims: Claims) -> Figure:
    claim = claims["DRV-8"]
    kinds = claim.names("energy_gain")
    theirs = [claim.value("energy_gain", name) for name in kinds]
    by_formula = {reading.what: reading.value or 0.0 for reading in claim.readings}
    values = {"": (theirs, [by_formula[name] for name in kinds])}
    says = "mean gains (section 4.3.2). Ours is the paper's formula with its own mean powers and mean gains of time."
    return _side_by_side(
        "Energy saved without read-ahead by SQLite", "energy saved, %", claim, kinds, values, says, 100
    )
