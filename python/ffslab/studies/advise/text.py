"""The answer on one page."""

from __future__ import annotations

from collections.abc import Iterator

from ffslab.answers.advice import Advice, Change, Choice, LimitState
from ffslab.answers.study import FigureSpread
from ffslab.text.durations import duration
from ffslab.text.figures import TOO_SHORT
from ffslab.text.tables import few, number, size, text_table

CHANGES_SHOWN = 12
FIGURES_ALIGN, CHANGES_ALIGN = "lrlrr", "lrrl"
KEYS_SHOWN = 4
# What a life tells.
LIVED = ("years", "latency_max_us")


def text_of(advice: Advice) -> str:
    """The answer of a question for a terminal."""
    parts = [advice["title"], advice["machine"], take(advice)]
    parts.append(text_table(*figures_cells(advice), FIGURES_ALIGN))
    if advice["why"]:
        parts.append("Why:\n" + "\n".join(f"  {line}" for line in advice["why"]))
    parts += others(advice)
    if advice["changes"]:
        parts.append("What one other value would do:\n\n" + text_table(*changes_cells(advice), CHANGES_ALIGN))
        parts += seen_said(advice)
    parts.append("\n".join(rests_on(advice)))
    return "\n\n".join(parts)


def take(advice: Advice) -> str:
    choice = advice["choice"]
    if choice["error"] is not None:
        said = f"{named(choice)}: {choice['error']}"
        return f"Nothing works: of {advice['points_tried']} points none came to its end; {said}"
    if choice["needs_us"] is not None:
        return (
            f"Too short: none of {advice['points_tried']} points was seen long enough for its state to be steady. "
            f"{named(choice)} needs about {duration(choice['needs_us'])} of the workload {choice['needed_by']}: give "
            "the workload more of it, or a partition that begins in use (`initial`)."
        )
    if choice["wanted"]["median"] is None and advice["wanted"] != "years":
        return f"Nothing to choose by: of {advice['points_tried']} points no {advice['wanted']} is known."
    if not advice["holds"]:
        missed = ", ".join(limit["limit"] for limit in choice["limits"] if not limit["holds"])
        return f"Nothing that was tried is within all limits. Nearest: {named(choice)}; it misses {missed}."
    most = "the most" if advice["maximise"] else "the least"
    return f"Take {named(choice)}: {most} {advice['wanted']}, {told(advice['wanted'], choice['wanted'])}."


def named(choice: Choice) -> str:
    """A point by the values of its axes."""
    return ", ".join(f"{name} {value}" for name, value in choice["axes"].items())


def figures_cells(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Head and rows: what the choice gives, with limits, beside the default and what comes second."""
    choice = advice["choice"]
    shown = {advice["wanted"]: None} | {limit["limit"].split()[0]: None for limit in choice["limits"]}
    shown |= {name: None for name in ("years", "energy_J_per_day", "erases_per_day") if name in choice["figures"]}
    limits = {limit["limit"].split()[0]: limit for limit in choice["limits"]}
    second = advice["second"]
    head = ["", "choice", "limit", "second", "default"]
    rows = []
    for name in shown:
        cells = [_cell(name, one) for one in (choice, second, advice["default"])]
        rows.append([name, cells[0], _limit(limits.get(name)), cells[1], cells[2]])
    return head, rows


def _cell(name: str, choice: Choice | None) -> str:
    if choice is None or choice["error"] is not None:
        return "-"
    if choice["needs_us"] is not None:
        return TOO_SHORT
    if name == "years" and name not in choice["figures"]:
        return "no wear"
    return told(name, choice["figures"][name]) if name in choice["figures"] else "-"


def _limit(limit: LimitState | None) -> str:
    if limit is None:
        return ""
    margin = f", {few(limit['margin'])} times" if limit["margin"] and limit["holds"] else ""
    return f"{limit['limit'].split(maxsplit=1)[1]}{margin}" + ("" if limit["holds"] else ", missed")


def told(name: str, spread: FigureSpread) -> str:
    """A figure, with its interval if it is wider than what is shown."""
    if spread["median"] is None:
        return "-"
    values = [_value(name, value) for value in (spread["median"], spread["low"], spread["high"]) if value is not None]
    return f"{values[0]} ({values[1]} to {values[2]})" if len(values) == 3 and values[1] != values[2] else values[0]


def _value(name: str, value: float) -> str:
    if name.endswith("_us"):
        return duration(value)
    if name.endswith("_B"):
        return size(value)
    return number(value, 1) if abs(value) >= 100 else f"{value:.3g}"


def others(advice: Advice) -> Iterator[str]:
    second, default, forbidden = advice["second"], advice["default"], advice["forbidden"]
    if second is not None and second["error"] is None and second["needs_us"] is None:
        missed = [limit["limit"] for limit in second["limits"] if not limit["holds"]]
        but = f", but it misses {', '.join(missed)}" if missed else ""
        yield f"Second: {named(second)}{but}."
    if default["error"] is not None:
        yield f"The default, {named(default)}, does not work: {default['error']}"
    if forbidden is not None:
        missed = [limit["limit"] for limit in forbidden["limits"] if not limit["holds"]]
        found = told(advice["wanted"], forbidden["wanted"])
        yield f"Better without the limit {', '.join(missed)}: {named(forbidden)}, {advice['wanted']} {found}."


def ordered_changes(advice: Advice) -> list[Change]:
    """What one other value would do, what matters most first."""

    def size(change: Change) -> float:
        ratio = change["wanted_ratio"]
        return float("inf") if change["error"] or change["breaks"] else abs((ratio or 1.0) - 1.0)

    return sorted(advice["changes"], key=size, reverse=True)[:CHANGES_SHOWN]


def changes_cells(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Head and rows of `ordered_changes`."""
    rows = []
    for change in ordered_changes(advice):
        ratio = change["wanted_ratio"]
        effect = "-" if ratio is None else f"{(ratio - 1) * 100:+.1f} %"
        then = change["error"] or (f"misses {', '.join(change['breaks'])}" if change["breaks"] else "")
        rows.append([change["axis"], str(change["value"]), effect, then if len(then) < 90 else then[:87] + "..."])
    return ["", "value", advice["wanted"], ""], rows


def seen_said(advice: Advice) -> Iterator[str]:
    """Which of `ordered_changes` are of shorter lives than the figures of the choice."""
    short = [one for one in ordered_changes(advice) if not one["looked_into"] and one["wanted_ratio"] is not None]
    if short and advice["wanted"].rpartition(".")[2] in LIVED:
        which = ", ".join(f"{one['axis']} {one['value']}" for one in short)
        yield f"Of lives as short as in the search, of both points: {which}; the rest is as above."


def rests_on(advice: Advice) -> Iterator[str]:
    short = (
        f"; {number(advice['points_too_short'])} of them are {TOO_SHORT} to judge" if advice["points_too_short"] else ""
    )
    yield f"{number(advice['points_tried'])} of {number(advice['points'])} points were tried{short}."
    for one in advice["unverified"]:
        more = f" and {len(one['keys']) - KEYS_SHOWN} more" if len(one["keys"]) > KEYS_SHOWN else ""
        yield (
            f"Unverified: {len(one['keys'])} of the {one['of']} numbers of {one['profile']} "
            f"({', '.join(one['keys'][:KEYS_SHOWN])}{more}; `ffslab profiles show {one['profile']}`)."
        )
    yield from (f"Not modelled: {text}" for text in advice["not_modelled"])
    yield from advice["notes"]
