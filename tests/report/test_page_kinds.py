"""A page of each kind in a real browser: nothing is in anybody's way, nothing goes wrong, each chart can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from helpers.browsing import PHONE, WIDE, Opened, check_axe, check_print, check_stands_still, draw_all
from helpers.page_kinds import KINDS, made

# All charts but the first one are asked the same by the events that keys and clicks make: a page has up to fifty, and
# a browser that is driven from outside waits for frames at each step.
ASK_OTHERS = """async () => {
  const answers = [];
  const pressed = (one) => { const before = one.ariaPressed; one.click(); return before !== one.ariaPressed; };
  for (const figure of [...document.querySelectorAll("figure[data-chart]")].slice(1)) {
    const plot = figure.querySelector(".plot"), buttons = [...figure.querySelectorAll("button")];
    plot.focus();
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
    await null;
    const said = figure.querySelector(":scope > .said").textContent, series = figure.querySelector(".legend button");
    const scales = buttons.filter((one) => /^Log (across|upwards)$/.test(one.textContent)).map(pressed);
    const leaves_out = !series?.offsetParent || (series.click(), series.ariaPressed === "false");
    buttons.find((one) => one.textContent === "Copy CSV").click();
    await null;
    const drawn = Boolean(plot.querySelector("canvas")), points = figure.chart.u().data[0].length;
    answers.push({ drawn, said, scales, leaves_out, copied: window.copied, points });
  }
  return answers;
}"""


# Axes whose numbers stand in one another, at 6 px a character.
CROWDED = """() => [...document.querySelectorAll("figure[data-chart]")].flatMap((figure) => {
  const u = figure.chart.u(), { _splits, _values } = u.axes[0];
  const place = (i) => ({ at: u.valToPos(_splits[i], "x"), half: 3 * _values[i].length });
  const told = _values.flatMap((text, i) => text ? [place(i)] : []);
  return told.some((one, i) => i && one.at - one.half < told[i - 1].at + told[i - 1].half) ? [_values.join(" ")] : [];
})"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_each_kind(kind: str, tmp_path: Path, opened: Opened) -> None:
    path = made(kind, tmp_path)
    text = path.read_text(encoding="utf-8")
    assert "<svg" not in text and "<img" not in text, "a picture that nobody can ask"
    page = opened(path)
    # The first screen: a question, its answer, and what it rests on; a flame graph alone is its own answer.
    if kind != "flame":
        assert page.locator("h1").inner_text() and page.locator(".answer").inner_text()
        assert page.locator(".key .value").count() >= 2
        assert page.locator("#answer :is(figure, .bars, .lone)").count() >= 1
    check_stands_still(page)
    draw_all(page)
    assert page.evaluate(CROWDED) == []
    charts = page.locator("figure[data-chart]")
    if charts.count():
        _ask(page, charts.first)
    for told in page.evaluate(ASK_OTHERS):
        assert told["drawn"] and " at " in told["said"], told
        assert told["scales"] == [True] * len(told["scales"]) and told["leaves_out"], told
        head, *rows = told["copied"].splitlines()
        assert head.startswith("series,") and len(rows) >= told["points"] > 0
    for canvas in page.locator("figure.map > canvas").all():
        _ask_map(page, canvas.locator(".."))
    check_axe(page, ("light", "dark"))
    check_print(page)
    for wide in (PHONE, WIDE):
        page.set_viewport_size({"width": wide, "height": 900})
        # Charts follow a moment later.
        page.wait_for_function("wide => document.documentElement.scrollWidth <= wide", arg=wide)


def _ask(page: Page, chart: Locator) -> None:
    """A chart tells a value, changes its scale, and gives all that it shows."""
    plot = chart.locator(".plot")
    plot.locator("canvas").wait_for()
    # What scrolls under the pointer is pointed at.
    page.mouse.move(0, 0)
    plot.focus()
    plot.press("ArrowRight")
    assert " at " in chart.locator("> .said").inner_text()
    # Whatever it shows: nothing at all, values that are all the same, or less than nothing.
    for log in chart.get_by_role("button", name=re.compile("^Log (across|upwards)$")).all():
        before = log.get_attribute("aria-pressed")
        log.click()
        assert log.get_attribute("aria-pressed") != before
    # A series can be left out, and is still told of.
    if (series := chart.locator(".legend button").first).is_visible():
        series.click()
        assert series.get_attribute("aria-pressed") == "false"
    chart.get_by_role("button", name="Copy CSV").click()
    head, *rows = page.evaluate("window.copied").splitlines()
    points = page.evaluate("it => it.chart.u().data[0].length", chart.element_handle())
    assert head.startswith("series,") and len(rows) >= points > 0


def _ask_map(page: Page, figure: Locator) -> None:
    """A map tells of a block, and gives all that it shows."""
    canvas = figure.locator("canvas")
    page.mouse.move(0, 0)
    canvas.focus()
    canvas.press("ArrowRight")
    canvas.press("ArrowRight")
    assert ":" in figure.locator(".said").inner_text()
    figure.get_by_role("button", name="Copy CSV").click()
    assert len(page.evaluate("window.copied").splitlines()) > 2
