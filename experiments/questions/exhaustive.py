"""The choice of `ffslab advise` beside the default and beside an exhaustive search, for each question of this folder.

    .venv/bin/python experiments/questions/exhaustive.py [NAME ...]

The default is the first value of each key in [question.axes]. A gap is how much worse than the best of all points.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ffslab.store import Store
from ffslab.studies.advise.answer import rank_of, violation
from ffslab.studies.advise.day import Tried, tried
from ffslab.studies.advise.question import Question
from ffslab.studies.advise.search import every_point
from ffslab.studies.sweep.running import at_work
from ffslab.text.tables import text_table

HERE = Path(__file__).parent


def gap(question: Question, one: Tried, best: Tried) -> str:
    """By how much a point is worse than the best, in what is wanted."""
    if violation(question, one) > 0:
        return "misses limits"
    here, there = (of.figures.get(question.wanted[0]) for of in (one, best))
    if here is None or there is None:
        return "0.0 %" if here is there else "unbounded"
    return f"{(there / here if question.wanted[1] else here / there) * 100 - 100:.1f} %"


def row_of(name: str, store: Store) -> list[str]:
    """The row of a question."""
    question = Question.from_file(HERE / f"{name}.toml")
    advice = question.answer(store=store)
    points = every_point(question)
    with at_work(None) as crew:
        found = {one[0].point: one[0] for one in tried(question, points, store, crew, lambda *_: None)}
    best = min(found.values(), key=lambda one: rank_of(question, one))
    chosen = tuple(advice["choice"]["axes"].get(axis.name) for axis in question.axes)
    choice = next(one for point, one in found.items() if point == chosen)
    default = found[points[0]]
    tried_of = f"{advice['points_tried']} of {len(points)}"
    return [name, question.wanted[0], tried_of, gap(question, choice, best), gap(question, default, best)]


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.toml"))
    store = Store.usual() or Store(Path("results/questions-store"))
    head = ["question", "wanted", "points tried", "choice, gap to the best", "default, gap"]
    print(text_table(head, [row_of(name, store) for name in names], "lllrr"))


if __name__ == "__main__":
    main()
