"""Studies of many runs: the points, what happens to lost work, the answer; also on a dask cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ffslab import Experiment, InputError, Study
from ffslab.store import Store
from ffslab.studies.sweep.answers import trade_offs
from ffslab.studies.sweep.axes import Listed, Range, axes_of
from ffslab.studies.sweep.design import design_of
from ffslab.studies.sweep.runs import LOST
from ffslab.studies.sweep.workers import LocalWorkers
from helpers.command import FFSLAB, ROOT, SMALL, Command
from helpers.processes import command_line, every_child, workers_of

FILES = ["points.csv", "points.parquet", "report.html", "runs.parquet", "study.json"]
STUDY = """\
title = "Small study"
experiment = "small.toml"
minimise = ["time_us", "page_programs"]
repeat = 2

[axes]
fs = ["jffs2", "yaffs2", "ubifs"]
partition_blocks = [64, 80]
"""


PLAIN = SMALL.split("[axes]")[0]


@pytest.fixture
def study(small: Path) -> Path:
    path = small.with_name("study.toml")
    path.write_text(STUDY, encoding="utf-8")
    return path


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


# ---- points -------------------------------------------------------------------------------------------------


def test_ranges_give_what_the_key_takes() -> None:
    axes = axes_of(
        {
            "partition_blocks": {"from": 96, "to": 100},
            "append": {"request_B": {"from": "128 B", "to": "64 KiB", "scale": "log", "count": 10}},
            "sleep.us": {"from": "1 ms", "to": "2 ms", "step": "250 us"},
            "share": {"from": 0.5, "to": 1.5},
            "fs": ["jffs2", "ubifs"],
        }
    )
    assert [axis.name for axis in axes] == ["partition_blocks", "append.request_B", "sleep.us", "share", "fs"]
    blocks, sizes, times, share, fs = axes
    even = [blocks.at((i + 0.5) / 1000) for i in range(1000)]
    assert {value: even.count(value) for value in even} == {96: 200, 97: 200, 98: 200, 99: 200, 100: 200}
    assert sizes.values() == [f"{128 << i} B" for i in range(10)]
    assert times.values() == ["1000 us", "1250 us", "1500 us", "1750 us", "2000 us"]
    assert share.at(0.25) == 0.75
    assert [fs.at(share) for share in (0.0, 0.49, 0.5, 0.99)] == ["jffs2", "jffs2", "ubifs", "ubifs"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"a": {"from": 1}}, "needs both"),
        ({"a": {"from": 2, "to": 1}}, "must be less than"),
        ({"a": {"from": 1, "to": 2, "by": 1}}, "unknown key `by`"),
        ({"a": {"from": "1 KiB", "to": "5 ms"}}, "units of one kind"),
        ({"a": {"from": 0, "to": 5, "scale": "log"}}, "begins above 0"),
        ({"a": []}, "list of values"),
        ({"a": [1, 1]}, "has 1 twice"),
        ({"fs": ["jffs2", "ubfis"]}, "unknown file system ubfis: did you mean ubifs"),
        ({"kernel": ["6.1", "6.1x"]}, "6.1x: unknown kernel"),
        ({"a.b": [1], "a": {"b": [2]}}, "given twice"),
    ],
)
def test_wrong_axes_are_told(table: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        axes_of(table)


def test_samples_are_drawn_as_said() -> None:
    experiment = Experiment.from_toml(SMALL)
    axes = {"partition_blocks": {"from": 32, "to": 95}, "requests.count": {"from": 1, "to": 64}}
    designs = {
        method: design_of(Study.of(experiment, axes, method=method, points=64))
        for method in ("latin", "sobol", "random")
    }
    for method, design in designs.items():
        assert design == design_of(Study.of(experiment, axes, method=method, points=64))
        assert design.points != design_of(Study.of(experiment, axes, method=method, points=64, seed=2)).points
    # The experiment's own axis is one of the study.
    assert [axis.name for axis in designs["latin"].axes] == ["read_ahead_KiB", "partition_blocks", "requests.count"]
    for method in ("latin", "sobol"):
        blocks = sorted(int(str(point[1])) for point in designs[method].points)
        # Each 64th of the range has its one point.
        assert all(abs(found - (32 + i)) <= 1 for i, found in enumerate(blocks))
    with pytest.raises(InputError, match="power of 2"):
        Study.of(experiment, axes, method="sobol", points=60)


def test_conditions_leave_points_out() -> None:
    axes = {"fs": ["jffs2", "ubifs"], "partition_blocks": [32, 64, 128], "requests.request_B": ["1 KiB", "4 KiB"]}
    experiment = Experiment.from_toml(SMALL.replace('request_B = "4 KiB"\n', ""))
    conditions = ["partition_blocks > 32 or fs == 'jffs2'", "request_B <= 2048 and `requests.request_B` > 0"]
    design = design_of(Study.of(experiment, axes | {"read_ahead_KiB": [0]}, conditions=conditions))
    assert [point[:3] for point in design.points] == [
        (fs, blocks, "1 KiB") for fs in ("jffs2", "ubifs") for blocks in (32, 64, 128) if blocks > 32 or fs == "jffs2"
    ] or len(design.points) == 5
    for condition, says in [("blocks > 3", "the axes are"), ("partition_blocks + 1", "true or false")]:
        with pytest.raises(InputError, match=f"^<experiment>: condition .*{says}"):
            design_of(Study.of(experiment, axes, conditions=[condition]))
    with pytest.raises(InputError, match="no point"):
        design_of(Study.of(experiment, axes, conditions=["partition_blocks > 128"]))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ('compare = "part"\n', "`compare`: must be an axis with a list of values"),
        ("title = 1\nfoo = 2", "unknown key `foo`"),
        ('minimise = ["time"]\n', "did you mean time_us"),
        ("repeat = 0\n", "`repeat` must be"),
        ('[sample]\nmethod = "magic"\n', "must be grid"),
        ("[sample]\npoints = 5\n", "no meaning for a grid"),
        ("[axes]\n", "nothing varies"),
        ("[axes]\nfs = { from = 1, to = 3 }\n[sample]\nmethod = 'grid'\n", "a grid needs to know"),
        ("experiment = 3\n", "path of an experiment"),
        ("title = \n", "study.toml:2: string values must be quoted"),
    ],
)
def test_wrong_studies_are_one_line(ffslab: Command, study: Path, changed: str, says: str) -> None:
    head = 'experiment = "small.toml"\n' if "experiment" not in changed else ""
    if "[axes]" in changed:
        study.with_name("small.toml").write_text(PLAIN, encoding="utf-8")
    study.write_text(head + changed, encoding="utf-8")
    refused = ffslab("sweep", study)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not (study.parent / "results").exists()


# ---- runs ---------------------------------------------------------------------------------------------------


def test_a_study_is_run_once_in_one_part_or_several_and_gives_the_same_files(
    ffslab: Command, study: Path, tmp_path: Path
) -> None:
    first = ffslab("sweep", study, "--out", "first", FFSLAB_STORE="kept")
    assert (first.returncode, first.stderr) == (0, "")
    assert "12 points (all combinations), 2 runs of each." in first.stdout
    kept = {path.name for path in (tmp_path / "kept" / "runs").iterdir()}
    again = ffslab("sweep", study, "--out", "again", FFSLAB_STORE="kept")
    assert "24 runs of 24 came from the store" in again.stdout
    assert {path.name for path in (tmp_path / "kept" / "runs").iterdir()} == kept
    for part in ("1/2", "2/2"):
        ran = ffslab("sweep", study, "--shard", part, "--jobs", "1", FFSLAB_STORE=part[0])
        assert ran.stdout == f"part {part}: 12 runs of 6 points are in the store\n"
    assert not (tmp_path / "results").exists()
    assert ffslab("store", "merge", "1", "2", "--store", "both").returncode == 0
    merged = ffslab("sweep", study, "--out", "merged", FFSLAB_STORE="both")
    assert "24 runs of 24 came from the store" in merged.stdout
    assert bytes_of(tmp_path / "first") == bytes_of(tmp_path / "again") == bytes_of(tmp_path / "merged")
    # Each run is what `ffslab run` says of the same variant.
    runs = pd.read_parquet(tmp_path / "first" / "runs.parquet")
    for row in runs[runs["run"] == 1].to_dict("records"):
        stack = {"fs": row["fs"], "partition_blocks": row["partition_blocks"]}
        same = Experiment.from_toml(SMALL).changed(stack=stack).with_axes({"read_ahead_KiB": [row["read_ahead_KiB"]]})
        figures = same.run().variants.iloc[0]
        assert [figures[name] for name in ("time_us", "page_programs", "erases")] == [
            row[name] for name in ("time_us", "page_programs", "erases")
        ]


def test_a_part_that_is_none_is_told(ffslab: Command, study: Path) -> None:
    assert "such as 2/5" in ffslab("sweep", study, "--shard", "3/2").stderr


def test_an_impossible_point_is_refused_before_the_first_run(ffslab: Command, study: Path, tmp_path: Path) -> None:
    study.write_text(STUDY.replace("[64, 80]", "[64, 80, 100000]"), encoding="utf-8")
    refused = ffslab("sweep", study, FFSLAB_STORE="kept")
    assert refused.returncode == 2
    assert "3 or more of 18 points cannot run" in refused.stderr
    assert "partition_blocks=100000" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "kept").exists()


def test_what_is_wrong_with_the_experiment_is_no_matter_of_its_points(ffslab: Command, study: Path) -> None:
    """It was told as 3 points that `conditions` should leave out."""
    refused = ffslab("sweep", study, "--set", "compresion=lzo", FFSLAB_STORE="kept")
    assert refused.returncode == 2
    said = refused.stderr.removeprefix(f"ffslab: {study.parent}/").strip()
    assert said == "small.toml: unknown key `compresion`: did you mean `compression`?"


def test_a_point_that_does_not_end_is_a_row(ffslab: Command, study: Path, tmp_path: Path) -> None:
    small = study.with_name("small.toml")
    small.write_text(SMALL.replace('bytes = "256 KiB"', 'bytes = "7900 KiB"'), encoding="utf-8")
    ran = ffslab("sweep", study, "--out", "out", "--fs", "jffs2")
    assert ran.returncode == 1
    assert "ENOSPC" in ran.stderr
    points = pd.read_parquet(tmp_path / "out" / "points.parquet")
    assert list(points["failed"]) == [2, 0, 2, 0]
    answer = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))
    assert [one["point"] for one in answer["failed"]] == [1, 3]
    assert {one["point"] for one in answer["trade_offs"]} <= {2, 4}
    assert "ENOSPC" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_of_a_study_of_which_nothing_ends_the_reason_is_told(ffslab: Command, study: Path, tmp_path: Path) -> None:
    small = study.with_name("small.toml")
    small.write_text(SMALL.replace('bytes = "256 KiB"', 'bytes = "64 MiB"'), encoding="utf-8")
    ran = ffslab("sweep", study, "--out", "out", "--fs", "jffs2", "--repeat", "1")
    assert ran.returncode == 1
    assert "ffslab: 4 of 4 runs did not come to their end, first " in ran.stderr
    assert "ENOSPC" in ran.stderr
    assert (tmp_path / "out" / "report.html").exists()


class Deadly(LocalWorkers):
    """Workers that end when they are to run a partition of 80 blocks on UBIFS."""

    def submit(self, work: Callable[..., Any], *given: object) -> Future[Any]:
        experiment = given[0]
        assert isinstance(experiment, Experiment)
        axes: Any = experiment.change["axes"]
        points: Any = experiment.change["points"]
        of_piece = {(axes["fs"][point[1]], axes["partition_blocks"][point[2]]) for point in points}
        if work.__name__ == "run" and ("ubifs", 80) in of_piece:
            return super().submit(os._exit, 1)
        return super().submit(work, *given)


def test_a_point_that_ends_its_workers_is_reported_and_the_others_finish(study: Path, tmp_path: Path) -> None:
    meant = Study.from_file(study)
    done = meant.run(workers=Deadly(2), store=Store(tmp_path / "kept"))
    expected = {(0, "ubifs", 80), (128, "ubifs", 80)}
    lost = done.runs[done.runs["error"] == LOST]
    assert set(zip(lost["read_ahead_KiB"], lost["fs"], lost["partition_blocks"], strict=True)) == expected
    whole = meant.run(store=Store(tmp_path / "other"))
    others = whole.runs[~whole.runs["point"].isin(lost["point"])].drop(columns="error")
    pd.testing.assert_frame_equal(done.runs[done.runs["error"].isna()].drop(columns="error"), others)
    # What was lost is run when it is asked for again.
    healed = meant.run(store=Store(tmp_path / "kept"))
    assert healed.taken == len(others)
    pd.testing.assert_frame_equal(healed.runs, whole.runs)


def longer(study: Path) -> Path:
    """A study of some seconds."""
    text = STUDY.replace("repeat = 2", "repeat = 12").replace("[64, 80]", "[64, 72, 80, 88, 96, 104]")
    study.write_text(text, encoding="utf-8")
    return study


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the longer study leaves when nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    environment = {**os.environ, "FFSLAB_STORE": str(folder / "kept")}
    study = longer(folder / "study.toml")
    subprocess.run([FFSLAB, "sweep", study, "--out", "whole"], cwd=folder, env=environment, check=True)
    return bytes_of(folder / "whole")


def test_killed_workers_and_a_killed_command_lose_nothing(
    ffslab: Command, study: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    longer(study)
    environment = {**os.environ, "FFSLAB_STORE": str(tmp_path / "kept")}
    running = subprocess.Popen([FFSLAB, "sweep", study, "--out", "out"], cwd=tmp_path, env=environment)
    kept = tmp_path / "kept" / "runs"
    for parts in (1, 3):
        wait_for(lambda parts=parts: kept.is_dir() and len(list(kept.glob("*.parquet"))) >= parts)  # type: ignore[misc]
        workers = workers_of(running.pid)
        assert workers
        os.kill(workers[-1], signal.SIGKILL)
    wait_for(lambda: len(list(kept.glob("*.parquet"))) >= 5)
    orphans = workers_of(running.pid)
    running.kill()
    running.wait()
    # Nobody works on for a command that has gone.
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans))
    assert not (tmp_path / "out").exists()
    assert ffslab("store", "verify", "--store", "kept").returncode == 0
    ended = ffslab("sweep", study, "--out", "out", FFSLAB_STORE="kept")
    assert "came from the store" in ended.stdout
    assert bytes_of(tmp_path / "out") == undisturbed


def test_ctrl_c_ends_it_at_once(study: Path, tmp_path: Path) -> None:
    longer(study)
    running = subprocess.Popen(
        [FFSLAB, "sweep", study, "--out", "out"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "FFSLAB_STORE": str(tmp_path / "kept")},
    )  # fmt: skip
    wait_for(lambda: (tmp_path / "kept" / "runs").is_dir())
    workers = workers_of(running.pid)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert (running.returncode, told.splitlines()[-1]) == (130, "ffslab: interrupted")
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not (tmp_path / "out").exists()


def wait_for(holds: Callable[[], bool]) -> None:
    """However long it takes on a busy machine; a test that waits for ever is ended after a quarter of an hour."""
    deadline_s = time.monotonic() + 900
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


# On a busy machine processes need long to answer.
PATIENT = {f"DASK_DISTRIBUTED__COMM__TIMEOUTS__{name}": "600s" for name in ("CONNECT", "TCP")}


# ---- a cluster ----------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a dask scheduler with two workers, each a process of its own."""
    dask = Path(sys.executable).with_name("dask")
    place = tmp_path / "scheduler.json"
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place)]
    workers = ["worker", "--scheduler-file", str(place), "--host", "127.0.0.1", "--nworkers", "2", "--nthreads", "1"]
    with (tmp_path / "cluster.log").open("w", encoding="utf-8") as log:
        begun = [
            subprocess.Popen(
                [dask, *words, "--no-dashboard"], cwd=tmp_path, stdout=log, stderr=log, env={**os.environ, **PATIENT},
                start_new_session=True,
            )
            for words in (scheduler, workers)
        ]  # fmt: skip
        # The file is there before all of it is written.
        wait_for(lambda: place.exists() and place.read_text(encoding="utf-8").rstrip().endswith("}"))
        yield str(json.loads(place.read_text(encoding="utf-8"))["address"])
        # Nobody needs what they would tell one another at their end.
        for process in begun:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_cluster_gives_the_same_files_also_when_it_loses_workers(
    study: Path, tmp_path: Path, cluster: str, undisturbed: dict[str, bytes]
) -> None:
    longer(study)
    environment = {**os.environ, **PATIENT, "FFSLAB_STORE": str(tmp_path / "kept")}
    running = subprocess.Popen(
        [FFSLAB, "sweep", study, "--scheduler", cluster, "--out", "out"], cwd=tmp_path, env=environment
    )
    kept = tmp_path / "kept" / "runs"
    wait_for(lambda: running.poll() is not None or len(list(kept.glob("*.parquet"))) >= 2)
    # The nanny of a worker begins another one.
    workers = [pid for pid in every_child(os.getpid()) if b"spawn_main" in command_line(pid)]
    os.kill(workers[0], signal.SIGKILL)
    assert running.wait() == 0
    assert bytes_of(tmp_path / "out") == undisturbed


