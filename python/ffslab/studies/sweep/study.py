"""What a study file says: an experiment, what varies in it, how points are chosen, what is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.files.asked_tables import TABLES, AskedSample, keys_of
from ffslab.files.inputs import read_text
from ffslab.files.one_file import asked, is_experiment
from ffslab.files.toml_tables import check_keys, meant, read_toml, table_at, texts_at, whole
from ffslab.store.rows import FIGURES
from ffslab.studies.sweep.axes import Axis, Listed, Range, Value, axes_of
from ffslab.studies.sweep.plan import METHODS, POINTS_MAX, Plan, Sample

if TYPE_CHECKING:
    from ffslab.store import Store
    from ffslab.studies.sweep.results import StudyResult
    from ffslab.studies.sweep.running import Progress
    from ffslab.studies.sweep.workers import Workers

_KEYS = ("title", "experiment", "axes", "sample", "conditions", "repeat", "seed", "minimise", "maximise", "compare")


class Study(Plan):
    """Many runs of one experiment, to be run."""

    @classmethod
    def from_file(cls, path: str | Path) -> Study:
        """A study from a TOML file. Relative paths in it start at the file's folder.

        Raises `ffslab.InputError` with one line when it is none.
        """
        path = Path(path)
        return cls.from_toml(read_text(path, "experiment"), path.parent, str(path))

    @classmethod
    def from_toml(cls, text: str, base_dir: str | Path = ".", file_name: str = "<study>") -> Study:
        """A study from TOML text."""
        return read_toml(text, file_name, lambda data: _study(data, text, file_name, Path(base_dir)))

    @classmethod
    def of(
        cls,
        experiment: Experiment | str | Path,
        axes: Mapping[str, object],
        *,
        method: str = "grid",
        points: int = 64,
        seed: int = 1,
        conditions: Sequence[str] = (),
        repeat: int | None = None,
        minimise: Sequence[str] = (),
        maximise: Sequence[str] = (),
        compare: str | None = None,
        title: str = "",
    ) -> Study:
        """A study of an experiment, or of its file. `axes`: lists of values, or ranges such as
        `{"from": "512 B", "to": "64 KiB", "scale": "log"}`; `method`, `points` and `seed` say how points are chosen.

        >>> Study.of("logger.toml", {"fs": ["jffs2", "ubifs"], "partition_blocks": {"from": 96, "to": 512}},
        ...          method="sobol", points=64)
        """
        own = experiment if isinstance(experiment, Experiment) else Experiment.from_file(experiment)
        data: dict[str, object] = {
            "sample": {"method": method, "points": points, "seed": seed},
            "axes": dict(axes),
            "repeat": repeat,
            "compare": compare,
        }
        data |= {"conditions": list(conditions), "minimise": list(minimise), "maximise": list(maximise)}
        named = {"title": title} if title else {}
        return _of_experiment(data | named, own, own.file_name)

    def run(
        self,
        *,
        store: Store | None = None,
        workers: Workers | None = None,
        progress: Progress | None = None,
        shard: tuple[int, int] | None = None,
        any_size: bool = False,
        again: bool = False,
        share_setups: bool = True,
    ) -> StudyResult:
        """Runs what the store does not hold. `workers`: those of `ffslab.studies.sweep.workers`; without them a local
        process on each core. `shard`: `(2, 5)` runs the second of five parts. `share_setups`: as with
        `Experiment.run`.

        Raises `ffslab.InputError` before the first run when a point is impossible.
        """
        from ffslab.studies.sweep.running import How, run

        how = How(any_size=any_size, again=again, share_setups=share_setups)
        return run(self, store=store, workers=workers, progress=progress, shard=shard, how=how)

    def over(self, experiment: Experiment) -> Study:
        """The same study of an experiment that a command has changed: a key that has a value is no axis any more, and
        values to compare are an axis."""
        fixed = cast("Mapping[str, object]", experiment.change.get("stack", {}))
        compared = cast("Mapping[str, list[Value]]", experiment.change.get("axes", {}))
        left = [axis for axis in self.axes if axis.name not in fixed and axis.name not in compared]
        added = [Listed(name, tuple(values)) for name, values in compared.items()]
        change = {key: value for key, value in experiment.change.items() if key != "axes"}
        return replace(self, experiment=replace(experiment, change=change), axes=(*left, *added))


def _study(data: dict[str, Any], text: str, file_name: str, base_dir: Path) -> Study:
    if is_experiment(data):
        own = asked(data, "study")
        return _of_experiment(own, Experiment(text, file_name, base_dir), file_name)
    check_keys(data, _KEYS)
    experiment = experiment_at(data, str(data.get("title", "study")), file_name, base_dir)
    return _of_experiment(data, experiment, file_name)


def experiment_at(table: Mapping[str, Any], title: str, file_name: str, base_dir: Path) -> Experiment:
    """The key `experiment` of a table: the path of a file, or an experiment itself, which need not have a title."""
    given = table.get("experiment")
    if isinstance(given, str):
        return Experiment.from_file(base_dir / given)
    if isinstance(given, dict):
        return Experiment.from_data({"title": title, **given}, file_name, base_dir)
    raise InputError(
        '`experiment` must be the path of an experiment file ("logger.toml") or a table [experiment] that holds one'
    )


def _of_experiment(data: dict[str, Any], experiment: Experiment, file_name: str) -> Study:
    experiment, own_title, own_axes = without_axes(experiment)
    if (seed := data.get("seed")) is not None:
        experiment = experiment.changed(seed=whole("seed", seed, 0))
    axes = axes_of(table_at(data, "axes"))
    kept = [axis for axis in own_axes if axis.name not in {axis.name for axis in axes}]
    all_axes = (*kept, *axes)
    if not all_axes:
        raise InputError('nothing varies: add a table [axes], such as fs = ["jffs2", "ubifs"]')
    sample = _sample(table_at(data, "sample"), all_axes)
    repeat = data.get("repeat")
    conditions = texts_at(data, "conditions")
    if conditions and sample.method in ("saltelli", "morris"):
        raise InputError(f'`conditions`: the plan "{sample.method}" needs all of its points: choose another method')
    return Study(
        experiment,
        all_axes,
        str(data.get("title", own_title)),
        sample,
        conditions,
        None if repeat is None else whole("repeat", repeat, 1),
        _figures(data, "minimise"),
        _figures(data, "maximise"),
        _compared(data, all_axes),
        file_name,
    )


def without_axes(experiment: Experiment) -> tuple[Experiment, str, tuple[Axis, ...]]:
    """The experiment without its own axes, its title, and its axes."""
    table = experiment.table()
    title, own = str(table.get("title", "")), table.pop("axes", {})
    if not own:
        return experiment, title, ()
    table = {key: value for key, value in table.items() if key not in TABLES}
    bare = Experiment.from_data(table, experiment.file_name, experiment.base_dir)
    return replace(bare, change=experiment.change), title, axes_of(own)


def _sample(table: dict[str, Any], axes: Sequence[Axis]) -> Sample:
    check_keys(table, keys_of(AskedSample), "[sample]: ")
    ranges = any(isinstance(axis, Range) and axis.count is None and axis.step is None for axis in axes)
    method = table.get("method", "latin" if ranges else "grid")
    if method not in METHODS:
        raise InputError(f'[sample]: method "{method}": must be {", ".join(METHODS)}')
    if method == "grid" and "points" in table and table["points"] != Sample.points:
        raise InputError("[sample]: `points` has no meaning for a grid, which has all of them")
    points = whole("sample.points", table.get("points", Sample.points), 1)
    if points > POINTS_MAX:
        raise InputError(f"[sample]: points = {points}: {POINTS_MAX} are the limit")
    if method == "sobol" and points & (points - 1):
        # A Sobol sequence loses its balance at other lengths (scipy.stats.qmc.Sobol).
        raise InputError(f'[sample]: points = {points}: of method "sobol" it must be a power of 2, such as 64 or 128')
    return Sample(method, points, whole("sample.seed", table.get("seed", Sample.seed), 0))


def _compared(data: Mapping[str, Any], axes: Sequence[Axis]) -> str | None:
    name = data.get("compare")
    if name is None:
        return None
    names = [axis.name for axis in axes if isinstance(axis, Listed)]
    if name not in names:
        there = ", ".join(names) or "none"
        raise InputError(f"`compare`: must be an axis with a list of values, such as {there}, not {name!r}")
    return str(name)


def _figures(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = texts_at(data, key)
    for name in names:
        if name not in FIGURES:
            raise InputError(f"`{key}`: no figure is called {name}{meant(name, FIGURES)}")
    return names
