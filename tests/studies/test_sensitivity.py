"""Which axes matter for a figure: known indices come out, and nothing where chance says as much."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from ffslab import Experiment, Study
from ffslab.store.rows import FIGURES
from ffslab.studies.sweep.design import design_of
from ffslab.studies.sweep.results import StudyResult
from helpers.command import SMALL

PLAIN = SMALL.split("[axes]")[0]


def made_up(study: Study, figure: Callable[..., float]) -> StudyResult:
    """The result of a study whose runs took the time that a function says."""
    design = design_of(study)
    rows = [dict.fromkeys(FIGURES) | {"error": None, "time_us": figure(*point)} for point in design.points]
    keys = [str(at) for at in range(len(design.points))]
    frame = pd.DataFrame(rows, index=pd.Index(keys, name="key"))
    return StudyResult(study, design, list(range(len(keys))), {at: [key] for at, key in enumerate(keys)}, frame, 0)


def ishigami(x: float, y: float, z: float) -> float:
    return math.sin(x) + 7 * math.sin(y) ** 2 + 0.1 * z**4 * math.sin(x)


ANGLE = {"from": -math.pi, "to": math.pi}


def test_sobol_indices_are_those_of_a_function_whose_indices_are_known() -> None:
    """Ishigami and Homma, 1990; the indices in closed form: Saltelli et al., Global Sensitivity Analysis, 2008."""
    axes = dict.fromkeys(("a.x", "a.y", "a.z"), ANGLE)
    study = Study.of(Experiment.from_toml(PLAIN), axes, method="saltelli", points=1024, minimise=["time_us"])
    found = {one["axis"]: one for one in made_up(study, ishigami).answer["sensitivity"][0]["axes"]}
    for name, alone, total in (("a.x", 0.314, 0.558), ("a.y", 0.442, 0.442), ("a.z", 0.0, 0.244)):
        assert found[name]["alone"] == pytest.approx(alone, abs=0.06)
        assert found[name]["total"] == pytest.approx(total, abs=0.06)
    plain = Study.of(Experiment.from_toml(PLAIN), axes, method="sobol", points=2048, minimise=["time_us"])
    found = {one["axis"]: one for one in made_up(plain, ishigami).answer["sensitivity"][0]["axes"]}
    for name, alone in (("a.x", 0.314), ("a.y", 0.442), ("a.z", 0.0)):
        assert found[name]["alone"] == pytest.approx(alone, abs=0.06)


def test_elementary_effects_of_a_linear_function_are_its_slopes() -> None:
    axes = {"a.x": {"from": 0.0, "to": 10.0}, "a.y": {"from": 0.0, "to": 1.0}}
    study = Study.of(Experiment.from_toml(PLAIN), axes, method="morris", points=10, minimise=["time_us"])
    found = made_up(study, lambda x, y: 3 * x + 5 * y).answer["sensitivity"][0]["axes"]
    assert [one["axis"] for one in found] == ["a.x", "a.y"]
    assert [one["effect"] for one in found] == pytest.approx([30.0, 5.0])
    assert all(one["spread"] == pytest.approx(0.0, abs=1e-9) for one in found)


def test_the_share_of_variance_of_a_grid_is_exact() -> None:
    axes = {"fs": ["jffs2", "ubifs"], "partition_blocks": [1, 2, 3, 4]}
    study = Study.of(Experiment.from_toml(PLAIN), axes, minimise=["time_us"])
    result = made_up(study, lambda fs, blocks: 10.0 * (fs == "ubifs") + 0 * blocks)
    assert {one["axis"]: one["alone"] for one in result.answer["sensitivity"][0]["axes"]} == {
        "fs": pytest.approx(1.0),
        "partition_blocks": pytest.approx(0.0, abs=1e-9),
    }


def test_what_chance_says_as_well_is_not_told_of_an_axis() -> None:
    """A share of the variance comes about without any reason, too, in small samples above all."""
    axes = {f"a.{name}": {"from": 0.0, "to": 1.0} for name in "vwxyz"}
    told = 0
    for seed in range(20):
        study = Study.of(Experiment.from_toml(PLAIN), axes, method="latin", points=12, seed=seed, minimise=["time_us"])
        noise = np.random.default_rng(seed)
        found = made_up(study, lambda *_: noise.random()).answer["sensitivity"][0]["axes"]  # noqa: B023
        told += sum(one["nothing"] is None for one in found)
    assert told <= 10  # of 100, of which 5 are to be expected
    matters = Study.of(Experiment.from_toml(PLAIN), axes, method="latin", points=40, minimise=["time_us"])
    found = made_up(matters, lambda *at: 10 * at[0] + at[1]).answer["sensitivity"][0]["axes"]
    assert found[0]["axis"] == "a.v" and found[0]["nothing"] is None and found[-1]["nothing"] is not None


def test_an_axis_whose_values_have_a_point_each_explains_nothing_yet() -> None:
    study = Study.of(Experiment.from_toml(PLAIN), {"partition_blocks": [1, 2, 3]}, minimise=["time_us"])
    (axis,) = made_up(study, lambda blocks: 1.0 * blocks).answer["sensitivity"][0]["axes"]
    assert axis["alone"] is None and "no value of it has a second point" in str(axis["nothing"])
