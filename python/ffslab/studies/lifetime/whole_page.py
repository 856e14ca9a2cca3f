"""The report of whole lives: what ended them, and how wear, space and latency went over the years."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ffslab._native import __version__
from ffslab.report import Opening, Section, bullets, page, section, table
from ffslab.report.blocks import Plane, plane
from ffslab.report.charts import Axis, Ground, Line, chart, steps, wants_log
from ffslab.report.page import Drawn, KeyFigure, paragraph
from ffslab.studies.lifetime.whole_text import ALIGN, cells, ended_because, failures, lasts, machine, said
from ffslab.text.durations import DAYS_PER_YEAR
from ffslab.text.tables import counted, number

if TYPE_CHECKING:
    from ffslab.answers.lives import VariantLife
    from ffslab.studies.lifetime.lived import Lived

# More lives than this are told in the table alone.
DRAWN_MAX = 6
# Lives whose wear is compared on the first screen.
COMPARED_MAX = 40
# The endurance is drawn when it is at most so many times the most worn block.
NEAR = 3.0
MIB = 1 << 20
YEARS = Axis("years", linear=True, free=True)


def html(lives: Lived) -> str:
    """The whole report of lives."""
    named = lives.lives
    drawn = named[:DRAWN_MAX]
    first = f" The first {len(drawn)} of {number(len(named))} lives." if len(drawn) < len(named) else ""
    head, rows = cells(lives)
    title = "How long it lasts"
    leapt = " Grey: leapt over." if any(life["leaps"] for _, life in drawn) else ""
    parts = [
        section("Lives", table(head, rows, align=ALIGN) + bullets(failures(lives))),
        _each(
            "Wear of the blocks",
            "Erases of the blocks: mean, 5 to 95 % (dark), least to most (light); dashed: what a block bears, when one "
            f"is near.{leapt}{first}",
            drawn,
            _wear,
        ),
        _each("Every block", f"Erases of each block of the partition over the years.{first}", drawn, _map),
        _each("Bad blocks", f"Blocks that have failed.{first}", drawn, _bad),
        _each("Free space", f"As the file system tells it.{first}", drawn, _free),
        _each(
            "Latency",
            f"Of the calls between two points in time: mean, 99 % and slowest. What was leapt over has none.{first}",
            drawn,
            _latency,
        ),
        *(section(name, bullets(said(life, lives.answer["wanted_years"]))) for name, life in drawn),
        section(
            "The data",
            paragraph(
                "Beside this file: lives.json (all of this), points.parquet (wear, space and latency at each point in "
                "time), blocks.parquet (erases of each block)."
            ),
        ),
    ]
    start = lives.answer["start"]
    setting = f"{start[:1].upper()}{start[1:]}. Simulated by ffslab {__version__} in virtual time."
    return page(
        title, parts, Opening(title, setting, _answer(lives), _key_figures(lives), _together(named), machine(lives))
    )


def _answer(lives: Lived) -> str:
    """How long, and what ends it, in a sentence."""
    named = lives.lives
    if not named:
        return "No life could be lived: its first repetition failed."
    name, least = min(named, key=lambda one: one[1]["years"])
    ends = (
        f"looked at for {least['years']:,.3g} years and works"
        if lasts(least)
        else f"lasts {least['years']:,.3g} years: then {ended_because(least)}"
    )
    if len(named) == 1:
        return f"{name} {ends}." if not lasts(least) else f"{name} was {ends}."
    most_name, most = max(named, key=lambda one: one[1]["years"])
    over = "over " if lasts(most) else ""
    if lasts(least):
        return f"All {number(len(named))} lives work after {least['years']:,.3g} years."
    if least["years"] == most["years"]:
        return f"Each of the {number(len(named))} lives {ends}."
    return f"The shortest, {name}, {ends}. The longest, {most_name}, lasts {over}{most['years']:,.3g} years."


def _key_figures(lives: Lived) -> list[KeyFigure]:
    """Years, wear of the most worn block, bad blocks: of the shortest life, beside what they are compared with."""
    if not lives.lives:
        return []
    name, life = min(lives.lives, key=lambda one: one[1]["years"])
    wanted = lives.answer["wanted_years"]
    erases = life["erases"]
    first_bad = life["first_bad_block_years"]
    several = "" if len(lives.lives) == 1 else f"; {name}, the shortest of {number(len(lives.lives))} lives"
    beside = "" if wanted is None else f"{wanted:,.6g} years are wanted"
    if not beside:
        beside = f"{counted(life['repetitions'], 'repetition')}, {number(life['repetitions_run'])} of them run"
    worn = f"the mean block has {number(erases['mean'])}; one bears {number(life['endurance_erases'])}"
    since = "none has failed" if first_bad is None else f"the first after {first_bad:,.3g} years"
    return [
        KeyFigure("Years", f"{'over ' if lasts(life) else ''}{life['years']:,.3g}", beside + several),
        KeyFigure("Erases of the most worn block", number(erases["max"]), worn),
        KeyFigure("Bad blocks", number(life["bad_blocks"]), since),
    ]


def _together(named: list[tuple[str, VariantLife]]) -> Drawn | None:
    """The erases of the mean and of the most worn block of each life, over the years."""
    shown = named[:COMPARED_MAX]
    if not shown:
        return None
    lines = []
    for at, (name, life) in enumerate(shown):
        ink: dict[str, object] = {"colour": f"s{at % 8}"}
        for key, dash in (("mean", {}), ("max", {"dash": [5, 4]})):
            erases = [point["erases"][key] for point in life["points"]]  # type: ignore[literal-required]
            label = f"{name}, {'mean block' if key == 'mean' else 'most worn block'}"
            lines.append(Line(label, _at(life), erases, "line", {**ink, **dash}))
    title = f"The first {len(shown)} of {number(len(named))} lives" if len(shown) < len(named) else ""
    return chart("together", title, YEARS, Axis("erases per block", "erases"), lines, 18)


def _each(
    title: str, note: str, drawn: list[tuple[str, VariantLife]], draw: Callable[[str, str, VariantLife], Drawn | None]
) -> Section | None:
    """A picture for each life."""
    named = [(name if len(drawn) > 1 else "", life) for name, life in drawn]
    made = [one for at, (name, life) in enumerate(named) if (one := draw(f"life-{at}", name, life)) is not None]
    return section(title, [paragraph(note), *made]) if made else None


def _at(life: VariantLife) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([point["days"] for point in life["points"]]) / DAYS_PER_YEAR


def _leapt(life: VariantLife) -> list[tuple[float, float]]:
    """The stretches that were leapt over, in years; those that meet are one."""
    at = _at(life)
    found: list[tuple[float, float]] = []
    for before, after, point in zip(at, at[1:], life["points"][1:], strict=False):
        if point["leapt"]:
            is_next = bool(found) and found[-1][1] == before
            found[-1:] = [(found[-1][0], float(after))] if is_next else [*found[-1:], (float(before), float(after))]
    return found


def _wear(name: str, title: str, life: VariantLife) -> Drawn:
    at, erases = _at(life), [point["erases"] for point in life["points"]]
    of = {key: np.array([one[key] for one in erases], dtype=float) for key in ("min", "p5", "mean", "p95", "max")}
    thin: dict[str, object] = {"colour": "s0", "wide": 0.6}
    lines = [
        Line("most", at, of["max"], "line", thin),
        Line("95 % of the blocks are below", at, of["p95"], "line", thin),
        Line("mean", at, of["mean"], "line", {"colour": "s0", "wide": 2.2}),
        Line("5 % of the blocks are below", at, of["p5"], "line", thin),
        Line("least", at, of["min"], "line", thin),
    ]
    # Far above all blocks it would press them to the ground.
    endurance = life["endurance_erases"]
    if endurance <= NEAR * of["max"].max():
        dashed: dict[str, object] = {"colour": "ink", "wide": 1, "dash": [6, 4]}
        lines.append(Line("what a block bears", at[[0, -1]], [endurance, endurance], "line", dashed))
    ground = Ground(bands=[(0, 4, "s0"), (1, 3, "s0")], shades=_leapt(life))
    return chart(f"{name}-wear", title, YEARS, Axis("erases per block", "erases"), lines, 20, ground)


def _map(name: str, title: str, life: VariantLife) -> Drawn | None:
    wear = np.array(life["wear"]["erases"], dtype=float).T
    edges = np.array([0.0, *life["wear"]["days"]]) / DAYS_PER_YEAR
    if wear.size == 0 or edges[-1] <= 0:
        return None
    return plane(f"{name}-blocks", title, Plane("years", "erase block", "erases", edges, wear))


def _bad(name: str, title: str, life: VariantLife) -> Drawn | None:
    if not life["bad_blocks"]:
        return None
    line = Line("", _at(life), [point["bad_blocks"] for point in life["points"]], "step", {"colour": "s1"})
    return chart(f"{name}-bad", title, YEARS, Axis("bad blocks"), [line], 12)


def _free(name: str, title: str, life: VariantLife) -> Drawn | None:
    free = np.array([np.nan if point["free_bytes"] is None else point["free_bytes"] for point in life["points"]])
    known = ~np.isnan(free)
    if not known.any():
        return None
    line = Line("", *steps(_at(life)[known], free[known] / MIB), "step", {"colour": "s0"})
    y = Axis("free, MiB", log=wants_log([line.y]))
    return chart(f"{name}-free", title, YEARS, y, [line], 14)


def _latency(name: str, title: str, life: VariantLife) -> Drawn | None:
    at, points = _at(life), life["points"]
    lines = []
    for key, label in (("mean_us", "mean"), ("p99_us", "99 %"), ("max_us", "slowest")):
        column: list[float | None] = [point[key] for point in points]  # type: ignore[literal-required]
        values = np.array([np.nan if one is None else one / 1_000 for one in column])
        known = ~np.isnan(values)
        if known.any():
            lines.append(Line(label, at[known], values[known], "marks"))
    if not lines:
        return None
    y = Axis("latency, ms", "latency", log=wants_log([line.y for line in lines]))
    return chart(f"{name}-latency", title, YEARS, y, lines, 18)
