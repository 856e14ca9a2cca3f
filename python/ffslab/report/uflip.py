"""The report of `ffslab uflip`: the table of devices, their phases call by call, a picture of each micro-benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffslab import __version__
from ffslab.report import Opening, Section, bullets, figure, page, section, table
from ffslab.report.drawing import (
    MARKS,
    VECTOR_MARKS_MAX,
    colour,
    new_figure,
    svg_text,
    thousands,
    value_axis,
)
from ffslab.studies.uflip.plan import BASE, BENCHMARKS
from ffslab.studies.uflip.table import ALIGN, HEAD, cells
from ffslab.studies.uflip.text import PHASES_ALIGN, PHASES_HEAD, phases_rows, said

if TYPE_CHECKING:
    from ffslab.answers.uflip_study import UflipDevice, UflipStudy
    from ffslab.studies.uflip.study import UflipResult

# More devices than this are told in the tables alone.
DRAWN_MAX = 8
COLUMNS = 4
PANEL_INCHES = 2.3
US_PER_MS = 1_000
# Benchmarks whose values are doubled from point to point, from something larger than 0 on.
DOUBLED = ("granularity", "locality", "partitioning", "parallelism", "mix", "bursts")


def html(result: UflipResult) -> str:
    """The whole report."""
    study = result.answer
    drawn = study["devices"][:DRAWN_MAX]
    rows = [cells(device["name"], device["row"]) for device in study["devices"]]
    state = {"fresh": "fresh", "random": "random-formatted", "sequential": "written in order"}[study["state"]]
    parts = [
        section("Devices", table(HEAD, rows, align=ALIGN) + bullets(said(study))),
        section("Start-up and running phases", table(PHASES_HEAD, phases_rows(study), align=PHASES_ALIGN)),
        *(_phases(result, device) for device in drawn),
        *(_benchmark(study, drawn, name, about) for name, about in BENCHMARKS.items()),
    ]
    opening = Opening(study["title"], f"uFLIP on {state} devices, simulated by ffslab {__version__} in virtual time.")
    return page(study["title"], parts, opening)


def _phases(result: UflipResult, device: UflipDevice) -> Section | None:
    """Response time by number of the call, with the mean so far of the running phase and the end of the start-up
    phase."""
    series = result.series_us[device["name"]]
    drawing = new_figure(PANEL_INCHES + 0.6)
    panels = drawing.subplots(1, len(BASE))
    for axes, one in zip(panels, device["phases"], strict=True):
        times_ms = np.asarray(series[one["pattern"]]) / US_PER_MS
        many = len(times_ms) > VECTOR_MARKS_MAX // len(BASE)
        axes.plot(times_ms, ".", markersize=2, color=colour(0), rasterized=many)
        running = times_ms[one["startup_n"] :]
        means = np.cumsum(running) / np.arange(1, len(running) + 1)
        axes.plot(one["startup_n"] + np.arange(len(running)), means, color=colour(1), linewidth=1.2)
        if one["startup_n"]:
            axes.axvline(one["startup_n"], color="#000000", linewidth=0.8, linestyle="--")
        axes.set_title(one["pattern"], fontsize=9)
        axes.set_xlabel("call")
        value_axis(axes, "y", [times_ms])
        thousands(axes.xaxis)
    panels[0].set_ylabel("response time, ms")
    note = "Each dot is a call. Line: mean of the running phase so far; dashed: where the start-up phase ends."
    return figure(f"Phases of {device['name']}", note, svg_text(drawing, f"phases-{device['name']}"))


def _benchmark(study: UflipStudy, devices: list[UflipDevice], benchmark: str, about: str) -> Section | None:
    """A panel for each pattern, a line for each device."""
    patterns = list(
        dict.fromkeys(point["pattern"] for point in devices[0]["points"] if point["benchmark"] == benchmark)
    )
    rows = -(-len(patterns) // COLUMNS)
    drawing = new_figure(PANEL_INCHES * rows + 0.9)
    grid = drawing.subplots(rows, min(COLUMNS, len(patterns)), squeeze=False)
    panels = [axes for row in grid for axes in row]
    for axes, pattern in zip(panels, patterns, strict=False):
        heights = []
        for i, device in enumerate(devices):
            points = [one for one in device["points"] if (one["benchmark"], one["pattern"]) == (benchmark, pattern)]
            points.sort(key=lambda point: point["value"])
            means_ms = [point["mean_us"] / US_PER_MS for point in points]
            heights.append(means_ms)
            line = {"marker": MARKS[i % len(MARKS)], "markersize": 3.5, "markerfacecolor": "none", "linewidth": 1.1}
            axes.plot([point["value"] for point in points], means_ms, color=colour(i), label=device["name"], **line)
        if benchmark in DOUBLED:
            axes.set_xscale("log", base=2)
        else:
            axes.set_xscale("symlog", linthresh=1 if benchmark == "order" else 100, base=2)
        axes.set_title(pattern, fontsize=9)
        axes.set_xlabel(about, fontsize=8)
        value_axis(axes, "y", heights)
        thousands(axes.xaxis)
        axes.tick_params(axis="x", labelsize=7, labelrotation=45)
        axes.grid(alpha=0.3)
    for axes in panels[len(patterns) :]:
        axes.set_visible(False)
    for row in grid:
        row[0].set_ylabel("response time, ms")
    note = f"Mean response time of the running phase by {about}."
    svg = svg_text(drawing, f"uflip-{benchmark}", panels[0], len(devices))
    return figure(benchmark.capitalize(), note, svg)
