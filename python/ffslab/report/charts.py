"""What charts of a page are made of: HTML that keeps their place, and data for `assets/charts.js`."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ffslab.report.page import UPLOT, Drawn
from ffslab.text.quoting import escape, plain_html

SCRIPTS = (UPLOT, "charts.js")
# A logarithmic axis begins where values span more than this.
LOG_FROM = 10
# Of a distribution, as many as can be told apart.
NINES_POINTS = 500


@dataclass(frozen=True)
class Line:
    """A series. `kind`: "line", "step", "dots", "rings", or "marks" for a line with marks.

    Of what others stated: "squares", with `low` and `high` in `more` for a bar through each; "area", from the values
    to those in `to`, which may be infinite.
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    kind: str = "line"
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Axis:
    """An axis. `short`: its name where a value is told. `ticks`: names of 0, 1, 2 ...; `nines`: the values are
    -log10(1 - share); `span`: what several charts have in common; `free`: need not begin at 0; `at`: where the axis has
    numbers, if not at round ones."""

    label: str
    short: str = ""
    ticks: Sequence[str] = ()
    nines: bool = False
    log: bool = False
    linear: bool = False
    free: bool = False
    span: tuple[float, float] | None = None
    at: Sequence[float] = ()


@dataclass(frozen=True)
class Ground:
    """What lies under and over the lines. `stacked`: the lines, which have the same x, stand on each other, the last
    one at the bottom; `bands`: (upper line, lower line, colour) by their numbers; `shades`: (from, to) on the x axis;
    `marks`: (place on the x axis, name)."""

    stacked: bool = False
    bands: Sequence[tuple[int, int, str]] = ()
    shades: Sequence[tuple[float, float]] = ()
    marks: Sequence[tuple[float, str]] = ()


def chart(
    name: str,
    title: str,
    x: Axis,
    y: Axis,
    lines: Sequence[Line],
    tall_rem: float = 20,
    ground: Ground | None = None,
    told: str = "",
) -> Drawn:
    """A chart with its tools; `name` is its id in the page, `title` stands over it (may be empty), and `told`, HTML."""
    series = [
        {"name": line.name, "x": packed(line.x), "y": packed(line.y), "kind": line.kind, **line.more} for line in lines
    ]
    spec: dict[str, object] = {"x": _axis(x), "y": _axis(y), "series": series}
    if ground is not None:
        spec |= {key: value for key, value in vars(ground).items() if value and key != "marks"}
        spec |= {"marks": [{"at": at, "text": text} for at, text in ground.marks]} if ground.marks else {}
    caption = f"<figcaption>{escape(title)}</figcaption>" if title else ""
    label = plain_html(f"Chart: {y.label} over {x.label}{', ' + title if title else ''}; arrow keys go through it")
    html = (
        f'<figure class="chart" data-chart="{name}" style="--tall:{tall_rem:g}rem">{caption}{told}'
        '<div class="tools"></div>'
        f'<div class="plot" role="group" aria-label="{label}"></div><p class="said" role="status"></p>'
        '<ul class="legend"></ul></figure>'
    )
    return Drawn(html, {name: spec}, SCRIPTS)


def multiples(charts: Sequence[Drawn], kind: str = "") -> Drawn:
    """Several charts side by side, as many as there is room for; `kind` "large": two of them."""
    html = f'<div class="{f"multiples {kind}".rstrip()}">' + "\n".join(one.html for one in charts) + "</div>"
    data = {name: value for one in charts for name, value in one.data.items()}
    return Drawn(html, data, SCRIPTS)


def explorer(of: str) -> Drawn:
    """Any two figures of the variants against each other; `of` is the id of their data."""
    html = (
        f'<figure class="chart" data-explorer="{of}" style="--tall:24rem"><div class="tools"></div>'
        '<div class="plot" role="group" aria-label="Chart"></div><p class="said" role="status"></p>'
        '<ul class="legend"></ul></figure>'
    )
    return Drawn(html, {}, SCRIPTS)


def wants_log(values: Sequence[ArrayLike]) -> bool:
    """Whether an axis with these values shows more when it is logarithmic."""
    every = np.concatenate([np.ravel(np.asarray(one, dtype=float)) for one in values] or [np.zeros(1)])
    positive = every[every > 0]
    return bool(len(positive) and (every >= 0).all() and positive.max() > LOG_FROM * positive.min())


def packed(values: ArrayLike) -> str:
    """32-bit floats in base64, which is what scripts read fastest."""
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode("ascii")


def thinned(x: ArrayLike, y: ArrayLike, points_max: int) -> tuple[Any, Any]:
    """Points in order of x, of very many a part: of each stretch the highest, and one from its middle."""
    at, height = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    order = np.argsort(at, kind="stable")
    at, height = at[order], height[order]
    if len(at) <= points_max:
        return at, height
    edges = np.linspace(0, len(at), points_max // 2 + 1).astype(int)
    kept = {int(low + np.argmax(height[low:high])) for low, high in pairwise(edges)}
    kept.update(((edges[:-1] + edges[1:]) // 2).tolist())
    chosen = sorted(kept)
    return at[chosen], height[chosen]


def steps(edges: ArrayLike, values: ArrayLike) -> tuple[Any, Any]:
    """A value from each edge to the next one, for a line of kind "step"; equal neighbours are one step."""
    at, height = np.asarray(edges, dtype=float), np.asarray(values, dtype=float)
    kept = np.flatnonzero(np.append(True, np.diff(height) != 0)) if len(height) else np.zeros(0, dtype=int)
    return np.append(at[kept], at[-1:]), np.append(height[kept], height[-1:])


def distribution(values: ArrayLike, points_max: int) -> tuple[Any, Any]:
    """Sorted values, and for each the number of nines: -log10 of the share of the values that are larger."""
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    spaced = n - np.geomspace(n, 1, points_max)
    # Not `np.unique`: its first call imports masked arrays, which a small run would notice.
    is_kept = np.zeros(n, dtype=bool)
    is_kept[spaced.astype(int)] = True
    is_kept[max(0, n - points_max // 4) :] = True
    ranks = np.flatnonzero(is_kept)
    height = np.log10(n / (n - ranks))
    return np.append(ordered[ranks], ordered[-1]), np.append(height, height[-1] + 0.3)


def distributions(
    name: str, title: str, x: Axis, values: Sequence[tuple[str, ArrayLike, Mapping[str, object]]]
) -> Drawn:
    """Shares of values that are smaller, each further nine (90, 99, 99.9 ... %) as high as the one before.

    `values`: (name, values, what else a line is) of each line.
    """
    lines = [Line(label, *distribution(each, NINES_POINTS), "step", more) for label, each, more in values]
    axis = replace(x, log=wants_log([each for _, each, _ in values]))
    return chart(name, title, axis, Axis("share that is smaller, %", "share", nines=True), lines)


def _axis(axis: Axis) -> dict[str, object]:
    return {key: value for key, value in vars(axis).items() if value}
