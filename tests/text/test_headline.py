"""Sentences and cards of a first screen are made from the same figures: sign, direction, who wins and at what price."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffslab import Experiment
from ffslab.api.profiles import write_new
from ffslab.text.energy import PRICES, missing_price
from ffslab.text.figures import FIGURES
from ffslab.text.headline import CARDS_MAX, WANTED, Compared, Ranked, compared_said, headline_of, ranked_said
from ffslab.text.machine_line import Seen, initial_of, line, of_summary
from ffslab.text.summary import summary_text
from ffslab.text.units import column, common_unit, said

COUNTS = dict.fromkeys(("page_reads", "page_programs", "erases", "oob_reads", "oob_programs"), 0)
amounts = st.floats(1e-2, 1e10)


def variant(name: str, mean_us: float, *, calls: int = 10, **changes: Any) -> Any:
    longest = changes.pop("longest_us", mean_us)
    erases = changes.pop("erases", 0)
    latency = {"n": calls, "mean": mean_us, "p50": mean_us, "p99": longest, "max": longest, "sum": calls * mean_us}
    made: dict[str, Any] = {
        "name": name,
        "axes": {"n": name},
        "time_us": calls * mean_us,
        **dict.fromkeys(("program_us", "idle_us", "setup_time_us"), 0.0),
        **dict.fromkeys(("user_read_B", "user_written_B"), 0),
        "of_setup": None,
        "stack": {},
        "totals": {**COUNTS, "erases": erases, "busy_us": 0.0, "driver_us": 0.0, "cpu_us": 0.0},
        "by_cause": [],
        "causes": {"tasks": [], "reasons": []},
        "latency_us": latency,
        "slowest": [],
        "energy_uJ": None,
        "read_amplification": None,
        "write_amplification": None,
        "erases_per_block": {"mean": float(erases), "sd": 0.0},
        "steps": [],
        "notes": [],
    }
    return made | changes


def summary(*variants: Any, failed: Any = ()) -> Any:
    return {"title": "T", "variants": list(variants), "failed": list(failed)}


def signed(said: str) -> float:
    """The change that a sentence speaks of, with its sign."""
    if "the same" in said:
        return 0.0
    amount, word = re.findall(r"is ([\d,.]+) % (less|more) than", said)[0]
    return float(amount.replace(",", "")) * (-1 if word == "less" else 1)


@given(st.sampled_from([FIGURES[key] for key in WANTED]), amounts, amounts)
def test_a_sentence_and_its_card_have_one_sign_and_one_amount(figure: Any, before: float, after: float) -> None:
    one = Compared(figure, "A", "B", before, after)
    card = float(one.card_value.removesuffix(" %").replace(",", ""))
    assert signed(one.sentence()) == pytest.approx(card, abs=0.051)
    if abs(after / before - 1) > 0.001:
        assert (signed(one.sentence()) > 0) == (card > 0) == (after > before)
    # Who is better agrees with both.
    assert one.is_better is None or one.is_better == (card < 0)


@given(amounts, amounts, st.integers(1, 10_000), st.integers(1, 10_000))
def test_the_first_sentence_is_of_the_first_card_however_many_calls_there_are(
    before: float, after: float, calls: int, more_calls: int
) -> None:
    """A variant that made more calls was said to take 237.4 % more time over a card of -60.3 %."""
    made = headline_of(summary(variant("A", before, calls=calls), variant("B", after, calls=more_calls)))
    card = made.cards[0]
    assert card.label == "Mean latency of a call"
    assert signed(made.sentences[0].split("(")[0]) == pytest.approx(
        float(card.value.removesuffix(" %").replace(",", "")), abs=0.051
    )
    assert any("as many calls" in text for text in made.sentences) == (calls != more_calls)
    assert len(made.cards) <= CARDS_MAX


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(amounts, amounts), min_size=3))
def test_who_wins_has_the_least_and_its_price_is_told_when_somebody_else_is_much_better(rows: Any) -> None:
    every = [
        Ranked(name, name, "", {"latency_mean_us": mean, "latency_max_us": most}) for name, (mean, most) in rows.items()
    ]
    told = next(iter(ranked_said(every)))
    least = min(mean for mean, _ in rows.values())
    if "the same in all" in told:
        return
    winner = told.split(" has the ")[0]
    assert rows[winner][0] == least
    smallest = min(most for _, most in rows.values())
    assert ("but its slowest call" in told) == (rows[winner][1] > 1.1 * smallest)


@given(amounts, amounts, amounts, amounts)
def test_of_two_what_goes_the_other_way_is_told_and_nothing_else(
    a: float, b: float, worst_a: float, worst_b: float
) -> None:
    figures = {
        "A": {"latency_mean_us": a, "latency_max_us": worst_a},
        "B": {"latency_mean_us": b, "latency_max_us": worst_b},
    }
    told = next(iter(compared_said(figures)))
    mean, worst = b / a - 1, worst_b / worst_a - 1
    large = max(worst_a, worst_b) > 1.1 * min(worst_a, worst_b)
    if abs(mean) >= 0.001:
        assert ("but the slowest call" in told) == (large and (mean < 0) != (worst < 0))


def test_one_call_has_no_average() -> None:
    text = summary_text(summary(variant("a", 1500.0, calls=1)))
    assert "1 call takes 1.5 ms." in text and "calls take" not in text


def test_a_winner_is_told_with_its_price() -> None:
    fast = variant("ubifs", 100.0, longest_us=386_412.0, erases=4)
    slow = variant("jffs2", 200.0, longest_us=2_200.0, erases=3)
    made = headline_of(summary(fast, slow, variant("yaffs2", 150.0, longest_us=9_000.0, erases=0)))
    assert made.sentences[0] == (
        "ubifs has the shortest mean latency of a call, 100.0 us (the longest: 200.0 us, jffs2), but its number of "
        "block erases is 4, with yaffs2 none and its slowest call is 386.4 ms, 176 times that of jffs2 (2.2 ms)."
    )


def test_where_calls_are_not_all_of_it_the_time_is_told() -> None:
    """Postmark's calls return early on JFFS2, and its sync at the end takes longer than that saves."""
    made = headline_of(summary(variant("A", 1_700.0, time_us=4.65e6), variant("B", 950.0, time_us=7.15e6)))
    assert made.sentences[0] == (
        "With B the mean latency of a call is 44.1 % less than with A (950.0 us instead of 1.7 ms), but the virtual "
        "time is 53.8 % more (7.2 s instead of 4.7 s)."
    )
    assert [card.value for card in made.cards[:3]] == ["-44.1 %", "-44.1 %", "+53.8 %"]
    paced = headline_of(summary(variant("A", 1_700.0, time_us=1e9), variant("B", 950.0, time_us=1e9)))
    assert "virtual time" not in paced.sentences[0]


