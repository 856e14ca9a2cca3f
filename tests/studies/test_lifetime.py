"""`ffslab lifetime`: erases a day against the endurance, reckoned by hand from what a run counted."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet as pq
import pytest

from ffslab import InputError
from ffslab.answers.lifetime import WearCause, WorkloadLife
from ffslab.api.experiment import Experiment
from ffslab.images.inspection import inspect_image
from ffslab.measured.tracereport.statistics import poisson_interval
from ffslab.studies.lifetime import Given, Workload, looked_into, of_workloads, text, with_image
from ffslab.studies.lifetime.rows import life
from ffslab.studies.lifetime.verdict import judged
from helpers import inspect_images as made
from helpers.command import Command
from helpers.wear import workload

DAY_US = 86_400e6


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dumps")
    places = {}
    for fs in ("jffs2", "ubifs"):
        places[fs] = folder / f"{fs}.bin"
        places[fs].write_bytes(made.simulated(folder, fs)["dump.bin"])
    return places


def row(ffslab: Command, *args: object) -> dict[str, Any]:
    ran = ffslab("lifetime", *args, "--reckon", "--json")
    assert ran.returncode == 0, ran.stderr
    (found,) = json.loads(ran.stdout)["workloads"]
    return dict(found)


def test_years_follow_from_what_a_run_counted(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "wear.toml").write_text(workload("jffs2"), encoding="utf-8")
    assert ffslab("run", "wear.toml", "--out", "out").returncode == 0
    blocks = pq.read_table(tmp_path / "out" / "blocks.parquet")
    # The workload goes on while blocks of the new partition are erased for the first time: that is not its own.
    erases = np.array(blocks["erases_main"]) - np.array(blocks["erases_formatting"])
    before = np.array(blocks["erases_total"]) - erases
    time_us = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["variants"][0]["time_us"]
    found = row(ffslab, "out")
    left, often = 100_000 - before, DAY_US / time_us
    levelled = left.sum() / (erases.sum() * often) / 365.25
    busiest = left[erases.argmax()] / (erases.max() * often) / 365.25
    assert found["lifetime_years"]["levelled"]["estimate"] == pytest.approx(levelled)
    assert found["lifetime_years"]["busiest_block"]["estimate"] == pytest.approx(busiest)
    assert found["erases_per_day"]["by_block"] == pytest.approx((erases * often).tolist())
    assert sum(cause["share_of_programs"] for cause in found["causes"]) == pytest.approx(1)
    # Eight steps are windows of time: their scatter is the uncertainty.
    assert found["uncertainty"] == "bootstrap over 8 measured steps"
    life = found["lifetime_years"]["levelled"]
    assert life["low"] < life["estimate"] < life["high"]
    assert not any("more than fit" in sentence for sentence in found["said"])
    # What is proposed instead fits.
    proposed = re.search(r"so ([\d.,]+) times fill a day", row(ffslab, "out", "--per-day", "100000")["said"][0])
    assert proposed is not None and 0 < float(proposed[1].replace(",", "")) <= DAY_US / time_us
    fits = round(DAY_US / time_us)
    often_said = row(ffslab, "out", "--per-day", str(2 * fits))["said"][0]
    assert f"{2 * fits:,}" in often_said and "times a day are more than fit" in often_said
    rarely = row(ffslab, "out", "--per-day", "1", "--endurance", "3000")
    assert rarely["lifetime_years"]["levelled"]["estimate"] == pytest.approx(
        (3000 - before).sum() / erases.sum() / 365.25
    )


def test_a_workload_begins_with_the_image_and_its_wear(ffslab: Command, dumps: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "wear.toml").write_text(workload("ubifs"), encoding="utf-8")
    found = row(ffslab, dumps["ubifs"], "--workload", "wear.toml", "--per-day", "10")
    counters = [block["erases"] or 0 for block in inspect_image(dumps["ubifs"])["blocks"]]
    assert found["worn"]["max"] >= max(counters) > 0
    assert found["wear_said_by"] == "UBI's erase counters in the image"
    assert found["times_per_day"] == 10
    (tmp_path / "jffs2.toml").write_text(workload("jffs2", steps=2), encoding="utf-8")
    few = row(ffslab, dumps["jffs2"], "--workload", "jffs2.toml")
    assert few["uncertainty"].startswith("the number of erases alone")
    ran = ffslab("lifetime", dumps["jffs2"], "--workload", "jffs2.toml", "--workload", "jffs2.toml", "--reckon")
    assert ran.returncode == 0 and ran.stdout.count("dominated by") == 2


def test_the_image_takes_the_place_of_an_erased_partition(dumps: dict[str, Path]) -> None:
    text = workload("jffs2", image='"old.bin"', vid_hdr_offset_B=64)
    inline = re.sub(r"\[stack\]\n((?:.* = .*\n)+)", in_a_line, text)
    assert "stack = {" in inline
    for experiment in map(Experiment.from_toml, (text, inline)):
        begun = with_image(experiment, dumps["jffs2"], inspect_image(dumps["jffs2"]))
        begun.check()
        stack = tomllib.loads(begun.run().resolved_toml)["stack"]
        assert stack["image"] == str(dumps["jffs2"].absolute())
        assert (stack["image_oob"], stack["partition_blocks"]) == (True, 64)
        assert "vid_hdr_offset_B" not in stack


def in_a_line(stack: re.Match[str]) -> str:
    return f"stack = {{ {', '.join(stack[1].splitlines())} }}\n"


def test_what_says_nothing_of_a_lifetime_is_refused(ffslab: Command, dumps: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "wear.toml").write_text(workload("ubifs"), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    refused: list[tuple[list[object], str]] = [
        ([dumps["jffs2"]], "give --workload EXPERIMENT"),
        ([dumps["jffs2"], "--workload", "wear.toml"], 'fs = "ubifs", but'),
        ([dumps["jffs2"], "--workload", "nowhere.toml"], "nowhere.toml: cannot read"),
        (["empty"], "holds no summary.json"),
        ([dumps["jffs2"], "--workload", "wear.toml", "--per-day", "0"], "--per-day 0: must be more than 0"),
        ([dumps["jffs2"], "--workload", "wear.toml", "--endurance", "0"], "--endurance 0: must be 1 or more"),
    ]
    for args, told in refused:
        ran = ffslab("lifetime", *args)
        assert (ran.returncode, ran.stdout) == (2, ""), args
        assert told in ran.stderr and ran.stderr.count("\n") == 1


def test_all_workloads_are_checked_before_the_first_runs(
    dumps: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.toml").write_text(workload("jffs2", steps=2), encoding="utf-8")
    (tmp_path / "bad.toml").write_text(workload("jffs2", steps=2, read_ahead="1"), encoding="utf-8")
    runs: list[Experiment] = []
    monkeypatch.setattr(Experiment, "run", lambda experiment, progress: runs.append(experiment))
    with pytest.raises(InputError, match="read_ahead"):
        named = [Workload.from_file(tmp_path / f"{name}.toml") for name in ("good", "bad")]
        of_workloads(dumps["jffs2"], looked_into(dumps["jffs2"], named), named, Given())
    assert runs == []


def test_a_cause_that_programs_nothing_dominates_nothing(
    ffslab: Command, dumps: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "w.toml").write_text(workload("jffs2", steps=2), encoding="utf-8")
    facts = json.loads(ffslab("lifetime", dumps["jffs2"], "--workload", "w.toml", "--reckon", "--json").stdout)
    (found,) = facts["workloads"]
    found["causes"] = [cause for cause in found["causes"] if cause["erases"] or cause["page_programs"]]
    erases = [cause for cause in found["causes"] if cause["page_programs"] == 0]
    assert erases and erases[0]["erases"] > 0
    found["causes"] = erases
    assert "(share of page programs): nothing is programmed" in text(facts)


def test_a_workload_alone_wears_a_new_part(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "wear.toml").write_text(workload("jffs2"), encoding="utf-8")
    assert ffslab("run", "wear.toml", "--out", "out").returncode == 0
    alone, measured = row(ffslab, "wear.toml"), row(ffslab, "out")
    assert alone["lifetime_years"] == measured["lifetime_years"] and alone["kind"] == "workload"
    ran = ffslab("lifetime", "wear.toml", "--fs", "jffs2", "--fs", "yaffs2", "--reckon", "--json")
    assert [one["variant"] for one in json.loads(ran.stdout)["workloads"]] == ["fs=jffs2", "fs=yaffs2"]


def test_the_experiment_says_how_many_erases_a_block_bears(ffslab: Command, tmp_path: Path) -> None:
    """A part of 300 erases was promised the years of the 100,000 that its profile has."""
    ages = workload("jffs2") + "[stack.ageing]\nendurance_erases = 300\nwrite_rate = 0\n"
    (tmp_path / "wear.toml").write_text(ages + "retention_rate = 0\ndisturb_rate = 0\n", encoding="utf-8")
    assert ffslab("run", "wear.toml", "--out", "out").returncode == 0
    for start in ("wear.toml", "out"):
        found = row(ffslab, start)
        assert (found["endurance_erases"], found["endurance_source"]) == (300, "[stack.ageing]")
    assert row(ffslab, "out", "--endurance", "7")["endurance_erases"] == 7


def test_the_past_of_a_device_goes_on(ffslab: Command, dumps: dict[str, Path], tmp_path: Path) -> None:
    counters = np.array(
        [block["erases"] for block in inspect_image(dumps["ubifs"])["blocks"] if block["erases"] is not None]
    )
    found = row(ffslab, dumps["ubifs"], "--age", "2y", "--endurance", 5000)
    assert found["kind"] == "past" and found["erases"] == counters.sum()
    # Half of what was erased so far happens in a year.
    levelled = (5000 - counters).sum() / (counters.sum() / 2)
    assert found["lifetime_years"]["levelled"]["estimate"] == pytest.approx(levelled)
    busiest = (5000 - counters.max()) / (counters.max() / 2)
    assert found["lifetime_years"]["busiest_block"]["estimate"] == pytest.approx(busiest)
    (tmp_path / "wear.toml").write_text(workload("ubifs", steps=2), encoding="utf-8")
    ran = ffslab("lifetime", dumps["ubifs"], "--age", "24 months", "--workload", "wear.toml", "--json")
    assert [one["kind"] for one in json.loads(ran.stdout)["workloads"]] == ["past", "workload"]


def test_sequence_numbers_of_yaffs2_tell_how_many_blocks_were_written_again(ffslab: Command, tmp_path: Path) -> None:
    text = workload("yaffs2") + '[[measure]]\nstep = "save_image"\nfile = "nand.bin"\noob = true\n'
    (tmp_path / "wear.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "wear.toml", "--out", "out", "--json")
    erases = json.loads(ran.stdout)["variants"][0]["totals"]["erases"]
    found = row(ffslab, "out/images/nand.bin", "--age", "1d")
    # The blocks of the first round were erased by nobody; erased ones that wait to be written have no number yet.
    assert erases > 150 and found["erases"] == pytest.approx(erases, abs=64)
    assert found["lifetime_years"]["busiest_block"] is None
    assert "this is the longest that the part can last" in " ".join(found["said"])


@pytest.mark.parametrize(("years", "answer", "code"), [("10", "yes", 0), ("100", "open", 1), ("100000", "no", 1)])
def test_a_verdict_is_yes_only_when_the_busiest_block_lasts(
    years: str, answer: str, code: int, ffslab: Command, dumps: dict[str, Path]
) -> None:
    ran = ffslab("lifetime", dumps["ubifs"], "--age", "1d", "--years", years, "--json")
    (found,) = json.loads(ran.stdout)["workloads"]
    assert (found["verdict"]["answer"], ran.returncode) == (answer, code), found["lifetime_years"]
    assert found["verdict"]["said"] in ffslab("lifetime", dumps["ubifs"], "--age", "1d", "--years", years).stdout


def test_ages_and_starts_that_do_not_go_together_are_refused(
    ffslab: Command, dumps: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "wear.toml").write_text(workload("jffs2"), encoding="utf-8")
    refused: list[tuple[list[object], str]] = [
        ([dumps["jffs2"], "--age", "2y"], "JFFS2 keeps no count of erases: give --workload"),
        ([dumps["ubifs"], "--age", "2 fortnights"], "--age 2 fortnights: must be a time such as 2y"),
        (["wear.toml", "--age", "2y"], "wear.toml: is an experiment: an age"),
        (["wear.toml", "--years", "0"], "--years 0: must be more than 0"),
        (["wear.toml", "--fs", "ext4"], "ext4"),
    ]
    for args, told in refused:
        ran = ffslab("lifetime", *args)
        assert (ran.returncode, ran.stdout) == (2, ""), args
        assert told in ran.stderr and ran.stderr.count("\n") == 1


CAUSE: WearCause = {
    "cause": "caller: user data",
    "page_programs": 10,
    "share_of_programs": 1.0,
    "erases": 0,
    "share_of_erases": 0.0,
}


@pytest.mark.parametrize(
    ("kind", "causes", "hours", "answer", "said"),
    [
        ("workload", [], 0.01, "yes", "nothing is programmed"),
        ("workload", [CAUSE], 0.01, "open", "what so short a time could miss"),
        ("workload", [CAUSE], 24.0, "yes", "nothing is erased"),
        ("past", [], 24.0, "yes", "nothing is erased"),
    ],
)
def test_without_erases_years_are_promised_only_if_those_that_were_missed_leave_them(
    kind: Literal["workload", "past"], causes: list[WearCause], hours: float, answer: str, said: str
) -> None:
    none = np.zeros(100)
    seen: WorkloadLife = life(
        kind,
        none,
        none,
        (100_000, "as given"),
        time_us=hours * 3.6e9,
        often=24 / hours,
        busiest=None,
        interval=poisson_interval(0.0),
        uncertainty="",
        wear_said_by="",
    )
    facts = judged({"start": "", "machine": "", "workloads": [{**seen, "causes": causes}]}, 10.0)
    verdict = facts["workloads"][0]["verdict"]
    assert verdict is not None and verdict["answer"] == answer and said in verdict["said"]
