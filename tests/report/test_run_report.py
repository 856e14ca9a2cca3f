"""The page of a run: what its pictures and tables show of few and of many variants, and that they hide nothing."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffslab import Experiment
from ffslab.api.run import Run
from ffslab.report import causes, charts, html, page, section, sweeps, variants
from ffslab.report.charts import wants_log
from ffslab.studies.reproduce.figures import Figure as FigureOfPaper
from ffslab.studies.reproduce.figures import Line
from ffslab.text.boot import boot_cells
from helpers.command import SMALL

AXES = '[axes]\nfs = ["jffs2", "yaffs2"]\nread_ahead_KiB = [128, 0]\n"requests.count" = [8, 16, 32]\n'


def run(text: str) -> Run:
    return Experiment(text, "small.toml", Path()).run()


@pytest.fixture(scope="module")
def many() -> Run:
    return run(SMALL.split("[axes]")[0] + AXES)


@pytest.fixture(scope="module")
def one() -> Run:
    return run(SMALL.split("[axes]")[0])


def data(text: str, name: str) -> Any:
    """What scripts of a page find under this name."""
    found = re.search(rf'<script type="application/json" id="data-{name}">(.*?)</script>', text)
    assert found, name
    return json.loads(found[1])


def floats(packed: str) -> list[float]:
    return [float(value) for value in np.frombuffer(base64.b64decode(packed), dtype="<f4")]


def test_all_of_many_variants_are_drawn_along_their_longest_axis(many: Run) -> None:
    every = many.summary["variants"]
    sweep = sweeps.sweep_of(every)
    assert sweep == sweeps.Sweep("requests.count", "fs", ("read_ahead_KiB",), sweep.values if sweep else {})
    made = sweeps.drawn(every, sweep)
    first: Any = made.data["sweep-0-0"]
    assert first["x"]["ticks"] == ["8", "16", "32"]
    assert [one["name"] for one in first["series"]] == ["read_ahead_KiB=128", "read_ahead_KiB=0"]
    means = {one["name"]: one["latency_us"]["mean"] for one in every}
    drawn = floats(first["series"][1]["y"])
    assert drawn == pytest.approx([means[f"fs=jffs2, read_ahead_KiB=0, requests.count={n}"] for n in (8, 16, 32)])
    assert "<h2>Along requests.count</h2>" in html(many)


def test_all_of_many_variants_are_in_the_table_and_in_the_chart_of_any_two_figures(many: Run) -> None:
    text = html(many)
    table = text.split("<h2>Variants</h2>")[1].split("</table>")[0]
    assert table.count("<tr>") == 1 + 12
    of = data(text, "variants")
    assert of["names"] == [one["name"] for one in many.summary["variants"]]
    assert [axis["label"] for axis in of["axes"]] == ["fs", "read_ahead_KiB", "requests.count"]
    mean = next(one for one in of["figures"] if one["label"] == "latency mean, us")
    assert mean["better"] == "less" and mean["values"] == [
        one["latency_us"]["mean"] for one in many.summary["variants"]
    ]
    least, most = of["extremes"]
    assert mean["values"][of["names"].index(least)] == min(mean["values"])
    assert mean["values"][of["names"].index(most)] == max(mean["values"])


def test_what_is_drawn_of_many_variants_holds_the_extremes_and_says_so(many: Run, one: Run) -> None:
    every = many.summary["variants"]
    drawn = variants.chosen(every)
    assert len(drawn) < len(every)
    of_drawn, of_all = ([v["latency_us"]["mean"] or 0.0 for v in of] for of in (drawn, every))
    assert (min(of_drawn), max(of_drawn)) == (min(of_all), max(of_all))
    drawn_us, all_us = ([v["time_us"] for v in of] for of in (drawn, every))
    assert (min(drawn_us), max(drawn_us)) == (min(all_us), max(all_us))
    said = f"Of 12 variants these {len(drawn)}: the first, and those with least and most latency"
    assert html(many).count(said) >= 4
    assert "variants these" not in html(one)


def test_the_first_screen_has_the_answer_and_three_numbers_that_are_compared(many: Run, one: Run) -> None:
    for run, beside in ((many, "least with"), (one, "one in a hundred takes")):
        opening = html(run).split('<div class="opening"')[1].split("<section")[0]
        assert opening.count('class="key"') == (3 if run is one else 4) and beside in opening
        assert '<p class="answer">' in opening and ("bars-strip" in opening or "data-explorer" in opening)


def test_distributions_keep_the_slowest_call_and_thinned_points_the_highest() -> None:
    values = np.r_[np.full(9_999, 1.0), 500.0]
    x, nines = charts.distribution(values, 100)
    assert (x[-1], nines[-2]) == (500.0, 4.0)
    at, height = charts.thinned(np.arange(10_000), values, 100)
    assert len(at) <= 100 and height[-1] == 500.0 and (np.diff(at) > 0).all()
    same = charts.thinned([3, 1, 2], [30, 10, 20], 10)
    assert [list(one) for one in same] == [[1, 2, 3], [10, 20, 30]]


def test_sections_have_links_of_their_own_and_what_is_empty_is_left_out() -> None:
    text = page("T", [section("Same", "<p>a</p>"), section("Same", "<p>b</p>"), section("Nothing", ""), None, ""])
    assert re.findall(r'<section id="([^"]*)"', text) == ["same", "same-2"]
    assert re.findall(r'<li><a href="#([^"]*)"', text) == ["same", "same-2"]


def test_few_variants_and_short_axes_are_no_sweep(many: Run, one: Run) -> None:
    assert sweeps.sweep_of(one.summary["variants"]) is None
    assert sweeps.sweep_of(many.summary["variants"][:6]) is None
    two: Any = [{"name": f"{i}", "axes": {f"a{k}": i >> k & 1 for k in range(3)}} for i in range(8)]
    assert sweeps.sweep_of(two) is None


def test_there_is_nothing_between_names() -> None:
    sizes = sweeps.Sweep("size", None, (), {"size": ["512", "4 KiB", "8 KiB"]})
    files = sweeps.Sweep("file", None, (), {"file": ["a.gz", "b.gz", "c.gz"]})
    assert sizes.has_order and "evenly spaced" in sizes.said
    assert not files.has_order and "evenly spaced" not in files.said


def test_the_only_variant_and_columns_of_nothing_are_not_shown(one: Run) -> None:
    steps = html(one).split("<h2>Step by step</h2>")[1].split("</table>")[0]
    assert "variant" not in steps and "base" not in steps
    assert "page programs" in steps
    # open and close take no time and no operation here.
    assert "requests" in steps and "close" not in steps
    reads = run(re.sub(r'\[\[measure\]\]\nstep = "requests"[^[]*op = "write"[^[]*', "", SMALL.split("[axes]")[0]))
    steps = html(reads).split("<h2>Step by step</h2>")[1].split("</table>")[0]
    assert "page reads" in steps and "page programs" not in steps


def test_a_reason_has_one_colour_in_all_pictures(one: Run) -> None:
    every = one.summary["variants"]
    colours = causes.reason_colours(every)
    assert len(set(colours.values())) == len(colours) > 2
    bars = causes.time_bars(every, colours) + causes.operation_bars(every, colours)
    shown = re.findall(r'--c:var\(--(\w+)\)[^>]*title="([^",:]*)', bars)
    assert {colour for colour, reason in shown if reason in colours} >= {"s0", "s1"}
    assert all(colours.get(reason, colour) == colour for colour, reason in shown)
    # Tasks are called as in the tables.
    assert "by GC thread" in bars and "caller" not in bars and "jffs2_gc_thread" not in bars


def test_parts_of_a_page_share_no_ids(many: Run) -> None:
    ids = re.findall(r'\bid="([^"]*)"', html(many))
    assert len(ids) == len(set(ids)) > 20


def test_what_fio_and_postmark_report_is_in_the_report(tmp_path: Path) -> None:
    start = SMALL.split("[[setup]]")[0] + '[[setup]]\nstep = "mount"\n[[measure]]\n'
    (tmp_path / "a.fio").write_text("[small-writer]\nrw=write\nsize=64k\nbs=4k\n")
    page = html(run(f'{start}step = "fio"\nfile = "{tmp_path / "a.fio"}"\n'))
    assert "<td>small-writer</td>" in page and "IOPS" in page
    commands = "set number 50\nset transactions 20\nrun\nquit\n"
    page = html(run(f'{start}step = "postmark"\nfile = "a.pmrc"\ncommands = """{commands}"""\n'))
    assert "Creation alone: 50 files" in page


def test_the_map_of_blocks_has_what_each_holds_before_and_after(one: Run) -> None:
    (shown,) = data(html(one), "blocks")
    metrics = {metric["label"]: metric["values"] for metric in shown["metrics"]}
    assert len(metrics["erases in the measured steps"]) == 32
    assert sum(metrics["erases in the measured steps"]) == one.summary["variants"][0]["totals"]["erases"]
    for when in ("before", "after"):
        sums = [sum(metrics[f"{kind} {when}, %"][at] for kind in ("valid", "invalid", "free")) for at in range(32)]
        assert all(99 <= total <= 101 for total in sums)


@pytest.mark.parametrize(
    ("values", "is_log"), [([3.0, 4.0], False), ([0.256, 0.256], False), ([1.0, 50.0], True), ([-1.0, 50.0], False)]
)
def test_axes_are_logarithmic_where_values_span_much(values: list[float], is_log: bool) -> None:
    assert wants_log([values]) is is_log


def test_kinds_stand_side_by_side_under_their_names() -> None:
    lines = [Line("a", range(3), [1.0, 2.0, 3.0]), Line("b", range(3), [1.0, 2.0, 3.0])]
    drawn: Any = (
        FigureOfPaper("Engines", "engine", "MB/s", lines, kinds=("sync", "psync", "vsync")).drawn("f").data["f"]
    )
    assert drawn["x"]["ticks"] == ["sync", "psync", "vsync"] and drawn["x"]["label"] == "engine"
    a, b = (np.frombuffer(base64.b64decode(line["x"]), dtype="<f4") for line in drawn["series"])
    assert (a < b).all() and (np.rint(a) == np.rint(b)).all()


def test_times_from_nothing_on_have_a_place_each() -> None:
    drawn: Any = (
        FigureOfPaper("Pauses", "ms", "us", [Line("a", [0, 0.1, 10], [3, 2, 1])], x_scale="symlog").drawn("f").data["f"]
    )
    assert drawn["x"]["ticks"] == ["0", "0.1", "10"]


def test_many_lines_are_told_apart_by_hue_and_dash() -> None:
    lines = [Line(f"{hue} {dash}", [1, 2], [hue + 1, dash + 1], hue, dash) for dash in range(3) for hue in range(4)]
    drawn: Any = FigureOfPaper("Many", "x", "y", lines).drawn("f").data["f"]
    assert len({(line["colour"], tuple(line.get("dash", ()))) for line in drawn["series"]}) == 12
    # Of more lines than colours, too.
    plain: Any = FigureOfPaper("Many", "x", "y", [Line(str(i), [1, 2], [i, 1]) for i in range(20)]).drawn("f").data["f"]
    assert len({(line["colour"], tuple(line.get("dash", ()))) for line in plain["series"]}) == 20


BOOT = """title = "Two stages"
[stack]
board = "luckfox-pico-max"
kernel = "6.1"
fs = "ubifs"
partition_blocks = 64
max_beb_per1024 = 1
[[setup]]
step = "mount"
[[setup]]
step = "umount"
[[measure]]
step = "stage"
name = "U-Boot"
runs = "u-boot"
[[measure]]
step = "ubi_attach"
[[measure]]
step = "stage"
name = "kernel & root"
[[measure]]
step = "ubi_attach"
[[measure]]
step = "mount"
"""


def test_the_stages_of_a_boot_are_bars_and_rows_whose_sum_is_the_boot() -> None:
    booted = run(BOOT)
    head, rows = boot_cells(booted.summary["variants"])
    assert [row[0] for row in rows] == ["U-Boot", "kernel & root", "all"]
    shares, reads = (
        [float(row[head.index(name)].replace(",", "")) for row in rows] for name in ("share, %", "page reads")
    )
    assert shares[2] == 100.0 and sum(shares[:2]) == pytest.approx(100, abs=0.1)
    assert reads[2] == sum(reads[:2]) and reads[0] >= 3 * 64
    text = html(booted).split("<h2>The boot</h2>")[1].split("<h2>")[0]
    assert "kernel &amp; root: " in text and text.count("<tr>") == 1 + 3
    assert "<h2>The boot</h2>" not in html(run(SMALL.split("[axes]")[0]))
