"""Erase blocks of a run as data of a page: what each was and became, for the map that `assets/blocks.js` draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ffslab.answers.summary import VariantSummary
from ffslab.report.page import Drawn

if TYPE_CHECKING:
    from ffslab.api.experiment import Run

DATA = "blocks"
SCRIPTS = ("blocks.js",)


def block_map(run: Run, variants: Sequence[VariantSummary]) -> Drawn | None:
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
    html = (
        f'<figure class="map" data-blocks="{DATA}"><div class="tools"></div>'
        '<canvas tabindex="0" role="img" aria-label="Map of erase blocks; arrow keys go through it"></canvas>'
        '<p class="said" role="status"></p><div class="scale"></div></figure>'
    )
    return Drawn(html, {DATA: shown}, SCRIPTS)


def _starts(variant: VariantSummary) -> list[int]:
    return [one["first_block"] for one in variant.get("mounts", []) if one["first_block"] is not None]
