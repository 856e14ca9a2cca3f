"""What `ffslab sweep` prints: the best points, the trade-offs, what matters. Never all points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ffslab.answers.study import Change, FigureSpread, Gains, Influence, Objective, Sensitivity, StudyAnswer, StudyPoint
from ffslab.studies.sweep.plan import METHODS
from ffslab.text.durations import duration
from ffslab.text.figures import Figure, declared
from ffslab.text.tables import counted, number, text_table

if TYPE_CHECKING:
    from ffslab.studies.sweep.answers import Answered

BEST_SHOWN = 3
TRADE_OFFS_SHOWN = 12
FAILED_SHOWN = 3
# So much worse, as a ratio, is a price worth telling.
PRICE = 1.1
# So near to the best, as a share of it, is as good.
ALIKE = 0.01


def text_of(result: Answered) -> str:
    """The answer of a study for a terminal."""
    answer = result.answer
    parts = [answer["title"], answer["machine"]]
    failed = list(failures(answer))
    if failed:
        parts.append("\n".join(failed))
    parts.append(setting(answer, result.taken))
    if answer["objectives"] and answer["objectives"][0]["best"]:
        parts.append(" ".join(best_said(answer)))
    parts += too_short_said(answer)
    for objective in answer["objectives"]:
        if len(answer["objectives"]) == 1 or not answer["trade_offs"]:
            break
        best = objective["best"][:BEST_SHOWN]
        parts.append(f"{wanted(objective['figure'], objective['maximise'])}:\n\n{_table(best, answer)}")
    if answer["trade_offs"]:
        parts.append(trade_offs_said(answer) + "\n\n" + _table(_spread_out(answer["trade_offs"]), answer))
    parts += [f"{gains_said(one)}\n\n{_gains_table(one)}" for one in answer["gains"]]
    parts += [text for one in answer["sensitivity"] if (text := sensitivity_said(one))]
    parts += [f"Without energy: {why}." for why in answer["without_energy"]]
    return "\n\n".join(parts)


def best_said(answer: StudyAnswer) -> Iterator[str]:
    """The point that is best in what is wanted first, and in what else that is wanted it is worse than another one.

    Nobody is before the state of all points is steady."""
    if answer["needs_us"] is not None:
        yield from _seen_said(answer)
        return
    best = [(one, one["best"][0]) for one in answer["objectives"] if one["best"]]
    if not best:
        return
    if len({point["point"] for _, point in best}) == 1 and len(best) > 1:
        yield f"One point is best in everything that is wanted: {_named(best[0][1]['axes'])}."
        return
    one, point = best[0]
    found = told(one["figure"], point["figures"][one["figure"]])
    prices = []
    for other, better in best[1:]:
        mine, theirs = (here["figures"][other["figure"]]["median"] for here in (point, better))
        if mine is not None and theirs is not None and max(mine, theirs) > PRICE * min(mine, theirs):
            ratio = f", {mine / theirs:.3g} times that" if theirs else ", which is more than that"
            amount = told(other["figure"], point["figures"][other["figure"]])
            beside = told(other["figure"], better["figures"][other["figure"]])
            prices.append(f"its {called(other['figure'])} is {amount}{ratio} of {_named(better['axes'])} ({beside})")
    but = f", but {' and '.join(prices)}" if prices else ""
    yield f"{wanted(one['figure'], one['maximise'])} is {found} with {_named(point['axes'])}{but}."
    if alike := _alike(one):
        more = " or more" if alike + 1 == len(one["best"]) and alike > 1 else ""
        yield f"{counted(alike, 'other point')}{more} within {ALIKE * 100:.0f} % of that."
    others = len(answer["trade_offs"]) - 1
    if others > 0:
        trade = "other point trades" if others == 1 else "other points trade"
        yield f"{others:,} {trade} it for something else that is wanted."


def _seen_said(answer: StudyAnswer) -> Iterator[str]:
    """What was seen of what is wanted first, where a longer look may turn it round."""
    if not answer["objectives"] or not answer["objectives"][0]["best"]:
        # Nothing is wanted, or no point has its figure.
        return
    one = answer["objectives"][0]
    least = told(one["figure"], one["best"][0]["figures"][one["figure"]])
    yield f"In what was seen the {wanted(one['figure'], one['maximise']).lower()} is {least}."


def too_short_said(answer: StudyAnswer) -> list[str]:
    """What is not told, and how long the workload must be seen for it; nothing where all is."""
    if answer["needs_us"] is None:
        return []
    untold = "".join(f", and for {label(name)}" for name in answer["untold"])
    needs = duration(answer["needs_us"])
    return [f"Too short for a winner{untold}: this needs about {needs} of the workload, until the state is steady."]


def _alike(objective: Objective) -> int:
    """How many of the best points are as good as the best one, in all that a person can tell."""
    values = [point["figures"][objective["figure"]]["median"] for point in objective["best"]]
    first = values[0]
    if first is None:
        return 0
    return sum(value is not None and abs(value - first) <= ALIKE * abs(first) for value in values[1:])


def setting(answer: StudyAnswer, taken: int = 0) -> str:
    """How many points of which plan, in a sentence or three."""
    runs = answer["points"] * answer["runs_per_point"]
    each = f", {number(answer['runs_per_point'])} runs of each" if answer["runs_per_point"] > 1 else ""
    held, draws = number(answer["held"]), number(answer["draws"])
    ruled_out = f" {held} of {draws} draws satisfy the conditions." if answer["conditions"] else ""
    known = f" {counted(taken, 'run')} of {number(runs)} came from the store." if taken else ""
    plan = METHODS[answer["method"]]
    return f"{counted(answer['points'], 'point')} ({plan}){each}.{ruled_out}{known}"


def failures(answer: StudyAnswer) -> Iterator[str]:
    """The points of which a run failed; of many the first."""
    failed = answer["failed"]
    for one in failed[:FAILED_SHOWN]:
        yield f"Not finished, {_named(one['axes'])}: {one['error']}"
    if len(failed) > FAILED_SHOWN:
        yield f"... and {counted(len(failed) - FAILED_SHOWN, 'point')} more (study.json lists them)"


def wanted(figure: str, maximise: bool) -> str:
    """What is looked for: "Least virtual time"."""
    return f"{'Most' if maximise else 'Least'} {label(figure)}"


def figure_of(figure: str) -> Figure:
    """What people call a figure, and its unit; of a column that has no such row its name."""
    return declared(figure) or Figure(figure, figure, "ratio", 1)


def label(figure: str) -> str:
    """How a figure is called in a table."""
    return figure_of(figure).name


def called(figure: str) -> str:
    """How a sentence calls it."""
    return figure_of(figure).called


def trade_offs_said(answer: StudyAnswer) -> str:
    """What the table of trade-offs shows."""
    names = [label(one["figure"]) for one in answer["objectives"]]
    count = len(answer["trade_offs"])
    if len(names) == 1:
        return f"{wanted(answer['objectives'][0]['figure'], answer['objectives'][0]['maximise'])}:"
    shown = f"; {TRADE_OFFS_SHOWN} of them, evenly chosen" if count > TRADE_OFFS_SHOWN else ""
    return (
        f"{counted(count, 'point')} of which no other is better in one and not worse in the others of "
        f"{', '.join(names[:-1])} and {names[-1]}{shown}:"
    )


def cells(points: Sequence[StudyPoint], answer: StudyAnswer) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of points."""
    figures = [one["figure"] for one in answer["objectives"]]
    spreads = {figure: [point["figures"][figure] for point in points] for figure in figures}
    units = {
        figure: figure_of(figure).unit(
            [end for spread in own for end in (spread["median"], spread["low"], spread["high"])]
        )
        for figure, own in spreads.items()
    }
    head = ["point", *answer["axes"], *(unit.labelled(label(figure)) for figure, unit in units.items())]
    rows = [
        [
            str(point["point"]),
            *(str(value) for value in point["axes"].values()),
            *(_cell(unit.cell, point["figures"][figure]) for figure, unit in units.items()),
        ]
        for point in points
    ]
    return head, rows


