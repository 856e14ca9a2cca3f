"""The report of a calibration: constants, warnings, and for each regression the line and what it leaves over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from ffslab import __version__
from ffslab.report import Opening, bullets, page, section
from ffslab.report import table as html_table
from ffslab.report.drawing import colour, new_figure, svg_text, thousands
from ffslab.report.page import folded
from ffslab.studies.calibrate.regression import Fit
from ffslab.text.quoting import escape

if TYPE_CHECKING:
    from ffslab.studies.calibrate.verb import Calibration


def html(done: Calibration) -> str:
    """The whole report."""
    from ffslab.studies.calibrate.verb import ALIGN, table

    drawn = [of for of in done.fits if of.observations.measured.any()]
    plots = "\n".join(f"<p>{escape(_named(of))}:</p>\n<figure>{residual_plot(of)}</figure>" for of in drawn)
    parts = [
        section("Constants", html_table(*table(done), align=ALIGN)),
        section("Warnings", bullets(done.warnings)),
        section("Regressions", "<p>Left: measured values and the line. Right: what the line leaves over.</p>" + plots),
        folded("The profile", f"<pre>{escape(done.toml)}</pre>"),
    ]
    setting = f"Calibrated by ffslab {__version__}; what was not measured is that of {done.base}."
    return page(done.title, parts, Opening(done.title, setting))


def _named(of: Fit) -> str:
    """What was measured, for people: the unit stands at the axes."""
    what = of.observations.what.removesuffix(f", {of.observations.unit}")
    return f"{what[0].upper()}{what[1:]}"


def residual_plot(of: Fit) -> str:
    """Measured and fitted values over the amount of the only constant; of several, over the fitted values."""
    observed = of.observations
    keys = [str(key) for key in observed.amounts.columns if not str(key).startswith("loop.")]
    single = len(keys) == 1 and observed.amounts[keys[0]].nunique() > 1
    x = observed.amounts[keys[0]].to_numpy(dtype=float) if single else of.fitted
    if not single and np.ptp(x) == 0:
        x = np.arange(1, len(x) + 1, dtype=float)
    order = np.argsort(x, kind="stable")
    figure = new_figure(2.6)
    left, right = figure.subplots(1, 2)
    left.plot(x, observed.measured, linestyle="none", marker=".", color=colour(0))
    left.plot(x[order], of.fitted[order], color=colour(1), linewidth=1)
    right.axhline(0, color=colour(1), linewidth=1)
    right.plot(x, of.residuals, linestyle="none", marker=".", color=colour(0))
    if single:
        along = f"{keys[0].rpartition('.')[2].partition('_')[0]}s in a loop"
    else:
        along = f"fitted, {observed.unit}" if np.ptp(of.fitted) else "measurement"
    left.set(xlabel=along, ylabel=f"measured, {observed.unit}")
    right.set(xlabel=along, ylabel=f"residual, {observed.unit}")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.yaxis.set_major_locator(MaxNLocator(6))
        thousands(axes.xaxis, axes.yaxis)
    return svg_text(figure, f"residuals-{observed.what}".replace(" ", "-").replace(",", ""))
