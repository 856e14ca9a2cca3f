"""The report: one HTML file with inline SVG that needs no other file and no network.

Deterministic: the same results give the same bytes with the same versions of ffslab and matplotlib.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ffslab import __version__
from ffslab.report import plots
from ffslab.report.style import STYLE
from ffslab.step_groups import step_groups
from ffslab.summary_table import COLUMNS_MAX, main_cells
from ffslab.text_table import number
from ffslab.time_table import EXPLAINED, causes_table, variants_table
from ffslab.words import sentences

if TYPE_CHECKING:
    from ffslab.experiment import Run

Variant = dict[str, Any]


def html(run: Run) -> str:
    """The whole report of `run`."""
    summary = run.summary
    variants = summary["variants"]
    title = escape(summary["title"])
    parts = [
        f"<h1>{title}</h1>",
        f"<p>Simulated by ffslab {__version__} in virtual time. Energy is energy above idle.</p>",
        section("What this means", _list(sentences(summary))),
        section("Where the time went", _time(variants)),
        section("Numbers", table(*main_cells(summary))),
        section("Step by step", table(*_step_cells(variants))),
        _plots("Latency", "Each dot is one call.", [plots.latency_over_time(run), plots.latency_distribution(run)]),
        _plots(
            "Flash operations by cause",
            "Who (task) and why (reason), summed over the measured steps.",
            [plots.operations_by_cause(variants)],
        ),
        _plots("Erases per block", "Each cell is an erase block; measured steps only.", [plots.erase_map(run)]),
        _plots(
            "Space",
            "What each erase block holds before and after the measured steps, as the file system accounts for it: "
            "valid (still needed), invalid (superseded or deleted), free.",
            [plots.space_map(run)],
        ),
        _plots("Energy", "Above idle, by supply rail.", [plots.energy_by_rail(variants)]),
        "<details><summary>The experiment, with every default</summary>"
        f"<pre>{escape(run.resolved_toml)}</pre></details>",
    ]
    return page(summary["title"], parts)


def page(title: str, parts: list[str]) -> str:
    """An HTML file of these parts; empty ones are left out. `title` is plain text."""
    head = f'<meta charset="utf-8">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>'
    body = "\n".join(part for part in parts if part)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def section(title: str, body: str) -> str:
    """A part of a page; nothing when `body`, HTML, is empty."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def _plots(title: str, note: str, svgs: list[str | None]) -> str:
    drawn = [svg for svg in svgs if svg is not None]
    if not drawn:
        return ""
    return section(title, f"<p>{escape(note)}</p>\n" + "\n".join(f"<figure>{svg}</figure>" for svg in drawn))


def _list(items: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def table(head: list[str], rows: list[list[str]], explained: dict[str, str] | None = None) -> str:
    """A table of plain texts, numbers to the right. `explained` holds HTML for below the first cell of a row."""
    # The first column stands to the left in any case.
    sides = ["", *(_side([row[i] for row in rows if i < len(row)]) for i in range(1, len(head)))]
    heads = (escape(cell).replace("\n", "<br>") for cell in head)
    lines = ["<tr>" + "".join(f"<th{side}>{cell}</th>" for side, cell in zip(sides, heads, strict=True)) + "</tr>"]
    for first, *cells in rows:
        below = (explained or {}).get(first)
        note = f"<br><small>{below}</small>" if below else ""
        others = "".join(f"<td{side}>{escape(cell)}</td>" for side, cell in zip(sides[1:], cells, strict=False))
        lines.append(f"<tr><td>{escape(first)}{note}</td>{others}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _side(cells: list[str]) -> str:
    """The attribute of a column's cells: texts stand to the left, numbers and what there is none of to the right."""
    is_text = any(cell[:1].isalpha() or cell[:1] in '"/' for cell in cells if cell)
    return ' class="text"' if is_text else ""


def _time(variants: list[Variant]) -> str:
    """What each cause cost: a plot, a table of all variants when there are several, a table per variant."""
    drawn = variants[: plots.VARIANTS_MAX]
    plot = plots.time_by_cause(drawn)
    parts = [f"<figure>{plot}</figure>"] if plot else []
    if 1 < len(drawn) <= COLUMNS_MAX:
        parts.append(table(*variants_table(drawn)))
    for variant in drawn:
        head, rows = causes_table(variant)
        body = table(head, rows, {name: escape(text) for name, text in EXPLAINED.items()})
        named = f"<summary>{escape(variant['name'])}: operations and tasks</summary>"
        parts.append(f"<details>{named}\n{body}</details>" if len(drawn) > 1 else body)
    return "\n".join(parts)


def _step_cells(variants: list[Variant]) -> tuple[list[str], list[list[str]]]:
    """The measured steps of each variant that took time or flash operations; latency only where calls are recorded."""
    head = ["step", "variant", "elapsed, ms", "calls", "mean latency, us", "page reads", "page programs", "erases"]
    rows = []
    columns = [step_groups(variant) for variant in variants]
    for i, first in enumerate(columns[0]):
        same = [(variant, groups[i]) for variant, groups in zip(variants, columns, strict=True) if i < len(groups)]
        if not any(group.did_something for _, group in same):
            continue
        for variant, group in same[: plots.VARIANTS_MAX]:
            counted = (number(count) for count in (group.page_reads, group.page_programs, group.erases))
            calls = number(group.calls) if group.calls else "-"
            mean = number(group.latency_sum_us / group.calls) if group.calls else "-"
            title = f"{first.steps} x {first.title}" if first.steps > 1 else f"{i + 1} {first.title}"
            rows.append([title, variant["name"], number(group.elapsed_us / 1e3), calls, mean, *counted])
    return head, rows
