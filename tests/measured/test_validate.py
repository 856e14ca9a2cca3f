"""`ffslab validate`: the comparison itself, and how it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ffslab.answers.validation import CaseReport, Pair, RangeSummary, ValidationReport
from ffslab.measured.validation import beyond, compare, relative_error
from helpers.cases import CASE, case_file
from helpers.command import ROOT, Command


def test_a_case_that_agrees(ffslab: Command, tmp_path: Path) -> None:
    ran = ffslab("validate", case_file(tmp_path, {}), "--max-error", "0")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "hand/R/jffs2/two-pages: page_reads 5/5 +0.0 %" in ran.stdout


def test_a_case_that_is_off_is_a_negative_answer(ffslab: Command, tmp_path: Path) -> None:
    wrong = case_file(tmp_path, {"expect": CASE["expect"] | {"page_reads": 4}})
    ran = ffslab("validate", wrong, "--max-error", "20")
    assert ran.returncode == 1
    assert "page_reads 5/4 +25.0 %" in ran.stdout
    assert len(ran.stderr.splitlines()) == 1
    assert ffslab("validate", wrong, "--max-error", "30").returncode == 0
    assert ffslab("validate", wrong).returncode == 0


def test_the_json_has_the_agreed_shape(ffslab: Command, tmp_path: Path) -> None:
    other_fs = {"id": "hand/R/logfs/two-pages", "system": CASE["system"] | {"fs": "logfs"}}
    ran = ffslab("validate", case_file(tmp_path, {}, other_fs), "--json")
    assert ran.returncode == 0
    report = json.loads(ran.stdout)
    assert set(report) >= {"cases", "summary"}
    first, second = report["cases"]
    assert (first["id"], first["family"], first["fs"], first["error"]) == (CASE["id"], "R", "jffs2", None)
    assert first["counters"]["page_reads"] == {"expected": 5, "simulated": 5}
    assert first["latency_us"] == {}
    assert "logfs" in second["error"]


def test_a_case_that_cannot_run_is_no_agreement(ffslab: Command, tmp_path: Path) -> None:
    path = case_file(tmp_path, {"system": CASE["system"] | {"fs": "logfs"}})
    assert ffslab("validate", path).returncode == 0
    assert ffslab("validate", path, "--max-error", "100").returncode == 1


def test_only_chooses_cases_by_pattern(ffslab: Command, tmp_path: Path) -> None:
    path = case_file(tmp_path, {"id": "a/1"}, {"id": "a/2"}, {"id": "b/1"})

    def chosen(pattern: str) -> list[str]:
        report = json.loads(ffslab("validate", path, "--id", pattern, "--json").stdout)
        return [case["id"] for case in report["cases"]]

    assert chosen("a/*") == ["a/1", "a/2"]
    assert chosen("*1") == ["a/1", "b/1"]
    assert chosen("?/[2-3]") == ["a/2"]


def test_jobs_do_not_change_the_answer(ffslab: Command, tmp_path: Path) -> None:
    path = case_file(tmp_path, *({"id": f"case/{i}"} for i in range(5)))
    assert ffslab("validate", path, "--jobs", "1").stdout == ffslab("validate", path, "--jobs", "4").stdout


def test_the_python_function_returns_a_row_per_value(tmp_path: Path) -> None:
    import ffslab

    table = ffslab.validate(case_file(tmp_path, {"expect": CASE["expect"] | {"page_reads": 4}}))
    row = table[table["counter"] == "page_reads"].iloc[0]
    assert (row["expected"], row["simulated"], row["error"]) == (4, 5, 0.25)


def test_what_was_not_expected_at_all_is_beyond_every_limit() -> None:
    assert relative_error(0, 0) == 0
    assert relative_error(0, 3) is None
    assert relative_error(4, 3) == -0.25
    case = case_with(counters={"erases": {"expected": 0, "simulated": 3}})
    assert beyond(report_of(case), 1e9) == ["x: erases 3/0 expected none"]


def test_a_mean_latency_counts_and_a_percentile_does_not() -> None:
    off: Pair = {"expected": 100.0, "simulated": 150.0}
    assert beyond(report_of(case_with(latency_us={"p99": off})), 10) == []
    assert len(beyond(report_of(case_with(latency_us={"mean": off})), 10)) == 1


def case_with(*, counters: dict[str, Pair] | None = None, latency_us: dict[str, Pair] | None = None) -> CaseReport:
    """A case in which nothing else was compared."""
    return {
        "id": "x",
        "family": "R",
        "fs": "jffs2",
        "counters": counters or {},
        "latency_us": latency_us or {},
        "latency_unlink_us": {},
        "by_task": {},
        "erases_per_block": {},
        "facts": {},
        "after_step": [],
        "error": None,
        "not_counted": None,
    }


def report_of(case: CaseReport) -> ValidationReport:
    met: RangeSummary = {
        "cases": 1,
        "cases_with_ranges": 0,
        "cases_within_1_percent": 1,
        "cases_within_1_percent_or_inside": 1,
    }
    return {"cases": [case], "summary": {"cases": 1, "failed": 0, "uncounted_cases": 0, "ranges": met, "rows": []}}


def test_the_measured_cases_of_the_repository_run(ffslab: Command) -> None:
    """How well they agree is judged by the crate `lab` (tests/measured.rs)."""
    ran = ffslab("validate", ROOT / "tests" / "measured" / "linux-6.1.jsonl.gz", "--id", "*/jffs2/*", "--json")
    report = json.loads(ran.stdout)
    assert len(report["cases"]) >= 10
    assert [case["id"] for case in report["cases"] if case["error"] is not None] == []


def test_cases_have_ranges_over_phases(ffslab: Command, tmp_path: Path) -> None:
    path = case_file(tmp_path, {}, {"id": "off", "expect": CASE["expect"] | {"page_reads": 4}})
    ran = ffslab("validate", path, "--phases", "3", "--json")
    report: ValidationReport = json.loads(ran.stdout)
    unknown, off = report["cases"]
    ranges = unknown.get("ranges")
    assert ranges is not None
    assert (ranges["phases"], ranges["counters"]["page_reads"]) == (3, {"min": 5, "max": 5, "inside": True})
    outside = off.get("ranges")
    assert outside is not None
    assert outside["counters"]["page_reads"] == {"min": 5, "max": 5, "inside": False}
    assert report["summary"]["ranges"] == {
        "cases": 2,
        "cases_with_ranges": 2,
        "cases_within_1_percent": 1,
        "cases_within_1_percent_or_inside": 1,
    }
    at_one_phase = json.loads(ffslab("validate", path, "--json").stdout)
    assert at_one_phase["summary"]["ranges"]["cases_with_ranges"] == 0
    assert all("ranges" not in case for case in at_one_phase["cases"])
    assert ffslab("validate", path, "--phases", "0").stderr == "ffslab: --phases 0: must be 1 to 1024\n"


def test_a_case_of_several_boots_has_the_range_of_what_was_measured(ffslab: Command, tmp_path: Path) -> None:
    """The simulator reads 5 pages; the kernel read 6 of them in its first boot, and 4 in another."""
    measured = CASE["expect"] | {"page_reads": 6}
    several = {"id": "hand/R/jffs2/several", "expect": measured, "boots": [{"page_reads": 4}]}
    one = {"id": "hand/R/jffs2/one", "expect": measured}
    path = tmp_path / "boots.jsonl"
    path.write_text("".join(json.dumps(CASE | case) + "\n" for case in (several, one)), encoding="utf-8")
    report: ValidationReport = json.loads(ffslab("validate", path, "--json").stdout)
    boots = report["cases"][0].get("boots")
    assert boots is not None
    assert (boots["boots"], boots["counters"]["page_reads"]) == (2, {"min": 4, "max": 6, "inside": True})
    assert "boots" not in report["cases"][1]
    met = report["summary"]["ranges"]
    assert (met["cases_within_1_percent"], met["cases_within_1_percent_or_inside"]) == (0, 1)
    text = ffslab("validate", path).stdout
    assert "page_reads 5/6 -16.7 % [boots 4 to 6, inside]" in text
    assert "within 1 %: 0 of 2 cases; within 1 % or inside the range over phases or boots: 1" in text


def test_the_documented_agreement_is_what_comes_out(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """In docs/reference.md, in words and as the program that counts it."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(code, {})
    equal, total = re.findall(r"\d+", capsys.readouterr().out)
    assert f"Of the {total} counters" in page and f"{equal} are equal" in page
    met = compare(ROOT / "tests" / "measured" / "reference.jsonl.gz")["summary"]["ranges"]
    assert f"All in all {met['cases_within_1_percent']} of {met['cases']} " in page
