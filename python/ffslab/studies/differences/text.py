"""Two results beside each other, as people read them on a terminal."""

from __future__ import annotations

from ffslab.answers.run_diff import PairDiff, RunDiff
from ffslab.text.repeats import SHOWN
from ffslab.text.tables import number, text_table

# Of whose difference the lines tell that stand below it.
_WORDS = {"time_us": "time", "page_reads": "page reads", "page_programs": "page programs", "erases": "erases"}


def text_of(diff: RunDiff) -> str:
    """For each pair a table of the figures that differ, and what the differences come from."""
    parts = [f"A: {diff['before']}\nB: {diff['after']}"]
    parts += [_pair(pair, several=len(diff["pairs"]) > 1) for pair in diff["pairs"]]
    for side, names in (("A", diff["only_before"]), ("B", diff["only_after"])):
        if names:
            parts.append(f"only in {side}: {'; '.join(names)}")
    return "\n\n".join(parts)


def _pair(pair: PairDiff, *, several: bool) -> str:
    same = pair["before"] == pair["after"]
    head = pair["before"] if same else f"{pair['before']} -> {pair['after']}"
    lines = [head] if several or not same else []
    rows = [_row(one["figure"], one["before"], one["after"], one["change"]) for one in pair["figures"]]
    shown = [row for row in rows if row]
    if not shown:
        return "\n".join([*lines, "no difference" if not pair["figures"] else "no difference in what is shown here"])
    lines.append(text_table(("", "A", "B", "change"), shown, "lrrr"))
    said: set[str] = set()
    for figure, reasons in pair["why"].items():
        for line in reasons:
            # What differs in the machine and the work is the same for all figures.
            if line not in said:
                lines.append(f"{_WORDS[figure]}: {line}" if line.startswith(("reasons", "steps", "files")) else line)
            said.add(line)
    return "\n".join(lines)


def _row(figure: str, before: float | None, after: float | None, change: float | None) -> tuple[str, ...] | None:
    if figure not in SHOWN:
        return None
    label, unit, digits = SHOWN[figure]
    cells = ("-" if value is None else number(value / unit, digits) for value in (before, after))
    return (label, *cells, "" if change is None else f"{change:+.1%}".replace("%", " %"))
