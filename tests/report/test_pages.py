"""Pages in a real browser: sorting, filters, pins, copies, charts, keys, narrow screens, and what axe-core finds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page

from ffslab import Experiment, Run
from ffslab.api.observe import Observe
from ffslab.studies.differences.results import Side, compared
from ffslab.studies.flame import flame as flame_of
from helpers.browsing import PHONE, WIDE, Opened, check_axe, draw_all
from helpers.command import ROOT, SMALL
from helpers.page_kinds import documented

AXES = '[axes]\nfs = ["jffs2", "yaffs2"]\nread_ahead_KiB = [128, 0]\n"requests.count" = [8, 16, 32]\n'


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "report.html"
    Experiment(SMALL.split("[axes]")[0] + AXES, "small.toml", Path()).run().report(path)
    return path


def rows(page: Page, frame: str = "#variants .table[data-variants]") -> list[list[str]]:
    """The texts of the rows that show."""
    found: list[list[str]] = page.eval_on_selector_all(
        f"{frame} tbody tr:not([hidden])",
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))",
    )
    return found


def test_tables_are_sorted_filtered_and_copied(many: Path, opened: Opened) -> None:
    page = opened(many)
    sort = page.locator("#variants th", has_text="latency mean").get_by_role("button")
    column = page.eval_on_selector_all(
        "#variants th", "all => all.findIndex(it => /latency mean/.test(it.textContent))"
    )
    sort.click()
    means = [float(row[column].replace(",", "")) for row in rows(page)]
    assert means == sorted(means) and len(set(means)) > 6
    # By keys the other way round.
    sort.press("Enter")
    assert [float(row[column].replace(",", "")) for row in rows(page)] == means[::-1]
    assert sort.locator("xpath=..").get_attribute("aria-sort") == "descending"
    page.locator("#variants input[type=search]").fill(f"yaffs2 mean<{means[6]}")
    shown = rows(page)
    assert shown and all(row[1] == "yaffs2" and float(row[column].replace(",", "")) < means[6] for row in shown)
    page.locator("#variants").get_by_role("button", name="Copy CSV").click()
    lines = page.evaluate("window.copied").splitlines()
    assert lines[0].startswith("fs,read_ahead_KiB,requests.count,") and len(lines) == 1 + len(shown)
    assert lines[1].split(",")[0] == "yaffs2"


def test_pinned_variants_are_compared_and_stay_on_top(many: Path, opened: Opened) -> None:
    page = opened(many)
    page.get_by_role("button", name="Compare best and worst").click()
    compared = rows(page, ".compare .table")
    mean = next(row for row in compared if row[0] == "latency mean, us")
    low, high = (float(cell.replace(",", "")) for cell in mean[1:3])
    change = float(mean[3].split()[0].replace(",", ""))
    assert change == pytest.approx(100 * (high / low - 1), abs=2) and mean[3].endswith("%")
    assert page.locator("#variants tbody tr").nth(1).get_attribute("class") == "pinned"
    page.get_by_role("button", name="Unpin all").click()
    assert page.locator(".compare .table").count() == 0
    # A variant that is pinned shows whatever is looked for.
    page.get_by_label("Pin fs=jffs2, read_ahead_KiB=0, requests.count=8").check()
    page.locator("#variants input[type=search]").fill("yaffs2")
    assert [row[1] for row in rows(page)] == ["jffs2", *["yaffs2"] * 6]


def test_charts_tell_values_by_keys_and_change_their_scale(many: Path, opened: Opened) -> None:
    page = opened(many)
    explorer = page.locator("figure[data-explorer]")
    explorer.locator("canvas").wait_for()
    plot = explorer.locator(".plot")
    plot.focus()
    plot.press("ArrowRight")
    assert "fs=" in explorer.locator(".said").inner_text()
    explorer.get_by_label("Across").select_option("requests.count")
    explorer.locator("canvas").wait_for()
    button = explorer.get_by_role("button", name="Log upwards")
    before = button.get_attribute("aria-pressed")
    button.click()
    assert button.get_attribute("aria-pressed") != before
    figure = page.locator("#distribution-of-latency figure")
    figure.scroll_into_view_if_needed()
    figure.locator("canvas").wait_for()
    box = figure.locator(".u-over").bounding_box()
    assert box
    # A stretch is chosen with the mouse, then all of it is back.
    scale = "document.querySelector('#distribution-of-latency figure').chart.u().scales.x.max"
    whole = page.evaluate(scale)
    page.mouse.move(box["x"] + 60, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 45, steps=4)
    page.mouse.up()
    assert page.evaluate(scale) < whole
    figure.get_by_role("button", name="Reset zoom").click()
    assert page.evaluate(scale) == whole
    legend = figure.locator(".legend button").first
    legend.click()
    assert legend.get_attribute("aria-pressed") == "false"


def test_maps_tell_of_each_block(many: Path, opened: Opened) -> None:
    page = opened(many)
    figure = page.locator("figure[data-blocks]")
    figure.get_by_label("Colour").select_option(label="valid after, %")
    figure.locator("canvas").focus()
    figure.locator("canvas").press("ArrowRight")
    assert figure.locator(".said").inner_text().startswith("Block 1: erases in the measured steps")


def test_nothing_is_in_the_way_of_anybody(many: Path, opened: Opened) -> None:
    page = opened(many)
    draw_all(page)
    for wide in (WIDE, PHONE):
        page.set_viewport_size({"width": wide, "height": 900})
        # Charts follow a moment later.
        page.wait_for_function("wide => document.documentElement.scrollWidth <= wide", arg=wide)
        check_axe(page, ("light", "dark"))


def test_the_theme_is_changed_by_hand(many: Path, opened: Opened) -> None:
    page = opened(many)
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Use dark colours").click()
    assert page.evaluate(ground) != before
    page.get_by_role("button", name="Use light colours").click()
    assert page.evaluate(ground) == before


def test_a_page_is_read_without_scripts(many: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(many.as_uri())
    text = page.inner_text("main")
    assert "fs=yaffs2, read_ahead_KiB=0" in text and "What this means" in text
    assert page.locator(".bars-strip").count() > 12
    context.close()


# ---- the film of erase blocks ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def filmed() -> Run:
    text = SMALL.split("[axes]")[0].replace("[stack]", "film = true\n\n[stack]", 1)
    return Experiment(text, "small.toml", Path()).run()


# How many cells are drawn from now on.
COUNT_CELLS = """() => {
  const grid = CanvasRenderingContext2D.prototype, fill = grid.kept ??= grid.fillRect;
  window.cells = 0;
  grid.fillRect = function (...box) { window.cells++; return fill.apply(this, box); };
}"""


def erases(page: Page) -> list[int]:
    """Of each block, where the film stands."""
    found: list[int] = page.evaluate("[...document.querySelector('figure.film').film.state().erases]")
    return found


def test_the_film_is_played_scrubbed_and_stepped(filmed: Run, tmp_path: Path, opened: Opened) -> None:
    filmed.report(tmp_path / "report.html")
    page = opened(tmp_path / "report.html")
    page.locator("#film-of-the-erase-blocks").scroll_into_view_if_needed()
    film = page.locator("figure.film[data-ready]")
    film.wait_for()
    blocks = filmed.blocks
    before = [int(one) for one in blocks["erases_total"] - blocks["erases_main"]]
    assert erases(page) == before
    # At its end the film agrees with what the run counted, and at its beginning again.
    slider = film.get_by_role("slider")
    slider.press("End")
    assert erases(page) == [int(one) for one in blocks["erases_total"]] != before
    valid = page.evaluate("[...document.querySelector('figure.film').film.state().valid]")
    flash = filmed.summary["variants"][0]["flash"]
    assert flash
    block_bytes = flash["page_B"] * flash["pages_per_block"]
    assert valid == [round(255 * one / block_bytes) for one in blocks["valid_after_B"]]
    slider.press("Home")
    assert erases(page) == before
    film.get_by_role("button", name="Next erase").click()
    assert sum(erases(page)) == sum(before) + 1 and "Erase of block" in film.locator(":scope > .said").inner_text()
    film.get_by_role("button", name="Step").click()
    at = page.evaluate("document.querySelector('figure.film').film.at")
    film.get_by_role("button", name="Back", exact=True).click()
    assert page.evaluate("document.querySelector('figure.film').film.at") == at - 1
    film.get_by_role("button", name="Next background operation").click()
    assert "GC thread" in film.locator(":scope > .said").inner_text()
    slider.press("Home")
    free = page.evaluate("document.querySelector('figure.film').film.free")
    film.get_by_label("Free blocks", exact=True).fill(str(free))
    film.get_by_role("button", name="Go there").click()
    assert page.evaluate("document.querySelector('figure.film').film.free") == free - 1
    # The third erase, the second operation of a background task; collections are counted as rows of operations.
    table = next(iter(filmed.films.values())).to_pandas()
    operations = table[table["what"] != "holds"]
    behind = operations.index[operations["task"] != "caller"]
    collects = operations["reason"].str.startswith("gc ")
    begins = operations.index[collects & ~collects.shift(fill_value=False)]
    counted, number = film.get_by_label("What is counted"), film.get_by_label("Number", exact=True)
    for name, n, at in (("erase", 3, operations.index[operations["what"] == "erase"][2]),
                        ("background operation", 2, behind[1])):  # fmt: skip
        counted.select_option(name)
        number.fill(str(n))
        film.get_by_role("button", name="Go to it").click()
        assert page.evaluate("document.querySelector('figure.film').film.at") == at + 1
    counted.select_option("collection")
    number.fill("99999")
    film.get_by_role("button", name="Go to it").click()
    assert f"There are {len(begins)}, " in film.locator(":scope > .said").inner_text()
    # A step draws what has changed, and never all blocks: of thousands a film would stutter.
    for colour in ("age", "valid share"):
        film.get_by_label("Colour").select_option(colour)
        page.evaluate(COUNT_CELLS)
        film.get_by_role("button", name="Back", exact=True).click()
        film.get_by_role("button", name="Step").click()
        assert 0 < page.evaluate("window.cells") < len(blocks) / 2
    film.get_by_label("Colour").select_option("last written because")
    assert "GC thread" in film.locator(":scope > .keys").inner_text()
    # Each block has the colour of the file for which most of it was written.
    film.get_by_label("Colour").select_option("file")
    assert "/target" in film.locator(":scope > .keys").inner_text()
    slider.press("End")
    told = table[(table["what"] == "holds") | (table["what"] == "erase")].groupby("block").tail(1)
    files = page.evaluate(
        "(([film, data]) => [...film.state().file].map(it => it ? data.files[it - 1] : null))"
        "([document.querySelector('figure.film').film, ffslab.data('film-0')])"
    )
    assert {one.block: one.written_for for one in told.itertuples() if isinstance(one.written_for, str)} == {
        block: name for block, name in enumerate(files) if name
    }
    assert files.count("/target") > 2
    canvas = film.locator("canvas").last
    canvas.focus()
    for _ in range(files.index("/target", 1)):
        canvas.press("ArrowRight")
    assert "written mostly for /target" in film.locator(":scope > .said").inner_text()
    slider.press("Home")
    film.get_by_label("Speed").select_option("whole in 5 s")
    film.locator("canvas").last.press(" ")
    stood = page.evaluate("document.querySelector('figure.film').film.at")
    page.wait_for_function("stood => document.querySelector('figure.film').film.at > stood", arg=stood)
    film.get_by_role("button", name="Pause").click()
    check_axe(page)


# ---- flame graphs ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def observed() -> Run:
    """Two variants that were observed."""
    return Experiment(SMALL, "small.toml", Path()).run(observe=Observe())


def test_the_flame_graph_is_zoomed_searched_and_held_against_another(
    observed: Run, tmp_path: Path, opened: Opened
) -> None:
    observed.report(tmp_path / "report.html")
    page = opened(tmp_path / "report.html")
    flame = page.locator("figure.flame")
    stacks = observed.stacks
    assert stacks is not None
    names = [variant["name"] for variant in observed.summary["variants"]]
    of = stacks[stacks["variant"] == names[0]]
    busy = of[of["operation"] != "idle"]
    root = "document.querySelector('figure.flame').flame.root"
    # All weights, with and without idle time.
    assert page.evaluate(f"{root}.b") == pytest.approx(busy["time_ns"].sum() / 1e6)
    flame.get_by_label("Idle time").check()
    assert page.evaluate(f"{root}.b") == pytest.approx(of["time_ns"].sum() / 1e6)
    for weight, column, scale in (
        ("operations, operations", "operations", 1),
        ("energy, mJ", "energy_uJ", 1e3),
        ("wear, erases", "erases", 1),
    ):
        flame.get_by_label("Width").select_option(weight)
        assert page.evaluate(f"{root}.b") == pytest.approx(of[column].sum() / scale, abs=1e-4)
    flame.get_by_label("Width").select_option("operations, operations")
    written = of[of["call"] == "write"]["operations"].sum()
    flame.get_by_role("searchbox").fill("write")
    found = of[of[["task", "call", "reason", "operation"]].apply(lambda row: row.str.contains("write").any(), axis=1)]
    share = 100 * found["operations"].sum() / of["operations"].sum()
    assert f"{share:.1f}".removesuffix(".0") + " % of all" in flame.locator(".said").inner_text()
    flame.get_by_role("searchbox").fill("")
    # A click zooms, keys go on from there, Escape leaves.
    flame.locator(".frames button", has_text=re.compile("^write$")).first.click()
    assert page.evaluate("document.querySelector('figure.flame').flame.zoomed") == ["program", "write"]
    assert f"{written:,} operations" in flame.locator(".said").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert len(page.evaluate("document.querySelector('figure.flame').flame.zoomed")) == 3
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.evaluate("document.querySelector('figure.flame').flame.zoomed") == ["program"]
    # The difference of two.
    page.mouse.move(0, 0)
    flame.get_by_label("Against").select_option(names[1])
    other = stacks[stacks["variant"] == names[1]]["operations"].sum()
    assert f"{other:,} operations became {of['operations'].sum():,} operations" in flame.locator(".said").inner_text()
    assert "grew" in flame.locator(".keys").inner_text()
    check_axe(page)


def test_a_page_of_a_flame_graph(observed: Run, tmp_path: Path, opened: Opened) -> None:
    observed.save(tmp_path / "a")
    said = flame_of(tmp_path / "a", "time", tmp_path / "flame.html", against=tmp_path / "a")
    assert said.startswith(str(tmp_path / "flame.html"))
    page = opened(tmp_path / "flame.html", PHONE, "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert "became" in page.locator("figure.flame .said").inner_text()
    check_axe(page)


def test_the_film_is_kept_as_a_table_beside_the_page(filmed: Run, tmp_path: Path) -> None:
    filmed.save(tmp_path / "out")
    table = pd.read_parquet(tmp_path / "out/logs/film.parquet")
    totals = filmed.summary["variants"][0]["totals"]
    assert (table["what"] == "erase").sum() == totals["erases"]
    assert (table["what"] == "program").sum() == totals["page_programs"] + totals["oob_programs"]
    assert set(table.loc[table["what"] == "holds", "block"]) == set(range(32))
    again = Run.load(tmp_path / "out")
    assert again.logs == filmed.logs


def test_the_documented_lines_draw_a_picture(filmed: Run, tmp_path: Path) -> None:
    filmed.save(tmp_path / "out")
    text = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
    codes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found = compared(Side.of(str(tmp_path / "out")), Side.of(str(tmp_path / "out")))
    changed = [{"figure": "erases", "before": 1.0, "after": 2.0, "change": 1.0}]
    pairs = [{**found["pairs"][0], "figures": changed}]
    (tmp_path / "out/diff.json").write_text(json.dumps({**found, "pairs": pairs}), encoding="utf-8")
    documented(tmp_path / "out")
    env = os.environ | {"MPLBACKEND": "agg"}
    # One process for all: each would load pandas again.
    script = "import matplotlib.pyplot as plt\n" + "\nplt.close()\n".join(codes)
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "out", env=env, check=True)
    for name in re.findall(r'savefig\("(.*?)"\)', text):
        assert (tmp_path / "out" / name).stat().st_size > 1_000, name
