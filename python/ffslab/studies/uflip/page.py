"""The report of `ffslab uflip`: the table of devices, their phases call by call, a picture of each micro-benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffslab._native import __version__
from ffslab.report import Opening, Section, bullets, page, section, table
from ffslab.report.charts import Axis, Ground, Line, chart, multiples, thinned, wants_log
from ffslab.report.page import Drawn, KeyFigure, folded, paragraph
from ffslab.studies.uflip.plan import BASE, BENCHMARKS
from ffslab.studies.uflip.table import ALIGN, HEAD, cells
from ffslab.studies.uflip.text import PHASES_ALIGN, PHASES_HEAD, phases_rows, said
from ffslab.text.tables import few, number

if TYPE_CHECKING:
    from ffslab.answers.uflip_study import UflipDevice, UflipPoint, UflipStudy
    from ffslab.studies.uflip.study import UflipResult

# More devices than this are told in the tables alone.
DRAWN_MAX = 8
CALLS_MAX = 4_000
REMARKS_MAX = 20
US_PER_MS = 1_000
# Benchmarks whose values are doubled from point to point, from something larger than 0 on.
DOUBLED = ("granularity", "locality", "partitioning", "parallelism", "mix", "bursts")
NAMES = {"SR": "sequential read", "RR": "random read", "SW": "sequential write", "RW": "random write"}


def html(result: UflipResult) -> str:
    """The whole report."""
    study = result.answer
    drawn = study["devices"][:DRAWN_MAX]
    rows = [cells(device["name"], device["row"]) for device in study["devices"]]
    state = {"fresh": "fresh", "random": "random-formatted", "sequential": "written in order"}[study["state"]]
    parts = [
        section("Devices", table(HEAD, rows, align=ALIGN) + _remarks(said(study))),
        section("Start-up and running phases", table(PHASES_HEAD, phases_rows(study), align=PHASES_ALIGN)),
        *(_phases(result, device, at) for at, device in enumerate(drawn)),
        *(_benchmark(study, drawn, name, about) for name, about in BENCHMARKS.items()),
    ]
    setting = f"uFLIP on {state} devices, simulated by ffslab {__version__} in virtual time."
    opening = Opening(study["title"], setting, _answer(study), _key_figures(study), _costs(drawn), study["machine"])
    return page(study["title"], parts, opening)


def _remarks(lines: list[str]) -> str:
    """Tables of many devices are folded. The first one says how the table is read."""
    if len(lines) <= REMARKS_MAX:
        return bullets(lines)
    return bullets(lines[:1]) + folded(f"{number(len(lines) - 1)} remarks on single devices", bullets(lines[1:]))


def _answer(study: UflipStudy) -> str:
    """What random writes cost, in a sentence."""
    factors = [(device["row"]["RW_ms"] / device["row"]["SW_ms"], device["name"]) for device in study["devices"]]
    (low, best), (high, worst) = min(factors), max(factors)
    said = f"A random write costs {number(low, 1)} times a sequential one on {best}"
    return f"{said}, {number(high, 1)} times on {worst}." if best != worst else f"{said}."


def _key_figures(study: UflipStudy) -> list[KeyFigure]:
    """The fastest device at each of three kinds of calls, beside the slowest."""
    made = []
    for key in ("RW", "SW", "RR"):
        costs = sorted((device["row"][f"{key}_ms"], device["name"]) for device in study["devices"])  # type: ignore[literal-required]
        (least, best), (most, worst) = costs[0], costs[-1]
        label = f"{NAMES[key].capitalize()}, least" if len(costs) > 1 else NAMES[key].capitalize()
        beside = f"{best}; most: {few(most)} ms, {worst}" if len(costs) > 1 else best
        made.append(KeyFigure(label, f"{few(least)} ms", beside))
    return made


def _costs(devices: list[UflipDevice]) -> Drawn:
    """The four base patterns of each device side by side."""
    values = {device["name"]: [device["row"][f"{key}_ms"] for key in BASE] for device in devices}  # type: ignore[literal-required]
    lines = [
        Line(name, np.arange(len(BASE)) + (i - (len(values) - 1) / 2) * 0.5 / len(values), costs, "dots", {"size": 10})
        for i, (name, costs) in enumerate(values.items())
    ]
    y = Axis("response time, ms", log=wants_log(list(values.values())))
    return chart("costs", "", Axis("pattern", ticks=[NAMES[key] for key in BASE]), y, lines, 17)


def _phases(result: UflipResult, device: UflipDevice, at: int) -> Section | None:
    """Response time by number of the call, with the mean so far of the running phase and the end of the start-up
    phase."""
    series = result.series_us[device["name"]]
    charts = []
    for one in device["phases"]:
        times_ms = np.asarray(series[one["pattern"]]) / US_PER_MS
        running = times_ms[one["startup_n"] :]
        calls = np.arange(len(times_ms))
        means = np.cumsum(running) / np.arange(1, len(running) + 1)
        lines = [
            Line("a call", *thinned(calls, times_ms, CALLS_MAX), "dots", {"colour": "s0", "size": 3}),
            Line("mean so far", *thinned(calls[one["startup_n"] :], means, CALLS_MAX), "line", {"colour": "s1"}),
        ]
        marks = [(float(one["startup_n"]), "running")] if one["startup_n"] else []
        y = Axis("response time, ms", log=wants_log([times_ms]))
        name = f"phases-{at}-{one['pattern']}"
        charts.append(
            chart(name, _titled(one["pattern"]), Axis("call", linear=True), y, lines, 15, Ground(marks=marks))
        )
    note = "Each dot is a call. Line: mean of the running phase so far, which begins where the dashed line stands."
    return section(f"Phases of {device['name']}", [paragraph(note), multiples(charts)])


def _benchmark(study: UflipStudy, devices: list[UflipDevice], benchmark: str, about: str) -> Section | None:
    """A panel for each pattern, a line for each device."""
    every = [(device["name"], point) for device in devices for point in device["points"]]
    chosen = [(name, point) for name, point in every if point["benchmark"] == benchmark]
    charts = []
    for pattern in dict.fromkeys(point["pattern"] for _, point in chosen):
        points = sorted(((name, point) for name, point in chosen if point["pattern"] == pattern), key=_value)
        values = sorted({point["value"] for _, point in points})
        # On a logarithmic axis 0 and what is less have no place: then values stand side by side.
        ticks = [] if benchmark in DOUBLED else [number(value) for value in values]
        lines = []
        for device in devices:
            own = [point for name, point in points if name == device["name"]]
            at = [values.index(point["value"]) if ticks else point["value"] for point in own]
            lines.append(Line(device["name"], at, [point["mean_us"] / US_PER_MS for point in own], "marks"))
        x = Axis(about, ticks=ticks) if ticks else Axis(about, log=True)
        y = Axis("response time, ms", log=wants_log([line.y for line in lines]))
        charts.append(chart(f"{benchmark}-{pattern}".replace("+", "-"), _titled(pattern), x, y, lines, 15))
    note = f"Mean response time of the running phase by {about}."
    return section(benchmark.capitalize(), [paragraph(note), multiples(charts)]) if charts else None


def _titled(pattern: str) -> str:
    """A pattern as the tables call it, and in words: "RW: random write"."""
    return f"{pattern}: {' and '.join(NAMES[one] for one in pattern.split('+'))}"


def _value(named: tuple[str, UflipPoint]) -> int:
    return named[1]["value"]
