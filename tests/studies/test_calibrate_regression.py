"""Regression finds known constants within its intervals, and says what data cannot tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ffslab.studies.calibrate import Fit, Method, Observations, fit, loops
from ffslab.studies.calibrate.resolution import clock_step
from helpers.bench_logs import TICK_US, Bench
from helpers.command import ROOT

BOARD = ROOT.parent / "shared" / "board"


def line(
    n: list[float], measured: list[float], *, method: Method = Method.LINEAR, resolution: float | None = None
) -> Fit:
    rows = [{"driver.read_us": amount, "loop.read_us": 1.0} for amount in n]
    return fit(Observations.of("test", "loops", "us", rows, measured, resolution=resolution), method)


# ---- constants and intervals --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", list(Method))
def test_without_noise_every_method_finds_the_constants(method: Method) -> None:
    found = line([10, 20, 40, 80], [10 * 3 + 7, 20 * 3 + 7, 40 * 3 + 7, 80 * 3 + 7], method=method)
    assert found.constants["driver.read_us"].value == pytest.approx(3)
    assert found.constants["loop.read_us"].value == pytest.approx(7)
    assert found.r2 == pytest.approx(1)
    assert found.warnings == []


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Bench, list[Observations]]]:
    """Benches, and what is measured on each. Noise grows with the length of a loop, and the clock ticks."""
    path = tmp_path_factory.mktemp("benches") / "loops.csv"
    made = [Bench(seed=seed, counts=(256, 512, 1024, 2048), repeats=6, tick_us=TICK_US) for seed in range(80)]
    return [(bench, loops.observations(loops.read(bench.write_loops(path, power=False)))) for bench in made]


@pytest.mark.parametrize("method", list(Method))
def test_the_interval_holds_the_truth_as_often_as_it_says(
    method: Method, benches: list[tuple[Bench, list[Observations]]]
) -> None:
    """95 % of the intervals should hold the truth."""
    held = []
    for bench, measured in benches:
        for observed in measured:
            found = fit(observed, method)
            [key] = [key for key in found.constants if key.startswith("driver.")]
            low, high = found.constants[key].ci95 or (0, 0)
            truth = bench.time_us[key.removeprefix("driver.").removesuffix("_us")]
            assert abs(found.constants[key].value / truth - 1) < 0.01
            held.append(low <= truth <= high)
    assert 0.90 <= np.mean(held) <= 0.995


def test_outliers_pull_the_line_and_robust_regression_lets_go_of_them() -> None:
    random = np.random.default_rng(5)
    n = [float(n) for n in range(100, 1100, 50)]
    measured = [200 * amount + 500 + random.normal(0, 20) for amount in n]
    # Two loops into which something else came.
    measured[16] += 60_000
    measured[18] += 80_000
    plain, robust = (line(n, measured, method=method) for method in (Method.LINEAR, Method.ROBUST))
    assert abs(plain.constants["driver.read_us"].value - 200) > 10
    assert abs(robust.constants["driver.read_us"].value - 200) < 1
    assert any("2 of 20 measurements are far from the line" in warning for warning in plain.warnings)
    assert any("2 of 20 measurements are far from the line and count less" in warning for warning in robust.warnings)


def test_a_constant_that_the_data_want_below_nothing_is_nothing() -> None:
    found = line([10, 20, 40, 80], [20, 50, 110, 230], method=Method.NON_NEGATIVE)
    start = found.constants["loop.read_us"]
    assert line([10, 20, 40, 80], [20, 50, 110, 230]).constants["loop.read_us"].value == pytest.approx(-10)
    assert (start.value, start.note) == (0.0, "at the bound: the data want no positive value")
    assert start.ci95 is not None and start.ci95[0] == 0.0


def test_r2_is_a_share_of_the_variance() -> None:
    found = line([1, 2, 3, 4], [1, 3, 2, 4])
    assert found.r2 == pytest.approx(0.64)
    assert found.residuals.sum() == pytest.approx(0, abs=1e-12)


def test_the_mean_of_equal_measurements_has_an_interval_and_no_r2() -> None:
    rows = [{"idle.cpu_mW": 1.0}] * 4
    found = fit(Observations.of("test", "idle", "mW", rows, [10, 11, 12, 11]))
    low, high = found.constants["idle.cpu_mW"].ci95 or (0, 0)
    assert found.constants["idle.cpu_mW"].value == pytest.approx(11)
    # Student's t with 3 degrees of freedom: 3.182 x 0.8165 / 2.
    assert (high - low) / 2 == pytest.approx(1.299, rel=0.2)
    assert found.r2 is None


# ---- what the data cannot tell ------------------------------------------------------------------------------


def test_constants_that_always_occur_together_are_named() -> None:
    rows = [{"a_us": n, "b_us": 2 * n, "c_us": 1.0} for n in (1.0, 2.0, 3.0, 5.0)]
    found = fit(Observations.of("test", "x", "us", rows, [10.0, 13.1, 16.0, 21.9]))
    assert "a_us and b_us cannot be told apart: they always occur in the same proportion" in found.warnings
    assert [found.constants[key].identified for key in ("a_us", "b_us", "c_us")] == [False, False, True]
    assert found.constants["a_us"].ci95 is None


def test_a_sum_of_constants_that_is_always_the_same_entangles_all_of_them() -> None:
    # Reads and programs make up every call: the cost of a call is in both.
    rows = [{"read_us": n, "program_us": 1 - n, "call_us": 1.0} for n in (0.0, 1.0, 0.0, 1.0)]
    found = fit(Observations.of("test", "x", "us", rows, [4.0, 6.0, 4.1, 6.1]))
    assert not any(constant.identified for constant in found.constants.values())
    assert any("read_us, program_us and call_us cannot be told apart" in warning for warning in found.warnings)


def test_constants_that_are_hard_to_tell_apart_are_named_with_the_condition() -> None:
    random = np.random.default_rng(3)
    rows = [{"a_us": n, "b_us": n + random.normal(0, 0.01), "c_us": 1.0} for n in np.linspace(1, 10, 30)]
    found = fit(Observations.of("test", "x", "us", rows, random.normal(10, 1, 30)))
    assert found.condition > 100
    assert any(warning.startswith("a_us and b_us are hard to tell apart (condition") for warning in found.warnings)


def test_a_constant_that_never_occurs_is_named_and_not_found() -> None:
    rows = [{"a_us": n, "b_us": 0.0} for n in (1.0, 2.0, 3.0)]
    found = fit(Observations.of("test", "x", "us", rows, [2.0, 4.0, 6.1]))
    assert "b_us: does not occur in the data" in found.warnings
    assert not found.constants["b_us"].identified and found.constants["a_us"].identified


def test_as_many_constants_as_measurements_leave_nothing_to_judge_them_by() -> None:
    found = line([1, 2], [5, 7])
    assert any("2 measurements for 2 constants" in warning for warning in found.warnings)
    assert found.constants["driver.read_us"].ci95 is None


def test_a_wide_interval_is_said() -> None:
    found = line([1, 2, 3, 4, 5], [5, 1, 6, 2, 7])
    assert any("driver.read_us" in warning and "leave it open" in warning for warning in found.warnings)


def test_loops_that_are_few_steps_of_the_clock_are_said() -> None:
    found = line([1, 2, 4, 8], [30.5, 61.0, 122.0, 244.0], resolution=30.5)
    assert any("less than 100 steps of the clock" in warning for warning in found.warnings)


# ---- the clock ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step_us", [TICK_US, 1.0, 10_000.0])
def test_the_step_of_a_clock_is_found_in_durations(step_us: float, seed: int) -> None:
    durations = np.random.default_rng(seed).lognormal(np.log(20 * step_us), 1, 300)
    found = clock_step(np.round(np.round(durations / step_us) * step_us, 1))
    assert found == pytest.approx(step_us, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_a_fine_clock_shows_no_step(seed: int) -> None:
    assert clock_step(np.random.default_rng(seed).lognormal(6, 1, 300)) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_step_is_found_in_repeats_of_loops(seed: int, tmp_path: Path) -> None:
    log = loops.read(Bench(seed=seed).write_loops(tmp_path / "loops.csv"))
    assert log.step_us() == pytest.approx(TICK_US, rel=1e-3)


@pytest.mark.skipif(not BOARD.is_dir(), reason="the measurements of the board are not here")
def test_the_measured_board_has_a_clock_of_32768_hz() -> None:
    import pandas as pd

    rows = pd.read_csv(BOARD / "select/ffs/128_run1.csv", sep=";", comment="#", header=None)
    assert clock_step(rows[2].to_numpy() * 1e6) == pytest.approx(TICK_US, rel=1e-4)
