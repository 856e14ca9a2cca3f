"""Pages with hostile names and titles in a real browser: everything is shown, nothing is run."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Command
from hostile_images import ACTING, jffs2_of_names

TITLE = "</title><script>document.title = 'hit'</script><img src=x onerror=\"document.title = 'hit'\">\\u202e$\\\\frac$"

# What the page became, at its own end: written where --dump-dom shows it.
LOOK = """<script id="look">
window.onload = () => {
  const isolated = [...document.querySelectorAll("bdi")].map(it => getComputedStyle(it).unicodeBidi);
  const found = {
    title: document.title, heading: document.querySelector("h1").innerText,
    scripts: [...document.scripts].filter(it => it.text && !("page" in it.dataset) && !it.type).length,
    images: document.images.length,
    handlers: document.querySelectorAll("[onerror]").length,
    text: document.body.innerText, isolated: [...new Set(isolated)],
  };
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
};
</script>"""


def in_browser(page: Path) -> dict[str, Any]:
    """What a browser makes of the page."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is missing: apt-get install chromium")
    looked_at = page.with_name("looked-at.html")
    looked_at.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    profile = f"--user-data-dir={page.with_name('browser')}"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", profile, "--dump-dom"]
    ran = subprocess.run([browser, *flags, looked_at.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert found is not None, "the browser has not come to the end of the page"
    values: dict[str, Any] = json.loads(html.unescape(found[1]))
    return values


def test_the_report_on_an_image_in_a_browser(ffslab: Command, tmp_path: Path) -> None:
    image = tmp_path / "<script>document.title = 'hit'<!--.jffs2"
    image.write_bytes(jffs2_of_names(ACTING))
    ffslab("inspect", image.name, "--report", "page.html")
    found = in_browser(tmp_path / "page.html")
    assert found["title"] == image.name
    # The script is the test's own.
    assert (found["scripts"], found["images"], found["handlers"]) == (1, 0, 0)
    assert f"'{'/' + '[red]markup'}'" in found["text"]
    assert "'/gpj'$'\\342\\200\\256''exe.b'" in found["text"]
    assert "<script>document.title=" in found["text"]
    assert found["isolated"] == ["isolate"]


def test_the_report_on_a_run_in_a_browser(ffslab: Command, tmp_path: Path) -> None:
    escaped = TITLE.replace('"', '\\"')
    text = re.sub(r"^title = .*$", lambda _: f'title = "{escaped}"', SMALL, flags=re.MULTILINE)
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "small.toml", "--out", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = in_browser(tmp_path / "out" / "report.html")
    shown = json.loads(f'"{escaped}"').replace("\u202e", "\\342\\200\\256")
    assert found["title"] == shown
    assert found["heading"] == shown
    assert (found["scripts"], found["images"], found["handlers"]) == (1, 0, 0)
