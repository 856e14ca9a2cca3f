"""A comparison for people: text and one HTML file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.ticker import FuncFormatter

from ffslab import __version__
from ffslab.answers.trace_diff import Counted, DiffSide, OperationsCounted, Shift, TraceDiff
from ffslab.boards.tracereport.columns import OPERATIONS
from ffslab.boards.tracereport.diff import TESTS, Side
from ffslab.boards.tracereport.operations import MAPPED, mapped_blocks
from ffslab.boards.tracereport.page import headline, section_of
from ffslab.boards.tracereport.plots import FUNCTIONS_MAX, map_cells, map_columns, map_note
from ffslab.boards.tracereport.tables import LIMITS, ROWS_MAX, Table, interval, short
from ffslab.report import Opening, Section, bullets, figure, page, section
from ffslab.report.drawing import colour, new_figure, svg_text, tails, value_axis
from ffslab.text.quoting import escape
from ffslab.text.tables import number, percent, text_table

NAMES = {key: name for _, key, name in OPERATIONS}


def text(difference: TraceDiff) -> str:
    """What the terminal shows."""
    lines = [f"{side}: {line}" for side, about in _sides(difference) for line in headline(about)[:1]]
    lines += [f"INCOMPLETE: {flaw}" for flaw in difference["flaws"]]
    lines += [f"note: {note}" for note in difference["notes"]]
    moved = difference["moved"] or ["nothing that these logs show"]
    lines += ["", "What moved", *(f"  {sentence}" for sentence in moved)]
    shown = [
        f"{made.title}\n{text_table(made.head, made.rows, made.align)}\n{made.note}".rstrip()
        for made in tables(difference)
    ]
    return "\n".join(lines) + "".join(f"\n\n{part}" for part in shown)


def html(a: Side, b: Side, difference: TraceDiff) -> str:
    """The whole page."""
    heads = [f"{side}: {'; '.join(headline(about))}." for side, about in _sides(difference)]
    flaws = "".join(f"<p><strong>INCOMPLETE: {escape(flaw)}</strong></p>" for flaw in difference["flaws"])
    moved = difference["moved"] or ["Nothing that these logs show has moved."]
    title = f"Trace diff: {a.name} and {b.name}"
    return page(
        title,
        [
            flaws,
            bullets(difference["notes"]),
            section("What moved", bullets(moved)),
            *(section_of(made) for made in tables(difference)),
            figure("Distributions of response times", "Solid: A; dashed: B.", _distributions(a, b, difference)),
            _maps(a, b),
        ],
        Opening(title, " ".join([*heads, f"Compared by ffslab {__version__}."]), moved[0]),
    )


def _sides(difference: TraceDiff) -> tuple[tuple[str, DiffSide], tuple[str, DiffSide]]:
    return ("A", difference["a"]), ("B", difference["b"])


def tables(difference: TraceDiff) -> list[Table]:
    """The tables that have rows."""
    made = [
        _counts(difference),
        _groups("By task", ["task"], [([row["task"]], row) for row in difference["tasks"]]),
        _groups(
            "By call",
            ["task", "outermost", "innermost"],
            [([row["task"], row["outermost"], row["innermost"]], row) for row in difference["causes"]],
        ),
        _response_times(difference),
        _amplification(difference),
        _map_rows(difference),
        _lifetimes(difference),
    ]
    return [table for table in made if table.rows]


def _counts(difference: TraceDiff) -> Table:
    rows = [
        [
            NAMES[row["type"]],
            number(row["a"]),
            number(row["b"]),
            f"{row['difference']:+,}",
            percent(row["change"]) if row["change"] is not None else "-",
            number(row.get("a_per_s"), 2),
            number(row.get("b_per_s"), 2),
            p_value(row.get("p")),
        ]
        for row in difference["counts"]
    ]
    head = ["", "A", "B", "difference", "change", "A per s", "B per s", "p of equal rates"]
    return Table("Flash operations", head, rows, "lrrrrrrr", f"p: {TESTS['rates']}.")


def _groups(title: str, heads: list[str], groups: Sequence[tuple[list[str | None], OperationsCounted]]) -> Table:
    kinds = [key for _, key, _ in OPERATIONS if any(key in counted for _, counted in groups)]
    rows = [
        [*(name or "-" for name in names), *(_pair(counted.get(kind)) for kind in kinds)]
        for names, counted in groups[:ROWS_MAX]
    ]
    note = f"{len(groups) - ROWS_MAX} further rows are in the JSON." if len(groups) > ROWS_MAX else ""
    return Table(
        title, [*heads, *(f"{NAMES[kind]}: A / B" for kind in kinds)], rows, "l" * len(heads) + "r" * len(kinds), note
    )


def _pair(pair: Counted | None) -> str:
    return f"{pair['a']:,} / {pair['b']:,}" if pair else "-"


def _response_times(difference: TraceDiff) -> Table:
    rows = [
        [
            row["function"],
            _pair(row["n"]),
            *(f"{number(us['a'])} / {number(us['b'])}" for us in (row["mean_us"], row["p50_us"], row["p99_us"])),
            _shift(row["mean_difference_us"]),
            f"{row['ks_distance']:.3f}",
            p_value(row["ks_p"]),
        ]
        for row in difference["response_times"][:ROWS_MAX]
    ]
    heads = [f"{name}, us: A / B" for name in ("mean", "median", "p99")]
    head = [
        "function",
        "calls: A / B",
        *heads,
        "difference of the means, us",
        "KS distance",
        "p of equal distributions",
    ]
    note = f"Means: {TESTS['means']}. p: {TESTS['distributions']}; calls of a session are not independent."
    return Table("Response times", head, rows, "l" + "r" * (len(head) - 1), note)


def _shift(row: Shift) -> str:
    if row["low"] is None:
        return short(row["estimate"])
    return interval(row["estimate"], row["low"], row["high"])


def _amplification(difference: TraceDiff) -> Table:
    rows = [[way, number(p["a"], 3), number(p["b"], 3)] for way, p in difference["amplification"].items()]
    return Table("Amplification", ["way", "A", "B"], rows, "lrr")


def _map_rows(difference: TraceDiff) -> Table:
    rows = [
        [
            NAMES[key],
            f"{row['moved_share'] * 100:.1f} %",
            *(number(count) for count in (touched["a"], touched["b"], touched["both"])),
            ", ".join(f"{top['block']} ({top['b'] - top['a']:+,})" for top in row["largest_changes"][:5]),
        ]
        for key, row in difference["maps"].items()
        for touched in [row["blocks_touched"]]
    ]
    head = ["", "moved", "blocks touched: A", "B", "both", "largest changes: block (B minus A)"]
    return Table("Maps of erase blocks", head, rows, "lrrrrl", f"Moved: {TESTS['maps']}.")


def _lifetimes(difference: TraceDiff) -> Table:
    rows = [
        [side, row["partition"], number(row["erases"])]
        + [short(row["lifetime_years"][limit]["estimate"]) if "lifetime_years" in row else "-" for limit in LIMITS]
        for side, wear in (("A", difference["lifetimes"]["a"]), ("B", difference["lifetimes"]["b"]))
        for row in wear
        if row["erases"]
    ]
    return Table("Wear", ["", "partition", "erases", "levelled, years", "busiest block, years"], rows, "llrrr")


def p_value(p: float | None) -> str:
    """Three decimals; below them only that it is less."""
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _distributions(a: Side, b: Side, difference: TraceDiff) -> str | None:
    drawn = difference["response_times"][:FUNCTIONS_MAX]
    if not drawn:
        return None
    drawing = new_figure(3.6)
    axes = drawing.add_subplot()
    durations_us, styles = [], []
    for i, row in enumerate(drawn):
        for side, style in ((a, "-"), (b, "--")):
            calls = side.recording.calls(row["level"])
            assert calls is not None
            number_of = side.recording.functions.number(row["function"])
            chosen = (calls.function == number_of) & ~calls.under_way
            durations_us.append(calls.duration_ns[chosen] / 1e3)
            styles.append({"color": colour(i), "linestyle": style, "label": row["function"] if side is a else ""})
    tails(axes, durations_us, styles)
    value_axis(axes, "x", durations_us)
    axes.set(xlabel="duration, us", ylabel="calls that took less, %")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    return svg_text(drawing, "diff-response-times")


def _maps(a: Side, b: Side) -> Section | None:
    title = "Maps: B minus A"
    if a.blocks is None or b.blocks is None or len(a.blocks) != len(b.blocks):
        return figure(title, "", None)
    change = b.blocks - a.blocks
    columns = [column for column in range(len(MAPPED)) if change[:, column].any()]
    if not columns:
        return figure(title, "", None)
    # Of the partition the rows from the first block that either touched to the last.
    touched = np.flatnonzero((a.blocks + b.blocks).any(axis=1))
    shown = mapped_blocks(a.recording, a.blocks + b.blocks)
    starts = shown[:: map_columns(shown)]
    begun = [start for start in starts if start <= touched[-1]]
    first = max(start for start in starts if start <= touched[0])
    shown = range(first, min(begun[-1] + map_columns(shown), shown.stop))
    lines = -(-len(shown) // map_columns(shown))
    drawing = new_figure(0.4 + len(columns) * (0.5 + max(0.3, 0.075 * lines)))
    panels = np.atleast_1d(drawing.subplots(len(columns), 1))
    for axes, column in zip(panels, columns, strict=True):
        cells = map_cells(change[:, column], shown)
        most = max(float(np.nanmax(np.abs(cells))), 1.0)
        image = axes.imshow(
            cells, cmap="RdBu_r", interpolation="nearest", aspect="auto",
            norm=SymLogNorm(1, vmin=-most, vmax=most),
        )  # fmt: skip
        axes.set_title(f"{OPERATIONS[MAPPED[column]][2]}: {int(change[:, column].sum()):+,}", fontsize=9)
        axes.set(xticks=[])
        rows = sorted({0, lines - 1})
        axes.set_yticks(rows, [f"{shown.start + row * map_columns(shown):,}" for row in rows], fontsize=8)
        bar = drawing.colorbar(image, ax=axes, ticks=[-most, 0, most])
        bar.formatter = FuncFormatter(lambda value, _: f"{value:+,g}" if value else "0")
    return figure(title, map_note(shown), svg_text(drawing, "diff-maps"))