def test_who_failed_stands_first_and_never_wins() -> None:
    gone = {"name": "fat", "axes": {}, "error": "No space left on device", "stack": {}}
    fill = {"step": "fill", "stopped_by": "ENOSPC", "fs_free_B": 0, "counts": COUNTS}
    stopped = variant("a", 1.0, steps=[fill])
    every = summary(stopped, variant("b", 20.0), variant("c", 30.0), variant("d", 40.0), failed=[gone])
    made = headline_of(every)
    assert made.failures == [
        "Not finished, fat: No space left on device.",
        "Not all was done, a: fill ended with ENOSPC; not among those that are compared.",
    ]
    assert made.sentences[0].startswith("b has the shortest")
    assert all("with a" not in card.beside for card in made.cards)
    text = summary_text(every)
    assert text.index("Not finished, fat") < text.index("latency mean")
    assert "Not finished" in summary_text(summary(failed=[gone]))


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"fio": {"jobs": [{"error": 28, "error_name": "ENOSPC", "jobname": "log"}]}}, "job log ended with ENOSPC"),
        ({"postmark": [{"failed_operations": 2, "ran_out_of_files": False}]}, "2 operations of Postmark failed"),
        ({"postmark": [{"failed_operations": 0, "ran_out_of_files": True}]}, "Postmark ran out of files"),
    ],
)
def test_programs_that_failed_within_a_run_do_not_win(step: Any, why: str) -> None:
    short = variant("a", 1.0, steps=[{"step": "s", "fs_free_B": 0, **step}])
    made = headline_of(summary(short, variant("b", 20.0), variant("c", 30.0), variant("d", 40.0)))
    assert why in made.failures[0] and made.sentences[0].startswith("b has")


