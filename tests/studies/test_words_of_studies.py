"""What `sweep`, `diff` and `ci` say first: the best point with its price, who failed, what does not hold."""

from __future__ import annotations

from typing import Any

from ffslab.studies.budgets.text import text_of as budgets_text
from ffslab.studies.differences.text import text_of as diff_text
from ffslab.studies.sweep.sensitivity import NO_DESIGN
from ffslab.studies.sweep.text import best_said, cells, sensitivity_said


def point(number: int, fs: str, time_us: float, erases: float) -> Any:
    figures = {
        name: {"median": of, "low": None, "high": None} for name, of in (("time_us", time_us), ("erases", erases))
    }
    return {"point": number, "axes": {"fs": fs}, "figures": figures}


def study(*points: Any) -> Any:
    objectives = [
        {"figure": name, "maximise": False, "best": sorted(points, key=lambda one: one["figures"][name]["median"])}
        for name in ("time_us", "erases")
    ]
    return {
        "needs_us": None,
        "untold": [],
        "objectives": objectives,
        "trade_offs": list(points),
        "axes": {"fs": ["jffs2", "ubifs"]},
    }


def test_the_best_point_is_told_with_its_price_and_with_who_is_as_good() -> None:
    said = " ".join(best_said(study(point(1, "jffs2", 1e6, 90.0), point(2, "ubifs", 3e6, 30.0))))
    price = "but its number of block erases is 90, 3 times that of fs=ubifs (30)."
    assert f"Least virtual time is 1.0 s with fs=jffs2, {price}" in said
    near = " ".join(best_said(study(point(1, "jffs2", 1e6, 30.0), point(2, "ubifs", 1.001e6, 29.0))))
    assert "1 other point within 1 % of that." in near and "but" not in near


def test_a_column_of_points_has_one_unit() -> None:
    head, rows = cells(
        [point(1, "jffs2", 386_412.0, 1.0), point(2, "ubifs", 2_200.0, 2.0)], study(point(1, "jffs2", 1, 1))
    )
    assert head[2] == "virtual time, ms" and [row[2] for row in rows] == ["386.41", "2.20"]


def test_an_axis_that_no_design_has_in_all_values_is_not_called_unimportant() -> None:
    none: Any = dict.fromkeys(
        ("alone", "alone_interval", "total", "total_interval", "effect", "effect_interval", "spread")
    )
    axis = {"axis": "fs", **none, "nothing": NO_DESIGN}
    asked: Any = {"figure": "time_us", "method": "m", "nothing": None, "axes": [axis]}
    told = sensitivity_said(asked)
    assert "fs not comparable" in told and "%" not in told


def test_who_failed_stands_before_what_changed() -> None:
    change: Any = {"figure": "latency_max_us", "before": 386_412.0, "after": 2_200.0, "change": -0.9943}
    energy: Any = {"figure": "energy_total_uJ", "before": 2.0, "after": 1.0, "change": -0.5}
    diff: Any = {
        **{"before": "a", "after": "b", "machine_before": "board x.", "machine_after": "board x."},
        **{"failed_before": [], "failed_after": ["Not finished, fs=fat: full."], "only_before": [], "only_after": []},
        "without_energy": ["nobody measured it"],
        "pairs": [{"before": "base", "after": "base", "figures": [change, energy], "needs_us": None, "why": {}}],
    }
    lines = diff_text(diff).splitlines()
    assert lines[:6] == ["A: a", "B: b", "", "board x.", "", "B: Not finished, fs=fat: full."]
    assert any(line.split() == ["latency", "max,", "ms", "386.41", "2.20", "-99.4", "%"] for line in lines)
    assert "energy total" not in diff_text(diff) and "Without energy: nobody measured it." in lines


def test_rules_that_do_not_hold_stand_first() -> None:
    row: Any = {"budget": "b", "variant": "", "figure": "erases", "before": None, "found": 1.0, "change": None}
    row["why"], row["needs_us"] = [], None
    rows = [{**row, "rule": "erases <= 9", "holds": True}, {**row, "rule": "erases <= 0", "holds": False}]
    answer: Any = {"ffslab": "0", "machine": "board x.", "baseline_from": None, "holds": False, "rows": rows}
    lines = budgets_text(answer).splitlines()
    assert lines[0] == "board x." and "FAILS" in lines[4] and "ok" in lines[5]
