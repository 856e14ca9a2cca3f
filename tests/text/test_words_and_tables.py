"""Text for people, computed from numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffslab import Experiment
from ffslab.text.step_groups import step_table
from ffslab.text.summary import main_cells, summary_cells, summary_text
from ffslab.text.tables import at_least, at_most, counted, number, percent, text_table
from ffslab.text.time_table import causes_table, spent
from ffslab.text.words import sentences

# As simulations explain their causes.
CAUSES = {
    "tasks": [{"task": "caller", "title": "program"}],
    "reasons": [
        {"reason": "read", "sentence": "data that the program asked for", "purpose": "read"},
        {"reason": "read-ahead", "sentence": "pages that come before they are asked for", "purpose": "for reads"},
    ],
}


def variant(name: str, latency_sum_us: float, **changes: Any) -> Any:
    counts: dict[str, float] = {"page_reads": 100, "page_programs": 0, "erases": 0, "oob_reads": 0, "oob_programs": 0}
    counts |= {"driver_us": 0.1 * latency_sum_us, "cpu_us": 0.0}
    made: Any = {
        "name": name,
        "axes": {"n": name},
        "time_us": 2 * latency_sum_us,
        "program_us": 0.0,
        "idle_us": latency_sum_us,
        "setup_time_us": 0.0,
        "user_read_B": 0,
        "user_written_B": 0,
        "of_setup": None,
        "stack": {},
        "totals": {**counts, "busy_us": latency_sum_us},
        "by_cause": [
            {**counts, "page_reads": 75, "task": "caller", "reason": "read-ahead", "busy_us": 0.6 * latency_sum_us},
            {**counts, "page_reads": 25, "task": "caller", "reason": "read", "busy_us": 0.2 * latency_sum_us},
        ],
        "causes": CAUSES,
        "latency_us": {"n": 10, "mean": latency_sum_us / 10, "p50": 1.0, "p99": 1.0, "max": 1.0, "sum": latency_sum_us},
        "slowest": [],
        "energy_uJ": {"cpu": 0.0, "memory": 0.0, "total": 0.0},
        "read_amplification": 2.5,
        "write_amplification": None,
        "erases_per_block": {"mean": 0.0, "sd": 0.0},
        "notes": [],
    }
    return made | changes


def summary(*variants: Any) -> Any:
    return {"title": "T", "variants": list(variants)}


def test_a_gain_and_a_loss_are_told_apart() -> None:
    gain = sentences(summary(variant("ra=128", 200.0), variant("ra=0", 150.0)))[0]
    assert gain == "With ra=0 the mean latency of a call is 25.0 % less than with ra=128 (15.0 us instead of 20.0 us)."
    loss = sentences(summary(variant("ra=128", 150.0), variant("ra=0", 300.0)))[0]
    assert "is 100.0 % more than with ra=128 (30.0 us instead of 15.0 us)" in loss
    same = sentences(summary(variant("ra=128", 200.0), variant("ra=0", 200.01)))[0]
    assert "is the same as with ra=128" in same


def test_the_largest_cause_is_named_with_its_share() -> None:
    said = sentences(summary(variant("base", 100.0)))
    assert any(
        "75 % of 100 flash page reads" in text and '"read-ahead"' in text and "2.50 times" in text for text in said
    )
    assert any("busy 50 %" in text for text in said)


def test_nothing_is_said_about_what_did_not_happen() -> None:
    text = " ".join(sentences(summary(variant("base", 100.0))))
    assert "page programs" not in text and "the program wrote" not in text
    assert "erased" not in text
    assert "energy" not in text


def test_the_only_variant_is_told_with_its_speed_and_energy() -> None:
    made = variant("base", 100.0, energy_uJ={"cpu": 900.0, "memory": 100.0, "total": 1000.0})
    said = sentences(summary(made))
    assert said[0] == "10 calls take 10.0 us on average; one in a hundred takes 1.0 us or more, the slowest 1.0 us."
    assert said[1] == "The measured steps take 1.00 mJ above idle in 200.0 us."


def test_where_there_is_no_energy_the_reason_stands_once_and_no_table_shows_any() -> None:
    step = {
        "step": "sync",
        "elapsed_us": 1.0,
        "latency_us": {"n": 0, "sum": 0.0},
        "counts": {"page_reads": 1, "page_programs": 2, "erases": 3},
    }
    without = {"energy_uJ": None, "no_energy": "nobody measured it"}
    steps = [step | {"energy_uJ": None}]
    made = [variant(name, 100.0 + at, **without, steps=steps) for at, name in enumerate("abc")]
    said = sentences(summary(*made))
    assert said.count("Without energy: nobody measured it.") == 1
    assert not any("mJ" in text for text in said)
    assert "energy" not in " ".join(row[0] for row in summary_cells(summary(*made))[1])
    head, rows = step_table(made[0], "step")
    assert "energy, uJ" not in head and all(len(row) == len(head) for row in rows)
    powered = variant("d", 1.0, steps=[step | {"energy_uJ": {"cpu": 1.0, "memory": 1.0, "total": 2.0}}])
    head, rows = step_table(powered, "step")
    assert rows[0][head.index("energy, uJ")] == "2.00" and len(rows[0]) == len(head)


def test_notes_of_the_run_are_passed_on_once() -> None:
    alike = variant("a", 100.0, notes=["fcntl is not replayed"])
    assert sentences(summary(alike, alike | {"name": "b"})).count("Note. fcntl is not replayed") == 1
    noted = variant("b", 100.0, notes=["3 of 5,120 calls ended differently"])
    assert "Note. b: 3 of 5,120 calls ended differently" in sentences(summary(variant("a", 100.0), noted))


def test_many_variants_become_rows_and_the_extremes_are_named() -> None:
    many = summary(*(variant(f"count={n}", 100.0 * n) for n in range(1, 9)))
    lines = summary_text(many).splitlines()
    assert lines[2].startswith("board not known; part not known; Linux not known;")
    assert lines[4].split()[0] == "n"
    assert sum(line.startswith("count=") for line in lines) == 8 + 1
    best = "count=1 has the shortest mean latency of a call, 10.0 us (the longest: 80.0 us, count=8)."
    assert best in lines


def test_many_variants_tell_of_energy_of_the_slowest_and_of_wear() -> None:
    energies = ({"cpu": 0.0, "memory": 0.0, "total": 1000.0 * n} for n in range(1, 4))
    made = [variant(f"n={n}", 100.0 * n, energy_uJ=energy) for n, energy in enumerate(energies, 1)]
    # 2 erases of 100,000 each: 50,000 runs of 400 us.
    made[1] |= {"erases_per_block": {"mean": 2.0, "sd": 0.5}, "stack": {"part": "micron-slc-omap3evm"}}
    said = sentences(summary(*made))
    assert "n=1 has the least energy above idle, 1.00 mJ (the most: 3.00 mJ, n=3)." in said
    assert any(text.startswith("Slowest (n=3): Of 300.0 us at work, 30.0 % went into") for text in said)
    (worn,) = (text for text in said if text.startswith("Most worn (n=2): A block is erased 2 times"))
    assert (
        "The 100,000 erases that a block bears" in worn
        and "last for 50,000 such runs one after the other, 0.00556 hours" in worn
    )


def test_what_is_nothing_in_the_last_digit_is_not_spoken_of() -> None:
    made = variant("base", 100.0)
    made["by_cause"][1] |= {"busy_us": 0.04, "driver_us": 0.0}
    said = sentences(summary(made))
    assert not any(" 0.0 %" in text for text in said)
    assert any(text.startswith('The largest cost is "read-ahead"') for text in said)


def test_many_variants_that_differ_in_a_choice_of_two_are_compared_in_pairs() -> None:
    """The question behind such an experiment is what the choice changes, and when."""
    variants = [
        variant(f"ra={ra}, n={n}", sum_us, axes={"ra": ra, "file": f"../traces/{n}.gz"})
        for ra, sums in ((128, (100.0, 200.0, 300.0, 400.0)), (0, (50.0, 150.0, 300.0, 500.0)))
        for n, sum_us in enumerate(sums)
    ]
    head, rows = main_cells(summary(*variants))
    assert head[:4] == ["file", "latency mean, us\nra=128", "0", "change"]
    assert [row[0] for row in rows] == ["0.gz", "1.gz", "2.gz", "3.gz"]
    assert [row[3] for row in rows] == ["-50.0 %", "-25.0 %", "+0.0 %", "+25.0 %"]


def test_time_by_cause_adds_up() -> None:
    made = variant("base", 100.0)
    assert spent(made) == {"read-ahead": 70.0, "read": 30.0, "idle": 100.0}
    head, rows = causes_table(made)
    assert head == ["where the time went", "share", "us", "page reads"]
    assert rows[0] == ["read-ahead", "70.0 %", "70.0", "75"]
    # However long the program sleeps, shares are of the time at work.
    assert rows[-3:] == [
        ["at work", "100.0 %", "100.0", "100"],
        ["idle", "-", "100.0", "-"],
        ["all", "-", "200.0", "-"],
    ]


def test_the_largest_cost_is_told_in_a_sentence() -> None:
    said = sentences(summary(variant("base", 100.0)))
    # Of stores the words of a cause are a sentence: "a value that the program sets is written".
    asked = '30.0 % went into "read" (data that the program asked for)'
    assert any('"read-ahead" with 70.0 %' in text and asked in text for text in said)


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


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2", "ubifs"])
def test_each_read_for_names_has_a_reason(fs: str) -> None:
    """On UBIFS names are on flash; the others read inodes or nothing."""
    stack = f'board = "zero-overhead"\nfs = "{fs}"\npartition_blocks = 64\n'
    stack += "max_beb_per1024 = 1\n" if fs == "ubifs" else ""
    made = [("mount", ""), ("mkdir", 'dir = "d"'), ("create_many", 'dir = "d"\ncount = 200\nbytes = 100'), ("sync", "")]
    looked = [
        ("stat_many", 'dir = "d"\ncount = 200'),
        ("readdir", 'dir = "d"'),
        ("stat", 'file = "d/nothing"\nfails = "ENOENT"'),
    ]
    table = "".join(f'[[setup]]\nstep = "{name}"\n{keys}\n' for name, keys in [*made, ("drop_caches", "")])
    table += "".join(
        f'[[measure]]\nstep = "{name}"\n{keys}\n[[measure]]\nstep = "drop_caches"\n' for name, keys in looked
    )
    run = Experiment.from_toml(f'title = "names"\n[stack]\n{stack}{table}').run()
    causes = run.summary["variants"][0]["by_cause"]
    reads = {cause["reason"]: cause["page_reads"] for cause in causes if cause["page_reads"]}
    assert "other" not in reads
    assert ("name look-up" in reads) == (fs == "ubifs"), reads


def test_what_setups_of_many_variants_left_is_one_sentence() -> None:
    def left(pages: int) -> Any:
        return {"pages": pages, "inodes": 1, "buffered_B": 90, "totals": {"page_programs": 2 * pages, "erases": 0}}

    variants = [variant(f"v{n}", 100.0, of_setup=left(n), stack={}) for n in (3, 7, 5)]
    said = [text for text in sentences(summary(*variants, variant("v0", 100.0))) if "left in memory" in text]
    assert len(said) == 1
    assert said[0].startswith("In 3 of 4 variants something of the setup was left in memory; most in v7: 7 dirty")
    assert "7 dirty pages, 1 dirty inode and 90 B in buffers" in said[0]
    assert "took 14 page programs and 0 erases" in said[0]


def test_advice_in_rounded_numbers_is_true() -> None:
    assert [at_most(value) for value in (0.0508, 0.985, 19.9, 1_799.0)] == ["0.050", "0.98", "19", "1,700"]
    assert [at_least(value) for value in (1.0169, 14.31, 1_201.0)] == ["1.02", "14.4", "1,210"]
    assert [counted(count, "medium", "media") for count in (1, 7_493)] == ["1 medium", "7,493 media"]
