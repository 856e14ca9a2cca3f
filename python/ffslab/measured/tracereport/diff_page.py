"""A comparison for people: text and one HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from ffslab._native import __version__
from ffslab.answers.trace_diff import CountChange, Counted, DiffSide, OperationsCounted, Shift, TraceDiff
from ffslab.measured.tracereport.columns import OPERATIONS
from ffslab.measured.tracereport.diff import TESTS, Side
from ffslab.measured.tracereport.operations import mapped_blocks
from ffslab.measured.tracereport.page import headline, section_of
from ffslab.measured.tracereport.plots import FUNCTIONS_MAX, map_note, maps_of
from ffslab.measured.tracereport.tables import LIMITS, ROWS_MAX, Table, interval, short
from ffslab.report import Opening, Section, bullets, page, section
from ffslab.report.changes import Change, bars
from ffslab.report.charts import Axis, distributions
from ffslab.report.page import Drawn, KeyFigure, paragraph
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
            _distributions(a, b, difference),
            _maps(a, b),
        ],
        Opening(
            "What changed from A to B?",
            " ".join([*heads, f"Compared by ffslab {__version__}."]),
            f"{moved[0][:1].upper()}{moved[0][1:].rstrip('.')}.",
            _key_figures(difference),
            bars([_changed(row) for row in difference["counts"]], "Flash operations of B beside those of A."),
        ),
    )


def _changed(row: CountChange) -> Change:
    before, after = row["a"], row["b"]
    said = f"{number(before)} became {number(after)}"
    return Change(NAMES[row["type"]], after / before if before else None, said)


def _key_figures(difference: TraceDiff) -> list[KeyFigure]:
    """The counts that changed most, and the function whose times are furthest apart."""
    known = [row for row in difference["counts"] if row["change"] is not None]
    most = sorted(known, key=lambda row: -abs(row["change"] or 0))[:2]
    made = [
        KeyFigure(
            NAMES[row["type"]].capitalize(),
            percent(row["change"]) if row["change"] else "same",
            f"{number(row['a'])} in A, {number(row['b'])} in B",
        )
        for row in most
    ]
    if difference["response_times"]:
        row = max(difference["response_times"], key=lambda one: one["ks_distance"])
        mean = row["mean_us"]
        beside = f"mean in us, A / B; distributions are {row['ks_distance']:.2f} of 1 apart (KS)"
        made.append(KeyFigure(row["function"], f"{number(mean['a'])} / {number(mean['b'])}", beside))
    return made


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


def _distributions(a: Side, b: Side, difference: TraceDiff) -> Section | None:
    drawn = difference["response_times"][:FUNCTIONS_MAX]
    values = []
    for i, row in enumerate(drawn):
        for side, whose, dash in ((a, "A", {}), (b, "B", {"dash": [6, 4]})):
            calls = side.recording.calls(row["level"])
            assert calls is not None
            number_of = side.recording.functions.number(row["function"])
            chosen = (calls.function == number_of) & ~calls.under_way
            ink: dict[str, object] = {"colour": f"s{i}", **dash}
            values.append((f"{row['function']}, {whose}", calls.duration_ns[chosen] / 1e3, ink))
    if not values:
        return None
    made = distributions("times", "", Axis("duration, us", "duration"), values)
    return section("Distributions of response times", [paragraph("Solid: A; dashed: B."), made])


def _maps(a: Side, b: Side) -> Section | None:
    if a.blocks is None or b.blocks is None or len(a.blocks) != len(b.blocks):
        return None
    shown = mapped_blocks(a.recording, a.blocks + b.blocks)
    made: Drawn | None = maps_of("blocks", b.blocks - a.blocks, shown, signed=True)
    return section("Maps: B minus A", [paragraph(map_note(shown)), made]) if made is not None else None
