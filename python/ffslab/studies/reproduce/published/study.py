"""Runs the experiments of cases, as far as the store does not hold them, and puts what they give beside what is
published.

Nothing is fitted here, and nothing is left out: a case whose experiment does not come to its end says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from ffslab._native import InputError, __version__
from ffslab.answers.evidence import Evidence, KindOfCases, PublishedCase
from ffslab.answers.machine import KeyOf
from ffslab.answers.summary import StepSummary, VariantSummary
from ffslab.api.experiment import Experiment
from ffslab.api.run import Progress
from ffslab.files import results
from ffslab.registries.profiles import look_also_in
from ffslab.store import KeptRun, Store
from ffslab.studies.reproduce.published import cases, page
from ffslab.studies.reproduce.published.cases import Case, Folder
from ffslab.studies.reproduce.published.words import answer_of
from ffslab.studies.reproduce.runs import work
from ffslab.studies.sweep import tasks
from ffslab.text.machine_line import Seen, initial_as_written, line, of_variant
from ffslab.text.tables import counted

EVIDENCE = "evidence.json"
FILES = frozenset({EVIDENCE, results.REPORT})
TITLE = "Published measurements of other boards"
ALL = "all"

# An experiment on its own board, or on the one without a driver.
Place = tuple[str, Path | None]


class NotTakenError(Exception):
    """Why a number cannot be taken."""


@dataclass(frozen=True)
class Done:
    """What came of the experiments: the steps of the first variant, or why there are none."""

    steps: Mapping[Place, list[StepSummary]]
    failures: Mapping[Place, str]

    def number(self, case: Case, board: Path | None = None) -> float:
        """What we give for a case. Raises `NotTakenError`."""
        taken = case.taken
        value = self._of(case, case.experiment, board)
        if taken.over is not None:
            over = self._of(case, taken.over, board)
            if not over:
                raise NotTakenError(f"{taken.over}: takes no time")
            value /= over
        return value

    def _of(self, case: Case, experiment: str, board: Path | None) -> float:
        taken, steps = case.taken, self._chosen(case, experiment, board)
        if taken.what == "count":
            try:
                return sum(cast("Mapping[str, float]", step["counts"])[taken.key] for step in steps) / taken.per
            except KeyError:
                raise NotTakenError(f"{experiment}: steps do not count {taken.key}") from None
        if taken.what == "latency_us":
            latency = steps[0]["latency_us"].get(taken.key)
            if not isinstance(latency, int | float):
                raise NotTakenError(f"{experiment}: its calls have no latency {taken.key}")
            return latency / taken.per
        took_s = _seconds(steps)
        if taken.minus is not None:
            took_s -= _seconds(self._chosen(case, taken.minus, board))
        if taken.what == "s":
            return took_s / taken.per
        if not took_s > 0:
            raise NotTakenError(f"{experiment}: takes no time")
        return taken.amount / took_s / taken.per

    def _chosen(self, case: Case, experiment: str, board: Path | None) -> list[StepSummary]:
        place = experiment, board
        if place in self.failures:
            raise NotTakenError(self.failures[place])
        steps = self.steps[place]
        wanted = case.taken.steps if case.taken.steps is not None else range(len(steps))
        if any(at >= len(steps) for at in wanted):
            raise NotTakenError(f"{experiment}: has {counted(len(steps), 'measured step')}, fewer than the case names")
        return [steps[at] for at in wanted]


def _seconds(steps: Iterable[StepSummary]) -> float:
    return sum(step["elapsed_us"] for step in steps) / 1e6


def reproduce(
    out: Path,
    *,
    folder: Path | None = None,
    only: list[str] | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Runs everything that the store (`Store.usual()` without one) does not hold, writes `out` and returns what
    `evidence.json` holds. Without `folder` the cases are those that ship.

    Raises `ffslab.InputError`.
    """
    results.check_free(out, FILES, EVIDENCE)
    of = cases.read(folder or cases.shipped(), only)
    evidence = judged(of, jobs=jobs, store=store, progress=progress)

    def write(fresh: Path) -> None:
        (fresh / EVIDENCE).write_text(results.dump_json(evidence), encoding="utf-8")
        (fresh / results.REPORT).write_text(page.report(evidence), encoding="utf-8")

    results.replace(out, write)
    return evidence


def judged(
    folder: Folder, *, jobs: int | None = None, store: Store | None = None, progress: Progress | None = None
) -> Evidence:
    """Every case beside what ffslab gives for it, or why it gives nothing."""
    places = _places(folder)
    experiments = {at: _experiment(folder, place) for at, place in enumerate(places)}
    ran = work(experiments, {}, jobs=jobs, store=store, progress=progress)
    steps: dict[Place, list[StepSummary]] = {}
    # Experiments are named as cases name them, wherever the folder lies.
    failures = {places[at]: why.replace(f"{folder.path / cases.EXPERIMENTS}/", "") for at, why in ran.refused.items()}
    seen = []
    look_also_in(folder.path / cases.EXPERIMENTS)
    for at, of_run in ran.runs.items():
        ended, why = _first(of_run)
        if ended is None:
            failures[places[at]] = f"{folder.experiment(places[at][0]).name}: {why}"
        else:
            steps[places[at]] = ended["steps"]
            seen.append(_named(of_variant(ended, initial_as_written(experiments[at].table()))))
    rows = [_row(folder, case, Done(steps, failures)) for case in folder.cases]
    return told(rows, line(seen, counted(len(places), "run")), len(places))


