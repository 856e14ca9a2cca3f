"""How smooth a large film of erase blocks is: 4,096 blocks, a million operations.

    python tools/film_speed.py [PAGE.html]      makes that page, if it is not there, and plays it

Printed for each colour: frames drawn in a second while the film plays, tasks of more than 50 ms (in which nobody can
click), what a frame takes of the main thread; then what it takes to be ready and to go to places, and the memory.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from ffslab import Experiment
from helpers.browsing import PATIENCE_MS, WIDE, chromium
from helpers.command import SMALL

BLOCKS, WRITES, PLAYED_MS = 4096, 125_000, 4_000
FILM = "document.querySelector('figure.film')"
WATCH = """window.tasks = [];
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.tasks.push(one.duration); })
  .observe({ type: "longtask", buffered: true });"""
# Plays for so long, counting frames in which the film went on.
PLAY = """async ([colour, forMs]) => {
  const figure = document.querySelector("figure.film"), selects = [...figure.querySelectorAll(".deck select")];
  const choose = (name, value) => {
    const one = selects.find((it) => it.parentNode.textContent.startsWith(name));
    one.value = value;
    one.dispatchEvent(new Event("change"));
  };
  choose("Speed", "whole in 20 s");
  choose("Colour", colour);
  figure.film.go(0);
  window.tasks.length = 0;
  const play = [...figure.querySelectorAll("button")].find((it) => it.textContent === "Play");
  play.click();
  let frames = 0, moved = 0, at = figure.film.at;
  const begun = performance.now();
  while (performance.now() - begun < forMs) {
    await new Promise((done) => requestAnimationFrame(done));
    frames++;
    if (figure.film.at !== at) moved++;
    at = figure.film.at;
  }
  const passed = performance.now() - begun;
  play.click();
  const each = (count) => 1000 * count / passed;
  return { frames: each(frames), moved: each(moved), long: window.tasks.length, worst: Math.max(0, ...window.tasks) };
}"""
# Goes to places all over the film, forwards and backwards, as a slider does.
SCRUB = """() => {
  const film = document.querySelector("figure.film").film, n = film.events.n, took = [];
  for (let i = 0; i < 40; i++) {
    const begun = performance.now();
    film.go(Math.floor(n * ((i * 0.381966) % 1)));
    took.push(performance.now() - begun);
  }
  return [took.reduce((sum, one) => sum + one) / took.length, Math.max(...took)];
}"""


def make(path: Path) -> None:
    """A page of small random writes on JFFS2, which fills most of its blocks."""
    text = SMALL.split("[axes]")[0].replace("[stack]", "film = true\n\n[stack]", 1)
    text = text.replace("partition_blocks = 32", f"partition_blocks = {BLOCKS}\nchip_blocks = {BLOCKS}")
    text = text.replace('"256 KiB"', '"300 MiB"').replace("count = 600", f"count = {WRITES}")
    run = Experiment(text, "small.toml", Path()).run(any_size=True)
    totals = run.summary["variants"][0]["totals"]
    operations = totals["page_reads"] + totals["page_programs"] + totals["oob_programs"] + totals["erases"]
    run.report(path)
    print(f"{BLOCKS:,} blocks, {operations:,} operations, a page of {path.stat().st_size / 1e6:.1f} MB")


def measure(page: Page, counters: Any) -> None:
    def cpu_s() -> float:
        known = {one["name"]: one["value"] for one in counters.send("Performance.getMetrics")["metrics"]}
        return float(known["TaskDuration"])

    before_s = cpu_s()
    page.locator("#film-of-the-erase-blocks").scroll_into_view_if_needed()
    page.locator("figure.film[data-ready]").wait_for()
    events = page.evaluate(f"{FILM}.film.events.n")
    print(f"{events:,} events; ready after {cpu_s() - before_s:.2f} s of CPU time of the main thread")
    # The slider is below the chart; what is drawn is on the screen.
    page.locator("figure.film > canvas").scroll_into_view_if_needed()
    colours = page.eval_on_selector_all(
        "figure.film .deck select", "all => [...all[1].options].map(one => one.value)"
    )  # fmt: skip
    for colour in colours:
        before_s = cpu_s()
        found = page.evaluate(PLAY, [colour, PLAYED_MS])
        each_ms = 1000 * (cpu_s() - before_s) / (found["moved"] * PLAYED_MS / 1000)
        print(
            f"{colour}: {found['moved']:.0f} frames/s of {found['frames']:.0f}, {each_ms:.1f} ms of CPU time each, "
            f"{found['long']} tasks over 50 ms, longest {found['worst']:.0f} ms"
        )
    mean_ms, worst_ms = page.evaluate(SCRUB)
    print(f"to go to a place: {mean_ms:.1f} ms, at most {worst_ms:.1f} ms")
    counters.send("HeapProfiler.collectGarbage")
    heap = counters.send("Runtime.getHeapUsage")
    print(f"memory of the page: {(heap['usedSize'] + heap.get('backingStorageSize', 0)) / 1e6:.0f} MB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(folder) / "film.html"
        if not path.exists():
            make(path)
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(viewport={"width": WIDE, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(WATCH)
        counters = page.context.new_cdp_session(page)
        counters.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(path.as_uri())
        measure(page, counters)
        browser.close()


if __name__ == "__main__":
    main()