def told(figure: str, spread: FigureSpread) -> str:
    """A median with its unit, and its interval if there is one."""
    return _cell(figure_of(figure).said, spread)


def _cell(said: Callable[[float | None], str], spread: FigureSpread) -> str:
    """A median, and its interval if there is one."""
    if spread["low"] is None or spread["high"] is None or spread["low"] == spread["high"]:
        return said(spread["median"])
    return f"{said(spread['median'])} ({said(spread['low'])} to {said(spread['high'])})"


def gains_said(gains: Gains) -> str:
    """What a table of gains shows."""
    return f"Change of {label(gains['figure'])} beside {gains['axis']}={gains['base']}:"


def gains_cells(gains: Gains) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of gains. Axes with one value are left out."""
    rows = gains["rows"]
    names = [name for name in rows[0]["axes"] if len({repr(row["axes"][name]) for row in rows}) > 1] if rows else []
    head = [*names, *(str(value) for value in gains["values"])]
    told = [
        [*(str(row["axes"][name]) for name in names), *(change_said(change) for change in row["changes"])]
        for row in rows
    ]
    return head, told


def _gains_table(gains: Gains) -> str:
    head, rows = gains_cells(gains)
    values = len(gains["values"])
    return text_table(head, rows, "l" * (len(head) - values) + "r" * values)


def change_said(change: Change) -> str:
    """A change as people read it: "-12.0 % (-15.1 to -9.3)"."""
    if change["median"] is None:
        return "-"
    told = f"{change['median'] * 100:+.1f} %"
    if change["low"] is None or change["high"] is None or change["low"] == change["high"]:
        return told
    return f"{told} ({change['low'] * 100:+.1f} to {change['high'] * 100:+.1f})"


def sensitivity_said(sensitivity: Sensitivity) -> str:
    """Which axes matter for a figure, in a line."""
    if not sensitivity["axes"]:
        return ""
    told = ", ".join(influence(one, sensitivity["figure"]) for one in sensitivity["axes"])
    return f"What matters for {label(sensitivity['figure'])} ({sensitivity['method']}): {told}."


def influence(one: Influence, figure: str) -> str:
    """How much an axis matters: "fs 83 %"."""
    if one["nothing"] is not None:
        return f"{one['axis']} {one['nothing']}"
    if one["total"] is not None and one["alone"] is not None:
        return f"{one['axis']} {_percent(one['total'])} ({_percent(one['alone'])} alone)"
    if one["effect"] is not None:
        return f"{one['axis']} {figure_of(figure).said(one['effect'])}"
    return f"{one['axis']} {_percent(one['alone'] or 0.0)}"


def _percent(share: float) -> str:
    return f"{max(share, 0.0) * 100:.0f} %"


def _named(axes: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in axes.items())


def _spread_out(points: Sequence[StudyPoint]) -> list[StudyPoint]:
    """Some of many points, spread evenly from the first to the last."""
    count = len(points)
    if count <= TRADE_OFFS_SHOWN:
        return list(points)
    return [points[round(i * (count - 1) / (TRADE_OFFS_SHOWN - 1))] for i in range(TRADE_OFFS_SHOWN)]


def _table(points: Sequence[StudyPoint], answer: StudyAnswer) -> str:
    head, rows = cells(points, answer)
    return text_table(head, rows, "r" + "l" * len(answer["axes"]) + "r" * len(answer["objectives"]))
