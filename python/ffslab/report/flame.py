"""The flame graph of a page: stacks `task;call;reason;operation` of each variant with all four weights, which
`assets/flame.js` draws; two variants are drawn as their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ffslab.report.page import NOTE, Drawn, Opening, page, paragraph, section, table
from ffslab.text.quoting import printable
from ffslab.text.stacks import FRAMES, UNSTATED, WEIGHTS
from ffslab.text.tables import number

if TYPE_CHECKING:
    from ffslab.answers import Columns

DATA = "flame"
SCRIPTS = ("flame.js",)
IDLE = "idle"
# Of the table: the weights, and digits behind the point.
COLUMNS = (("time, ms", 2), ("energy, mJ", 3), ("operations", 0), ("erases", 0))
# Of the table below a graph of its own page, for readers without scripts.
STACKS_SHOWN = 40
# What the numbers of a weight are in the page: of its column so many are one, and its unit.
SHOWN = {"time": (1e-6, "ms"), "energy": (1e-3, "mJ"), "operations": (1.0, "operations"), "wear": (1.0, "erases")}


def drawn(stacks: Columns, names: Sequence[str], against: bool = False) -> Drawn | None:
    """The flame graph of these variants; `None`: they have no stacks. `against`: it opens with the difference of the
    first two."""
    data = _data(stacks, names)
    if not data["variants"]:
        return None
    html = (
        f'<figure class="flame" data-flame="{DATA}"><div class="tools"></div>'
        '<p class="said" role="status"></p><div class="frames" role="group" aria-label="Flame graph; arrow keys go '
        'through it, Enter zooms, Escape leaves"></div><ul class="keys"></ul></figure>'
    )
    return Drawn(html, {DATA: {**data, "against": against and len(names) > 1}}, SCRIPTS)


def _data(stacks: Columns, names: Sequence[str]) -> dict[str, object]:
    """All frames by number; a row: variant, its four frames, its four weights."""
    frames: dict[str, int] = {}
    columns = [WEIGHTS[weight][0] for weight in SHOWN]
    known: list[str] = []
    rows = []
    for at, of in enumerate(cast("list[str]", stacks["variant"])):
        if of not in names:
            continue
        if of not in known:
            known.append(of)
        texts = [printable(str(stacks[frame][at]) or UNSTATED) for frame in FRAMES]
        values = [float(stacks[column][at]) * SHOWN[weight][0] for weight, column in zip(SHOWN, columns, strict=True)]
        if any(values):
            places = [frames.setdefault(text, len(frames)) for text in texts]
            rows.append([known.index(of), *places, *(round(value, 6) for value in values)])
    weights = [{"name": name, "unit": unit} for name, (_, unit) in SHOWN.items()]
    return {"variants": known, "frames": list(frames), "weights": weights, "rows": rows, "idle": IDLE}


def html(title: str, stacks: Columns, names: Sequence[str], against: bool) -> str:
    """A page with nothing but the flame graph, and its widest stacks as a table."""
    made = drawn(stacks, names, against)
    setting = "Each frame is as wide as what happened in it: " + ", ".join(SHOWN) + "; idle time is left out at first."
    opening = Opening(f"Where did it go? {title}", setting, _widest(stacks, names), (), made)
    parts = [section("Widest stacks", [paragraph(f"The {STACKS_SHOWN} that took most time."), _table(stacks, names)])]
    return page(title, parts, opening, note=NOTE)


def _rows(stacks: Columns, names: Sequence[str]) -> list[tuple[str, tuple[str, ...], list[float]]]:
    """Variant, stack and weights of each stack that is not idle, that which took most time first."""
    rows = []
    for at, of in enumerate(cast("list[str]", stacks["variant"])):
        stack = tuple(str(stacks[frame][at]) or UNSTATED for frame in FRAMES)
        if of in names and stack[-1] != IDLE:
            rows.append((of, stack, [float(stacks[WEIGHTS[w][0]][at]) * SHOWN[w][0] for w in SHOWN]))
    return sorted(rows, key=lambda row: -row[2][0])


def _widest(stacks: Columns, names: Sequence[str]) -> str:
    """What took most time, or of two variants what makes the most of their difference."""
    rows = _rows(stacks, names)
    totals = [sum(weights[0] for of, _, weights in rows if of == name) for name in names]
    if not any(totals):
        return "Nothing took time."
    if len(names) == 2:
        changes: dict[tuple[str, ...], float] = {}
        for of, stack, weights in rows:
            changes[stack] = changes.get(stack, 0) + (weights[0] if of == names[1] else -weights[0])
        most = max(changes, key=lambda stack: abs(changes[stack]))
        both = " and ".join(f"{number(total, 1)} ms with {name}" for total, name in zip(totals, names, strict=True))
        return f"What is not idle took {both}; the largest part of that is {_path(most)}: {changes[most]:+,.1f} ms."
    of, stack, weights = rows[0]
    where = f" with {of}" if len(names) > 1 else ""
    share = number(100 * weights[0] / totals[names.index(of)], 0)
    return f"Most time{where} went to {_path(stack)}: {number(weights[0], 1)} ms, {share} % of what is not idle."


def _path(stack: Sequence[str]) -> str:
    return ", ".join(stack)


def _table(stacks: Columns, names: Sequence[str]) -> str:
    several = len(names) > 1
    shown = _rows(stacks, names)[:STACKS_SHOWN]
    # What nothing has, such as energy on a machine without power, is left out.
    weights = [(at, name, digits) for at, (name, digits) in enumerate(COLUMNS) if any(w[at] for _, _, w in shown)]
    head = [*(["variant"] if several else []), *FRAMES, *(name for _, name, _ in weights)]
    rows = [
        [*([of] if several else []), *stack, *(number(w[at], digits) for at, _, digits in weights)]
        for of, stack, w in shown
    ]
    return table(head, rows, align="l" * (len(head) - len(weights)) + "r" * len(weights))
