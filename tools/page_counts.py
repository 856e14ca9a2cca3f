"""Pages with 1, 6, 40 and 1,000 variants, of each kind that knows variants, for somebody to look at (`page_shots.py`).

Runs and studies are really made; a workload, a life, a device or a session of a board is made once and stands there
under so many names, with figures that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ffslab import Experiment
from ffslab.answers.lifetime import Lifetime
from ffslab.api.observe import Observe
from ffslab.measured.compare import page as board_comparison
from ffslab.measured.compare.comparison import Comparison, FlashRow, TimeRow
from ffslab.studies.differences import page as difference
from ffslab.studies.differences.results import Side, compared
from ffslab.studies.flame import flame
from ffslab.studies.lifetime import page as lifetimes
from ffslab.studies.lifetime import whole_page as lives
from ffslab.studies.reproduce import page as reproduction
from ffslab.studies.reproduce.figures import Figure, Line
from ffslab.studies.sweep.study import Study
from ffslab.studies.uflip import State, Uflip, UflipResult
from ffslab.studies.uflip import page as uflip
from helpers.page_kinds import ALONE, DEVICES, AtOnce, judged, lived, reckoned, written

COUNTS = (1, 6, 40, 1000)
# The zero-overhead board has no UBI headers of its own sizes, and thousands of variants are to be quick.
ROOMY = ALONE.replace("partition_blocks = 32", "partition_blocks = 64")
AXES = {
    1: "",
    6: '[axes]\nfs = ["jffs2", "yaffs2", "ubifs"]\nread_ahead_KiB = [128, 0]\n',
    40: '[axes]\nfs = ["jffs2", "yaffs2"]\nread_ahead_KiB = [128, 0]\n"requests.count" = '
    + str([8 * n for n in range(1, 11)]) + "\n",
    1000: '[axes]\nfs = ["jffs2", "yaffs2"]\n"requests.count" = ' + str(list(range(1, 501))) + "\n",
}  # fmt: skip


def _run(folder: Path, count: int) -> Path:
    text = ROOMY.replace("[stack]", "film = true\n\n[stack]", 1) if count <= 6 else ROOMY
    Experiment(text + AXES[count], "small.toml", Path()).run(any_size=True).report(folder / "report.html")
    return folder / "report.html"


def _flame(folder: Path, count: int) -> Path:
    run = Experiment(ROOMY + AXES[count], "small.toml", Path()).run(any_size=True, observe=Observe())
    run.save(folder / "run")
    flame(folder / "run", "time", folder / "flame.html")
    return folder / "flame.html"


def _sweep(folder: Path, count: int) -> Path:
    axes = AXES[count] or "[axes]\nread_ahead_KiB = [128]\n"
    (folder / "small.toml").write_text(ROOMY, encoding="utf-8")
    text = 'title = "What does a write cost?"\nexperiment = "small.toml"\n' + axes
    text = text.replace("[axes]", 'minimise = ["time_us", "page_programs"]\n[axes]')
    return Study.from_toml(text, folder).run(workers=AtOnce()).save(folder / "out") / "report.html"


def _diff(folder: Path, count: int) -> Path:
    for name, text in (("a", ROOMY), ("b", ROOMY.replace("4 KiB", "8 KiB"))):
        Experiment(text + AXES[count], "small.toml", Path()).run(any_size=True).save(folder / name)
    return written(folder, difference.html(compared(Side.of(str(folder / "a")), Side.of(str(folder / "b")))))


def _compare(folder: Path, count: int) -> Path:
    calls = ("write", "fsync", "read")
    times = [
        TimeRow("INSERT", 128 << n % 6, 1 + n // 18, calls[n % 3], 10 + n, 100.0 + 7 * n, 10 + n,
                110.0 + 6.5 * n + 9 * (n % 7), None, None)
        for n in range(count)
    ]  # fmt: skip
    flash = [
        FlashRow("INSERT", 128 << n % 6, 1 + n // 18, ("reads", "programs", "erases")[n % 3], "all", 90 + 11 * n,
                 80 + 12 * n, None)
        for n in range(count)
    ]  # fmt: skip
    return written(folder, board_comparison.html(Comparison("a board", times, flash, ["a note"])))


def _lifetime(folder: Path, count: int) -> Path:
    facts = reckoned()
    rows = facts["workloads"]
    many: list[Any] = [{**rows[n % 2], "workload": f"workload {n + 1}"} for n in range(count)]
    return written(folder, lifetimes.html(cast(Lifetime, {**facts, "workloads": many})))


def _lives(folder: Path, count: int) -> Path:
    whole = lived(folder)
    first = whole.answer["workloads"][0]
    many: list[Any] = [{**first, "workload": f"device {n + 1}"} for n in range(count)]
    answer: Any = {**whole.answer, "workloads": many}
    return written(folder, lives.html(replace(whole, answer=answer)))


def _reproduce(folder: Path, count: int) -> Path:
    sizes = [4.0, 8.0, 16.0, 32.0, 64.0]
    lines = [Line(f"curve {n + 1}", sizes, [3.0 + n + n * x / 40 for x in sizes]) for n in range(count)]
    side_by_side = [replace(line, x=range(5)) for line in lines]
    figures = [
        Figure("Sizes", "size, KiB", "saved, %", lines),
        Figure("Kinds", "engine", "MB/s", side_by_side, kinds=("sync", "mmap", "splice", "uring", "aio")),
    ]
    return written(folder, reproduction.report(judged(), figures))


_DEVICES: list[UflipResult] = []


def _uflip(folder: Path, count: int) -> Path:
    if not _DEVICES:
        (folder / "devices.toml").write_text(DEVICES, encoding="utf-8")
        _DEVICES.append(Uflip.from_file(folder / "devices.toml", State.FRESH).run(None, 1))
    (made,) = _DEVICES
    old = made.answer["devices"]
    names = [f"{old[n % 2]['name']}, spare={n + 1} %" for n in range(count)]
    devices: list[Any] = [{**old[n % 2], "name": name} for n, name in enumerate(names)]
    series_us = {name: made.series_us[old[n % 2]["name"]] for n, name in enumerate(names)}
    answer: Any = {**made.answer, "devices": devices}
    return written(folder, uflip.html(replace(made, answer=answer, series_us=series_us)))


# Each makes a page of so many variants in an empty folder.
COUNTED: dict[str, Callable[[Path, int], Path]] = {
    "run": _run,
    "flame": _flame,
    "sweep": _sweep,
    "diff": _diff,
    "compare": _compare,
    "lifetime": _lifetime,
    "lives": _lives,
    "reproduce": _reproduce,
    "uflip": _uflip,
}


def made(kind: str, count: int, folder: Path) -> Path:
    """The page of this kind with so many variants, made in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return COUNTED[kind](folder, count)