def test_a_scheduler_that_is_not_there_is_told(ffslab: Command, study: Path) -> None:
    refused = ffslab("sweep", study, "--scheduler", "tcp://127.0.0.1:9", "--jobs", "2")
    assert refused.returncode == 2
    assert "--jobs" in refused.stderr


# ---- answers ------------------------------------------------------------------------------------------------


def test_trade_offs_are_those_that_no_other_point_beats() -> None:
    drawn = np.random.Generator(np.random.PCG64(3)).integers(0, 12, (200, 3)).astype(float)
    points = pd.DataFrame(drawn, columns=["a", "b", "c"])
    front = trade_offs(points, [("a", False), ("b", True), ("c", False)])
    costs = drawn * [1, -1, 1]
    beaten = [
        any((other <= one).all() and (other < one).any() for other in costs)
        or any((costs[j] == one).all() for j in range(i))
        for i, one in enumerate(costs)
    ]
    assert sorted(front.index) == [i for i, is_beaten in enumerate(beaten) if not is_beaten]


def test_intervals_are_those_of_repeat(study: Path, tmp_path: Path) -> None:
    meant = Study.of(study.with_name("small.toml"), {"fs": ["jffs2"], "read_ahead_KiB": [0]}, repeat=7)
    point = meant.run(store=Store(tmp_path / "kept")).points.iloc[0]
    run = Experiment.from_toml(SMALL).with_axes({"fs": ["jffs2"], "read_ahead_KiB": [0]}).changed(repeat=7).run()
    spread = run.repeats.set_index("figure").loc["time_us"]
    assert [point["time_us"], point["time_us_low"], point["time_us_high"]] == [
        spread[name] for name in ("median", "low", "high")
    ]


