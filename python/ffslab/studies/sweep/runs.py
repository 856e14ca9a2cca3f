"""What a study ran: a table of all runs, a table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ffslab import _native
from ffslab._native import InputError
from ffslab.store.rows import FIGURES
from ffslab.studies.sweep.design import Design
from ffslab.studies.sweep.plan import USUAL, Plan
from ffslab.text.energy import missing_price
from ffslab.text.figures import needs_steady
from ffslab.text.machine_line import Seen

if TYPE_CHECKING:
    import pandas as pd


LOST = "its worker ended twice while it ran: it needs more memory than there is, or this is a bug of ffslab"


@dataclass(frozen=True)
class StudyRuns:
    """`own`: the positions of the points that were run, all unless it was a shard. `keys`: of the runs of each of them.
    `figures`: by key; what is not there was lost with its workers. `taken`: how many runs the store held before.
    `seen`: machines on which points ran, with each value of each axis among them."""

    study: Plan
    design: Design
    own: list[int]
    keys: dict[int, list[str]]
    figures: pd.DataFrame
    taken: int
    seen: tuple[Seen, ...] = ()

    @property
    def without_energy(self) -> list[str]:
        """Why energy is not told: whose prices of it have no source."""
        missing = (missing_price(one.stack) for one in self.seen)
        return list(dict.fromkeys(why for why in missing if why is not None))

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each run: `point` (from 1), `run` (from 1), the axes, `error`, every figure that some run has."""
        import pandas as pd

        rows = [(at, run, key) for at in self.own for run, key in enumerate(self.keys[at], 1)]
        axes = self.design.table([at for at, _, _ in rows])
        head = pd.DataFrame({"point": [at + 1 for at, _, _ in rows], "run": [run for _, run, _ in rows]})
        found = self.figures.reindex([key for _, _, key in rows]).reset_index(drop=True)
        missing = found[["error", *FIGURES]].isna().all(axis=1)
        found["error"] = found["error"].astype(object).mask(missing, LOST).where(lambda told: told.notna(), None)
        frame = pd.concat([head, axes, found], axis=1)
        empty = [name for name in FIGURES if frame[name].isna().all()]
        return frame.drop(columns=empty)

    @cached_property
    def points(self) -> pd.DataFrame:
        """A row for each point: its number, axes, `runs` that ended and `failed` ones, and the median of every figure;
        of several runs also the interval of the median, `FIGURE_low` and `FIGURE_high`."""
        import pandas as pd

        runs, several = self.runs, (self.study.repeat or 1) > 1
        # Lists, since asking a table for each point and figure takes longer than a small study.
        figures = {name: runs[name].tolist() for name in FIGURES if name in runs}
        groups: dict[int, list[int]] = {}
        for row_number, point in enumerate(runs["point"].tolist()):
            groups.setdefault(point, []).append(row_number)
        ended_runs = runs["error"].isna().tolist()
        rows = []
        for point, group in groups.items():
            ended = [row_number for row_number in group if ended_runs[row_number]]
            row: dict[str, object] = {"point": point, "runs": len(ended), "failed": len(group) - len(ended)}
            for name, column in figures.items():
                there = (column[row_number] for row_number in ended)
                # What is not there is None, or NaN, which equals nothing.
                values = [value for value in there if value is not None and value == value]
                spread = _native.spread(values) if values else (None,) * 5
                row |= dict(zip((name, f"{name}_low", f"{name}_high"), spread[: 3 if several else 1], strict=False))
            rows.append(row)
        counted = pd.DataFrame(rows)
        axes = self.design.table(self.own)
        return pd.concat([counted[["point"]], axes, counted.drop(columns="point")], axis=1)

    @property
    def failures(self) -> list[str]:
        """The runs that did not come to their end, each with its error."""
        failed = self.runs[self.runs["error"].notna()]
        pairs = zip(failed["point"].tolist(), failed["error"].tolist(), strict=True)
        return [f"{self.design.name(point - 1)}: {error}" for point, error in pairs]

    @cached_property
    def needs_us(self) -> float | None:
        """How long the workload of some run must be seen before its state is steady; `None`: each was."""
        needs = self.runs["needs_us"].max() if "needs_us" in self.runs else None
        return None if needs is None or needs != needs else float(needs)

    @property
    def untold(self) -> list[str]:
        """Figures that are wanted, of which too little was seen to tell them."""
        wanted = (*self.study.minimise, *self.study.maximise)
        return [name for name in wanted if needs_steady(name)] if self.needs_us is not None else []

    @property
    def objectives(self) -> list[tuple[str, bool]]:
        """What is wanted and can be told: figures, and whether more of them is better. Nothing when no run came to its
        end: that is told then, and no figure is to blame.

        Raises `ffslab.InputError` when no run has such a figure.
        """
        study = self.study
        if self.runs["error"].notna().all():
            return []
        named = [(name, False) for name in study.minimise] + [(name, True) for name in study.maximise]
        for name, _ in named:
            if name not in self.runs and name not in self.untold:
                has = ", ".join(name for name in FIGURES if name in self.runs)
                raise InputError(f"{study.file_name}: no run has the figure {name}: they have {has}")
        usual = [name for name in USUAL if name in self.runs and self.runs[name].nunique() > 1]
        if named:
            return [(name, most) for name, most in named if name not in self.untold]
        return [(name, False) for name in usual if not (name.startswith("energy_") and self.without_energy)]


def ended(points: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The points that have all of these figures."""
    return points[points[list(names)].notna().all(axis=1) & (points["failed"] == 0)]
