"""The page of published measurements beside simulated ones: how near each kind comes, then case by case."""

from __future__ import annotations

from ffslab._native import __version__
from ffslab.answers.evidence import Evidence, PublishedCase
from ffslab.report import Opening, page, section, table
from ffslab.report.charts import Axis, Line, chart, multiples, packed
from ffslab.report.page import Drawn, KeyFigure, Part, bullets, paragraph
from ffslab.studies.reproduce.published import words
from ffslab.text.quoting import escape
from ffslab.text.tables import number

# What counts as near, as a factor up and down; the area in charts.
NEAR = 1.25
_NEAR_SAID = f"within {100 * (NEAR - 1):.0f} %"
HOW_TO_READ = (
    "Each mark is a measurement: what was published, from left to right, and what ffslab gives for it, upwards. On the "
    f"line both are the same, and between the dashed ones they are {_NEAR_SAID}. Misses stand as they are: no constant "
    "was chosen for a case. Kinds with * are variants of cases, or say too little of their set-up, and no sum has them."
)


def report(evidence: Evidence) -> str:
    """The HTML report."""
    by_kind: dict[str, list[PublishedCase]] = {}
    for row in evidence["cases"]:
        by_kind.setdefault(row["kind"], []).append(row)
    charts = [_chart(f"kind-{at}", kind, rows) for at, (kind, rows) in enumerate(_with_results(by_kind).items())]
    parts: list[Part] = [
        section(
            "How near each kind comes",
            [paragraph(HOW_TO_READ), _kinds(evidence), *([multiples(charts, "large")] if charts else [])],
        ),
        *(section(f"Cases: {kind}", _cases(evidence, rows)) for kind, rows in by_kind.items()),
    ]
    opening = Opening(
        f"{evidence['title']}: published and simulated",
        f"Simulated by ffslab {__version__} in virtual time, on profiles made from data sheets.",
        evidence["answer"],
        _key_figures(evidence),
        _overview(by_kind),
        machine=evidence["machine"],
        failures=list(words.failures(evidence)),
    )
    return page(evidence["title"], parts, opening)


def _overview(by_kind: dict[str, list[PublishedCase]]) -> Drawn | None:
    """How far off each case that counts is, kind beside kind."""
    counted = {
        kind: [row["ratio"] for row in rows if row["counted"] and row["ratio"]] for kind, rows in by_kind.items()
    }
    kinds = {kind: ratios for kind, ratios in counted.items() if ratios}
    if not kinds:
        return None
    x = [at for at, ratios in enumerate(kinds.values()) for _ in ratios]
    y = [ratio for ratios in kinds.values() for ratio in ratios]
    # From one end of the axis to the other (`scaleOf` of charts.js).
    ends = [-0.39, len(kinds) - 0.61]
    grey = {"colour": "s7", "stated": True, "dash": [9, 5]}
    lines = [
        Line("a case", x, y, "dots", {"size": 9}),
        Line("the same", ends, [1.0, 1.0], "line", grey),
        Line(_NEAR_SAID, ends, [NEAR, NEAR], "area", {**grey, "to": packed([1 / NEAR, 1 / NEAR])}),
    ]
    names = ["\n".join(kind.split()) for kind in kinds]
    return chart("all-kinds", "Simulated over published", Axis("kind", ticks=names), Axis("ratio", log=True), lines, 18)


def _with_results(by_kind: dict[str, list[PublishedCase]]) -> dict[str, list[PublishedCase]]:
    found = {kind: [row for row in rows if row["simulated"]] for kind, rows in by_kind.items()}
    return {kind: rows for kind, rows in found.items() if rows}


def _chart(name: str, kind: str, rows: list[PublishedCase]) -> Drawn:
    """Published and simulated, each unit by itself; the line of equals, and those within which both are near."""
    units: dict[str, list[PublishedCase]] = {}
    for row in rows:
        units.setdefault(words.unit(row), []).append(row)
    published = [row["published"] for row in rows]
    ends = [min(published), max(published)] if min(published) < max(published) else [published[0] / 2, published[0] * 2]
    lines = [
        Line(
            of_unit, [row["published"] for row in some], [row["simulated"] or 0.0 for row in some], "dots", {"size": 9}
        )
        for of_unit, some in units.items()
    ]
    grey = {"colour": "s7"}
    lines.append(Line("the same", ends, ends, "line", grey))
    for factor, name in ((NEAR, f"{_NEAR_SAID}, above"), (1 / NEAR, f"{_NEAR_SAID}, below")):
        lines.append(Line(name, ends, [end * factor for end in ends], "line", {**grey, "dash": [9, 5]}))
    of = ", ".join(units)
    return chart(name, kind, Axis(f"published, {of}", log=True), Axis(f"simulated, {of}", log=True), lines, 18)


def _kinds(evidence: Evidence) -> str:
    return table(words.KINDS_HEAD, [words.kind_cells(kind) for kind in words.kinds_of(evidence)], align="lrrrlrr")


def _cases(evidence: Evidence, rows: list[PublishedCase]) -> str:
    """A table, below each case what is known of it."""
    explained = {row["id"]: "<br>".join(escape(text) for text in _known(row)) for row in rows}
    cells = [[cell for at, cell in enumerate(words.case_cells(evidence, row)) if at != 1] for row in rows]
    head = [name for name in words.case_head(evidence) if name != "kind"]
    return table(head, cells, explained) + bullets([text for row in rows if (text := row["failure"])])


def _known(row: PublishedCase) -> list[str]:
    """What the publication says, what it does not, and where it stands."""
    said = [
        ("", row["set_up"]),
        ("Not known: ", row["unknown"]),
        ("Not simulated: ", row["not_simulated"]),
        ("", row["note"]),
        ("Source: ", f"{row['source']}{', ' if row['reference'] else ''}{row['reference']}"),
    ]
    return [f"{before}{told}" for before, told in said if told]


def _key_figures(evidence: Evidence) -> list[KeyFigure]:
    every = evidence["all"]
    if every is None:
        return []
    of = f"of {number(every['cases'])} that count"
    return [
        KeyFigure("Within 20 %", number(every["within_20"]), of),
        KeyFigure("Within 25 %", number(every["within_25"]), of),
        KeyFigure("Simulated over published, median", words.ratio(every["median_ratio"]), "1 is the same"),
        KeyFigure("Runs", number(evidence["runs"]), f"on {number(evidence['boards'])} boards"),
    ]
