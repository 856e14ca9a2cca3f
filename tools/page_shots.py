"""Pictures of pages, wide and narrow, light and dark, for somebody to look at.

    python tools/page_shots.py OUT PAGE.html...        every part of these pages
    python tools/page_shots.py OUT --kinds             a small page of each kind, made here
    python tools/page_shots.py OUT --counts            pages with 1, 6, 40 and 1,000 variants, made here
    python tools/page_shots.py OUT --counts run diff   of these kinds alone
    python tools/page_shots.py OUT --site site         start, tutorial, reference of the documentation (`make docs`)

Pages that OUT holds already are not made again. A picture is a whole page, with everything drawn. Printed is what a
page takes until it has loaded and is painted (by the clock, and as CPU time of its main thread), how large it is, what
its console says, and what axe-core finds that is serious.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

WIDTHS, SCHEMES = (1300, 420), ("light", "dark")
# Higher pages are cut: nobody looks at more, and the browser draws no larger picture.
HEIGHT_MAX = 14_000
# Of a table of thousands, axe-core looks at the first rows: the others are like them, and it would take minutes.
SITE_PAGES = ("index.html", "tutorial.html", "reference/verbs.html")
LOOKED_AT = {"include": [["html"]], "exclude": [["tbody tr:nth-child(n+40)"]]}


def made(out: Path, kinds: Sequence[str] | None, counts: Sequence[str] | None) -> list[Path]:
    """The page of each of these kinds, and of each of those with more and more variants; an empty list: of all."""
    import page_counts
    from helpers import page_kinds

    wanted: dict[str, Callable[[Path], Path]] = {}
    if kinds is not None:
        wanted |= {kind: partial(page_kinds.made, kind) for kind in kinds or page_kinds.KINDS}
    if counts is not None:
        wanted |= {
            f"{kind}-{count}": partial(page_counts.made, kind, count)
            for kind in counts or page_counts.COUNTED
            for count in page_counts.COUNTS
        }
    for name, make in wanted.items():
        if not (out / f"{name}.html").exists():
            begun_s = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                shutil.copyfile(make(Path(folder)), out / f"{name}.html")
            print(f"{name}: made in {time.process_time() - begun_s:.1f} s of CPU time", flush=True)
    return [out / f"{name}.html" for name in wanted]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None: ...


def shoot(browser: Browser, address: str, out: Path, wide: int, schemes: Sequence[str], inside: str) -> list[str]:
    """Makes a picture in each of these colours; what is wrong with the page. It loads nothing but `inside`."""
    name = address.rpartition("/")[2].removesuffix(".html")
    context = browser.new_context(viewport={"width": wide, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(120_000)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(inside) else None)
    counters = context.new_cdp_session(page)
    counters.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun_s = time.monotonic()
    page.goto(address)
    _painted(page)
    loaded_s = time.monotonic() - begun_s
    known = {one["name"]: one["value"] for one in counters.send("Performance.getMetrics")["metrics"]}
    _draw_all(page)
    high = min(HEIGHT_MAX, page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": wide, "height": high})
    page.wait_for_timeout(300)
    across = page.evaluate("document.documentElement.scrollWidth")
    if across > wide:
        wrong.append(f"is {across} px wide")
    for scheme in schemes:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        _painted(page)
        page.screenshot(path=out / f"{name}-{wide}-{scheme}.png", timeout=120_000)
        wrong += [
            f"{scheme}: axe: {one['id']}: {one['nodes'][0]['html'][:120]}"
            for one in Axe().run(page, context=LOOKED_AT).response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
    took = f"loaded in {loaded_s:.2f} s, {known['TaskDuration']:.2f} s of CPU time"
    size_mb = page.evaluate("new Blob([document.documentElement.outerHTML]).size") / 1e6
    print(f"{name} {wide}: {took}, {size_mb:.2f} MB, {high} px high", flush=True)
    context.close()
    return wrong


def _painted(page: Page) -> None:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


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
    parser.add_argument("--kinds", nargs="*", metavar="KIND")
    parser.add_argument("--counts", nargs="*", metavar="KIND")
    parser.add_argument("--site", type=Path, metavar="DIR")
    parser.add_argument("--first", action="store_true", help="1300 px in light colours alone")
    given = parser.parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    pages = [page.resolve() for page in given.pages] + made(given.out.resolve(), given.kinds, given.counts)
    shown = [(page.as_uri(), page.as_uri()) for page in pages]
    if given.site:
        # A site is looked at as it is read: from files alone a browser does not search.
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(given.site)))
        Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/"
        shown += [(root + name, root) for name in SITE_PAGES]
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for address, inside in shown:
            for wide in WIDTHS[: 1 if given.first else None]:
                said = shoot(browser, address, given.out, wide, SCHEMES[: 1 if given.first else None], inside)
                wrong += [f"{address} {wide}: {one}" for one in said]
        browser.close()
    print("\n".join(wrong) or "nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
