"""Experiments and their results as objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ffslab import _native
from ffslab.api import states
from ffslab.api.known import run_with
from ffslab.api.machine import Value
from ffslab.api.run import Progress, Run, RunGiven, Shared
from ffslab.files import films
from ffslab.files.asked_tables import check_tables
from ffslab.files.inputs import read_text
from ffslab.files.toml_tables import read_toml
from ffslab.files.traces import csv_of
from ffslab.registries.profiles import look_also_in
from ffslab.store import Store

if TYPE_CHECKING:
    from ffslab.answers.lives import Lives
    from ffslab.answers.machine import Keys
    from ffslab.answers.typed_keys import MachineKeys
    from ffslab.api.observe import Observe
    from ffslab.steps import Step


@dataclass(frozen=True)
class Experiment:
    """A storage stack, the steps that prepare it and the steps that are measured.

    `written`: the text of a file, or data of the same shape, in which tables are dictionaries and `None` leaves a key
    out. `file_name` names it in error messages; relative paths in it start at `base_dir`.
    """

    written: str | Mapping[str, object]
    file_name: str = "<experiment>"
    base_dir: Path = field(default_factory=Path)
    # What holds in place of what is written, in the shape of the file; see `changed`.
    change: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, text: str, base_dir: str | Path = ".") -> Experiment:
        """An experiment from TOML text. Relative paths in it start at `base_dir`."""
        return cls(text, base_dir=Path(base_dir))

    @classmethod
    def of(
        cls,
        title: str,
        *,
        stack: MachineKeys,
        measure: Sequence[Step],
        setup: Sequence[Step] = (),
        state: Sequence[Step] = (),
        initial: str | None = None,
        axes: Mapping[str, Sequence[object]] | None = None,
        seed: int | None = None,
        repeat: int | None = None,
        base_dir: str | Path = ".",
    ) -> Experiment:
        """An experiment of the machine `stack` with steps of `ffslab.steps`.

        >>> from ffslab import Experiment, steps
        >>> Experiment.of(
        ...     "Appends",
        ...     stack={"board": "omap3evm", "fs": "ubifs", "partition_blocks": 160},
        ...     setup=[steps.mount(), steps.open(file="log", flags=["wronly", "create", "append"])],
        ...     measure=[steps.append(file="log", request_B=512, count=1000, sync="fsync")],
        ... )
        """
        data = {
            "title": title,
            "initial": initial,
            "seed": seed,
            "repeat": repeat,
            "stack": stack,
            "measure": list(measure),
            "setup": list(setup) or None,
            "state": list(state) or None,
            "axes": axes or None,
        }
        return cls.from_data(data, f'<experiment "{title}">', base_dir)

    @classmethod
    def from_data(
        cls, data: Mapping[str, object], file_name: str = "<experiment>", base_dir: str | Path = "."
    ) -> Experiment:
        """An experiment from data of the shape of a file: tables are dictionaries, `None` leaves a key out."""
        return cls(dict(data), file_name, Path(base_dir))

    @classmethod
    def from_file(cls, path: str | Path) -> Experiment:
        """An experiment from a TOML file. Relative paths in it start at the file's folder."""
        path = Path(path)
        text = read_text(path, "experiment")
        check_tables(text, str(path))
        return cls(text, str(path), path.parent)

    def table(self) -> dict[str, Any]:
        """What is written, as data.

        Raises `ffslab.InputError` for a text that is no TOML.
        """
        if isinstance(self.written, str):
            return read_toml(self.written, self.file_name, dict)
        return {key: value for key, value in self.written.items() if value is not None}

    def with_axes(self, axes: Mapping[str, Sequence[object]]) -> Experiment:
        """The same experiment with these axes beside its own; one that it has already gets the new values.

        >>> experiment.with_axes({"read_ahead_KiB": [0, 128], "requests.request_B": ["512 B", "4 KiB"]})
        """
        return self.changed(axes={name: list(values) for name, values in axes.items()})

    def changed(
        self,
        *,
        stack: Mapping[str, Value] | None = None,
        axes: Mapping[str, Sequence[object]] | None = None,
        seed: int | None = None,
        repeat: int | None = None,
    ) -> Experiment:
        """The same experiment in which this holds in place of what is written.

        `stack`: keys of the machine; one that is `None` does not hold. `axes`: lists of values. `seed`: that of the
        content. `repeat`: how often each variant is run. Keys that are not named stay as they are.
        """
        numbers = {"seed": seed, "repeat": repeat}
        new: dict[str, object] = {key: value for key, value in numbers.items() if value is not None}
        for name, keys in (("stack", stack), ("axes", axes)):
            before = self.change.get(name, {})
            assert isinstance(before, Mapping)
            if keys:
                new[name] = {**before, **keys}
        return replace(self, change={**self.change, **new})

    def check(self, *, any_size: bool = False) -> None:
        """Checks everything that shows without running a step. `any_size`: as with `run`.

        Raises `ffslab.InputError` when the experiment is wrong.
        """
        _native.check_experiment(self, _parquet, any_size=any_size)

    def run(
        self,
        progress: Progress | None = None,
        *,
        jobs: int | None = None,
        any_size: bool = False,
        tell: Callable[[str], object] | None = None,
        store: Store | None = None,
        again: bool = False,
        observe: Observe | None = None,
        share_setups: bool = True,
    ) -> Run:
        """Simulates every variant. `progress` is called with the finished share (0 to 1) now and then. `jobs` of them
        run at once; without it one on each core. The results do not depend on it.

        An experiment that makes more than 1,000,000,000 calls is refused, unless its key `calls_max` allows them or
        `any_size` says that they are meant. `tell` gets what a large one takes, before it runs.

        A variant that `store` holds is not run again, unless `again` says so, and what runs is kept there; without a
        store that is `Store.usual()`.
        Initial states (`[[state]]`) are kept for later runs, too, see `ffslab.api.states`.

        `observe`: what is to be written down meanwhile; then nothing is taken from the store.

        A setup that variants have in common is run once, and each of them begins from a copy of what it left. The
        results are the same as those without `share_setups`; `Run.shared` tells how many were shared.

        A variant in which a step cannot be done (a file does not fit) is one of `Run.failures`; the others run on.

        Raises `ffslab.InputError` (a `ValueError`) when the experiment is wrong or no variant comes to its end.
        """
        given = RunGiven(progress, jobs or 0, any_size, tell, observe, share_setups)
        again = again or observe is not None
        kept_in = Store.usual() if store is None else store
        look_also_in(Path(self.base_dir))
        return self.run_without(given) if kept_in is None else run_with(kept_in, self, given, again=again)

    def run_without(self, given: RunGiven, known: Sequence[int] | None = None) -> Run:
        """Simulates the variants; no store is asked.

        `known`: the result is one part of a larger one, without the variants at these positions; it may hold failures
        alone.
        """
        ran = _native.run_experiment(
            self,
            given.progress,
            _parquet,
            states.kept(),
            jobs=given.jobs,
            known=known,
            any_size=given.any_size,
            tell=given.tell,
            observe=None if given.observe is None else given.observe.native(),
            share_setups=given.share_setups,
        )
        done = Run(
            msgspec.json.decode(ran["summary"]),
            *(ran["requests"], ran["blocks"], ran["resolved_toml"], ran["images"], ran["logs"], ran["stacks"]),
            films={name: films.table_of(columns) for name, columns in ran["films"].items()},
        )
        done.shared = Shared(*ran["shared"])
        return done

    def lives(
        self,
        asked: Mapping[str, object],
        given: RunGiven,
        known: Sequence[int] | None = None,
        ended: Callable[[int, str], object] | None = None,
    ) -> Lives:
        """Lets a device live with each variant but those at the positions `known`; `ffslab.studies.lifetime.lived` asks
        for it. `ended` gets the position of each variant that has lived, and its life (JSON)."""
        lives: Lives = msgspec.json.decode(
            _native.live_experiment(
                self,
                json.dumps(asked),
                given.progress,
                _parquet,
                states.kept(),
                jobs=given.jobs,
                known=known,
                any_size=given.any_size,
                ended=ended,
            )
        )
        return lives

    def keys(self) -> Keys:
        """The variants, each with the key under which a store keeps what it did.

        Raises `ffslab.InputError` for a text that is no experiment.
        """
        keys: Keys = json.loads(_native.variant_keys(self, states.build()))
        return keys


def _parquet(file: Path) -> str:
    return csv_of(file)
