"""Write amplification of garbage collection beside its formulas: rows, a table, a picture.

The formulas are those of Desnoyers (SYSTOR 2012) and Van Houdt (SIGMETRICS 2013); `crates/ftl/src/formulas.rs` has
them. Contents are not kept in these simulations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

from ffslab import _native
from ffslab.text.tables import text_table

# Points of a curve.
POINTS = 60
SPARE_LEAST, SPARE_MOST = 0.06, 0.32


class Comparison(TypedDict):
    """One comparison. `case`: its number; `off_percent`: how far the simulation lies from the formula."""

    case: int
    victim: str
    pages_per_block: int
    spare_share: float
    formula: float
    simulated: float
    off_percent: float
    allowed_percent: float
    is_within: bool


def compared(blocks: int, show: Callable[[float], object] | None = None) -> list[Comparison]:
    """All comparisons on devices of so many erase blocks, beside the free ones.

    `show` gets the share that is done. Raises InputError: too few blocks.
    """
    cases = json.loads(_native.amplification_cases())

    def one(case: int) -> tuple[float, float]:
        return _native.amplification(case, blocks)

    rows: list[Comparison] = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for case, (formula, simulated) in enumerate(threads.map(one, range(len(cases)))):
            of = cases[case]
            off_percent = (simulated / formula - 1) * 100
            rows.append(
                {
                    "case": case,
                    "victim": of["name"],
                    "pages_per_block": of["pages_per_block"],
                    "spare_share": of["spare_share"],
                    "formula": formula,
                    "simulated": simulated,
                    "off_percent": off_percent,
                    "allowed_percent": of["allowed_percent"],
                    "is_within": abs(off_percent) <= of["allowed_percent"],
                }
            )
            if show:
                show(len(rows) / len(cases))
    return rows


def text_of(rows: list[Comparison], blocks: int) -> str:
    """A table for people."""
    head = ["victim", "pages/block", "spare", "formula", "simulated", "off", "allowed"]
    cells = [
        [
            row["victim"],
            str(row["pages_per_block"]),
            f"{row['spare_share']:.2f}",
            f"{row['formula']:.4f}",
            f"{row['simulated']:.4f}",
            f"{row['off_percent']:+.2f} %",
            f"{row['allowed_percent']:.1f} %" + ("" if row["is_within"] else ", too far off"),
        ]
        for row in rows
    ]
    far = sum(not row["is_within"] for row in rows)
    said = f"{len(rows) - far} of {len(rows)} within what is allowed; {blocks} erase blocks beside the free ones; "
    said += "contents not kept."
    return text_table(head, cells, "l" + "r" * 6) + f"\n\n{said}"


def drawn(rows: list[Comparison], picture: Path) -> None:
    """Draws a panel for each number of pages a block: curves are formulas, points are simulated."""
    from ffslab.report.drawing import colour, new_figure

    sizes = sorted({row["pages_per_block"] for row in rows})
    victims = list(dict.fromkeys(row["victim"] for row in rows))
    figure = new_figure(4.2)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    spares = [SPARE_LEAST + (SPARE_MOST - SPARE_LEAST) * i / (POINTS - 1) for i in range(POINTS)]
    for panel, pages in zip(panels, sizes, strict=True):
        for at, victim in enumerate(victims):
            of = [row for row in rows if row["victim"] == victim and row["pages_per_block"] == pages]
            curve = [_native.amplification_formula(of[0]["case"], spare) for spare in spares]
            panel.plot(spares, curve, color=colour(at), linewidth=1.2)
            points = [row["spare_share"] for row in of], [row["simulated"] for row in of]
            panel.plot(*points, "o", color=colour(at), markersize=4, label=victim)
        panel.set_title(f"{pages} pages a block")
        panel.set_xlabel("spare share of the flash")
        panel.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("write amplification")
    panels[-1].legend(title="lines: formulas\npoints: simulated", fontsize=8, title_fontsize=8)
    figure.savefig(picture, dpi=120, metadata={"Software": None} if picture.suffix == ".png" else {"Date": None})
