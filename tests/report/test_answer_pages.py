"""The pages of `diff`, `advise` and `compare`: they open with an answer, and nothing is in anybody's way."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab import Experiment, InputError
from ffslab.files.results import write_report
from ffslab.measured.compare import page as board_comparison
from ffslab.measured.compare import tables
from ffslab.measured.compare.comparison import Comparison, FlashRow, TimeRow
from ffslab.report import changes
from ffslab.studies.differences import page as difference
from ffslab.studies.differences.results import Side, compared
from ffslab.studies.differences.text import shown
from helpers.browsing import PHONE, WIDE, Opened, check_axe
from helpers.command import SMALL, Command
from helpers.page_kinds import QUESTION


def test_half_is_as_far_to_the_left_as_double_to_the_right() -> None:
    made = changes.bars(
        [changes.Change("a", 0.5, "-50 %"), changes.Change("b", 2.0, "+100 %"), changes.Change("c", None, "new")], ""
    )
    assert made is not None
    assert "right:50%;width:50.00%" in made.html and "left:50%;width:50.00%" in made.html
    assert made.html.count("<i ") == 2 and "the longest bar is 2 times" in made.html
    assert changes.bars([], "") is None


def test_what_changed_is_said_first(tmp_path: Path, opened: Opened) -> None:
    for name, text in (("a", SMALL), ("b", SMALL.replace("count = 600", "count = 300"))):
        Experiment(text.split("[axes]")[0], "small.toml", Path()).run().save(tmp_path / name)
    found = compared(Side.of(str(tmp_path / "a")), Side.of(str(tmp_path / "b")))
    write_report(tmp_path / "diff.html", difference.html(found))
    page = opened(tmp_path / "diff.html", WIDE, "dark")
    answer = page.locator(".answer").inner_text()
    time = next(one for one in found["pairs"][0]["figures"] if one["figure"] == "time_us")
    assert time["before"] and time["after"]
    assert (
        f"{time['after'] / 1e3:,.1f} ms instead of {time['before'] / 1e3:,.1f} ms" in answer and "user data" in answer
    )
    assert f"{100 - 100 * time['after'] / time['before']:.1f} % less than with A" in answer
    assert "board zero-overhead" in page.locator(".machine").inner_text()
    assert page.locator(".changes-bar").count() == len(shown(found["pairs"][0], found))
    for wide in (WIDE, PHONE):
        page.set_viewport_size({"width": wide, "height": 900})
        page.wait_for_function("wide => document.documentElement.scrollWidth <= wide", arg=wide)
        check_axe(page)


def test_what_goes_against_a_change_is_not_most_of_it() -> None:
    """The largest single difference may be a gain within a loss."""
    reasons = "gc copy (GC thread) -1,203.50 ms, read-ahead (program) +2.00 ms"
    assert difference.along(reasons, is_more=True) == "read-ahead (program) +2.00 ms"
    assert difference.along(reasons, is_more=False) == "gc copy (GC thread) -1,203.50 ms"
    assert difference.along("erase (UBI thread) +3 erases", is_more=False) == ""


def test_two_that_are_the_same_are_said_to_be(tmp_path: Path) -> None:
    Experiment(SMALL.split("[axes]")[0], "small.toml", Path()).run().save(tmp_path / "a")
    found = compared(Side.of(str(tmp_path / "a")), Side.of(str(tmp_path / "a")))
    assert "both do the same" in difference.html(found)


def test_many_pairs_are_a_table_and_those_that_changed_most(tmp_path: Path) -> None:
    axes = '[axes]\n"requests.count" = ' + str(list(range(1, 16))) + "\n"
    for name, bytes_each in (("a", "4 KiB"), ("b", "8 KiB")):
        text = SMALL.split("[axes]")[0].replace('request_B = "4 KiB"', f'request_B = "{bytes_each}"')
        Experiment(text + axes, "small.toml", Path()).run(any_size=True).save(tmp_path / name)
    found = compared(Side.of(str(tmp_path / "a")), Side.of(str(tmp_path / "b")))
    page = difference.html(found)
    listed = page.split("<h2>Variants</h2>")[1].split("</table>")[0]
    assert listed.count("<tr>") == 1 + 15 and page.count("<h3>Time</h3>") == difference.TOLD_MAX
    changes = {pair["before"]: figure["change"] or 0.0 for pair in found["pairs"] for figure in pair["figures"]
               if figure["figure"] == "time_us"}  # fmt: skip
    least = min(changes, key=lambda name: abs(changes[name]))
    assert f"<h2>{least}</h2>" not in page and f"<td>{least}</td>" in listed


def test_advice_is_a_page(ffslab: Command, tmp_path: Path, opened: Opened) -> None:
    few = QUESTION.split("[vary]")[0] + '[vary]\nfs = ["yaffs2", "jffs2"]\n'
    (tmp_path / "question.toml").write_text(few, encoding="utf-8")
    # Of blocks that bear little a life ends soon.
    weak = 'board = "omap3evm"\nageing = { endurance_erases = 10 }'
    (tmp_path / "small.toml").write_text(
        SMALL.split("[axes]")[0].replace('board = "zero-overhead"', weak), encoding="utf-8"
    )
    ran = ffslab("advise", "question.toml", "--jobs", "1", "--out", "page.html")
    assert ran.stderr.count("\n") == 1 and "files are read by all verbs now" in ran.stderr
    assert "Report: page.html" in ran.stdout
    page = opened(tmp_path / "page.html", PHONE)
    answer = page.locator(".answer").inner_text()
    assert answer in ran.stdout and page.locator(".key").count() >= 2
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    check_axe(page)


def test_measured_and_simulated_are_drawn(tmp_path: Path, opened: Opened) -> None:
    times = [TimeRow("INSERT", 128, run, "write", 10, 100.0 + run, 10, 110.0 + run, None, None) for run in (1, 2)]
    flash = [FlashRow("INSERT", 128, 1, "reads", "all", 100, 90, None)]
    board = Comparison("a board", times, flash, ["a note"])
    write_report(tmp_path / "page.html", board_comparison.html(board))
    page = opened(tmp_path / "page.html")
    assert "within 9.9 % for half of the calls" in page.locator(".answer").inner_text()
    assert page.locator(".key .value").all_inner_texts() == ["9.9 %", "-10.0 %"]
    page.locator("#flash-operations figure").scroll_into_view_if_needed()
    page.locator("#flash-operations canvas").wait_for()
    assert all(name in tables.text(board) for name in ("INSERT 128 run 1", "a note"))
    check_axe(page)


def test_a_page_has_the_name_of_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="html"):
        write_report(tmp_path / "page.txt", "")
