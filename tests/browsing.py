"""Pages in a real browser: how tests open them, and what axe-core finds. The fixtures are those of `conftest.py`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from left_out import leave_out

WIDE, PHONE = 1300, 360
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


def check_axe(page: Page) -> None:
    """Nothing is in the way of who cannot see, or has no mouse."""
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
