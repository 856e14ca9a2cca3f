"""Pictures of pages, wide and narrow, light and dark, for somebody to look at.

    python tests/page_shots.py OUT PAGE.html...        every part of these pages
    python tests/page_shots.py OUT --counts            pages of runs with 1, 6, 40 and 1,000 variants, made here

A picture is a whole page, with everything drawn. Printed is what a page takes until it has loaded and is painted (by
the clock, and as CPU time of its main thread), how large it is, what its console says, and what axe-core finds that is
serious.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS, SCHEMES = (1300, 420), ("light", "dark")
# Higher pages are cut: nobody looks at more, and the browser draws no larger picture.
HEIGHT_MAX = 14_000
COUNTS = {
    1: "",
    6: '[axes]\nfs = ["jffs2", "yaffs2", "ubifs"]\nread_ahead_KiB = [128, 0]\n',
    40: '[axes]\nfs = ["jffs2", "yaffs2"]\nread_ahead_KiB = [128, 0]\n"requests.count" = '
    + str([8 * n for n in range(1, 11)]) + "\n",
    1000: '[axes]\nfs = ["jffs2", "yaffs2"]\n"requests.count" = ' + str(list(range(1, 501))) + "\n",
}  # fmt: skip


def made(out: Path) -> list[Path]:
    """Reports of runs with so many variants."""
    from conftest import SMALL
    from ffslab import Experiment

    pages = []
    for count, axes in COUNTS.items():
        # The zero-overhead board has no UBI headers of its own sizes, and thousands of variants are to be quick.
        text = SMALL.split("[axes]")[0].replace("partition_blocks = 32", "partition_blocks = 64") + axes
        text = text.replace("[stack]", "film = true\n\n[stack]", 1) if count == 1 else text
        path = out / f"run-{count}.html"
        Experiment(text, "small.toml", Path()).run(any_size=True).report(path)
        pages.append(path)
    return pages


def shoot(browser: Browser, path: Path, out: Path, wide: int, scheme: Any) -> list[str]:
    """Makes one picture; what is wrong with the page."""
    context = browser.new_context(viewport={"width": wide, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(120_000)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(path.as_uri()) else None)
    counters = context.new_cdp_session(page)
    counters.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun_s = time.monotonic()
    page.goto(path.as_uri())
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    loaded_s = time.monotonic() - begun_s
    known = {one["name"]: one["value"] for one in counters.send("Performance.getMetrics")["metrics"]}
    _draw_all(page)
    high = min(HEIGHT_MAX, page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": wide, "height": high})
    page.wait_for_timeout(300)
    page.screenshot(path=out / f"{path.parent.name}-{path.stem}-{wide}-{scheme}.png", timeout=120_000)
    across = page.evaluate("document.documentElement.scrollWidth")
    if across > wide:
        wrong.append(f"is {across} px wide")
    found = Axe().run(page).response["violations"]
    wrong += [
        f"axe: {one['id']}: {one['nodes'][0]['html'][:120]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    took = f"loaded in {loaded_s:.2f} s, {known['TaskDuration']:.2f} s of CPU time"
    print(f"{path.name} {wide} {scheme}: {took}, {path.stat().st_size / 1e6:.2f} MB, {high} px high")
    context.close()
    return wrong


def _draw_all(page: Page) -> None:
    """Charts and films are drawn when they come near the screen."""
    step = 700
    for at in range(0, min(HEIGHT_MAX, page.evaluate("document.documentElement.scrollHeight")), step):
        page.evaluate(f"window.scrollTo({{ top: {at}, behavior: 'instant' }})")
        page.wait_for_timeout(40)
    page.evaluate("window.scrollTo({ top: 0, behavior: 'instant' })")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("pages", type=Path, nargs="*")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--first", action="store_true", help="1300 px in light colours alone")
    given = parser.parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    pages = [page.resolve() for page in given.pages] + (made(given.out.resolve()) if given.counts else [])
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for path in pages:
            for wide in WIDTHS[: 1 if given.first else None]:
                for scheme in SCHEMES[: 1 if given.first else None]:
                    said = shoot(browser, path, given.out, wide, scheme)
                    wrong += [f"{path.name} {wide} {scheme}: {one}" for one in said]
        browser.close()
    print("\n".join(wrong) or "nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
