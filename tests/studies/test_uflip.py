"""`ffslab uflip`: phases and tables as functions of response times, the plan, and a study of a small device."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ffslab.answers.uflip_study import UflipPoint
from ffslab.api import schemas
from ffslab.studies.uflip.folder import FILES
from ffslab.studies.uflip.phases import lingering_of, phases_of
from ffslab.studies.uflip.plan import BASE, BENCHMARKS, Counts, State, formatting, plan, sessions
from ffslab.studies.uflip.table import cells, device_row, good_range, times
from helpers.command import Command
from helpers.schemas import disagreements

SCHEMA = json.loads(schemas.text("uflip_study"))
CHEAP_US, EXPENSIVE_US = 400.0, 27_000.0


def spiked(n: int, every: int) -> list[float]:
    """Cheap calls, of which every so many-th is expensive."""
    return [EXPENSIVE_US if i % every == every - 1 else CHEAP_US for i in range(n)]


def test_a_start_up_phase_before_an_oscillation_is_found() -> None:
    """125 cheap calls, then one of four is expensive."""
    found = phases_of([CHEAP_US] * 125 + spiked(1_000, 4))
    # The first three calls of the running phase are as cheap as those before.
    assert 125 <= found.startup_n <= 128
    assert (found.period_n, found.startup_us, found.cheap_us, found.expensive_us) == (4, 400, 400, 27_000)
    assert found.running_us == pytest.approx(7_050, rel=0.01)
    assert found.expensive_share == pytest.approx(0.25, abs=0.01)
    assert found.converged and found.count_n % 4 == 0


def test_an_oscillation_from_the_first_call_on_is_no_start_up_phase() -> None:
    found = phases_of(spiked(2_048, 128))
    assert (found.startup_n, found.startup_us, found.period_n) == (0, None, 128)
    assert found.spacing_n == 128
    # One expensive call is 35 % of the cost of 128: fewer calls with none, or with one too many, have another mean.
    assert found.count_n >= 128


def test_even_calls_have_neither() -> None:
    for series in ([300.0] * 64, list(300 + np.random.default_rng(1).normal(0, 20, 1_024))):
        found = phases_of(series)
        assert (found.startup_n, found.period_n, found.expensive_share) == (0, None, 0)
        assert found.cheap_us == found.expensive_us == found.running_us == pytest.approx(300, rel=0.01)
        assert found.converged


def test_expensive_calls_by_chance_have_a_distance_but_no_period() -> None:
    random = np.random.default_rng(2)
    series = np.where(random.random(4_096) < 0.1, EXPENSIVE_US, CHEAP_US)
    found = phases_of(series)
    assert (found.startup_n, found.period_n) == (0, None)
    assert found.spacing_n == pytest.approx(10, rel=0.1)
    short = phases_of(series[:64])
    assert not short.converged and short.count_n <= 64


def test_no_start_up_phase_is_seen_by_chance() -> None:
    """Of 500 series without one, at most a few."""
    random = np.random.default_rng(3)
    seen = sum(phases_of(np.where(random.random(512) < 0.2, 5_000.0, 300.0)).startup_n > 0 for _ in range(500))
    assert seen <= 10


def test_a_dear_begin_is_no_start_up_phase() -> None:
    assert phases_of([5_000.0] * 100 + [400.0] * 400).startup_n == 0


def test_too_few_calls_are_refused() -> None:
    with pytest.raises(ValueError, match="15 calls tell no phases"):
        phases_of([1.0] * 15)


def test_what_lingers_after_a_batch_is_counted() -> None:
    assert lingering_of([300.0] * 32, [300.0] * 64) == (0, 0.0)
    assert lingering_of([300.0] * 32, [900.0] * 10 + [300.0] * 64) == (10, 9_000.0)
    # Every second call is slow for a while.
    assert lingering_of([300.0] * 32, [900.0, 300.0] * 10 + [300.0] * 64)[0] == 19
    assert lingering_of([300.0] * 32, [900.0] * 40)[0] == 40


def test_a_range_is_good_as_long_as_calls_are_nearer_to_sequential_writes() -> None:
    # Between 1 and 16 the middle is 4.
    costs = {1: 1.0, 2: 1.5, 4: 3.9, 8: 4.1, 16: 2.0}
    assert good_range(1.0, 16.0, costs) == {"value": 4, "factor": 3.9, "whole": False}
    assert good_range(1.0, 16.0, {1: 5.0}) == {"value": None, "factor": None, "whole": False}
    # Nothing to lose: everything is good.
    assert good_range(1.0, 1.1, {1: 1.0, 2: 1.1}) == {"value": 2, "factor": 1.1, "whole": True}


def test_a_device_is_a_row() -> None:
    mib = 1 << 20
    row = device_row(
        {"SR": 300, "RR": 400, "SW": 300, "RW": 5_000},
        {0: 5_000, 100: 300, 1_000: 4_000, 5_000: 310, 10_000: 300},
        {mib: 300, 8 * mib: 320, 16 * mib: 4_000},
        {1: 300, 4: 320, 8: 340, 16: 3_000},
        {-1: 300, 0: 310, 1: 300, 2: 600, 256: 1_200},
    )
    assert cells("m", row) == ["m", "0.3", "0.4", "0.3", "5", "5", "8 (=)", "8 (=)", "=", "=", "x4"]
    assert [times(factor) for factor in (0.5, 0.9, 1.6, 39.6)] == ["x0.5", "=", "x1.6", "x40"]
    even = device_row({"SR": 1, "RR": 1, "SW": 2, "RW": 2}, {0: 2}, {mib: 2}, {1: 2}, {-1: 2, 0: 2, 2: 2})
    assert cells("e", even)[5:8] == ["-", "1+ (=)", "1+ (=)"]


DEVICE_BYTES = 64 << 20
COUNTS = {pattern: Counts(16 if pattern == "RW" else 0, 128) for pattern in BASE}


def test_sequential_writes_have_areas_of_their_own_in_each_session() -> None:
    """None begins where another has written since the device was formatted, and none leaves the device."""
    planned = list(sessions(DEVICE_BYTES, COUNTS, 1_000_000))
    assert len(planned) > 1
    for points, made in planned:
        free_from = 0
        for point, keys in zip(points, made[1::2], strict=True):
            assert {**point.keys, **keys} == {**keys} and keys["step"] == "uflip"
            if point.area_bytes is None:
                continue
            offset, size, shift = (keys.get(key, 0) for key in ("target_offset_B", "target_size_B", "io_shift_B"))
            assert isinstance(offset, int) and isinstance(size, int) and isinstance(shift, int)
            assert free_from <= offset and offset + shift + size <= DEVICE_BYTES
            free_from = offset + shift + size
        assert [step["step"] for step in made[::2]] == ["sleep"] * len(points)


def test_all_nine_micro_benchmarks_are_planned_in_the_order_of_flashio() -> None:
    made = plan(DEVICE_BYTES, COUNTS)
    assert {point.benchmark for point in made} == set(BENCHMARKS)
    patterns = list(dict.fromkeys(point.pattern for point in made if point.benchmark == "granularity"))
    assert patterns == ["SR", "RR", "RW", "SW"]
    benchmarks = list(dict.fromkeys(point.benchmark for point in made))
    assert benchmarks[-4:] == ["mix", "parallelism", "partitioning", "order"]
    assert {point.value for point in made if point.benchmark == "order"} >= {-1, 0, 1, 2}
    # An increment by which 128 calls come back to where they began is left out.
    assert max(point.value for point in made if point.benchmark == "order") == 16
    for point in made:
        ignored, calls = point.keys["io_ignore"], point.keys["io_count"]
        assert isinstance(ignored, int) and isinstance(calls, int) and 0 <= ignored < calls


def test_formatting_fills_the_device_and_writes_as_much_again() -> None:
    assert formatting(State.FRESH, DEVICE_BYTES) == []
    written = 0
    filled, *at_random = formatting(State.RANDOM, DEVICE_BYTES)
    assert filled == formatting(State.SEQUENTIAL, DEVICE_BYTES)[0]
    for step in at_random:
        size, count = step["io_size_B"], step["io_count"]
        assert isinstance(size, int) and isinstance(count, int)
        written += size * count
    assert 0.99 * DEVICE_BYTES <= written <= DEVICE_BYTES
    assert formatting(State.SEQUENTIAL, DEVICE_BYTES)[0]["total_B"] == DEVICE_BYTES


SMALL = """
title = "Small devices"

