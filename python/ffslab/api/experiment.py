"""Experiments and their results as objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers.summary import Summary
from ffslab.api import states
from ffslab.api.machine import Value, as_json
from ffslab.api.profiles import look_also_in
from ffslab.api.variants import VariantColumns, columns_of, repeat_columns, rows_of, typical_of
from ffslab.files.asked_tables import check_tables
from ffslab.files.inputs import read_text

if TYPE_CHECKING:
    import pandas as pd

    from ffslab.answers import Columns
    from ffslab.answers.lives import Lives
    from ffslab.answers.machine import Keys
    from ffslab.answers.typed_keys import MachineKeys
    from ffslab.api.observe import Observe
    from ffslab.steps import Step
    from ffslab.store import Store

Progress = Callable[[float], object]


def part_of(progress: Progress | None, at: int, count: int) -> Progress | None:
    """Progress of one of several runs."""
    if progress is None:
        return None
    return lambda done: progress((at + done) / count)


class RunGiven(NamedTuple):
    """How an experiment is run; see `Experiment.run`. `jobs`: 0 stands for one on each core."""

    progress: Progress | None = None
    jobs: int = 0
    any_size: bool = False
    tell: Callable[[str], object] | None = None
    observe: Observe | None = None


# First line of a text that nobody has written, so that errors do not name its lines (crates/workload/src/toml_text.rs).
MADE_OF_DATA = "# Made of data.\n"


@dataclass(frozen=True)
class Experiment:
    """A storage stack, the steps that prepare it and the steps that are measured.

    `file_name` names the text in error messages; relative paths in the text start at `base_dir`.
    """

    text: str
    file_name: str = "<experiment>"
    base_dir: Path = field(default_factory=Path)
    # What holds in place of what the text says, in the shape of the file; see `changed`.
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
        """An experiment from data of the same shape: tables are dictionaries, `None` leaves a key out."""
        return cls(MADE_OF_DATA + _native.toml_of(as_json(data)), file_name, Path(base_dir))

    @classmethod
    def from_file(cls, path: str | Path) -> Experiment:
        """An experiment from a TOML file. Relative paths in it start at the file's folder."""
        path = Path(path)
        text = read_text(path, "experiment")
        check_tables(text, str(path))
        return cls(text, str(path), path.parent)

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
        """The same experiment in which this holds in place of what its text says.

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
        _native.check_experiment(
            self.text, self.file_name, self.base_dir, _parquet, change=self._change(), any_size=any_size
        )

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
    ) -> Run:
        """Simulates every variant. `progress` is called with the finished share (0 to 1) now and then. `jobs` of them
        run at once; without it one on each core. The results do not depend on it.

        An experiment that makes more than 1,000,000,000 calls is refused, unless its key `calls_max` allows them or
        `any_size` says that they are meant. `tell` gets what a large one takes, before it runs.

        A variant that `store` holds is not run again, unless `again` says so, and what runs is kept there; without a
        store that is `Store.usual()`.
        Initial states (`[[state]]`) are kept for later runs, too, see `ffslab.api.states`.

        `observe`: what is to be written down meanwhile; then nothing is taken from the store.

        A variant in which a step cannot be done (a file does not fit) is one of `Run.failures`; the others run on.

        Raises `ffslab.InputError` (a `ValueError`) when the experiment is wrong or no variant comes to its end.
        """
        from ffslab.api.known import run_with
        from ffslab.store import Store

        given = RunGiven(progress, jobs or 0, any_size, tell, observe)
        again = again or observe is not None
        kept_in = Store.usual() if store is None else store
        look_also_in(Path(self.base_dir))
        return self.run_without(given) if kept_in is None else run_with(kept_in, self, given, again=again)

    def run_without(self, given: RunGiven, known: Sequence[int] | None = None) -> Run:
        """Simulates the variants; no store is asked.

        `known`: the result is one part of a larger one, without the variants at these positions; it may hold failures
        alone.
        """
        summary, requests, blocks, resolved, images, logs, stacks = _native.run_experiment(
            self.text,
            self.file_name,
            self.base_dir,
            given.progress,
            _parquet,
            states.kept(),
            change=self._change(),
            jobs=given.jobs,
            known=known,
            any_size=given.any_size,
            tell=given.tell,
            observe=None if given.observe is None else given.observe.native(),
        )
        return Run(msgspec.json.decode(summary), requests, blocks, resolved, images, logs, stacks)

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
                self.text,
                self.file_name,
                self.base_dir,
                as_json(asked),
                given.progress,
                _parquet,
                states.kept(),
                change=self._change(),
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
        keys: Keys = json.loads(
            _native.variant_keys(self.text, self.file_name, self.base_dir, states.build(), change=self._change())
        )
        return keys

    def _change(self) -> str | None:
        return as_json(self.change) if self.change else None


class Run:
    """What an experiment did.

    `summary`: dictionary of plain values, one entry per variant (what `summary.json` holds).
    `resolved_toml`: the experiment with every default and profile value written out.
    `images`: what `save_image` steps kept, by file name; with several variants the name begins with the variant's
    number, from 1: "2/nand.bin".
    `logs`: what jobs wrote (`write_iolog` of fio), by file name as with images.
    """

    def __init__(
        self,
        summary: Summary,
        requests: Columns,
        blocks: Columns,
        resolved_toml: str,
        images: dict[str, bytes] | None = None,
        logs: dict[str, str] | None = None,
        stacks: Columns | None = None,
    ) -> None:
        self.summary = summary
        self.resolved_toml = resolved_toml
        self.request_columns = requests
        self.block_columns = blocks
        self.images = images or {}
        self.logs = logs or {}
        self.stack_columns = stacks

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """The results that `ffslab run` or `save` wrote to a folder.

        Raises `ffslab.InputError` when it is none, or one of another version that this one cannot read.
        """
        from ffslab.files.results import load

        return load(Path(folder))

    @property
    def failures(self) -> list[str]:
        """The variants that did not come to their end, each with its error."""
        return [f"{variant['name']}: {variant['error']}" for variant in self.summary.get("failed", [])]

    def whole(self) -> Run:
        """This run, of which every variant came to its end.

        Raises `ffslab.InputError` when one did not.
        """
        if self.failures:
            raise InputError(f"variant {self.failures[0]}")
        return self

    def typical(self) -> Run:
        """Of an experiment with `repeat`: one run of each variant, that of the median time, under the variant's name.
        Any other run as it is."""
        repeats = self.summary.get("repeats")
        if not repeats:
            return self
        names = {one["typical"]: one["name"] for one in repeats}
        requests, blocks = (rows_of(columns, names) for columns in (self.request_columns, self.block_columns))
        stacks = None if self.stack_columns is None else rows_of(self.stack_columns, names)
        return Run(typical_of(self.summary), requests, blocks, self.resolved_toml, stacks=stacks)

    @property
    def repeats(self) -> pd.DataFrame:
        """Of an experiment with `repeat`: one row per variant and figure, over all runs: median, its interval of 95 %,
        least, most."""
        return _frame(repeat_columns(self.summary))

    @property
    def variants(self) -> pd.DataFrame:
        """One row per variant: its axes and its machine, then every figure that is one number: times and latencies,
        flash operations, amplification, wear, energy, the years until the part is worn out. One that did not come to
        its end has an `error` instead."""
        return _frame(self.variant_columns)

    @property
    def variant_columns(self) -> VariantColumns:
        """The columns of `variants`."""
        return columns_of(self.summary)

    def _repr_html_(self) -> str:
        """What a notebook shows: the main table and what it means."""
        from ffslab.report import in_notebook

        return in_notebook(self.summary)

    @property
    def requests(self) -> pd.DataFrame:
        """One row per measured call: variant, step, op, file, `offset_B`, `bytes`, `start_us`, `latency_us`; what took
        longest of it (`cause`, `cause_task`, `cause_us`), `flash_us`, `page_reads`, `page_programs`, `erases`. With
        several programs also `program`, and `waited_us`, the part of the latency in which it waited for the others.
        """
        return _frame(self.request_columns)

    @property
    def blocks(self) -> pd.DataFrame:
        """One row per variant and erase block: `erases_main` (measured steps), `erases_total`, `programmed_pages`, and
        what it holds before and after (`valid_before_B` ...; NaN when nothing is mounted then)."""
        return _frame(self.block_columns)

    @property
    def stacks(self) -> pd.DataFrame | None:
        """One row per variant, task, call, reason and operation: `time_ns`, `energy_uJ`, flash `operations`, `erases`.
        `None`: the run was not observed."""
        return None if self.stack_columns is None else _frame(self.stack_columns)

    def report(self, path: str | Path) -> None:
        """Writes the report, one HTML file that needs no other."""
        from ffslab.report import html

        Path(path).write_text(html(self), encoding="utf-8")

    def save(self, folder: str | Path) -> Path:
        """Writes the results folder (see `ffslab.files.results`) and returns its path."""
        from ffslab.files.results import save

        return save(self, Path(folder))


def _parquet(file: Path) -> str:
    from ffslab.workloads.traces import csv_of

    return csv_of(file)


def _frame(columns: Columns | VariantColumns) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)
