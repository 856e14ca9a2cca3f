"""Whole lives: a workload repeated on a simulated device until that fails, or has lived as long as it must."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ffslab._native import InputError
from ffslab.answers.whole_lives import WholeLivesAnswer
from ffslab.api.run import Progress, RunGiven, part_of
from ffslab.files.results import check_free, dump_json, replace
from ffslab.store import Store
from ffslab.store.lives import life_key
from ffslab.studies.lifetime.lived import Lived
from ffslab.text.machine_line import initial_as_written

if TYPE_CHECKING:
    from ffslab.answers.lives import Lives
    from ffslab.studies.lifetime.workloads import Given, Workload

LIVES, POINTS, BLOCKS, REPORT = "lives.json", "points.parquet", "blocks.parquet", "report.html"
FILES = frozenset({LIVES, POINTS, BLOCKS, REPORT})
# Without --years a device that nothing ends is looked at for so long.
YEARS_MAX = 100.0
# The clock of a life counts nanoseconds in 64 bits, which are 584 years.
CLOCK_YEARS_MAX = 500.0
# What a life that is bounded may cost, in flash operations and calls, the same on every machine: after the first number
# times of stationary wear are leapt over, after the second it is given up. Some seconds, and a few minutes.
LEAPS_AFTER_WORK, WORK_MAX = 2_000_000, 120_000_000


def check(folder: Path) -> None:
    """Refuses a place where results must not be written. Call it before a long run."""
    check_free(folder, FILES, LIVES)


class WholeLives(Lived):
    """Lives of devices, as text, page and folder."""

    @property
    def text(self) -> str:
        """What happened, for a terminal."""
        from ffslab.studies.lifetime.whole_text import text_of

        return text_of(self)

    def report(self) -> str:
        """The report, one HTML file."""
        from ffslab.studies.lifetime.whole_page import html

        return html(self)

    def save(self, folder: Path) -> Path:
        """Writes everything to a folder, complete or not at all, and returns it."""
        check(folder)
        return replace(folder, self._write)

    def _write(self, folder: Path) -> None:
        (folder / LIVES).write_text(dump_json(self.answer), encoding="utf-8")
        self.points().to_parquet(folder / POINTS, index=False)
        self.blocks().to_parquet(folder / BLOCKS, index=False)
        (folder / REPORT).write_text(self.report(), encoding="utf-8")


def lived(
    workloads: Sequence[Workload],
    given: Given,
    *,
    fast: bool = False,
    bounded: bool = False,
    work_max: int | None = None,
    worn_erases: Sequence[int | None] | None = None,
    start: str = "a new part",
    progress: Progress | None = None,
    store: Store | None = None,
    again: bool = False,
) -> WholeLives:
    """Lets a device live with each workload. `fast`: times of stationary wear are leapt over. `bounded`: only in a life
    that would take long, and one that takes very long is given up (`LEAPS_AFTER_WORK`, `WORK_MAX`);
    `work_max`: when another one is, which leaps from half of that on.

    A life that `store` holds is not lived again, unless `again` says so, and each one is kept there as soon as it has
    ended; without a store that is `Store.usual()`.

    `worn_erases`: erases that its blocks have behind them; `None` among them: not known, taken for new.

    Raises `ffslab.InputError` for an experiment that is wrong, or whose first repetition cannot be done.
    """
    if given.wanted_years is not None and given.wanted_years > CLOCK_YEARS_MAX:
        followed = f"a life is followed for {CLOCK_YEARS_MAX:.0f} years at most"
        raise InputError(f"{given.wanted_years:,.0f} years: {followed}; lifetime --reckon has no such limit")
    for one in workloads:
        one.experiment.check(any_size=given.any_size)
    asked: dict[str, object] = {
        "per_day": given.per_day,
        "years": YEARS_MAX if given.wanted_years is None else given.wanted_years,
        "endurance_erases": given.endurance,
        "leaps_after_work": 0 if fast else LEAPS_AFTER_WORK if bounded else work_max and work_max // 2,
        "operations_max": WORK_MAX if bounded else work_max,
        "worn_erases": None if worn_erases is None else [erases or 0 for erases in worn_erases],
    }
    answer: WholeLivesAnswer = {
        "start": start,
        "fast": fast or bounded,
        "wanted_years": given.wanted_years,
        "workloads": [],
    }
    for at, one in enumerate(workloads):
        how = RunGiven(part_of(progress, at, len(workloads)), given.jobs or 0, given.any_size)
        found = _with_kept(Store.usual() if store is None else store, one, asked, how, again=again)
        initial = initial_as_written(one.experiment.table())
        answer["workloads"].append({"workload": one.name, "initial": initial, **found})
    return WholeLives(answer)


def _with_kept(
    store: Store | None, workload: Workload, asked: dict[str, object], how: RunGiven, *, again: bool
) -> Lives:
    """The lives of a workload's variants, of which only those are lived that the store does not have."""
    experiment = workload.experiment
    if store is None:
        return experiment.lives(asked, how)
    variants = experiment.keys()["variants"]
    keys = [life_key(variant["key"], asked) if variant["key"] is not None else None for variant in variants]
    kept = {} if again else {at: life for at, key in enumerate(keys) if key and (life := store.lives.find(key))}

    def ended(at: int, life: str) -> None:
        if key := keys[at]:
            store.keep_life(key, workload.name, msgspec.json.decode(life))

    lives = experiment.lives(asked, how, sorted(kept) or None, ended)
    store.make_room()
    of_name = {life["name"]: life for life in lives["lives"]}
    for at, life in kept.items():
        name = variants[at]["name"]
        of_name[name] = {**life, "name": name, "axes": variants[at]["axes"]}
    lives["lives"] = [of_name[name] for variant in variants if (name := variant["name"]) in of_name]
    if not lives["lives"]:
        raise InputError(f"{experiment.file_name}: {lives['failed'][0]['error']}")
    return lives
