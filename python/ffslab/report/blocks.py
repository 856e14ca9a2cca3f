"""Erase blocks as data of a page: what each was and became, for the maps and planes that `assets/blocks.js` and
`assets/plane.js` draw."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ffslab.answers.summary import VariantSummary
from ffslab.report.charts import packed
from ffslab.report.page import Drawn
from ffslab.text.quoting import escape, plain_html

if TYPE_CHECKING:
    from ffslab.files.results import Results

DATA = "blocks"
SCRIPTS = ("blocks.js",)


def block_map(run: Results, variants: Sequence[VariantSummary]) -> Drawn | None:
    """A cell for each erase block of each of these variants; `None`: none has erase blocks."""
    names = np.asarray(run.block_columns["variant"], dtype=object)
    shown = []
    for variant in variants:
        rows = names == variant["name"]
        if not rows.any() or variant["flash"] is None:
            continue
        columns = {name: np.asarray(values)[rows] for name, values in run.block_columns.items() if name != "variant"}
        block_bytes = variant["flash"]["page_B"] * variant["flash"]["pages_per_block"]
        facts = {
            "erases in the measured steps": columns["erases_main"],
            "erases since the chip was made": columns["erases_total"],
        }
        for when in ("before", "after"):
            for kind in ("valid", "invalid", "free"):
                share = 100 * columns[f"{kind}_{when}_B"] / block_bytes
                if not np.isnan(share).any():
                    facts[f"{kind} {when}, %"] = np.rint(share)
        metrics = [{"label": label, "values": [int(value) for value in values]} for label, values in facts.items()]
        marks = [
            {"at": one["at"], "block": one["first_block"] - min(starts)}
            for one in variant.get("mounts", [])
            if one["first_block"] is not None and (starts := _starts(variant))
        ]
        shown.append({"name": variant["name"], "metrics": metrics, "marks": marks})
    if not shown:
        return None
    return maps(DATA, shown)


def maps(name: str, shown: Sequence[Mapping[str, object]], choice: str = "Variant") -> Drawn:
    """A map with a choice of these, each of blocks: `name`, `metrics`, `first` (number of its first block), `marks`.

    A metric has `label` and `values`, one a block, `None` where nothing is known; `kinds` when the values are places in
    a list of (name, colour), `log` for logarithmic colours, `signed` for differences. `choice`: what these are.
    """
    html = (
        f'<figure class="map" data-blocks="{name}" data-choice="{choice}"><div class="tools"></div>'
        '<canvas tabindex="0" role="img" aria-label="Map of erase blocks; arrow keys go through it"></canvas>'
        '<p class="said" role="status"></p><div class="scale"></div></figure>'
    )
    return Drawn(html, {name: shown}, SCRIPTS)


@dataclass(frozen=True)
class Plane:
    """A figure over two axes. `edges`: of the columns, one more than these; `values`: a row a row, NaN where there is
    none; the rows are `step` numbers each from `first` on."""

    x: str
    y: str
    value: str
    edges: ArrayLike
    values: ArrayLike
    first: int = 0
    step: int = 1
    log: bool = False
    marks: Sequence[tuple[float, str]] = ()


def plane(name: str, title: str, of: Plane, tall_rem: float = 22) -> Drawn:
    """A cell for each value; `name` is its id in the page, `title` stands over it (may be empty)."""
    values = np.asarray(of.values, dtype="<f4")
    data = {
        "x": {"label": of.x, "edges": packed(of.edges)},
        "y": of.y,
        "value": of.value,
        "rows": values.shape[0],
        "first": of.first,
        "step": of.step,
        "log": of.log,
        "marks": [{"at": at, "text": text} for at, text in of.marks],
        "packed": base64.b64encode(zlib.compress(values.tobytes(), 6)).decode("ascii"),
    }
    caption = f"<figcaption>{escape(title)}</figcaption>" if title else ""
    label = plain_html(f"{of.value} by {of.y} and {of.x}{', ' + title if title else ''}; arrow keys go through it")
    html = (
        f'<figure class="map plane" data-plane="{name}" style="--tall:{tall_rem:g}rem">{caption}'
        '<div class="tools"></div>'
        f'<canvas tabindex="0" role="img" aria-label="{label}"></canvas>'
        '<p class="said" role="status"></p><div class="scale"></div></figure>'
    )
    return Drawn(html, {name: data}, (*SCRIPTS, "plane.js"))


def _starts(variant: VariantSummary) -> list[int]:
    return [one["first_block"] for one in variant.get("mounts", []) if one["first_block"] is not None]
