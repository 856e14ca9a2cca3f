"""The answers of the commands that a person types beside lives of which every operation is run, for each question here.

    .venv/bin/python experiments/questions/short_and_exact.py [NAME ...]

The workload that wears most lives on each file system of the question, the other axes at their first values, on parts
whose blocks bear few erases and all as many, so that a whole life is run in a minute. Beside it: `ffslab lifetime`,
what `ffslab advise` says of the same point, and what `ffslab run` says of the slowest call.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ffslab._native import InputError
from ffslab.registries.profiles import borne_by
from ffslab.steady import variant_needs_us
from ffslab.store import Store
from ffslab.studies.advise.asked import Workload as Asked
from ffslab.studies.advise.day import FILLED, WORN, Tried, own_axis, tried
from ffslab.studies.advise.living import slowest_us
from ffslab.studies.advise.question import Question
from ffslab.studies.advise.search import every_point
from ffslab.studies.lifetime import Given, Workload, lived
from ffslab.studies.sweep.running import at_work
from ffslab.text.durations import DAYS_PER_YEAR
from ffslab.text.tables import text_table

if TYPE_CHECKING:
    from ffslab.answers.lives import VariantLife
    from ffslab.api.experiment import Experiment
    from ffslab.studies.sweep.design import Point

HERE = Path(__file__).parent
# Erases that a block bears, and UBI's threshold as large a part of them as 4,096 is of the 100,000 of an SLC part.
ERASES, THRESHOLD = 200, 8
# All blocks bear the same, as `ffslab advise` takes them.
AGEING = {
    "endurance_erases": ERASES,
    "failed_share": 0.5,
    "life_shape": 100.0,
    "write_rate": 0.0,
    "retention_rate": 0.0,
    "disturb_rate": 0.0,
}
# A life is looked at for so many times the years that were advised.
LONGER = 1.5
# How far the answers may be from the exact ones.
YEARS_OFF, SLOWEST_OFF = 0.1, 0.2
HEAD = ["question", "file system", "years: exact", "lifetime", "advise"]
HEAD += ["slowest, ms: exact", "lifetime", "run", "advise", "CPU s: exact", "lifetime", "run", "advise"]


class Told(NamedTuple):
    """An answer. `None`: too short, or not known."""

    years: float | None
    slowest_ms: float | None
    cpu_s: float


class Row(NamedTuple):
    """The answers about a file system."""

    fs: str
    exact: Told
    lifetime: Told
    run: Told
    advise: Told


def timed(answer: Callable[[], tuple[float | None, float | None]]) -> Told:
    """An answer and what it took."""
    began = time.process_time()
    years, slowest_us = answer()
    return Told(years, None if slowest_us is None else slowest_us / 1e3, time.process_time() - began)


def weak(question: Question, fs: str) -> Question:
    """The question on parts that bear little; where no blocks fail (NOR, no operating system) the life is told so."""
    ubi = {"wl_threshold": THRESHOLD} if fs == "ubifs" else {}
    return replace(
        question, workloads=tuple(replace(one, experiment=_weak(one, ubi, fs)) for one in question.workloads)
    )


def _weak(workload: Asked, ubi: Mapping[str, int], fs: str) -> Experiment:
    for keys in ({**ubi, "ageing": AGEING}, ubi):
        changed = workload.experiment.changed(stack=keys)
        try:
            changed.changed(stack={"fs": fs}).check()
        except InputError:
            continue
        return changed
    return workload.experiment


def advised(question: Question, point: Point) -> Tried:
    """What is advised of a point, which nobody has asked before."""
    with TemporaryDirectory() as folder, at_work(None) as crew:
        return tried(question, [point], Store(Path(folder)), crew, lambda *_: None, repeat=1)[0][0]


def at(question: Question, workload: Asked, point: Point) -> Experiment:
    """The experiment of a workload at a point."""
    own = ((own_axis(axis, workload, question), value) for axis, value in zip(question.axes, point, strict=True))
    return workload.experiment.changed(axes={axis.name: [value] for axis, value in own if axis and value is not None})


def of_life(life: VariantLife) -> tuple[float | None, float | None]:
    """Years and the slowest call of a life; years without end are infinite.

    JFFS2 never ends by wear: it goes on erasing blocks whose programs fail. Its years are those until half of the
    blocks that come in turn have had their erases.
    """
    by = life["ended"]["by"]
    if by == "limit":
        usual = [(days, median([count for count in erases if count] or [0])) for days, erases in _wear(life)]
        until = next((days for days, count in usual if count >= life["endurance_erases"]), float("inf"))
        return until / DAYS_PER_YEAR, slowest_us(life)
    return None if by == "unknown" else float("inf") if by == "unworn" else life["years"], slowest_us(life)


def _wear(life: VariantLife) -> Iterator[tuple[float, list[int]]]:
    return zip(life["wear"]["days"], life["wear"]["erases"], strict=True)


def row_of(question: Question, fs: str) -> Row:
    """The answers about a file system."""
    question = weak(question, fs)
    place = next(i for i, axis in enumerate(question.axes) if axis.name == "fs")
    point = next(point for point in every_point(question) if point[place] == fs)
    found: list[Any] = []
    began = time.process_time()
    one = advised(question, point)
    cpu_s = time.process_time() - began
    a_day = {
        w.name: w.per_day * max(one.figures.get(f"{w.name}.{WORN}", 0.0), one.figures.get(f"{w.name}.{FILLED}", 0.0))
        for w in question.workloads
    }
    own = max(question.workloads, key=lambda w: a_day[w.name])
    experiment = at(question, own, point)
    bears = borne_by({**experiment.run().summary["variants"][0]["stack"]})
    share = ERASES / bears[0] if bears else 1.0
    told = one.error is None and one.needs_us is None
    years = share / (a_day[own.name] * DAYS_PER_YEAR) if told and a_day[own.name] else None
    slowest = one.figures.get(f"{own.name}.latency_max_us") if told else None
    advise = Told(years, None if slowest is None else slowest / 1e3, cpu_s)
    given = Given(ERASES, own.per_day, LONGER * years if years else None)
    workload = Workload(own.name, experiment)

    def living(*, bounded: bool) -> tuple[float | None, float | None]:
        found.append(lived([workload], given, bounded=bounded, again=True).lives[0][1])
        return of_life(found[-1])

    def running() -> tuple[float | None, float | None]:
        said = experiment.run().summary["variants"][0]
        return None, None if variant_needs_us(said) else said["latency_us"]["max"]

    return Row(fs, timed(lambda: living(bounded=False)), timed(lambda: living(bounded=True)), timed(running), advise)


def _years(told: Told, exact: Told) -> str:
    if told.years is None:
        return "not known"
    if told.years == float("inf"):
        return "lasts"
    return f"{told.years:.3g}" + ("" if told is exact or not exact.years else f" ({told.years / exact.years:.2f})")


def _slowest(told: Told, exact: Told) -> str:
    if told.slowest_ms is None:
        return "too short"
    beside = "" if told is exact or not exact.slowest_ms else f" ({told.slowest_ms / exact.slowest_ms:.2f})"
    return f"{told.slowest_ms:.3g}{beside}"


def cells(name: str, row: Row) -> list[str]:
    """A row of the table."""
    years = [_years(one, row.exact) for one in (row.exact, row.lifetime, row.advise)]
    slowest = [_slowest(one, row.exact) for one in (row.exact, row.lifetime, row.run, row.advise)]
    took = [f"{one.cpu_s:.1f}" for one in (row.exact, row.lifetime, row.run, row.advise)]
    return [name, row.fs, *years, *slowest, *took]


def asked(names: list[str]) -> list[tuple[str, Question, str]]:
    """The questions with each of their file systems; `NAME/FS`: with one of them."""
    found = []
    for name in names or sorted(path.stem for path in HERE.glob("*.toml")):
        stem, _, only = name.partition("/")
        question = Question.from_file(HERE / f"{stem}.toml")
        every = next(axis for axis in question.axes if axis.name == "fs").listed
        found += [(stem, question, str(fs)) for fs in every if only in ("", fs)]
    return found


def main() -> None:
    rows = []
    for name, question, fs in asked(sys.argv[1:]):
        rows.append(cells(name, row_of(question, fs)))
        print(f"{name} on {fs} is answered", file=sys.stderr)
    print(text_table(HEAD, rows, "ll" + "r" * 11))


if __name__ == "__main__":
    main()