def told(rows: list[PublishedCase], machine: str, runs: int) -> Evidence:
    """Cases with how near each kind comes, and all that count."""
    # Those that no sum has behind the others.
    kinds = sorted(dict.fromkeys(row["kind"] for row in rows), key=lambda kind: kind.endswith(cases.NOT_COUNTED))
    of_kinds = [kind_of(kind, _ratios(row for row in rows if row["kind"] == kind)) for kind in kinds]
    boards = len({row["board"] for row in rows if row["counted"] and row["ratio"] is not None})
    every = kind_of(ALL, _ratios(row for row in rows if row["counted"]))
    return {
        "title": TITLE,
        "machine": machine,
        "ffslab": __version__,
        "runs": runs,
        "boards": boards,
        "answer": answer_of(rows, every, boards),
        "cases": rows,
        "kinds": [kind for kind in of_kinds if kind is not None],
        "all": every,
    }


def _places(folder: Folder) -> list[Place]:
    """What is to be run, each once."""
    found: dict[Place, None] = {}
    for case in folder.cases:
        boards = [None, folder.without_driver(case.board)] if case.asks_driver else [None]
        for board in boards[:1] + [one for one in boards[1:] if one is not None]:
            found |= {(name, board): None for name in (case.experiment, *case.taken.experiments)}
    return list(found)


def _experiment(folder: Folder, place: Place) -> Experiment:
    name, board = place
    made = Experiment.from_file(folder.experiment(name))
    made = made if board is None else made.changed(stack={"board": str(board)})
    return replace(made, change={**made.change, "requests_kept": tasks.REQUESTS_KEPT})


def _first(of_run: list[tuple[KeyOf, KeptRun]]) -> tuple[VariantSummary | None, str]:
    """The first variant, or why it did not come to its end."""
    if not of_run:
        raise InputError("an experiment of a case has no variant")
    run = of_run[0][1]
    return run.ended, str(run.said.get("error", ""))


def _named(seen: Seen) -> Seen:
    """The same with boards and parts of the folder by their names, not by where they lie."""
    names = {
        key: Path(str(seen.stack[key])).stem for key in ("board", "part") if str(seen.stack.get(key)).endswith(".toml")
    }
    return seen._replace(stack={**seen.stack, **names})


def _row(folder: Folder, case: Case, done: Done) -> PublishedCase:
    simulated, failure, driver_0 = None, None, None
    try:
        simulated = done.number(case)
    except NotTakenError as error:
        failure = str(error)
    board = folder.without_driver(case.board) if case.asks_driver else None
    if board is not None:
        try:
            driver_0 = done.number(case, board)
        except NotTakenError:
            driver_0 = None
    ratio = None if simulated is None else simulated / case.published
    return {
        "id": case.id,
        "kind": case.kind,
        "counted": case.counted,
        "quantity": case.quantity,
        "unit": case.unit,
        "published": case.published,
        "simulated": simulated,
        "ratio": ratio,
        "error": None if ratio is None else ratio - 1,
        "driver_0": driver_0,
        "driver_0_ratio": None if driver_0 is None else driver_0 / case.published,
        "failure": failure,
        "board": case.board,
        "experiment": case.experiment,
        "set_up": case.set_up,
        "unknown": case.unknown,
        "not_simulated": case.not_simulated,
        "note": case.note,
        "source": case.source,
        "reference": case.reference,
    }


def _ratios(rows: Iterable[PublishedCase]) -> dict[str, float]:
    """Of those that have a result, by case."""
    return {row["id"]: row["ratio"] for row in rows if row["ratio"] is not None}


def kind_of(kind: str, ratios: Mapping[str, float]) -> KindOfCases | None:
    """How near cases come, of their ratios of simulated to published; `None` if there is none."""
    if not ratios:
        return None
    worst = max(ratios, key=lambda name: _factor(ratios[name]))
    return {
        "kind": kind,
        "cases": len(ratios),
        "median_ratio": statistics.median(ratios.values()),
        "worst_ratio": ratios[worst],
        "worst_id": worst,
        "within_20": sum(_factor(ratio) <= 1.2 for ratio in ratios.values()),
        "within_25": sum(_factor(ratio) <= 1.25 for ratio in ratios.values()),
    }


def _factor(ratio: float) -> float:
    """How far from 1 a ratio is, up or down."""
    return max(ratio, 1 / ratio) if ratio > 0 else float("inf")
