"""The report of a run: what its pictures and tables show of few and of many variants, and that they hide nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from conftest import SMALL
from ffslab import Experiment
from ffslab.api.experiment import Run
from ffslab.report import html, plots, sweeps
from ffslab.report.drawing import COLOURS, value_axis
from ffslab.studies.reproduce.figures import Figure as FigureOfPaper
from ffslab.studies.reproduce.figures import Line

AXES = '[axes]\nfs = ["jffs2", "yaffs2"]\nread_ahead_KiB = [128, 0]\n"requests.count" = [8, 16, 32]\n'


def run(text: str) -> Run:
    return Experiment(text, "small.toml", Path()).run()


@pytest.fixture(scope="module")
def many() -> Run:
    return run(SMALL.split("[axes]")[0] + AXES)


@pytest.fixture(scope="module")
def one() -> Run:
    return run(SMALL.split("[axes]")[0])


def texts(svg: str) -> list[str]:
    """The words and numbers in a picture."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_all_of_many_variants_are_drawn_along_their_longest_axis(many: Run) -> None:
    variants = many.summary["variants"]
    sweep = sweeps.sweep_of(variants)
    assert sweep == sweeps.Sweep("requests.count", "fs", ("read_ahead_KiB",), sweep.values if sweep else {})
    drawn = texts(sweeps.svg(variants, sweep))
    assert {"fs=jffs2", "fs=yaffs2", "8", "16", "32"} <= set(drawn)
    # One legend for all panels.
    assert [drawn.count(f"read_ahead_KiB={value}") for value in (128, 0)] == [1, 1]
    assert "<h2>Along requests.count</h2>" in html(many)


def test_a_report_says_that_it_draws_the_first_of_many_variants_only(many: Run, one: Run) -> None:
    page = html(many)
    assert page.count("The first 8 of 12 variants.") >= 6
    assert "The first" not in html(one)


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
    variants = one.summary["variants"]
    colours = plots.reason_colours(variants)
    assert len(set(colours.values())) == len(colours) > 2
    time, operations = plots.time_by_cause(variants, colours), plots.operations_by_cause(variants, colours)
    assert time and operations
    for reason in set(texts(time)) & set(texts(operations)) & set(colours):
        assert all(colours[reason] in svg for svg in (time, operations)), reason
    # Tasks are called as in the tables.
    assert "by GC thread" in texts(operations)
    assert not any("caller" in text or "jffs2_gc_thread" in text for text in texts(operations))


def test_pictures_in_one_page_share_no_ids(many: Run) -> None:
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


def test_space_that_stays_as_it_is_is_drawn_once(one: Run) -> None:
    changed = plots.space_map(one)
    assert changed
    assert [text.split(":")[0] for text in texts(changed) if "valid " in text] == ["before", "after"]
    for kind in ("valid", "invalid", "free"):
        one.block_columns[f"{kind}_after_B"] = one.block_columns[f"{kind}_before_B"]
    alike = plots.space_map(one)
    assert alike
    assert [text.split(":")[0] for text in texts(alike) if "valid " in text] == ["before and after"]


@pytest.mark.parametrize(
    ("values", "scale", "low"),
    [
        ([3.0, 4.0], "linear", 0.0),
        ([0.256, 0.256], "linear", 0.0),
        ([1.0, 50.0], "log", None),
        ([0, 50.0, 1.0], "symlog", None),
    ],
)
def test_axes_begin_at_nothing_unless_they_are_logarithmic(values: list[float], scale: str, low: float | None) -> None:
    axes = Figure().add_subplot()
    axes.plot(values)
    value_axis(axes, "y", [values])
    assert axes.get_yscale() == scale
    if low is not None:
        assert axes.get_ylim()[0] == low


def test_a_logarithmic_axis_of_one_decade_has_several_numbers() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([1.2, 14.0])
    value_axis(axes, "y", [[1.2, 14.0]])
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    labels = [tick.label1.get_text() for tick in axes.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert labels == ["2", "5", "10"]


def test_kinds_stand_side_by_side_under_their_names() -> None:
    lines = [Line("a", range(3), [1.0, 2.0, 3.0]), Line("b", range(3), [1.0, 2.0, 3.0])]
    drawn = texts(FigureOfPaper("Engines", "engine", "MB/s", lines, kinds=("sync", "psync", "vsync")).svg())
    assert drawn[:4] == ["sync", "psync", "vsync", "engine"]
    assert "0" in drawn


def test_many_lines_are_told_apart_by_hue_and_dash() -> None:
    lines = [Line(f"{hue} {dash}", [1, 2], [hue + 1, dash + 1], hue, dash) for dash in range(3) for hue in range(4)]
    svg = FigureOfPaper("Many", "x", "y", lines).svg()
    drawn = re.findall(
        r'style="fill: none;((?: stroke-dasharray[^;]*;)?)[^"]* stroke: (#[0-9a-f]{6}); stroke-width', svg
    )
    assert len({(dash, tint) for dash, tint in drawn if tint in COLOURS[:4]}) >= 12
