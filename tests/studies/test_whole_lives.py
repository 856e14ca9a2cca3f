"""`ffslab lifetime --simulate`: lives until something ends them, their text, data and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ffslab import Experiment, InputError
from ffslab.store import Store
from ffslab.studies.lifetime import Given, Workload, lived, whole
from ffslab.studies.lifetime.whole_text import ended_because, is_answered
from helpers.command import Command

EXPERIMENT = """
title = "A logger that replaces its file"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 40
[stack.ageing]
endurance_erases = 10
write_rate = 0
retention_rate = 0
disturb_rate = 0
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "log"
bytes = "1 MiB"
[[measure]]
step = "open"
file = "log"
flags = ["wronly", "append"]
[[measure]]
step = "append"
file = "log"
request_B = 512
count = 10
sync = "fsync"
[[measure]]
step = "close"
file = "log"
"""


@pytest.fixture
def logger(tmp_path: Path) -> str:
    (tmp_path / "logger.toml").write_text(EXPERIMENT, encoding="utf-8")
    return "logger.toml"


def test_a_life_is_told_and_kept(ffslab: Command, logger: str, tmp_path: Path) -> None:
    ran = ffslab("lifetime", logger, "--simulate", "--per-day", "24", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert "no room is left, because blocks have failed" in ran.stdout
    assert "Every operation of it was run." in ran.stdout
    held = json.loads((tmp_path / "out" / "lives.json").read_text(encoding="utf-8"))
    (life,) = held["workloads"][0]["lives"]
    assert life["bad_blocks"] > 0 and life["ended"]["by"] == "no-spare-blocks"
    points, blocks = (pd.read_parquet(tmp_path / "out" / name) for name in ("points.parquet", "blocks.parquet"))
    assert points["days"].is_monotonic_increasing and len(points) == len(life["points"])
    assert points["erases_mean"].iloc[-1] == pytest.approx(life["erases"]["mean"])
    assert blocks[blocks["days"] == blocks["days"].max()]["erases"].sum() == pytest.approx(life["erases"]["mean"] * 40)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for title in ("Wear of the blocks", "Every block", "Free space", "Latency"):
        assert f"<h2>{title}</h2>" in report
    again = ffslab("lifetime", logger, "--simulate", "--per-day", "24", "--json")
    assert json.loads(again.stdout) == held


def test_wanted_years_are_a_verdict(ffslab: Command, logger: str) -> None:
    short = ffslab("lifetime", logger, "--simulate", "--per-day", "1", "--years", "0.1")
    assert short.returncode == 0 and "0.1 years: yes, it still works then." in short.stdout
    ran = ffslab("lifetime", logger, "--simulate", "--per-day", "24", "--years", "50", "--fast")
    assert ran.returncode == 1 and "50 years: no, it lasts" in ran.stdout
    # Due again after the end of time: it rests until the wanted years are over.
    seldom = ffslab("lifetime", logger, "--simulate", "--per-day", "1e-300", "--years", "2")
    assert seldom.returncode == 0 and "2 years: yes, it still works then." in seldom.stdout


def test_a_life_is_lived_without_being_asked_and_exactly_while_it_is_cheap(ffslab: Command, logger: str) -> None:
    exact, usual = (ffslab("lifetime", logger, *more, "--per-day", "24", "--json") for more in (["--simulate"], []))
    assert json.loads(usual.stdout)["workloads"] == json.loads(exact.stdout)["workloads"]


def test_a_life_that_takes_too_long_is_not_known(logger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "WORK_MAX", 10_000)
    works = [Workload("logger", Experiment.from_toml(EXPERIMENT, tmp_path))]
    lives = lived(works, Given(per_day=24, wanted_years=10), bounded=True, store=Store(tmp_path / "store"))
    ((_, life),) = lives.lives
    assert life["ended"]["by"] == "unknown" and not is_answered(life, 10) and not is_answered(life, None)
    assert "10 years: not known" in lives.text


def test_a_life_needs_a_workload(ffslab: Command, logger: str, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    for args, said in [
        (
            [logger, "--fast", "--reckon"],
            "--fast: is about a life, which repeats a workload: give",
        ),
        (
            [logger, "--reckon", "--out", "x"],
            "--out x: a folder is of a life: what is reckoned needs",
        ),
        (["results", "--simulate"], "--simulate: is about a life, which repeats"),
        ([logger, "--out", "full"], "full: not a results folder (notes.txt)"),
    ]:
        ran = ffslab("lifetime", *args)
        assert ran.returncode == 2 and said in ran.stderr, ran.stderr


def test_an_image_begins_with_its_wear(ffslab: Command, logger: str, tmp_path: Path) -> None:
    text = EXPERIMENT.replace('fs = "jffs2"', 'fs = "ubifs"\nmax_beb_per1024 = 1')
    save = '[[measure]]\nstep = "save_image"\nfile = "nand.bin"\n'
    (tmp_path / "save.toml").write_text(text + save, encoding="utf-8")
    (tmp_path / "live.toml").write_text(text, encoding="utf-8")
    assert ffslab("run", "save.toml", "--out", "saved").returncode == 0
    image = "saved/images/nand.bin"
    found = json.loads(ffslab("inspect", image, "--json").stdout)
    before = sum(block["erases"] or 0 for block in found["blocks"])
    ran = ffslab("lifetime", image, "--workload", "live.toml", "--simulate", "--per-day", "9", "--years", "1", "--json")
    assert ran.returncode == 1, ran.stderr
    life = json.loads(ran.stdout)["workloads"][0]["lives"][0]
    assert before > 0 and life["erases_of_setup"] >= before


def test_a_life_is_lived_once_and_an_interrupted_one_goes_on_behind_those_that_ended(tmp_path: Path) -> None:
    both = Experiment.from_toml(EXPERIMENT, tmp_path).with_axes({"partition_blocks": [40, 64]})
    asked, given, store = [Workload("both", both)], Given(per_day=1000, jobs=1), Store(tmp_path / "kept")

    def stop_after_the_first(_share: float) -> None:
        if store.lives.parts():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lived(asked, given, store=store, progress=stop_after_the_first)
    first = store.lives.table()
    assert list(first["variant"]) == ["partition_blocks=40"]
    undisturbed = lived(asked, given, store=Store(tmp_path / "other"))
    assert lived(asked, given, store=store).answer == undisturbed.answer
    assert len(store.lives.table()) == 2 and store.verify() == []
    # What is shown now is what the store says: nothing is lived.
    key = first["key"][0]
    life = store.lives.find(key)
    assert life is not None
    store.remove([key])
    store.keep_life(key, "both", {**life, "bad_blocks": 12345})
    assert lived(asked, given, store=store).lives[0][1]["bad_blocks"] == 12345
    assert lived(asked, given, store=store, again=True).answer == undisturbed.answer
    # Another question has another key.
    lived(asked, Given(per_day=2000, jobs=1), store=store)
    assert len(store.lives.table()) == 4


def test_no_more_years_than_the_clock_of_a_life_counts(tmp_path: Path) -> None:
    """Nanoseconds in 64 bits: 584 years, after which a life would begin anew."""
    workload = Workload("logger", Experiment.from_toml(EXPERIMENT, tmp_path))
    with pytest.raises(InputError, match="1,000 years: a life is followed for 500 years at most"):
        lived([workload], Given(wanted_years=1000))


def test_a_life_whose_files_are_all_deleted_ends_because_blocks_have_failed() -> None:
    error = 'measure step 1: ENOENT: 0 of 1 files called *.jpg are left in "DCIM"'
    life: Any = {"ended": {"by": "failed", "error": error}, "bad_blocks": 12}
    assert ended_because(life) == "no room is left, because 12 blocks have failed"
    life["bad_blocks"] = 0
    assert ended_because(life) == "a call failed"


def test_what_cannot_leap_is_not_sent_to_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fastmap holds the erase counters, too: --fast is refused, and was advised."""
    monkeypatch.setattr(whole, "WORK_MAX", 400_000)
    monkeypatch.setattr(whole, "LEAPS_AFTER_WORK", 0)
    stack = 'fs = "ubifs"\npartition_blocks = 70\nmax_beb_per1024 = 1\nfastmap = true\nfm_autoconvert = true\n'
    text = EXPERIMENT.replace('fs = "jffs2"\npartition_blocks = 40\n', stack).replace("= 10\nwrite", "= 100000\nwrite")
    works = [Workload("logger", Experiment.from_toml(text, tmp_path))]
    lives = lived(works, Given(per_day=24, wanted_years=10), bounded=True, store=Store(tmp_path / "store"))
    ((_, life),) = lives.lives
    why = "Linux has no wear that could leap beside a fastmap"
    assert life["ended"]["by"] == "unknown" and (life["ended"]["error"] or "").startswith(why)
    assert why in lives.text and "--fast" not in lives.text
