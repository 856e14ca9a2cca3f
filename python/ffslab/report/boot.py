"""The boots of a run as bars: a stage a piece, in the order in which they come."""

from __future__ import annotations

from collections.abc import Sequence

from ffslab.answers.summary import VariantSummary
from ffslab.report.bars import Piece, Row, bars
from ffslab.report.causes import FURTHER_COLOUR, REASON_COLOURS
from ffslab.text.boot import boot_stages, stages_us
from ffslab.text.durations import duration


def boot_bars(variants: Sequence[VariantSummary]) -> str:
    """A bar for each variant with stages; a stage has one colour in all of them."""
    boots = [(variant["name"], stages) for variant in variants if (stages := boot_stages(variant))]
    names = list(dict.fromkeys(stage.name for _, stages in boots for stage in stages))
    colours = {
        name: REASON_COLOURS[at] if at < len(REASON_COLOURS) else FURTHER_COLOUR for at, name in enumerate(names)
    }
    rows = []
    for name, stages in boots:
        whole = stages_us(stages)
        pieces = [
            Piece(stage.name, colours[stage.name], stage.took_us, f"{duration(stage.took_us)}, {stage.share:.0%}")
            for stage in stages
        ]
        rows.append(Row(name, pieces, duration(whole)))
    return bars(rows)
