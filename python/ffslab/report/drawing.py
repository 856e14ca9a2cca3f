"""Pictures as files, drawn by matplotlib without its global state; charts of pages are those of `charts`."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ffslab.text.quoting import plain_html

if TYPE_CHECKING:
    pass

# Okabe and Ito, "Color Universal Design" (2008): told apart by the colour-blind.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
WIDTH_INCHES = 9.5


def colour(i: int) -> str:
    """Colour of the i-th series."""
    return COLOURS[i % len(COLOURS)]


def new_figure(height_inches: float) -> Figure:
    """A figure of the usual width."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def svg_text(figure: Figure, name: str) -> str:
    """The figure as an SVG element. Screen readers read `name`, from which ids are derived."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"ffslab-{name}", "svg.fonttype": "none", "text.parse_math": False}):
        figure.savefig(buffer, format="svg", dpi=120, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    label = f'<svg role="img" aria-label="{plain_html(name.replace("-", " "))}"'
    return label + re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") + 4 :], flags=re.DOTALL).rstrip()
