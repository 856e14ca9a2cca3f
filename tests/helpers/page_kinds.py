"""A page of each kind, small: for the tests in a browser, and for pictures (`tools/page_shots.py --kinds`).

The page of a mount that goes on is not among them: it needs its server (`mount/test_live.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pandas as pd

from ffslab import Experiment
from ffslab.answers.lifetime import Lifetime
from ffslab.answers.reproduction import JudgedPaper
from ffslab.answers.uflip_study import UflipPoint
from ffslab.api.observe import Observe
from ffslab.files.results import REPORT, dump_json, write_report
from ffslab.images import page as inspection
from ffslab.images.inspection import inspect_image
from ffslab.measured.compare import page as board_comparison
from ffslab.measured.compare.comparison import Comparison, FlashRow, TimeRow
from ffslab.measured.tracereport import verb as traces
from ffslab.store import Store
from ffslab.studies import lifetime, uflip
from ffslab.studies.advise import Question
from ffslab.studies.advise import page as advice
from ffslab.studies.calibrate import verb as calibrate
from ffslab.studies.crashtest import page as power_cuts
from ffslab.studies.crashtest.file import CrashTest
from ffslab.studies.crashtest.keep import timeline
from ffslab.studies.crashtest.run import answer_of, crashtest
from ffslab.studies.differences import page as difference
from ffslab.studies.differences.results import Side, compared
from ffslab.studies.flame import flame
from ffslab.studies.lifetime import page as lifetimes
from ffslab.studies.reproduce import page as reproduction
from ffslab.studies.reproduce.claims import Claims
from ffslab.studies.reproduce.figures import Figure, Line, Published
from ffslab.studies.reproduce.published import page as published_page
from ffslab.studies.sweep.study import Study
from ffslab.studies.sweep.workers import Workers
from helpers import published_cases
from helpers.bench_logs import Bench
from helpers.command import SMALL
from helpers.inspect_images import simulated
from helpers.trace_logs import other_session, write_session

ALONE = SMALL.split("[axes]")[0]
WITH_SIZES = '[axes]\nfs = ["jffs2", "yaffs2"]\n"requests.count" = [8, 16, 32]\n'
STUDY = """\
title = "What does a write cost?"
experiment = "small.toml"
minimise = ["time_us", "page_programs"]
[axes]
fs = ["jffs2", "yaffs2"]
partition_blocks = [64, 80]
"requests.count" = [8, 16, 32, 64]
"""
QUESTION = """\
title = "Which file system for a logger?"
limits = ["years >= 0.001"]
minimise = "energy_J_per_day"
[[workload]]
name = "writes"
experiment = "small.toml"
per_day = 3
[vary]
fs = ["jffs2", "yaffs2"]
"""
LOGGER = """\
title = "A logger that replaces its file"
[stack]
board = "omap3evm"
fs = "jffs2"
compression = "none"
partition_blocks = 40
ageing = { endurance_erases = 40, write_rate = 0, retention_rate = 0, disturb_rate = 0 }
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "log"
bytes = "1 MiB"
"""
DEVICES = """\
title = "Two small devices"
[stack]
system = "bare"
fs = "block-device"
device = { ftl = "page-map", part = "k9f1g08u0a", blocks = 64, spare = 0.25 }
[axes]
device.ftl = ["page-map", "fast"]
"""


class AtOnce(Workers):
    """Works in this process: another one would first load everything again."""

    places = 1

    def submit(self, work: Callable[..., Any], *given: object) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done

    def loss(self, future: Future[Any]) -> None:
        return None

    def close(self) -> None:
        pass


def _run(folder: Path) -> Path:
    Experiment(ALONE.replace("[stack]", "film = true\n\n[stack]", 1) + WITH_SIZES, "small.toml", Path()).run().report(
        folder / REPORT
    )
    return folder / REPORT


def _observed(folder: Path) -> Path:
    Experiment(SMALL, "small.toml", Path()).run(observe=Observe()).save(folder / "run")
    return folder / "run"


def _flame(folder: Path) -> Path:
    flame(_observed(folder), "time", folder / "flame.html")
    return folder / "flame.html"


def _sweep(folder: Path) -> Path:
    (folder / "small.toml").write_text(ALONE, encoding="utf-8")
    return (
        Study.from_toml(STUDY, folder).run(store=Store(folder / "store"), workers=AtOnce()).save(folder / "out")
        / REPORT
    )


def _advise(folder: Path) -> Path:
    # Of blocks that bear little a life ends soon.
    weak = 'board = "omap3evm"\nageing = { endurance_erases = 10 }'
    (folder / "small.toml").write_text(ALONE.replace('board = "zero-overhead"', weak), encoding="utf-8")
    answer = Question.from_toml(QUESTION, folder).answer(store=Store(folder / "store"), workers=AtOnce())
    return written(folder, advice.html(answer))


def _diff(folder: Path) -> Path:
    for name, text in (("a", ALONE), ("b", ALONE.replace("count = 600", "count = 300"))):
        Experiment(text, "small.toml", Path()).run().save(folder / name)
    return written(folder, difference.html(compared(Side.of(str(folder / "a")), Side.of(str(folder / "b")))))


def _compare(folder: Path) -> Path:
    times = [TimeRow("INSERT", 128, run, "write", 10, 100.0 + run, 10, 110.0 + run, None, None) for run in (1, 2)]
    flash = [FlashRow("INSERT", 128, 1, "reads", "all", 100, 90, None)]
    return written(folder, board_comparison.html(Comparison("a board", times, flash, ["a note"])))


def _inspect(folder: Path) -> Path:
    images = simulated(folder, "ubifs", 64, hot="256 KiB")
    (folder / "dump.bin").write_bytes(images["dump.bin"])
    return written(folder, inspection.html(inspect_image(folder / "dump.bin", oob=True)))


def reckoned() -> Lifetime:
    # So long that its halves erase alike: what is too short has no years to draw.
    text = ALONE.replace("zero-overhead", "omap3evm").replace("count = 600", "count = 6000")
    experiment = Experiment(text, "small.toml", Path())
    works = [
        lifetime.Workload(name, experiment.changed(seed=seed)) for name, seed in (("a logger", 1), ("settings", 2))
    ]
    return lifetime.alone(works, lifetime.Given(per_day=1440))


def _lifetime(folder: Path) -> Path:
    return written(folder, lifetimes.html(reckoned()))


def lived(folder: Path) -> lifetime.WholeLives:
    experiment = Experiment(LOGGER, "logger.toml", Path())
    works = [lifetime.Workload(name, experiment.changed(seed=seed)) for name, seed in (("logger", 1), ("other", 2))]
    return lifetime.lived(works, lifetime.Given(per_day=24), store=Store(folder / "store"))


def _lives(folder: Path) -> Path:
    lived(folder).save(folder / "out")
    return folder / "out" / REPORT


def _calibrate(folder: Path) -> Path:
    Bench(counts=(256, 512), repeats=2).write_loops(folder / "loops.csv")
    calibrate.run(calibrate.Inputs(loops=folder / "loops.csv"), folder / "out", json=False)
    return folder / "out" / REPORT


def _trace_report(folder: Path) -> Path:
    return (
        traces.report([write_session(folder / "logs")], traces.Options(endurance=100_000), folder / "out")[2] / REPORT
    )


def _trace_diff(folder: Path) -> Path:
    a, b = write_session(folder / "a"), other_session(folder / "b")
    return traces.diff(a, b, traces.Options(), folder / "out")[2] / REPORT


def judged() -> JudgedPaper:
    claims = Claims("readahead")
    claims["RA-2"].shape("programs", "some", "4 pages", True)
    return {
        "paper": "readahead",
        "title": claims.title,
        "machine": "board omap3evm; 1 s seen.",
        "ffslab": "0",
        "set_up": None,
        "runs": 1,
        "claims": [claim.as_dict() for claim in claims],
    }


def _reproduce(folder: Path) -> Path:
    sizes, times_ms = [4, 8, 16, 32], [0, 0.1, 1, 10]
    fs = ("jffs2", "yaffs2", "ubifs")
    figures = [
        Figure(
            "Sizes",
            "size, KiB",
            "saved, %",
            [Line(name, sizes, [i, -i, 2, 3]) for i, name in enumerate(fs)],
            [
                Published("jffs2, published", [4, 32], [1, 3], 0, [(0.5, 1.5), (2, 4)]),
                Published("published: at most", [4, 32], [4, 4], joined=True),
                Published("published: more than 2", [16, 32], [2, 2], to=float("inf")),
            ],
            ("RA-2", "RA-4"),
            "two numbers and two bounds (section 4).",
        ),
        Figure("Pauses", "pause, ms", "us", [Line("jffs2", times_ms, [9, 4, 3, 1])], x_scale="symlog", y_log=True),
        Figure("Kinds", "engine", "MB/s", [Line(name, range(2), [1, 2]) for name in fs], kinds=("sync", "mmap")),
    ]
    return written(folder, reproduction.report(judged(), figures))


def _published(folder: Path) -> Path:
    return written(folder, published_page.report(published_cases.evidence()))


def _uflip(folder: Path) -> Path:
    (folder / "devices.toml").write_text(DEVICES, encoding="utf-8")
    uflip.save(uflip.Uflip.from_file(folder / "devices.toml", uflip.State.FRESH).run(None, 1), folder / "out")
    return folder / "out" / REPORT


# New settings take the place of the old ones without an fsync.
UNSAFE: tuple[dict[str, Any], ...] = (
    {"step": "create", "file": "new", "bytes": 4096},
    {"step": "rename", "file": "new", "to": "saved"},
    {"step": "sleep", "us": 60_000_000},
)


def _crashtest(folder: Path) -> Path:
    stack = {"board": "omap3evm", "kernel": "2.6.37", "fs": "ubifs", "partition_blocks": 40}
    judge = {"kind": "command", "command": "test ! -e saved || test -s saved"}
    outcome = crashtest(CrashTest(stack=stack, judge=judge, steps=UNSAFE, title="settings", folder=folder))
    answer = answer_of(outcome)
    before = [timeline(outcome, failure["operation"]) for failure in answer["failures"]]
    return written(folder, power_cuts.html(answer, "fs ubifs, board omap3evm", before))


def written(folder: Path, text: str) -> Path:
    write_report(folder / REPORT, text)
    return folder / REPORT


def documented(folder: Path) -> None:
    """The data that docs/reports.md draws pictures of, where it says that they are; uFLIP's by hand."""
    for kind, name in (("sweep", "sweep"), ("calibrate", "calibrate"), ("trace-report", "trace"), ("trace-diff",) * 2):
        data = made(kind, folder / "made" / kind).parent
        shutil.copytree(data, folder / "results" / name)
    made("inspect", folder / "made" / "inspect")
    facts = inspect_image(folder / "made" / "inspect" / "dump.bin", oob=True)
    (folder / "image.json").write_text(dump_json(facts), encoding="utf-8")
    (folder / "lifetime.json").write_text(dump_json(reckoned()), encoding="utf-8")
    points = [("a", "granularity", "RW", value, 8, 1.0 * value, 1.0, 2.0, 0.1) for value in (512, 1024, 2048)]
    (folder / "results" / "uflip").mkdir()
    table = pd.DataFrame(points, columns=["device", *UflipPoint.__annotations__])
    table.to_parquet(folder / "results" / "uflip" / "points.parquet", index=False)
    (folder / "results" / "readahead").mkdir()
    (folder / "results" / "readahead" / "claims.json").write_text(dump_json(judged()), encoding="utf-8")


# Each makes its page in an empty folder.
KINDS: dict[str, Callable[[Path], Path]] = {
    "run": _run,
    "flame": _flame,
    "sweep": _sweep,
    "advise": _advise,
    "crashtest": _crashtest,
    "diff": _diff,
    "compare": _compare,
    "inspect": _inspect,
    "lifetime": _lifetime,
    "lives": _lives,
    "calibrate": _calibrate,
    "trace-report": _trace_report,
    "trace-diff": _trace_diff,
    "reproduce": _reproduce,
    "published": _published,
    "uflip": _uflip,
}


def made(kind: str, folder: Path) -> Path:
    """The page of this kind, made in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return KINDS[kind](folder)
