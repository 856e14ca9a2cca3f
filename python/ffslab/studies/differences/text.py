"""Two results beside each other, as people read them on a terminal."""

from __future__ import annotations

from ffslab.answers.run_diff import FigureChange, PairDiff, RunDiff
from ffslab.text.durations import duration
from ffslab.text.figures import FIGURES, Place, needs_steady
from ffslab.text.tables import percent, text_table

# Of whose difference the lines tell that stand below it.
_WORDS = {"time_us": "time", "page_reads": "page reads", "page_programs": "page programs", "erases": "erases"}


def text_of(diff: RunDiff) -> str:
    """For each pair a table of the figures that differ, and what the differences come from."""
    parts = [f"A: {diff['before']}\nB: {diff['after']}", "\n".join(machines(diff))]
    if failed := failures(diff):
        parts.append("\n".join(failed))
    parts += [_pair(pair, diff, several=len(diff["pairs"]) > 1) for pair in diff["pairs"]]
    parts += [f"Without energy: {why}." for why in diff["without_energy"]]
    for side, names in (("A", diff["only_before"]), ("B", diff["only_after"])):
        if names:
            parts.append(f"only in {side}: {'; '.join(names)}")
    return "\n\n".join(parts)


def machines(diff: RunDiff) -> list[str]:
    """On what machines, in a line where it is the same."""
    before, after = diff["machine_before"], diff["machine_after"]
    return [before] if before == after else [f"A: {before}", f"B: {after}"]


def failures(diff: RunDiff) -> list[str]:
    """A sentence for each variant that did not come to its end, on both sides."""
    return [
        f"{side}: {text}" for side, told in (("A", diff["failed_before"]), ("B", diff["failed_after"])) for text in told
    ]


def shown(pair: PairDiff, diff: RunDiff) -> list[FigureChange]:
    """The figures of a pair that a reader is shown."""
    told = [one for one in pair["figures"] if (figure := FIGURES.get(one["figure"])) and Place.DIFF in figure.at]
    if pair["needs_us"] is not None:
        told = [one for one in told if not needs_steady(one["figure"])]
    return [one for one in told if not (diff["without_energy"] and one["figure"].startswith("energy_"))]


def too_short_said(pair: PairDiff) -> list[str]:
    """What is not told, because a longer look would turn it round."""
    if pair["needs_us"] is None:
        return []
    needs = duration(pair["needs_us"])
    return [f"Too short for a worst case and write amplification: this needs about {needs} of the workload."]


def _pair(pair: PairDiff, diff: RunDiff, *, several: bool) -> str:
    same = pair["before"] == pair["after"]
    head = pair["before"] if same else f"{pair['before']} -> {pair['after']}"
    lines = [head] if several or not same else []
    rows = [_row(one) for one in shown(pair, diff)]
    lines += too_short_said(pair)
    if not rows:
        return "\n".join([*lines, "no difference" if not pair["figures"] else "no difference in what is shown here"])
    lines.append(text_table(("", "A", "B", "change"), rows, "lrrr"))
    said: set[str] = set()
    for figure, reasons in pair["why"].items():
        for line in reasons:
            # What differs in the machine and the work is the same for all figures.
            if line not in said:
                lines.append(f"{_WORDS[figure]}: {line}" if line.startswith(("reasons", "steps", "files")) else line)
            said.add(line)
    return "\n".join(lines)


def _row(one: FigureChange) -> tuple[str, ...]:
    cells = FIGURES[one["figure"]].row([one["before"], one["after"]])
    return (*cells, "" if one["change"] is None else percent(one["change"]))
