"""What a release promises: one version everywhere, licences that may be passed on, a list of what is in it."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

import ffslab
from helpers.command import ROOT
from helpers.scripts import loaded

dependencies = loaded(ROOT / ".ci" / "dependencies.py")


def test_all_places_name_the_same_version() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    # One from outside has a source; the toy of the tests is no part of a release.
    own = {each["version"] for each in locked if "source" not in each and each["name"].startswith("ffslab")}
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    stable = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    fuzz = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))["package"]["version"]
    # A baseline of another version would warn whoever tries the example.
    baselines = [
        json.loads(path.read_text("utf-8"))["ffslab"] for path in (ROOT / "examples/ci").glob("*-baseline.json")
    ]
    paper = re.search(r"of version ([\d.]+\d)\b", (ROOT / "docs" / "paper" / "paper.md").read_text(encoding="utf-8"))
    assert paper is not None and baselines
    assert {workspace, *own, cited[1], ffslab.__version__, fuzz, *baselines, paper[1]} == {workspace}
    assert f"version {workspace.rpartition('.')[0]}:" in stable
    changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert changes[0] in (workspace, "Unreleased") and workspace in changes


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (LGPL-2.1-only OR GPL-2.0-only)", False),
        ("none", False),
        ("MIT AND", False),
        ("", False),
    ],
)
def test_licences_are_weighed(expression: str, allowed: bool) -> None:
    assert dependencies.is_allowed(expression) == allowed


def test_what_we_build_on_may_be_passed_on() -> None:
    found = dependencies.packages()
    assert {"numpy", "pandas", "typer", "pydantic"} <= {each.name for each in found}
    assert [each for each in found if not dependencies.is_allowed(each.licence)] == []
    # A foreign suite of the tests is GPL, and only tests call it.
    assert "ubi-reader" not in {each.name for each in found}


def test_the_list_of_what_is_in_it_is_cyclonedx() -> None:
    # It makes grammars when it is imported, for which each worker of each run of the tests would wait.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    found = [*dependencies.packages(), dependencies.Package("cargo", "serde", "1.0.0", "MIT/Apache-2.0")]
    text = json.dumps(dependencies.bill(found, ffslab.__version__))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    broken = text.replace('"library"', '"thing"', 1)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(broken) is not None


def test_issue_templates_and_policies_are_there() -> None:
    templates = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert len(templates) == 4
    for template in templates:
        assert re.match(r"---\nname: .+\nabout: .+\n---\n", template.read_text(encoding="utf-8")), template.name
    linked = re.findall(r"\]\((docs/[\w./-]+)\)", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert linked and all((ROOT / path).exists() for path in linked)


@pytest.mark.parametrize(("page", "bytes_max"), [("README.md", 8_000), ("DESIGN.md", 20_000)])
def test_what_is_read_first_is_short(page: str, bytes_max: int) -> None:
    """What grows belongs into docs/state.md, docs/verbs.md, or the README of the crate that it is about."""
    assert len((ROOT / page).read_bytes()) <= bytes_max


def test_the_six_walks_name_files_and_functions_that_exist() -> None:
    """Each file, and the last name of each path, that stands in backquotes in the six walks of DESIGN.md."""
    walks = (ROOT / "DESIGN.md").read_text(encoding="utf-8").split("## Six walks")[1].split("\n## ")[0]
    package, crates = ROOT / "python" / "ffslab", ROOT / "crates"
    sources = [*crates.glob("*/src/**/*.rs"), *package.rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    defined = set(re.findall(r"\b(?:fn|struct|enum|trait|static|const|class|def|mod) (\w+)", text))
    defined |= set(re.findall(r"^    (\w+)(?:,| = |\()", text, re.MULTILINE)) | {
        crate.name for crate in crates.iterdir()
    }
    missing = []
    for name in re.findall(r"`([\w./:]+)`", walks):
        crate, _, file = name.partition("/")
        if file:
            found = any(path.exists() for path in (crates / crate / "src" / file, package / name, ROOT / name))
        else:
            found = name.endswith(".json") or re.split(r"::|\.", name)[-1] in defined
        if not found:
            missing.append(name)
    assert missing == []


def test_the_page_of_speed_is_that_of_its_history() -> None:
    speed = loaded(ROOT / "benches/speed_page.py")
    assert (ROOT / "docs/speed.md").read_text(encoding="utf-8") == speed.page()