# ---- documents ----------------------------------------------------------------------------------------------


def test_the_study_of_the_page_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    block = page.split("#one-file-all-questions):\n\n")[1].split("\n\n|")[0]
    table = "\n".join(line.removeprefix("    ") for line in block.splitlines()).split("[study]")[1]
    text = SMALL.replace("[axes]\nread_ahead_KiB = [128, 0]\n", "") + "\n[study]" + table
    design = design_of(Study.from_toml(text, tmp_path))
    assert design.draws == 128
    assert isinstance(design.axes[0], Listed) and isinstance(design.axes[1], Range)


SBATCH = """#!/bin/sh
# A batch system of one machine: a job begins at once.
sh "$1" > job.log 2>&1 &
echo "Submitted batch job $!"
"""


def test_jobs_of_a_batch_system_give_the_same_files(ffslab: Command, study: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/sh\nkill "$1"\n')):
        (tmp_path / "bin" / name).write_text(text, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    assert ffslab("sweep", study, "--out", "local", FFSLAB_STORE="own").returncode == 0
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    ran = ffslab("sweep", study, "--batch", "slurm", "--jobs", "2", "--out", "out", PATH=path, FFSLAB_STORE="kept")
    assert ran.returncode == 0, ran.stderr
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "local")
    refused = ffslab("sweep", study, "--batch", "cron")
    assert refused.returncode == 2 and "--batch cron: no such batch system, known are slurm" in refused.stderr
    absent = ffslab("sweep", study, "--batch", "slurm", "--out", "none", FFSLAB_STORE="none")
    assert absent.returncode == 2 and "there is no command sbatch here" in absent.stderr
