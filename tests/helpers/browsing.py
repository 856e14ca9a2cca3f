"""Pages in a real browser: how tests open them, and what axe-core finds. The fixtures are those of `conftest.py`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from helpers.left_out import leave_out

WIDE, PHONE = 1300, 360
# An A4 sheet between its margins.
PAPER = 700
# Of the window; less than this is a line of pixels.
SHIFT_MAX = 0.01
# Sums what moves before a reader's eyes without their doing (https://web.dev/articles/cls).
WATCH = """window.shifted = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput)
    window.shifted.push([one.value, ...one.sources.map((it) => it.node?.outerHTML?.slice(0, 200) ?? "")]);
}).observe({ type: "layout-shift", buffered: true });"""
# To the end of the page, as somebody who reads it.
READ = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (let at = 0; at < document.documentElement.scrollHeight; at += 800) {
    scrollTo({ top: at, behavior: "instant" });
    await frame();
  }
  scrollTo({ top: 0, behavior: "instant" });
  await frame();
}"""
# What paper would cut off, and what is of no use on it. In narrow frames of flame graphs names end at the frame.
CUT_OFF = """() => [...document.querySelectorAll("main :not(.frames span)")].filter((it) => {
  const box = it.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || it.matches(".tools, .deck, input, select, nav"));
}).map((it) => it.outerHTML.slice(0, 200))"""
# What was asked for a moment ago is there: layout, then what observers draw.
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What of axe-core's findings hangs on colours, of which each text takes 2 ms.
COLOURS = ("color-contrast", "link-in-text-block")
# Rows are like the first ones of their table, and so are small charts and bars: one of each kind is enough for colours.
LIKE_OTHERS = ("tbody tr:nth-child(n+4)", ".multiples > figure:nth-child(n+3)", ".bars-rows > :nth-child(n+7)")
# A machine that has much to do is no failure.
PATIENCE_MS = 120_000
Opened = Callable[..., Page]


def chromium() -> str:
    """The browser of this machine."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        leave_out("chromium is missing: apt-get install chromium")
    return found


def started() -> Iterator[Browser]:
    """A browser until the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def opening(browser: Browser) -> Iterator[Opened]:
    """A function that opens a file, `(path, width, "light" or "dark")`; at the end all was well."""
    wrong: list[str] = []
    contexts: list[BrowserContext] = []

    def go(path: Path, wide: int = WIDE, scheme: Any = "light") -> Page:
        contexts.append(browser.new_context(viewport={"width": wide, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith("file:") else None)
        page.add_init_script(WATCH)
        # What is copied, instead of the clipboard of the machine.
        page.add_init_script("navigator.clipboard.writeText = async (text) => { window.copied = text; };")
        page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert wrong == []


def draw_all(page: Page) -> None:
    """Opens what is folded, and draws what else is drawn when it comes near the screen."""
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")


def check_stands_still(page: Page) -> None:
    """Nothing moves while the page is read."""
    page.evaluate(READ)
    shifted = page.evaluate("window.shifted")
    assert sum(value for value, *_ in shifted) < SHIFT_MAX, shifted


def check_print(page: Page) -> None:
    """On paper everything has its place, in ink on white, whatever the screen shows."""
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    # Charts follow a moment later.
    page.evaluate(PAINTED)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert page.evaluate(CUT_OFF) == []
    page.emulate_media(media="screen", color_scheme="light")


def check_axe(page: Page, schemes: Sequence[Literal["light", "dark"]] = ()) -> None:
    """Nothing is in the way of who cannot see, or has no mouse; `schemes`: in each of these colours."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    structure = {"resultTypes": ["violations"], "rules": {name: {"enabled": False} for name in COLOURS}}
    _finds_nothing(page, {"include": [["html"]]}, structure)
    for scheme in schemes or (None,):
        if scheme is not None:
            page.emulate_media(color_scheme=scheme)
        context = {"include": [["html"]], "exclude": [[one] for one in LIKE_OTHERS]}
        _finds_nothing(page, context, {"resultTypes": ["violations"], "runOnly": list(COLOURS)})


def _finds_nothing(page: Page, context: object, options: object) -> None:
    found = page.evaluate("async (given) => (await axe.run(...given)).violations", [context, options])
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
