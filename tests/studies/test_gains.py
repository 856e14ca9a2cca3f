"""Studies that put the values of an axis beside its first one: who gains what."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab import Study
from ffslab.studies.sweep.workers import LocalWorkers

STUDY = """\
title = "Small study"
experiment = "small.toml"
minimise = ["time_us", "page_programs"]
repeat = 6
compare = "fs"

[axes]
fs = ["jffs2", "ubifs"]
partition_blocks = [64, 80]
"""


def test_the_values_of_an_axis_are_put_beside_its_first_one(small: Path) -> None:
    study = small.with_name("study.toml")
    study.write_text(STUDY, encoding="utf-8")
    done = Study.from_file(study).run(workers=LocalWorkers(1))
    assert [each["figure"] for each in done.answer["gains"]] == ["time_us", "page_programs"]
    gains = done.answer["gains"][0]
    assert (gains["axis"], gains["base"], gains["values"]) == ("fs", "jffs2", ["ubifs"])
    # The experiment has an axis of its own, too.
    places = [(blocks, kib) for kib in (0, 128) for blocks in (64, 80)]
    assert sorted((row["axes"]["partition_blocks"], row["axes"]["read_ahead_KiB"]) for row in gains["rows"]) == sorted(
        places
    )
    figures = done.runs.set_index(["fs", "partition_blocks", "read_ahead_KiB", "run"])["time_us"]
    runs = {at: float(time_us) for at, time_us in figures.items()}
    for row in gains["rows"]:
        place = (row["axes"]["partition_blocks"], row["axes"]["read_ahead_KiB"])
        shares = sorted(runs["ubifs", *place, at] / runs["jffs2", *place, at] - 1.0 for at in range(1, 7))
        (change,) = row["changes"]
        assert change["median"] == pytest.approx((shares[2] + shares[3]) / 2)
        assert (change["low"], change["high"]) == pytest.approx((shares[0], shares[-1]))
    assert "beside fs=jffs2:" in done.text
    assert "Who gains what" in done.report()