def test_failures_of_one_kind_are_one_sentence_that_says_what_they_share() -> None:
    gone = [
        {"name": f"fs=fat, n={n}", "axes": {"fs": "fat", "n": n}, "error": "No tags", "stack": {}} for n in range(9)
    ]
    made = headline_of(summary(*(variant(f"n={n}", 9.0, axes={"fs": "jffs2", "n": n}) for n in range(9)), failed=gone))
    assert made.failures == ["Not finished, 9 of 18 variants, all with fs=fat: No tags."]


def test_only_those_that_did_the_same_work_are_compared() -> None:
    """The smallest writes are the fastest of any file system, which is no merit of it."""
    rows = [("jffs2", 128, 10.0), ("ubifs", 128, 20.0), ("jffs2", 512, 90.0), ("ubifs", 512, 30.0), ("jffs2", 64, 5.0)]
    rows += [("ubifs", 64, 6.0)]
    every = [
        variant(f"{fs} {size}", us, axes={"fs": fs, "append.request_B": size}, erases=int(fs == "jffs2"))
        for fs, size, us in rows
    ]
    assert headline_of(summary(*every)).sentences[0] == (
        "fs=jffs2 has the shortest mean latency of a call in 2 of 3 workloads (5.0 us to 10.0 us), fs=ubifs in 1, but "
        "its number of block erases is worse than another one's in 2 of them."
    )
    alone = [variant(str(n), 10.0 * n, axes={"append.request_B": n}) for n in (1, 2, 3)]
    assert headline_of(summary(*alone)).sentences[0] == (
        "The mean latency of a call goes from 10.0 us (1) to 30.0 us (3); each of them does other work."
    )


def test_energy_is_told_where_the_prices_have_a_source() -> None:
    assert missing_price({"board": "omap3evm", "part": "micron-slc-omap3evm"}) is None
    other = missing_price({"board": "omap3evm", "part": "mt29f2g08aac"})
    assert other is not None and "nobody has measured them with mt29f2g08aac" in other
    without = missing_price({"board": "luckfox-pico-max", "part": "w25n01gv"})
    assert without is not None and PRICES[0] in without
    energy = {"cpu": 1.0, "memory": 1.0, "total": 2.0}
    for board, part, is_told in (("omap3evm", "micron-slc-omap3evm", True), ("luckfox-pico-max", "w25n01gv", False)):
        made = headline_of(summary(variant("A", 1.0, energy_uJ=energy, stack={"board": board, "part": part})))
        assert any("Energy" in card.label for card in made.cards) == is_told
        assert any("Without energy" in text for text in made.missing) != is_told


def test_a_board_of_ones_own_is_found_where_its_experiment_is(tmp_path: Path) -> None:
    text = '[stack]\nboard = "own.toml"\nfs = "jffs2"\npartition_blocks = 32\n[[measure]]\nstep = "mount"\n'
    write_new(tmp_path / "own.toml", "omap3evm")
    assert missing_price({"board": "own.toml"}) == "the profile own.toml is not here to be asked"
    run = Experiment.from_toml(f'title = "own"\n{text}', tmp_path).run()
    # What a new profile takes over was measured on another board.
    inherited = missing_price(run.summary["variants"][0]["stack"])
    assert inherited == "driver.erase_cpu_uJ of board own.toml is unverified"