[stack]
system = "bare"
fs = "block-device"
device = { ftl = "page-map", part = "k9f1g08u0a", blocks = 64, spare = 0.25 }

[axes]
device.ftl = ["page-map", "fast"]
"""


def test_a_study_of_small_devices(tmp_path: Path, ffslab: Command) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    done = ffslab("uflip", str(file), "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    assert disagreements(study, SCHEMA, SCHEMA) == []
    page_map, fast = study["devices"]
    assert (page_map["name"], fast["name"]) == ("device.ftl=page-map", "device.ftl=fast")
    assert all(5 << 20 <= device["device_B"] <= 6 << 20 for device in study["devices"])
    # A page map reads all places alike; with log blocks random writes are dear.
    rows = page_map["row"], fast["row"]
    assert rows[0]["SR_ms"] == pytest.approx(rows[0]["RR_ms"], rel=0.02)
    assert rows[1]["RW_ms"] > 1.5 * rows[1]["SW_ms"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(f"<h2>{benchmark.capitalize()}</h2>" in report for benchmark in BENCHMARKS)
    points = pd.read_parquet(tmp_path / "out" / "points.parquet")
    assert list(points) == ["device", *UflipPoint.__annotations__]
    assert len(points) == sum(len(device["points"]) for device in study["devices"])


def test_a_file_with_steps_of_its_own_is_refused(tmp_path: Path, ffslab: Command) -> None:
    file = tmp_path / "steps.toml"
    file.write_text(SMALL + '\n[[measure]]\nstep = "sync"\n', encoding="utf-8")
    done = ffslab("uflip", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown key `measure`" in done.stderr and done.stderr.count("\n") == 1
