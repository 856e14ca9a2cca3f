"""Bars to the left and right of a middle line: by what figures differ. Half is as far to the left as double is to the
right, so that no direction looks larger than the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ffslab.report.page import Drawn
from ffslab.text.quoting import escape

# The scale ends at least here: small differences are to look small.
LEAST_LOG2 = math.log2(1.1)


@dataclass(frozen=True)
class Change:
    """A row. `ratio`: what became of 1; `None`: not known. `said`: its numbers. All texts are plain."""

    name: str
    ratio: float | None
    said: str


def bars(changes: Sequence[Change], note: str) -> Drawn | None:
    """The bars of these changes; nothing when there is none. `note`, plain text, says what left and right are."""
    if not changes:
        return None
    logs = [math.log2(one.ratio) if one.ratio is not None and one.ratio > 0 else None for one in changes]
    most = max([LEAST_LOG2, *(abs(log) for log in logs if log is not None)])
    rows = []
    for one, log in zip(changes, logs, strict=True):
        share = 0.0 if log is None else 50 * log / most
        side = "left" if share >= 0 else "right"
        ink = "--s1" if share > 0 else "--s0"
        bar = f'<i style="{side}:50%;width:{abs(share):.2f}%;--c:var({ink})"></i>' if share else ""
        rows += [
            f'<span class="bars-name">{escape(one.name)}</span>',
            f'<span class="changes-bar" aria-hidden="true">{bar}</span>',
            f'<span class="changes-said">{escape(one.said)}</span>',
        ]
    scale = f"{escape(note)} Half is as far to the left as double to the right; the longest bar is {_times(2**most)}."
    return Drawn(
        f'<div class="bars"><div class="changes">{"".join(rows)}</div><p class="bars-scale">{scale}</p></div>', {}
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times" if ratio >= 1.995 else f"{100 * (ratio - 1):.3g} %"
