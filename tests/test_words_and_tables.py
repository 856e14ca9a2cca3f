"""Text for people, computed from numbers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ffslab.summary_table import summary_cells, summary_text
from ffslab.text_table import number, percent, text_table
from ffslab.words import sentences


def variant(name: str, latency_sum_us: float, **changes: Any) -> dict[str, Any]:
    counts = {"page_reads": 100, "page_programs": 0, "erases": 0, "oob_reads": 0, "oob_programs": 0}
    made: dict[str, Any] = {
        "name": name,
        "time_us": 2 * latency_sum_us,
        "totals": {**counts, "busy_us": latency_sum_us},
        "by_cause": [
            {**counts, "page_reads": 75, "task": "caller", "reason": "read-ahead", "busy_us": 1.0},
            {**counts, "page_reads": 25, "task": "caller", "reason": "read", "busy_us": 1.0},
        ],
        "latency_us": {"n": 10, "mean": latency_sum_us / 10, "p50": 1.0, "p99": 1.0, "max": 1.0, "sum": latency_sum_us},
        "energy_uJ": {"cpu": 0.0, "memory": 0.0, "total": 0.0},
        "read_amplification": 2.5,
        "write_amplification": None,
        "erases_per_block": {"mean": 0.0, "sd": 0.0},
        "notes": [],
    }
    return made | changes


def summary(*variants: dict[str, Any]) -> dict[str, Any]:
    return {"title": "T", "variants": list(variants)}


def test_a_gain_and_a_loss_are_told_apart() -> None:
    gain = sentences(summary(variant("ra=128", 200.0), variant("ra=0", 150.0)))[0]
    assert "25.0 % less time with ra=0 than with ra=128" in gain
    loss = sentences(summary(variant("ra=128", 150.0), variant("ra=0", 300.0)))[0]
    assert "100.0 % more time" in loss


def test_the_largest_cause_is_named_with_its_share() -> None:
    said = sentences(summary(variant("base", 100.0)))
    assert any(
        "75 % of 100 flash page reads" in text and '"read-ahead"' in text and "2.50 times" in text for text in said
    )
    assert any("busy 50 %" in text for text in said)


def test_nothing_is_said_about_what_did_not_happen() -> None:
    text = " ".join(sentences(summary(variant("base", 100.0))))
    assert "program" not in text.replace("the program asked", "")
    assert "erased" not in text
    assert "energy" not in text


def test_notes_of_the_run_are_passed_on_once() -> None:
    alike = variant("a", 100.0, notes=["fcntl is not replayed"])
    assert sentences(summary(alike, alike | {"name": "b"})).count("Note. fcntl is not replayed") == 1
    noted = variant("b", 100.0, notes=["3 of 5,120 calls ended differently"])
    assert "Note. b: 3 of 5,120 calls ended differently" in sentences(summary(variant("a", 100.0), noted))


def test_many_variants_become_rows_and_the_extremes_are_named() -> None:
    many = summary(*(variant(f"count={n}", 100.0 * n) for n in range(1, 9)))
    lines = summary_text(many).splitlines()
    assert lines[2].split()[0] == "variant"
    assert sum(line.startswith("count=") for line in lines) == 8
    assert "The shortest mean latency is 10.0 us (count=1), the longest 80.0 us (count=8)." in lines


def test_two_variants_have_a_column_of_changes() -> None:
    head, rows = summary_cells(summary(variant("a", 200.0), variant("b", 100.0)))
    assert head[-1] == "change"
    assert ["latency mean, us", "20.0", "10.0", "-50.0 %"] in rows


def test_a_run_without_calls_has_a_table_all_the_same() -> None:
    nothing = {"n": 0, "mean": None, "p50": None, "p99": None, "max": None, "sum": 0.0}
    text = summary_text(summary(variant("a", 1.0, latency_us=nothing), variant("b", 1.0, latency_us=nothing)))
    assert "latency" not in text


@given(st.lists(st.lists(st.text("abc 1", max_size=8), min_size=3, max_size=3), min_size=1, max_size=5))
def test_columns_are_aligned(rows: list[list[str]]) -> None:
    lines = text_table(["a", "b", "c"], [[*row[:2], row[2] + "|"] for row in rows], "lrr").splitlines()
    assert len({len(line) for line in lines if line.endswith("|")}) == 1
    assert len(lines) == len(rows) + 2


def test_numbers_are_written_for_people() -> None:
    assert [number(1234567), number(1234.56), number(None), number(0.126, 2)] == ["1,234,567", "1,234.6", "-", "0.13"]
    assert [percent(0.256), percent(-1.0), percent(12.0)] == ["+25.6 %", "-100.0 %", "+1,200.0 %"]
