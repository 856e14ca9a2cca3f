"""Pages with hostile names and titles in a real browser: everything is shown, nothing is run."""

from __future__ import annotations

import json
import re
from pathlib import Path

from helpers.browsing import Opened
from helpers.command import SMALL, Command
from helpers.hostile_images import ACTING, jffs2_of_names

TITLE = "</title><script>document.title = 'hit'</script><img src=x onerror=\"document.title = 'hit'\">\\u202e$\\\\frac$"

# What the page became.
LOOK = """() => {
  const isolated = [...document.querySelectorAll("bdi")].map(it => getComputedStyle(it).unicodeBidi);
  return {
    title: document.title, heading: document.querySelector("h1").innerText,
    scripts: [...document.scripts].filter(it => it.text && !("page" in it.dataset) && !it.type).length,
    images: document.images.length,
    handlers: document.querySelectorAll("[onerror]").length,
    text: document.body.innerText, isolated: [...new Set(isolated)],
  };
}"""


def test_the_report_on_an_image_in_a_browser(ffslab: Command, tmp_path: Path, opened: Opened) -> None:
    image = tmp_path / "<script>document.title = 'hit'<!--.jffs2"
    image.write_bytes(jffs2_of_names(ACTING))
    ffslab("inspect", image.name, "--out", "page.html")
    found = opened(tmp_path / "page.html").evaluate(LOOK)
    assert found["title"] == image.name
    assert (found["scripts"], found["images"], found["handlers"]) == (0, 0, 0)
    assert f"'{'/' + '[red]markup'}'" in found["text"]
    assert "'/gpj'$'\\342\\200\\256''exe.b'" in found["text"]
    assert "<script>document.title=" in found["text"]
    assert found["isolated"] == ["isolate"]


def test_the_report_on_a_run_in_a_browser(ffslab: Command, tmp_path: Path, opened: Opened) -> None:
    escaped = TITLE.replace('"', '\\"')
    text = re.sub(r"^title = .*$", lambda _: f'title = "{escaped}"', SMALL, flags=re.MULTILINE)
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "small.toml", "--out", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = opened(tmp_path / "out" / "report.html").evaluate(LOOK)
    shown = json.loads(f'"{escaped}"').replace("\u202e", "\\342\\200\\256")
    assert found["title"] == shown
    assert found["heading"] == shown
    assert (found["scripts"], found["images"], found["handlers"]) == (0, 0, 0)
