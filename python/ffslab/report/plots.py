"""The plots of the report, as SVG text. matplotlib without its global state: every figure is made and drawn here."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from ffslab.time_table import ASKED_FOR, spent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffslab.experiment import Run

Variant = dict[str, Any]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")  # Okabe and Ito
WIDTH_INCHES = 9.5
# More marks than this are drawn as pixels, or the file grows by 100 bytes a mark.
VECTOR_MARKS_MAX = 5_000
# More variants than this are not drawn one by one: nobody can tell them apart.
VARIANTS_MAX = 8
CAUSES_MAX = 10

KINDS = (
    ("page_reads", "page reads"),
    ("page_programs", "page programs"),
    ("erases", "erases"),
)


def latency_over_time(run: Run) -> str | None:
    """Latency of each call over the virtual time at which it started."""
    calls = _calls(run)
    if not calls:
        return None
    figure = new_figure(3.2 + 0.07 * len(calls))
    axes = figure.add_subplot()
    marks = sum(len(latency) for _, _, latency in calls)
    for i, (name, start, latency) in enumerate(calls):
        axes.plot(
            (start - start.min()) / 1e6,
            latency,
            linestyle="none",
            marker=".",
            markersize=3,
            color=colour(i),
            label=name,
            rasterized=marks > VECTOR_MARKS_MAX,
        )
    axes.set(xlabel="virtual time since the first call, s", ylabel="latency, us", title="Latency over time")
    _log_scale(axes, "y", [latency for _, _, latency in calls])
    return svg_text(figure, "latency-over-time", axes, len(calls))


def latency_distribution(run: Run) -> str | None:
    """Share of the calls that took at most so long."""
    calls = _calls(run)
    if not calls:
        return None
    figure = new_figure(3.2 + 0.07 * len(calls))
    axes = figure.add_subplot()
    for i, (name, _, latency) in enumerate(calls):
        # 500 steps show the shape; the tail, the last hundred calls, is drawn in full.
        ordered = np.sort(latency)
        n = len(ordered)
        ranks = np.unique(np.concatenate([np.linspace(0, n - 1, 500).astype(int), np.arange(max(0, n - 100), n)]))
        axes.step(ordered[ranks], (ranks + 1) / n * 100, where="post", color=colour(i), label=name)
    axes.set(xlabel="latency, us", ylabel="calls, %", title="Distribution of latency", ylim=(0, 101))
    _log_scale(axes, "x", [latency for _, _, latency in calls])
    return svg_text(figure, "latency-distribution", axes, len(calls))


def time_by_cause(variants: list[Variant]) -> str | None:
    """Stacked bars: virtual time per variant, split by reason; the smallest reasons are put together."""
    parts = [spent(variant) for variant in variants]
    largest = {name: max(part.get(name, 0.0) for part in parts) for part in parts for name in part}
    names = sorted(largest, key=lambda name: (name not in ASKED_FOR, -largest[name]))
    if not names:
        return None
    figure = new_figure(1.3 + 0.3 * len(variants))
    axes = figure.add_subplot()
    y, left = np.arange(len(variants)), np.zeros(len(variants))
    shown = names[: len(COLOURS) - 1] if len(names) > len(COLOURS) else names
    for i, name in enumerate(shown):
        widths = np.array([part.get(name, 0.0) / 1e3 for part in parts])
        axes.barh(y, widths, left=left, color=colour(i), label=name, height=0.6)
        left += widths
    rest = np.array([sum(part.values()) / 1e3 for part in parts]) - left
    if len(shown) < len(names):
        axes.barh(y, rest, left=left, color="#dddddd", label="further causes", height=0.6)
    axes.set_yticks(y, [_lines(variant) for variant in variants], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="virtual time, ms")
    figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return svg_text(figure, "time-by-cause")


def operations_by_cause(variants: list[Variant]) -> str | None:
    """Stacked bars: reads, programs and erases per variant, split by task and reason."""
    variants = variants[:VARIANTS_MAX]
    causes = _largest_causes(variants)
    kinds = [(counter, label) for counter, label in KINDS if any(v["totals"][counter] for v in variants)]
    if not causes:
        return None
    figure = new_figure(1.6 + 0.3 * len(variants) + 0.07 * len(causes))
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    y = np.arange(len(variants))
    for axes, (counter, label) in zip(panels, kinds, strict=True):
        left = np.zeros(len(variants))
        for i, cause in enumerate(causes):
            widths = np.array([_count(variant, counter, cause) for variant in variants], dtype=float)
            axes.barh(y, widths, left=left, color=colour(i), hatch=_hatch(i), label=cause, height=0.6)
            left += widths
        rest = np.array([v["totals"][counter] for v in variants], dtype=float) - left
        if rest.any():
            axes.barh(y, rest, left=left, color="#dddddd", label="further causes", height=0.6)
        axes.set(title=label, ylim=(-0.6, len(variants) - 0.4))
        axes.invert_yaxis()
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    panels[0].set_yticks(y, [_lines(variant) for variant in variants], fontsize=8)
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return svg_text(figure, "operations-by-cause")


def erase_map(run: Run) -> str | None:
    """The erase blocks of each variant as a map, row by row, coloured by their erases in the measured steps."""
    names = np.asarray(run.block_columns["variant"])
    erases = np.asarray(run.block_columns["erases_main"])
    variants = [variant["name"] for variant in run.summary["variants"]][:VARIANTS_MAX]
    if not len(erases) or not erases.any():
        return None
    rows_of = [erases[names == name] for name in variants]
    columns = 64
    figure = new_figure(0.5 + sum(0.55 + 0.11 * (len(row) / columns) for row in rows_of))
    panels = np.atleast_1d(figure.subplots(len(rows_of), 1))
    image = None
    for axes, name, row in zip(panels, variants, rows_of, strict=True):
        cells = np.full(-(-len(row) // columns) * columns, np.nan)
        cells[: len(row)] = row
        image = axes.imshow(
            cells.reshape(-1, columns),
            cmap="viridis",
            vmin=0,
            vmax=erases.max(),
            interpolation="nearest",
            aspect="equal",
        )
        axes.set_title(f"{name}: {int(row.sum())} erases, {int(row.max())} of one block at most", fontsize=9)
        axes.set(xticks=[], ylabel="block")
        axes.set_yticks([0], ["0"])
    assert image is not None
    figure.colorbar(image, ax=list(panels), label="erases", shrink=0.8)
    return svg_text(figure, "erase-map")


SPACE_KINDS = (("valid", "valid", "#0072b2"), ("invalid", "invalid", "#d55e00"), ("free", "free", "#d9d9d9"))


def space_map(run: Run) -> str | None:
    """What each erase block holds before and after the measured steps, in pages: a bar a block."""
    names = np.asarray(run.block_columns["variant"])
    drawn: list[tuple[str, list[Any]]] = []
    for variant in run.summary["variants"][:VARIANTS_MAX]:
        if variant["flash"] is None:
            continue
        chosen = names == variant["name"]
        page_bytes = variant["flash"]["page_B"]
        for when in ("before", "after"):
            held = [
                np.asarray(run.block_columns[f"{kind}_{when}_B"])[chosen] / page_bytes for kind, _, _ in SPACE_KINDS
            ]
            if len(held[0]) and not np.isnan(held[0]).any():
                sums = ", ".join(
                    f"{label} {pages.sum() * page_bytes / 2**20:,.1f} MiB"
                    for pages, (_, label, _) in zip(held, SPACE_KINDS, strict=True)
                )
                drawn.append((f"{variant['name']}, {when}: {sums}", held))
    if not drawn:
        return None
    figure = new_figure(0.6 + 0.95 * len(drawn))
    panels = np.atleast_1d(figure.subplots(len(drawn), 1))
    for axes, (title, held) in zip(panels, drawn, strict=True):
        blocks = np.arange(len(held[0]) + 1)
        bottom = np.zeros(len(held[0]))
        for pages, (_, label, colour) in zip(held, SPACE_KINDS, strict=True):
            axes.stairs(bottom + pages, blocks, baseline=bottom, fill=True, color=colour, label=label)
            bottom = bottom + pages
        axes.set_title(title, fontsize=9)
        axes.set(xlim=(0, len(bottom)), ylim=(0, bottom.max() or 1), ylabel="pages")
    panels[-1].set_xlabel("erase block")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return svg_text(figure, "space-map")


def energy_by_rail(variants: list[Variant]) -> str | None:
    """Stacked bars: energy above idle per variant and supply rail."""
    variants = variants[:VARIANTS_MAX]
    if not any(variant["energy_uJ"]["total"] for variant in variants):
        return None
    figure = new_figure(0.9 + 0.4 * len(variants))
    axes = figure.add_subplot()
    y = np.arange(len(variants))
    left = np.zeros(len(variants))
    for i, rail in enumerate(("cpu", "memory")):
        energy = np.array([variant["energy_uJ"][rail] / 1e3 for variant in variants])
        axes.barh(y, energy, left=left, color=colour(i), label=rail, height=0.6)
        left += energy
    axes.set_yticks(y, [_lines(variant) for variant in variants], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="energy above idle, mJ")
    return svg_text(figure, "energy", axes, 2)


# ---- helpers ------------------------------------------------------------------------------------------------


def _calls(run: Run) -> list[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """(variant, start in us, latency in us) of each of the first variants that made calls."""
    columns = run.request_columns
    names = np.asarray(columns["variant"])
    start, latency = np.asarray(columns["start_us"]), np.asarray(columns["latency_us"])
    drawn = [variant["name"] for variant in run.summary["variants"]][:VARIANTS_MAX]
    chosen = [(name, names == name) for name in drawn]
    return [(name, start[mask], latency[mask]) for name, mask in chosen if mask.any()]


def _lines(variant: Variant) -> str:
    """The name of a variant, an axis a line."""
    return str(variant["name"]).replace(", ", "\n")


def _largest_causes(variants: list[Variant]) -> list[str]:
    sizes: dict[str, int] = {}
    for variant in variants:
        for cause in variant["by_cause"]:
            key = f"{cause['task']}: {cause['reason']}"
            sizes[key] = sizes.get(key, 0) + sum(cause[counter] for counter, _ in KINDS)
    largest = sorted((key for key in sizes if sizes[key]), key=lambda key: (-sizes[key], key))
    return largest[:CAUSES_MAX]


def _count(variant: Variant, counter: str, cause: str) -> int:
    return sum(c[counter] for c in variant["by_cause"] if f"{c['task']}: {c['reason']}" == cause)


def _log_scale(axes: Axes, axis: str, values: list[np.ndarray[Any, Any]]) -> None:
    """A logarithmic axis when the values span more than a factor of ten; linear below the smallest that is not 0."""
    positive = [v[v > 0] for v in values if (v > 0).any()]
    if not positive:
        return
    low, high = min(float(v.min()) for v in positive), max(float(v.max()) for v in positive)
    if high <= 10 * low:
        return
    scale = axes.set_xscale if axis == "x" else axes.set_yscale
    if any((v == 0).any() for v in values):
        scale("symlog", linthresh=low, linscale=0.6)
        (axes.set_xlim if axis == "x" else axes.set_ylim)(-0.1 * low, 1.3 * high)
    else:
        scale("log")
    ticks = axes.xaxis if axis == "x" else axes.yaxis
    ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ticks.set_minor_formatter(NullFormatter())


def colour(i: int) -> str:
    """Colour of the i-th series."""
    return COLOURS[i % len(COLOURS)]


def _hatch(i: int) -> str | None:
    return None if i < len(COLOURS) else "//"


def new_figure(height_inches: float) -> Figure:
    """A figure as wide as the report."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def svg_text(figure: Figure, name: str, axes: Axes | None = None, legend_entries: int = 1) -> str:
    """The figure as an SVG element. Ids are derived from `name`, so that several figures fit in one document."""
    if axes is not None and legend_entries > 1:
        longest = max(len(text) for text in axes.get_legend_handles_labels()[1])
        columns = 3 if longest < 30 else 2
        figure.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False, markerscale=3)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"ffslab-{name}", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", dpi=120, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :].rstrip()
