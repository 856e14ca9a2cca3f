"""`ffslab fio`: the requests that fio itself makes, results in fio's shape, clear answers to what cannot be run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ffslab.api.machine import Machine
from ffslab.api.run import Run
from ffslab.workloads.fio import fio_experiment, fio_json
from helpers.command import Command
from helpers.fio_jobs import job_files, with_logs
from helpers.left_out import leave_out

Request = tuple[str, ...]
JOBS = job_files()
# For the command; a small partition without costs.
STACK = ("--board", "zero-overhead", "--partition-blocks", "160")


def requests_of(log: str) -> dict[str, list[Request]]:
    """What a log says of each file: action, offset, length; of a sync only that it was made."""
    found: dict[str, list[Request]] = defaultdict(list)
    for line in log.splitlines():
        if line.startswith("fio version"):
            continue
        _, file, action, *span = line.split()
        if action != "add":
            found[file].append((action, *span) if action in ("read", "write") else (action,))
    return found


def fio_ran(folder: Path, job: str) -> tuple[dict[str, dict[str, list[Request]]], dict[str, Any]]:
    """What fio itself did in `folder`: logs by name, its JSON."""
    program = shutil.which("fio")
    if program is None:
        leave_out("fio is not installed; as root: apt-get install fio")
    folder.mkdir()
    (folder / "job.fio").write_text(job, encoding="utf-8")
    command = [program, "job.fio", "--output-format=json", "--output=out.json"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    text = (folder / "out.json").read_text(encoding="utf-8")
    report = json.loads(text[text.index("{") :])
    return {path.name: requests_of(path.read_text(encoding="utf-8")) for path in folder.glob("*.log")}, report


def own_logs(run: Run) -> dict[str, dict[str, list[Request]]]:
    """The logs of ffslab; those of the processes of one job put together, as fio does."""
    found: dict[str, dict[str, list[Request]]] = defaultdict(dict)
    for name, text in sorted(run.logs.items()):
        log = found[name[: name.index(".log") + 4]]
        for file, requests in requests_of(text).items():
            log.setdefault(file, []).extend(requests)
    return dict(found)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_makes_the_requests_that_fio_makes(tmp_path: Path, name: str) -> None:
    job = with_logs(JOBS[name])
    expected, report = fio_ran(tmp_path / "fio", job)
    (tmp_path / "job.fio").write_text(job, encoding="utf-8")
    run = fio_experiment(tmp_path / "job.fio", Machine("zero-overhead", None, "jffs2", 160), lenient=False).run()
    logs = own_logs(run)
    assert logs.keys() == expected.keys()
    for log, files in expected.items():
        assert logs[log] == files, log
    own: Any = fio_json(run.summary)["jobs"]
    assert [job["jobname"] for job in own] == [job["jobname"] for job in report["jobs"]]
    for ours, theirs in zip(own, report["jobs"], strict=True):
        assert ours["groupid"] == theirs["groupid"]
        for direction in ("read", "write"):
            for counter in ("total_ios", "io_bytes"):
                assert ours[direction][counter] == theirs[direction][counter], (ours["jobname"], direction, counter)


MIXED = "[mixed]\nrw=randrw\nbs=4k\nsize=256k\nfsync=8\n"


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_the_results_have_the_shape_of_fio_and_those_of_flash(ffslab: Command, tmp_path: Path, fs: str) -> None:
    (tmp_path / "mixed.fio").write_text(MIXED, encoding="utf-8")
    ran = ffslab("fio", "mixed.fio", "--fs", fs, "--kernel", "6.1", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    job = found["jobs"][0]
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == 64
    assert job["sync"]["total_ios"] > 0
    latency = job["write"]["clat_ns"]
    shares = latency["percentile"]
    assert latency["min"] <= shares["1.000000"] <= shares["50.000000"] <= shares["99.000000"] <= latency["max"]
    assert job["write"]["iops"] == pytest.approx(job["write"]["total_ios"] / job["job_runtime"] * 1e3, rel=0.02)
    own = found["ffslab"]
    assert own["flash_operations"]["page_programs"] > 0
    assert own["energy_uJ"]["total"] > 0
    assert own["erases_per_block"]["mean"] >= 0
    assert "taus88" in own["generator"]
    summary = json.loads((tmp_path / "results/mixed/summary.json").read_text(encoding="utf-8"))
    assert summary["variants"][0]["steps"][0]["fio"]["jobs"] == found["jobs"]


def test_the_table_names_jobs_and_latencies(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "mixed.fio").write_text(MIXED, encoding="utf-8")
    ran = ffslab("fio", "mixed.fio", *STACK)
    assert (ran.returncode, ran.stderr) == (0, "")
    rows = [line.split()[:2] for line in ran.stdout.splitlines()]
    for direction in ("read", "write", "sync"):
        assert ["mixed", direction] in rows


def test_a_run_is_repeatable(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "mixed.fio").write_text(MIXED, encoding="utf-8")
    first, second = (ffslab("fio", "mixed.fio", *STACK, "--json") for _ in range(2))
    assert first.stdout == second.stdout != ""


def test_jobs_are_steps_of_experiments(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "mixed.fio").write_text(MIXED, encoding="utf-8")
    text = (
        'title = "jobs"\n[stack]\nboard = "zero-overhead"\nfs = "jffs2"\npartition_blocks = 64\n'
        '[[setup]]\nstep = "mount"\n[[measure]]\nstep = "fio"\nfile = "mixed.fio"\n[axes]\nfs = ["jffs2", "ubifs"]\n'
    )
    (tmp_path / "jobs.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "jobs.toml", "--json")
    assert ran.returncode == 0, ran.stderr
    variants = json.loads(ran.stdout)["variants"]
    assert [variant["steps"][0]["fio"]["jobs"][0]["jobname"] for variant in variants] == ["mixed"] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[j]\nrw=write\nsize=64k\nrate=1m\n", "bad.fio:4: option `rate` of fio is not honoured"),
        ("[j]\nrw=write\nsize=64k\nnumbjobs=2\n", "bad.fio:4: unknown option `numbjobs`: did you mean `numjobs`?"),
        ("[j]\nioengine=libaio\nsize=64k\n", "bad.fio:2: ioengine=libaio is not honoured"),
        ("[j]\nsize=64q\n", 'bad.fio:2: size=64q: "64q" is no size'),
        ("[j]\nrw=write\n", "job [j]: its size is missing"),
        ("rw=write\n", "bad.fio:1: option `rw` stands outside of a section"),
        ("[j]\nread_iolog=none.log\n", "none.log: no such file"),
    ],
)
def test_what_cannot_be_run_is_one_line(ffslab: Command, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.fio").write_text(text, encoding="utf-8")
    ran = ffslab("fio", "bad.fio", *STACK)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert said in ran.stderr and ran.stderr.count("bad.fio") == 1, ran.stderr
    assert not (tmp_path / "results").exists()


def test_lenient_leaves_options_out_and_says_so(ffslab: Command, tmp_path: Path) -> None:
    text = "[j]\nioengine=libaio\ndirect=1\nrate=1m\nrw=write\nsize=64k\n"
    (tmp_path / "aio.fio").write_text(text, encoding="utf-8")
    ran = ffslab("fio", "aio.fio", *STACK, "--lenient", "--json")
    assert ran.returncode == 0
    assert [word in ran.stderr for word in ("ioengine=libaio", "direct=1", "`rate`")] == [True] * 3
    assert len(json.loads(ran.stdout)["ffslab"]["warnings"]) == 3


def test_a_job_without_space_fails_with_1(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "large.fio").write_text("[large]\nrw=write\nbs=64k\nsize=64m\n", encoding="utf-8")
    ran = ffslab("fio", "large.fio", *STACK, "--json")
    assert ran.returncode == 1
    job = json.loads(ran.stdout)["jobs"][0]
    assert (job["error"], job["error_name"]) == (28, "ENOSPC")
    assert job["write"]["total_ios"] > 100
