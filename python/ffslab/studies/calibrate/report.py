"""The report of a calibration: constants, warnings, and for each regression the line and what it leaves over."""

from __future__ import annotations

import numpy as np

from ffslab._native import __version__
from ffslab.report import Opening, bullets, page, section
from ffslab.report import table as html_table
from ffslab.report.charts import Axis, Line, chart, multiples
from ffslab.report.page import Drawn, KeyFigure, folded, paragraph, verbatim
from ffslab.studies.calibrate.calibration import ALIGN, BOOT_ALIGN, Calibration, boot_table, table
from ffslab.studies.calibrate.regression import Fit
from ffslab.text.tables import counted, number

R2_GOOD = 0.99


def html(done: Calibration) -> str:
    """The whole report."""
    drawn = [of for of in done.fits if of.observations.measured.any()]
    plots = [residual_plot(of, f"fit-{at}") for at, of in enumerate(drawn)]
    parts = [
        section("Warnings", bullets(done.warnings)),
        section("Constants", html_table(*table(done), align=ALIGN)),
        section("The boot log", html_table(*boot_table(done), align=BOOT_ALIGN)) if done.boot else None,
        section(
            "Regressions",
            [
                paragraph(
                    "Measured values and the line, and beside them what the line leaves over: if that has a shape, the "
                    "line is not all there is."
                ),
                *plots,
            ],
        )
        if plots
        else None,
        folded("The profile", verbatim(done.toml)),
    ]
    setting = f"Calibrated by ffslab {__version__}; what was not measured is that of {done.base}."
    return page(done.title, parts, Opening(done.title, setting, _answer(done), _key_figures(done), _off(drawn)))


def _answer(done: Calibration) -> str:
    """How far the profile can be trusted, in a sentence."""
    constants = [one for of in done.fits for one in of.constants.values()]
    known = sum(one.identified for one in constants)
    said = f"The measurements determine {number(known)} of {counted(len(constants), 'constant')}"
    doubts = counted(len(done.warnings), "warning")
    return f"{said}; {f'{doubts} say what to doubt' if done.warnings else 'nothing about them is in doubt'}."


def _key_figures(done: Calibration) -> list[KeyFigure]:
    """What belongs into the profile, how well lines explain, how many measurements there are."""
    explained = [of.r2 for of in done.fits if of.r2 is not None]
    made = [
        KeyFigure(
            "Constants of the profile that are measured",
            number(len(done.measured)),
            f"the others are those of {done.base}",
        )
    ]
    if explained:
        poor = sum(one < R2_GOOD for one in explained)
        made.append(
            KeyFigure(
                "Least R2",
                f"{min(explained):.4f}",
                f"{poor} of {counted(len(explained), 'regression')} below {R2_GOOD}",
            )
        )
    made.append(
        KeyFigure(
            "Measurements",
            number(sum(len(of.fitted) for of in done.fits)),
            f"in {counted(len(done.fits), 'regression')}",
        )
    )
    return made


def _off(drawn: list[Fit]) -> Drawn | None:
    """How far measurements are from their lines, all regressions in one picture, in percent of what was measured."""
    lines = []
    for of in drawn:
        measured = of.observations.measured
        there = measured != 0
        if there.any():
            off = 100 * of.residuals[there] / measured[there]
            lines.append(Line(_named(of), np.arange(1, len(off) + 1), off, "dots", {"size": 6}))
    if not lines:
        return None
    x = Axis("measurement", linear=True)
    return chart("off", "How far each measurement is from its line", x, Axis("measured minus fitted, %", "off"), lines)


def _named(of: Fit) -> str:
    """What was measured, for people: the unit stands at the axes."""
    what = of.observations.what.removesuffix(f", {of.observations.unit}")
    return f"{what[0].upper()}{what[1:]}"


def residual_plot(of: Fit, name: str) -> Drawn:
    """Measured and fitted values over the amount of the only constant; of several, over the fitted values."""
    observed = of.observations
    keys = [str(key) for key in observed.amounts.columns if not str(key).startswith("loop.")]
    single = len(keys) == 1 and observed.amounts[keys[0]].nunique() > 1
    x = observed.amounts[keys[0]].to_numpy(dtype=float) if single else of.fitted
    if not single and np.ptp(x) == 0:
        x = np.arange(1, len(x) + 1, dtype=float)
    order = np.argsort(x, kind="stable")
    if single:
        label = f"{keys[0].rpartition('.')[2].partition('_')[0]}s in a loop"
    else:
        label = f"fitted, {observed.unit}" if np.ptp(of.fitted) else "measurement"
    along = Axis(label)
    dots: dict[str, object] = {"colour": "s0", "size": 6}
    line: dict[str, object] = {"colour": "s1"}
    ends = x[order][[0, -1]]
    left = [
        Line("measured", x, observed.measured, "dots", dots),
        Line("fitted", x[order], of.fitted[order], "line", line),
    ]
    right = [Line("left over", x, of.residuals, "dots", dots), Line("nothing", ends, [0, 0], "line", line)]
    return multiples(
        [
            chart(f"{name}-values", _named(of), along, Axis(f"measured, {observed.unit}"), left),
            chart(f"{name}-rest", f"{_named(of)}: left over", along, Axis(f"residual, {observed.unit}"), right),
        ]
    )