@given(st.sampled_from(["time", "energy", "size"]), st.lists(st.floats(1, 1e11), min_size=1, max_size=6))
def test_values_of_a_row_have_one_unit_in_which_they_can_be_read(kind: Any, values: list[float]) -> None:
    head, *cells = column("x", kind, values)
    unit = common_unit(kind, values)
    assert head == f"x, {unit.word}"
    for value, cell in zip(values, cells, strict=True):
        shown = float(cell.replace(",", "")) * unit.size
        assert shown == pytest.approx(value, abs=0.5001 * unit.size * 10**-unit.digits)
    # Who wants to compare must see neither a row of zeros nor one of nine digits where another unit does better.
    if max(values) / min(values) < 1e3:
        assert float(cells[values.index(min(values))].replace(",", "")) > 0
        assert len(cells[values.index(max(values))].split(".")[0].replace(",", "")) <= 5 or unit.word in (
            "d",
            "kJ",
            "GiB",
        )


def test_times_scale() -> None:
    assert column("latency max", "time", [386_412.0, 2_200.0]) == ["latency max, ms", "386.41", "2.20"]
    assert column("virtual time", "time", [1_001_755_700.0, 1_001_442_600.0])[0] == "virtual time, s"
    assert said("energy", 12_560.0) == "12.6 mJ" and said("size", 512) == "512 B" and said("count", 4163) == "4,163"


LINUX = {"board": "b", "part": "p", "kernel": "6.6", "fs": "ubifs", "compression": "lzo", "partition_blocks": 64}


def test_the_line_of_a_machine_says_what_is_shared_then_what_differs() -> None:
    one = Seen(LINUX, '"df 50 %"', 0.5, 0.1, 2e6)
    assert line([one]) == (
        'board b; part p; 64 blocks; Linux 6.6; UBIFS with compression lzo; at the begin "df 50 %", 50 % valid, '
        "10 % invalid; 2.0 s seen."
    )
    other = Seen({**LINUX, "fs": "yaffs2", "compression": "none", "kernel": "5.15"}, '"df 50 %"', 0.4, 0.1, 3e6)
    assert line([one, other]) == (
        'board b; part p; 64 blocks; at the begin "df 50 %", 40 to 50 % valid, 10 % invalid; 2.0 s to 3.0 s seen; '
        "differing systems: Linux 6.6 | Linux 5.15; file systems: UBIFS with compression lzo | "
        "YAFFS2 without compression."
    )
    many = [Seen({**LINUX, "kernel": str(n)}) for n in range(9)]
    assert line(many).endswith("; differing 9 systems.")


def test_the_line_of_a_machine_says_what_is_not_known() -> None:
    assert line([Seen({})]) == (
        "board not known; part not known; Linux not known; file system not known; at the begin the state is not known; "
        "how long was seen is not known."
    )
    rtems = line([Seen({"system": "rtems", "board": "b", "fs": "rfs", "device": "ram-disk-beaglebone"})])
    assert "device ram-disk-beaglebone; RTEMS of 2018" in rtems and "RFS" in rtems
    assert "a program with the file system linked into it" in line([Seen({"system": "bare", "fs": "littlefs"})])
    mounts = {**LINUX, "mount": [{"at": "/data", "fs": "jffs2", "compression": "none"}]}
    assert "UBIFS with compression lzo at / and JFFS2 without compression at /data" in line([Seen(mounts)])
    assert "; no file system; " in line([Seen({"system": "bare", "fs": "block-device"})])
    assert "nothing was seen" in line([])


def test_the_initial_state_of_an_experiment_stands_in_the_line() -> None:
    assert initial_of('initial = "saturated"') == "saturated" and initial_of("title = 1") is None
    assert 'at the begin "saturated"' in of_summary(summary(variant("a", 1.0)), "saturated")
    varied = [variant(name, 1.0, axes={"initial": name}) for name in ("fresh", "saturated")]
    assert 'begun "fresh" | "saturated"' in of_summary(summary(*varied))
