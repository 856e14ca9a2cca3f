"""The report: one HTML file with inline SVG that needs no other file and no network.

Deterministic: the same results give the same bytes with the same versions of ffslab and matplotlib.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ffslab import __version__
from ffslab.report import plots
from ffslab.report.style import STYLE
from ffslab.summary_table import summary_cells
from ffslab.text_table import number
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
        _section("What this means", _list(sentences(summary))),
        _section("Numbers", _table(*summary_cells(summary))),
        _section("Step by step", _table(*_step_cells(variants))),
        _plots("Latency", "Each dot is one call.", [plots.latency_over_time(run), plots.latency_distribution(run)]),
        _plots(
            "Flash operations by cause",
            "Who (task) and why (reason), summed over the measured steps.",
            [plots.operations_by_cause(variants)],
        ),
        _section("Where the time went", _table(*_time_cells(variants))),
        _plots("Erases per block", "Each cell is an erase block; measured steps only.", [plots.erase_map(run)]),
        _plots("Energy", "Above idle, by supply rail.", [plots.energy_by_rail(variants)]),
        "<details><summary>The experiment, with every default</summary>"
        f"<pre>{escape(run.resolved_toml)}</pre></details>",
    ]
    head = f'<meta charset="utf-8">\n<title>{title}</title>\n<style>{STYLE}</style>'
    body = "\n".join(part for part in parts if part)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def _plots(title: str, note: str, svgs: list[str | None]) -> str:
    drawn = [svg for svg in svgs if svg is not None]
    if not drawn:
        return ""
    return _section(title, f"<p>{escape(note)}</p>\n" + "\n".join(f"<figure>{svg}</figure>" for svg in drawn))


def _list(items: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _time_cells(variants: list[Variant]) -> tuple[list[str], list[list[str]]]:
    """Virtual time split into chip time per cause and the rest (driver, CPU, sleeping), in ms and per cent."""
    causes: dict[tuple[str, str], None] = {}
    for variant in variants:
        causes.update({(c["task"], c["reason"]): None for c in variant["by_cause"] if c["busy_us"]})
    head = ["task", "reason", *(f"{variant['name']}, ms" for variant in variants)]
    rows = [[*cause, *(_part(variant, _busy_us(variant, cause)) for variant in variants)] for cause in causes]
    rest = [_part(variant, variant["time_us"] - variant["totals"]["busy_us"]) for variant in variants]
    rows.append(["", "driver, CPU, sleeping", *rest])
    rows.append(["", "virtual time", *(number(variant["time_us"] / 1e3) for variant in variants)])
    return head, rows


def _step_cells(variants: list[Variant]) -> tuple[list[str], list[list[str]]]:
    """The measured steps of each variant; calls and latency only of steps that record them."""
    head = ["step", "variant", "elapsed, ms", "calls", "mean latency, us", "page reads", "page programs", "erases"]
    rows = []
    for i, first in enumerate(variants[0]["steps"]):
        for variant in variants[: plots.VARIANTS_MAX]:
            step = variant["steps"][i]
            counts, latency = step["counts"], step["latency_us"]
            counted = (number(counts[key]) for key in ("page_reads", "page_programs", "erases"))
            calls = number(latency["n"]) if latency["n"] else "-"
            elapsed = number(step["elapsed_us"] / 1e3)
            rows.append(
                [f"{i + 1} {first['step']}", variant["name"], elapsed, calls, number(latency["mean"]), *counted]
            )
    return head, rows


def _busy_us(variant: Variant, cause: tuple[str, str]) -> float:
    return float(sum(c["busy_us"] for c in variant["by_cause"] if (c["task"], c["reason"]) == cause))


def _part(variant: Variant, part_us: float) -> str:
    share = f" ({part_us / variant['time_us'] * 100:.1f} %)" if variant["time_us"] else ""
    return number(part_us / 1e3) + share
