"""What an experiment did, and how it is asked to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ffslab._native import InputError
from ffslab.answers import Columns
from ffslab.api.observe import Observe
from ffslab.files.results import Results, save
from ffslab.text.variants import VariantColumns, repeat_columns

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[float], object]


def part_of(progress: Progress | None, at: int, count: int) -> Progress | None:
    """Progress of one of several runs."""
    if progress is None:
        return None
    return lambda done: progress((at + done) / count)


class Shared(NamedTuple):
    """What was shared in a run: setups from which several variants began, and these variants. It changes no result."""

    setups: int = 0
    variants: int = 0
    # What the setups took of the time of this machine.
    seconds: float = 0.0


class RunGiven(NamedTuple):
    """How an experiment is run; see `Experiment.run`. `jobs`: 0 stands for one on each core."""

    progress: Progress | None = None
    jobs: int = 0
    any_size: bool = False
    tell: Callable[[str], object] | None = None
    observe: Observe | None = None
    share_setups: bool = True


class Run(Results):
    """What an experiment did.

    `summary`: dictionary of plain values, one entry per variant (what `summary.json` holds).
    `resolved_toml`: the experiment with every default and profile value written out.
    `images`: what `save_image` steps kept, by file name; with several variants the name begins with the variant's
    number, from 1: "2/nand.bin".
    `logs`: what jobs wrote (`write_iolog` of fio), by file name as with images.
    `films`: what happened to each erase block (`film = true`), a table of pyarrow a variant, by file name as with
    images.
    `shared`: the setups that variants had in common.
    """

    shared = Shared()

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
        return save(self, Path(folder), self.report)


def _frame(columns: Columns | VariantColumns) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)
