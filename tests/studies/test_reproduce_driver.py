"""`ffslab reproduce driver`: what the slides say comes out where they agree with themselves, and only there."""

from __future__ import annotations

from pathlib import Path

from ffslab.studies.reproduce import driver, runs
from ffslab.studies.reproduce.claims import Claims, Verdict
from ffslab.studies.reproduce.rows import RAILS


def test_the_driver_level_comes_out_as_published_where_the_slides_agree_with_themselves(tmp_path: Path) -> None:
    chosen = [run for run in driver.planned() if run.look_ups is None]
    series = runs.by_series(chosen, runs.run_all(chosen, tmp_path / "results", jobs=1))
    for fs in driver.FS:
        series[f"sqlite {fs}"] = [
            {"records": 1000, "read_ahead_KiB": kib, "time_us": 1.0, "rails_uJ": {"cpu": 0.2, "memory": 0.03}}
            for kib in (128, 0)
        ]
    claims = Claims("driver")
    driver.judge(claims, series)
    verdicts = {claim.id: claim.verdict for claim in claims}
    assert verdicts["DRV-1"] is verdicts["DRV-2"] is verdicts["DRV-8"] is Verdict.REPRODUCED
    held = {(claim.id, reading.what): reading.holds for claim in claims for reading in claim.readings}
    # 185.065 us are not 25 % more than the data sheet's 130.6, and 32768 of them are not 5.486 s.
    beyond = [
        held["DRV-3", f"{op}, over {us} us"] for op, us in zip(driver.OPERATIONS, (130.6, 305.6, 500.0), strict=True)
    ]
    assert beyond == [False, True, True]
    assert not held["DRV-4", "time"]
    assert all(held["DRV-4", f"{rail}, mean power"] for rail in RAILS)
    by_power = [held["DRV-5", f"{rail}, energy {kind} idle"] for rail in RAILS for kind in ("with", "above")]
    assert by_power == [True, True, True, False]
    assert len(list(driver.figures(series))) == 4
