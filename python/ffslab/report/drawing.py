"""What all figures share: colours, axes, SVG text. matplotlib is used without its global state."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ffslab.text.quoting import plain_html, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import ArrayLike

# Okabe and Ito, "Color Universal Design" (2008): told apart by the colour-blind.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKS = "os^Dv<>P"
WIDTH_INCHES = 9.5
# More marks than this are drawn as pixels, or the file grows by 100 bytes a mark.
VECTOR_MARKS_MAX = 5_000
# A logarithmic axis of fewer decades has ticks at 2 and 5, too: else there may be but one number on it.
DECADES_OF_FEW = 1.5
STEPS_OF_DISTRIBUTION = 500


def colour(i: int) -> str:
    """Colour of the i-th series."""
    return COLOURS[i % len(COLOURS)]


def width(i: int, count: int) -> float:
    """Line width of the i-th of several series, in points: one that lies under a later one shows at its sides."""
    return 1.2 + min(0.6, 1.6 / max(count - 1, 1)) * (count - 1 - i)


def new_figure(height_inches: float) -> Figure:
    """A figure as wide as the report."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def thousands(*axes: Axis) -> None:
    """Numbers on axes as the tables write them: 12,000; all digits that tell two ticks apart, never 1e6."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def value_axis(axes: Axes, which: str, values: Sequence[ArrayLike]) -> None:
    """The axis of quantities that are not negative.

    Logarithmic when they span more than a factor of ten, and linear below the smallest that is not 0; else from 0 on.
    """
    positive = [v[v > 0] for v in map(np.asarray, values) if (v > 0).any()]
    axis = axes.xaxis if which == "x" else axes.yaxis
    limits = axes.set_xlim if which == "x" else axes.set_ylim
    thousands(axis)
    if not positive:
        return
    low, high = min(float(v.min()) for v in positive), max(float(v.max()) for v in positive)
    if high <= 10 * low:
        limits(0, 1.08 * high)
        return
    scale = axes.set_xscale if which == "x" else axes.set_yscale
    if any((np.asarray(v) == 0).any() for v in values):
        scale("symlog", linthresh=low, linscale=0.6)
        limits(-0.1 * low, 1.3 * high)
    else:
        scale("log")
        if np.log10(high / low) < DECADES_OF_FEW:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    thousands(axis)
    axis.set_minor_formatter(NullFormatter())


# Matplotlib types each of its many keywords by itself.
def tails(axes: Axes, values: Sequence[ArrayLike], lines: Sequence[dict[str, Any]]) -> None:
    """Distributions whose slow ends show: each further nine (90, 99, 99.9 ... %) is as high as the one before.

    Upwards is the share of the values that are smaller; the top is the largest value. `lines` holds the keywords of
    each line.
    """
    top = max(1.0, max(float(np.log10(max(np.size(one), 1))) for one in values)) + 0.4
    for one, line in zip(values, lines, strict=True):
        ordered = np.sort(np.asarray(one, dtype=float))
        n = len(ordered)
        # As many ranks of each nine as can be told apart.
        spaced = n - np.geomspace(n, 1, STEPS_OF_DISTRIBUTION)
        ranks = np.unique(np.concatenate([spaced.astype(int), np.arange(max(0, n - 100), n)]))
        height = np.log10(n / (n - ranks))
        axes.step([*ordered[ranks], ordered[-1]], [*height, top], where="post", **line)
    nines = [round(100 * (1 - 10.0**-i), 10) for i in range(1, int(top) + 1)]
    ticks = [(0.0, "0"), (float(np.log10(2)), "50"), *((float(i), f"{nine:g}") for i, nine in enumerate(nines, 1))]
    shown = [(at, label) for at, label in ticks if at <= top - 0.3]
    axes.set_yticks([*(at for at, _ in shown), top], [*(label for _, label in shown), "100"])
    axes.set(ylim=(0, 1.01 * top))


def svg_text(figure: Figure, name: str, axes: Axes | None = None, legend_entries: int = 1) -> str:
    """The figure as an SVG element, with the legend of `axes` below it when that has several entries.

    Ids are derived from `name`, so that several figures fit in one document; who reads with the ears hears it.
    """
    if axes is not None and legend_entries > 1:
        handles, labels = axes.get_legend_handles_labels()
        longest = max(map(len, labels))
        columns_max = 5 if longest < 18 else 3 if longest < 30 else 2
        rows = -(-len(labels) // columns_max)
        columns = -(-len(labels) // rows)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    # Titles and names of others are no formulas, and hold nothing that XML cannot.
    for shown in figure.findobj(Text):
        if isinstance(shown, Text):
            shown.set_parse_math(False)
            shown.set_text(printable(shown.get_text()))
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"ffslab-{name}", "svg.fonttype": "none", "text.parse_math": False}):
        figure.savefig(buffer, format="svg", dpi=120, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    label = f'<svg role="img" aria-label="{plain_html(name.replace("-", " "))}"'
    drawn = label + re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") + 4 :], flags=re.DOTALL)
    # Groups are numbered alike in every figure, and equal images named alike: what nothing refers to needs no id.
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn))
    return _IDS.sub(lambda found: found[0] if found[2] in referred else found[1], drawn).rstrip()


_IDS = re.compile(r'(<[a-z]+[^<>]*?) id="([^"]*)"')
