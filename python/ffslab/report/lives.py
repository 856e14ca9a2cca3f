"""The report of whole lives: what ended them, and how wear, space and latency went over the years."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ffslab import __version__
from ffslab.report import Opening, bullets, figure, page, section, table
from ffslab.report.drawing import colour, new_figure, svg_text, thousands, value_axis
from ffslab.studies.lifetime.whole_text import ALIGN, cells, failures, said
from ffslab.text.durations import DAYS_PER_YEAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffslab.answers.lives import VariantLife
    from ffslab.studies.lifetime.whole import WholeLives

# More lives than this are told in the table alone.
DRAWN_MAX = 6
# The endurance is drawn when it is at most so many times the most worn block.
NEAR = 3.0
MIB = 1 << 20


def html(lives: WholeLives) -> str:
    """The whole report of lives."""
    named = lives.lives
    drawn = named[:DRAWN_MAX]
    first = f" The first {len(drawn)} of {len(named)} lives." if len(drawn) < len(named) else ""
    head, rows = cells(lives)
    title = "How long it lasts"
    leapt = " Grey: leapt over." if any(life["leaps"] for _, life in drawn) else ""
    parts = [
        section("Lives", table(head, rows, align=ALIGN) + bullets(failures(lives))),
        figure(
            "Wear of the blocks",
            "Erases of the blocks: mean (line), 5 to 95 % (dark), least to most (light). "
            "Dashed: what a block bears, when one is near. "
            f"Red: blocks that have gone bad.{leapt}{first}",
            _each(drawn, "wear", _wear),
        ),
        figure(
            "Every block",
            f"Erases of each block of the partition over the years: a row is a block.{first}",
            _each(drawn, "blocks", _map),
        ),
        figure("Free space", f"As the file system tells it.{first}", _each(drawn, "free-space", _free)),
        figure(
            "Latency",
            "Of the calls between two points in time: mean, 99 % and slowest. What was leapt over has none." + first,
            _each(drawn, "latency", _latency),
        ),
        *(section(name, bullets(said(life, lives.answer["wanted_years"]))) for name, life in drawn),
    ]
    opening = Opening(title, f"{lives.answer['start']}. Simulated by ffslab {__version__} in virtual time.")
    return page(title, parts, opening)


def _each(drawn: list[tuple[str, VariantLife]], name: str, draw: Callable[[Axes, VariantLife], bool]) -> str | None:
    """A panel for each life, two a row."""
    columns = 1 if len(drawn) == 1 else 2
    rows = -(-len(drawn) // columns)
    made = new_figure(0.3 + 2.7 * rows)
    panels = made.subplots(rows, columns, squeeze=False).ravel()
    is_any = [draw(axes, life) for axes, (_, life) in zip(panels, drawn, strict=False)]
    if not any(is_any):
        return None
    for axes, (title, _) in zip(panels, drawn, strict=False):
        axes.set_xlabel("years")
        if len(drawn) > 1:
            axes.set_title(title, fontsize=9)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    return svg_text(made, name, panels[0], len(panels[0].get_legend_handles_labels()[1]))


def _at(life: VariantLife) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([point["days"] for point in life["points"]]) / DAYS_PER_YEAR


def _shade_leaps(axes: Axes, life: VariantLife) -> None:
    at = _at(life)
    for before, after, point in zip(at, at[1:], life["points"][1:], strict=False):
        if point["leapt"]:
            axes.axvspan(before, after, color="#000000", alpha=0.06, linewidth=0)


def _wear(axes: Axes, life: VariantLife) -> bool:
    at, erases = _at(life), [point["erases"] for point in life["points"]]
    of = {key: np.array([one[key] for one in erases], dtype=float) for key in ("min", "p5", "mean", "p95", "max")}
    _shade_leaps(axes, life)
    axes.fill_between(at, of["min"], of["max"], color=colour(0), alpha=0.15, linewidth=0)
    axes.fill_between(at, of["p5"], of["p95"], color=colour(0), alpha=0.3, linewidth=0)
    axes.plot(at, of["mean"], color=colour(0), linewidth=1.4)
    # Far above all blocks it would press them to the ground.
    if life["endurance_erases"] <= NEAR * of["max"].max():
        axes.axhline(life["endurance_erases"], color="#000000", linewidth=0.8, linestyle="--")
    axes.set_ylabel("erases per block")
    axes.set_ylim(bottom=0)
    thousands(axes.yaxis)
    if life["bad_blocks"]:
        bad = axes.twinx()
        bad.step(at, [point["bad_blocks"] for point in life["points"]], where="post", color="#c00000", linewidth=1.2)
        bad.set_ylabel("bad blocks", color="#c00000")
        bad.set_ylim(bottom=0)
        thousands(bad.yaxis)
    return True


def _map(axes: Axes, life: VariantLife) -> bool:
    wear = np.array(life["wear"]["erases"], dtype=float).T
    edges = np.array([0.0, *life["wear"]["days"]]) / DAYS_PER_YEAR
    if wear.size == 0 or edges[-1] <= 0:
        return False
    shown = axes.pcolormesh(edges, np.arange(wear.shape[0] + 1), wear, cmap="viridis_r", rasterized=True)
    axes.set_ylabel("erase block")
    bar = axes.figure.colorbar(shown, ax=axes)
    thousands(bar.ax.yaxis, axes.yaxis)
    bar.set_label("erases")
    return True


def _free(axes: Axes, life: VariantLife) -> bool:
    free = np.array([np.nan if point["free_bytes"] is None else point["free_bytes"] for point in life["points"]])
    if np.isnan(free).all():
        return False
    axes.step(_at(life), free / MIB, where="post", color=colour(0))
    axes.set_ylabel("free, MiB")
    value_axis(axes, "y", [free[~np.isnan(free)] / MIB])
    axes.grid(alpha=0.3)
    return True


def _latency(axes: Axes, life: VariantLife) -> bool:
    at, points = _at(life), life["points"]
    drawn = []
    for i, (key, label) in enumerate((("mean_us", "mean"), ("p99_us", "99 %"), ("max_us", "slowest"))):
        column: list[float | None] = [point[key] for point in points]  # type: ignore[literal-required]
        values = np.array([np.nan if one is None else one / 1_000 for one in column])
        known = ~np.isnan(values)
        if known.any():
            axes.plot(at[known], values[known], "o-", markersize=2, linewidth=1, color=colour(i), label=label)
            drawn.append(values[known])
    if not drawn:
        return False
    axes.set_ylabel("latency, ms")
    value_axis(axes, "y", drawn)
    axes.grid(alpha=0.3)
    return True
