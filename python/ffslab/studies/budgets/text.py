"""Budgets as people read them on a terminal."""

from __future__ import annotations

from ffslab.answers.budgets import BudgetRow, BudgetsAnswer
from ffslab.text.figures import TOO_SHORT
from ffslab.text.tables import counted, number, text_table

HEAD = ("budget", "rule", "baseline", "found", "change", "")


def text_of(answer: BudgetsAnswer) -> str:
    """The table of all rules, why figures that fail have changed, and how many hold."""
    lines = [
        answer["machine"],
        "",
        text_table(HEAD, [_cells(row) for row in sorted(answer["rows"], key=lambda row: row["holds"])], "llrrrl"),
    ]
    failed = [row for row in answer["rows"] if not row["holds"]]
    for row in failed:
        lines += ["", f"{name_of(row)}: {said_of(row)}"]
        lines += [f"  {line}" for line in row["why"]]
    held = len(answer["rows"]) - len(failed)
    lines += ["", f"{held} of {counted(len(answer['rows']), 'rule')} hold"]
    if answer["baseline_from"] not in (None, answer["ffslab"]):
        lines.append(
            f"the baseline was made by ffslab {answer['baseline_from']}, this is {answer['ffslab']}: "
            "what the simulator does better now may be a change, too"
        )
    return "\n".join(lines)


def name_of(row: BudgetRow) -> str:
    """A budget with its variant."""
    return f"{row['budget']} ({row['variant']})" if row["variant"] else row["budget"]


def value(figure: float | None) -> str:
    """A figure with as many digits as are worth reading."""
    if figure is None:
        return "-"
    return number(figure, 0 if figure == int(figure) or abs(figure) >= 1e4 else 3)


def said_of(row: BudgetRow) -> str:
    """A rule, what was found, and what was before."""
    before = "" if row["before"] is None else f", baseline {value(row['before'])}"
    found = f"found {value(row['found'])}" if row["needs_us"] is None else TOO_SHORT
    return f"{row['rule']}: {found}{before}"


def _cells(row: BudgetRow) -> tuple[str, ...]:
    change = row["change"]
    percent = "" if change is None else "0 %" if change == 0 else f"{change:+.2%}".replace("%", " %")
    before = "" if row["before"] is None else value(row["before"])
    found = value(row["found"]) if row["needs_us"] is None else TOO_SHORT
    return (name_of(row), row["rule"], before, found, percent, "ok" if row["holds"] else "FAILS")
