"""The documentation as a site: built without network, links lead somewhere, the reference is that of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ffslab import __all__ as names_of_package
from ffslab.api import schemas
from helpers.command import ROOT
from helpers.verbs import VERBS
from journeys.worked_examples import PAGES

# As `unshare -n`: a fetch would fail. Not every container may do it; there a proxy that is none says the same.
OFFLINE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "NO_MKDOCS_2_WARNING": "1"}


# Not `--quiet`: with it MkDocs does not count warnings, and nothing is an error.
def build(folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    command += ["--config-file", str(config)]
    return subprocess.run(command, env={**os.environ, **OFFLINE}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert (built.returncode, "WARNING" in built.stderr) == (0, False), built.stderr
    return folder


class Links(HTMLParser):
    """What a page links to and loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(value for key, value in attrs if key in ("id", "name") and value)
        if tag == "a" and values.get("href"):
            self.targets.append(str(values["href"]))
        for key in ("src", "href"):
            if tag in ("script", "img", "link") and values.get(key) and values.get("rel") != "canonical":
                self.loads.append(str(values[key]))


def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {path.resolve(): Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 80
    dead, loaded = [], []
    for path, page in pages.items():
        loaded += [target for target in page.loads if re.match(r"\w+:|//", target) and not target.startswith("data:")]
        if path.name == "404.html":
            continue  # Its links begin at the root of a server.
        for target in page.targets:
            if re.match(r"\w+:", target):
                continue
            file, _, anchor = unescape(target).partition("#")
            goal = (path.parent / file).resolve() if file else path
            if not goal.exists():
                dead.append(f"{path.name}: {target}")
            elif anchor and goal in pages and anchor not in pages[goal].anchors:
                dead.append(f"{path.name}: {target}: no such anchor")
    assert (dead, loaded) == ([], []), (dead[:20], loaded[:20])


def test_the_reference_has_everything(site: Path) -> None:
    verbs = Links((site / "reference" / "verbs.html").read_text(encoding="utf-8"))
    assert {name.replace(" ", "-") for name in VERBS} <= verbs.anchors
    json = Links((site / "reference" / "schemas.html").read_text(encoding="utf-8"))
    assert {name.replace(" ", "-") for name in schemas.names()} <= json.anchors
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in names_of_package:
        assert f"ffslab.{name}" in python or name == "__version__", name
    fields = (site / "reference" / "profiles.html").read_text(encoding="utf-8")
    assert all(key in fields for key in ("t_read_us", "buffer_flush_us", "read_ahead_KiB"))


def test_every_guide_is_found_from_the_start(site: Path) -> None:
    start = Links((site / "index.html").read_text(encoding="utf-8"))
    reached = {target.partition("#")[0] for target in start.targets}
    for page in PAGES:
        assert str(page.relative_to(ROOT / "docs").with_suffix(".html")) in reached


def test_a_search_finds_a_verb(site: Path) -> None:
    assert "ffslab lifetime" in (site / "search" / "search_index.json").read_text(encoding="utf-8")


def test_a_dead_link_is_an_error(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# One\n\n[two](two.md) and [here](#three)\n", encoding="utf-8")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    config = tmp_path / "mkdocs.yml"
    text = re.sub(r"\nhooks:.*|\nnav:(?:.|\n)*", "\n", config.read_text(encoding="utf-8"))
    config.write_text(text, encoding="utf-8")
    built = build(tmp_path / "site", config)
    assert built.returncode != 0 and "two.md" in built.stderr and "#three" in built.stderr
