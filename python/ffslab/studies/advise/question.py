"""What a question file says: the work of a day, what may vary, limits, and what is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.files.asked_tables import AskedSearch, AskedWorkload, keys_of
from ffslab.files.inputs import read_text
from ffslab.files.one_file import OFTEN, asked, is_experiment, is_often
from ffslab.files.toml_tables import check_keys, meant, read_toml, table_at, texts_at, whole
from ffslab.store.rows import FIGURES
from ffslab.studies.advise import boot
from ffslab.studies.advise.asked import Asked, Workload
from ffslab.studies.advise.taken import check_values
from ffslab.studies.limits import limit_of
from ffslab.studies.sweep.axes import Axis, Listed, Range, axes_of
from ffslab.studies.sweep.study import experiment_at, without_axes

if TYPE_CHECKING:
    from ffslab.answers.advice import Advice
    from ffslab.store import Store
    from ffslab.studies.sweep.running import Progress
    from ffslab.studies.sweep.workers import Workers

_KEYS = ("title", "workload", "axes", "vary", "conditions", "limits", "minimise", "maximise", "search")
# What the file's own workload is called, unless it says so.
_OWN = "measure"
# What a day costs, beside the figures of each workload.
DAY_FIGURES = ("years", "busy_share", "energy_J_per_day", "erases_per_day", "page_programs_per_day")
# Numbers of a range that says not how many.
VALUES_OF_RANGE = 9


class Question(Asked):
    """A question to be answered."""

    @classmethod
    def from_file(cls, path: str | Path) -> Question:
        """A question from a TOML file. Relative paths in it start at the file's folder.

        Raises `ffslab.InputError` with one line when it is none.
        """
        path = Path(path)
        return cls.from_toml(read_text(path, "experiment"), path.parent, str(path))

    @classmethod
    def from_toml(cls, text: str, base_dir: str | Path = ".", file_name: str = "<question>") -> Question:
        """A question from TOML text."""
        return read_toml(text, file_name, lambda data: _question(data, text, file_name, Path(base_dir)))

    @classmethod
    def of(
        cls,
        title: str,
        workloads: Mapping[str, tuple[Experiment | str | Path, float]],
        vary: Mapping[str, object],
        *,
        limits: Sequence[str] = (),
        conditions: Sequence[str] = (),
        minimise: str | None = None,
        maximise: str | None = None,
    ) -> Question:
        """A question from objects. `workloads`: of each name an experiment, or its file, and how often a day it
        happens; `vary`: axes as of `ffslab.Study.of`; one of `minimise` and `maximise`."""
        wanted = {"minimise": minimise, "maximise": maximise}
        data = {"title": title, "vary": dict(vary), "limits": list(limits), "conditions": list(conditions)}
        data |= {key: figure for key, figure in wanted.items() if figure is not None}
        return _of_workloads([_made(name, *given) for name, given in workloads.items()], data, "<question>")

    def answer(
        self, *, store: Store | None = None, workers: Workers | None = None, progress: Progress | None = None
    ) -> Advice:
        """Searches, and says what to take."""
        from ffslab.studies.advise.answer import answer_of

        return answer_of(self, store=store, workers=workers, progress=progress)


def _question(data: dict[str, Any], text: str, file_name: str, base_dir: Path) -> Question:
    if is_experiment(data):
        return _of_experiment(data, Experiment(text, file_name, base_dir))
    check_keys(data, _KEYS)
    tables = data.get("workload", [])
    if not isinstance(tables, list) or not tables:
        raise InputError("no work: add tables [[workload]], each with `experiment` and `per_day`")
    return _of_workloads(
        [_workload(table, i, file_name, base_dir) for i, table in enumerate(tables, 1)], data, file_name
    )


def _of_experiment(data: dict[str, Any], experiment: Experiment) -> Question:
    """What the file of an experiment asks: its measured steps are a workload, and further ones may stand beside it."""
    own = asked(data, "question")
    name = own.get("name", _OWN)
    if not isinstance(name, str):
        raise InputError(f"[question]: name = {name}: must be a text")
    bare, title, _ = without_axes(experiment)
    more = own.get("workload", [])
    if not isinstance(more, list):
        raise InputError("`workload` must be tables: write [[question.workload]]")
    # They are on the same machine, unless they name a file of their own.
    more = [_on_machine(table, data["stack"]) for table in more]
    further = [_workload(table, i, experiment.file_name, experiment.base_dir) for i, table in enumerate(more, 2)]
    # What a figure or an axis of a step is of need not be said where there is one workload.
    said = own | {
        "title": title,
        "limits": [_of_workload(text, name) for text in texts_at(own, "limits")],
        **{key: _of_workload(own[key], name) for key in ("minimise", "maximise") if isinstance(own.get(key), str)},
        "axes": table_at(data, "axes") | table_at(own, "axes"),
    }
    first = _made(name, bare, own.get("per_day"), "[question]")
    if "boot" in own:
        if further:
            raise InputError("[question.boot]: a boot is asked for alone: leave out [[question.workload]]")
        axes = [_with_count(axis) for axis in axes_of(said["axes"])]
        first = replace(first, boot=boot.boot_of(table_at(own, "boot"), experiment.base_dir, axes))
    return _of_workloads([first, *further], said, experiment.file_name)


def _on_machine(table: object, stack: object) -> object:
    if isinstance(table, dict) and isinstance(inner := table.get("experiment"), dict):
        return table | {"experiment": {"stack": stack} | inner}
    return table


def _of_workload(text: str, name: str) -> str:
    """A figure, or a limit of one, with the name of its workload."""
    figure = re.split(r"[\s<>=]", text.strip(), maxsplit=1)[0]
    is_own = figure in (*FIGURES, *boot.FIGURES) and figure not in DAY_FIGURES
    return f"{name}.{text.strip()}" if is_own else text


def _of_workloads(workloads: Sequence[Workload], data: dict[str, Any], file_name: str) -> Question:
    names = [workload.name for workload in workloads]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"[[workload]]: two are called {name}: give them names")
    # `vary` is what the table of axes was called in the files that only `advise` reads.
    axes = tuple(_with_count(axis) for axis in axes_of(table_at(data, "axes" if "axes" in data else "vary")))
    if not axes:
        raise InputError('nothing may vary: add a table [question.axes], such as fs = ["jffs2", "ubifs"]')
    search = table_at(data, "search")
    check_keys(search, keys_of(AskedSearch), "[search]: ")
    # A boot says nothing of years.
    known = [figure for figure in DAY_FIGURES if figure != "years" or all(one.boot is None for one in workloads)]
    known += [f"{name}.{figure}" for name in names for figure in FIGURES]
    known += [f"{one.name}.{figure}" for one in workloads if one.boot is not None for figure in boot.FIGURES]
    limits = tuple(limit_of(text, known, _meant) for text in texts_at(data, "limits"))
    runs = search.get("runs")
    question = Question(
        str(data.get("title", "Question")),
        tuple(workloads),
        axes,
        texts_at(data, "conditions"),
        limits,
        _wanted(data, known),
        None if runs is None else whole("search.runs", runs, 1),
        whole("search.repeat", search.get("repeat", 6), 1),
        whole("search.seed", search.get("seed", 1), 0),
        file_name,
    )
    check_values(question)
    return question


def _workload(table: object, number: int, file_name: str, base_dir: Path) -> Workload:
    if not isinstance(table, dict):
        raise InputError("`workload` must be tables: write [[workload]]")
    check_keys(table, keys_of(AskedWorkload), f"[[workload]] {number}: ")
    name = str(table.get("name", f"workload{number}"))
    return _made(name, experiment_at(table, name, file_name, base_dir), table.get("per_day"))


def _made(name: str, given: Experiment | str | Path, per_day: object, where: str | None = None) -> Workload:
    where = where or f"[[workload]] {name}"
    if not re.fullmatch(r"\w+", name):
        raise InputError(f'[[workload]]: name "{name}": must be of letters, digits and _')
    if not is_often(per_day):
        raise InputError(f"{where}: {OFTEN}")
    experiment, _, axes = without_axes(given if isinstance(given, Experiment) else Experiment.from_file(given))
    if axes:
        raise InputError(f"{where}: its experiment has axes: what may vary is said in [vary]")
    return Workload(name, experiment, float(per_day))


def _with_count(axis: Axis) -> Listed:
    if isinstance(axis, Range) and axis.count is None and axis.step is None:
        return Listed(axis.name, tuple(replace(axis, count=VALUES_OF_RANGE).values()), when=axis.when)
    return Listed(axis.name, tuple(axis.values()), when=axis.when)


def _wanted(data: Mapping[str, Any], known: Sequence[str]) -> tuple[str, bool]:
    given = [(data[key], key == "maximise") for key in ("minimise", "maximise") if key in data]
    if len(given) != 1:
        raise InputError('say what is wanted, one figure: minimise = "energy_J_per_day", or maximise = "years"')
    figure, most = given[0]
    if figure not in known:
        raise InputError(f"no figure is called {figure}{_meant(str(figure), known)}")
    return figure, most


def _meant(name: str, known: Sequence[str]) -> str:
    # All figures of all workloads would be a page.
    return meant(name, known) if "did you mean" in meant(name, known) else f": known are {', '.join(DAY_FIGURES)} ..."
