"""The files for GitHub and GitLab in examples/ci: their shell runs here as it does there, from clone to reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml  # type: ignore[import-untyped]

from helpers.command import ROOT

EXAMPLES = ROOT / "examples/ci"
# Stands where the repository of ffslab would: its set-up takes minutes, and other tests see to that.
MAKEFILE = "setup:\n\tmkdir -p .venv/bin && cp command .venv/bin/ffslab\n"


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository that `git clone` and `make setup` take, with the command of these tests."""
    folder = tmp_path / "origin"
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    command = folder / "command"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ffslab "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-C", str(folder)]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "made"]):
        subprocess.run([*git, *words], check=True)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the build server has checked out."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "checkout"))


def value_of(text: str, variables: dict[str, str]) -> str:
    """A text of a workflow with its expressions: a variable, or an input that nobody gave and its default."""
    text = re.sub(r"\$\{\{ vars\.(\w+) \}\}", lambda found: variables[found[1]], text)
    return re.sub(r"\$\{\{ inputs\.\w+ \|\| '([^']*)' \}\}", r"\1", text)


def of_github(folder: Path, origin: Path) -> subprocess.CompletedProcess[str]:
    """Runs the steps one after the other, each in a shell that stops at the first error, as a runner does."""
    (job,) = loaded("github.yml")["jobs"].values()
    added = folder / "path"
    added.touch()
    said = {key: value_of(text, {"FFSLAB_REPOSITORY": origin.as_uri()}) for key, text in job["env"].items()}
    ran = subprocess.CompletedProcess[str]([], 0, "", "")
    for step in job["steps"]:
        if "run" not in step:
            continue
        path = os.pathsep.join([*added.read_text("utf-8").split(), os.environ["PATH"]])
        ran = run(["bash", "-e", "-c", step["run"]], folder, said | {"GITHUB_PATH": str(added), "PATH": path})
        if ran.returncode != 0:
            break
    return ran


def of_gitlab(folder: Path, origin: Path) -> subprocess.CompletedProcess[str]:
    """Runs all lines in one shell, as a runner does. Only the packages of Debian are there already."""
    (job,) = loaded("gitlab.yml").values()
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "apt-get").write_text("#!/bin/sh\n", encoding="utf-8")
    (tools / "apt-get").chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    said = {**job["variables"], "FFSLAB_REPOSITORY": origin.as_uri(), "PATH": path}
    lines = [*job["before_script"], *job["script"]]
    return run(["bash", "-eo", "pipefail", "-c", "\n".join(lines)], folder, said)


def loaded(name: str) -> dict[Any, Any]:
    read: dict[Any, Any] = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    return read


def run(words: list[str], folder: Path, said: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=folder, env=os.environ | said, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("server", [of_github, of_gitlab], ids=["github", "gitlab"])
def test_a_build_server_clones_checks_and_reports(server: Any, checkout: Path, origin: Path) -> None:
    ran = server(checkout, origin)
    assert ran.returncode == 0, ran.stderr
    suite = ElementTree.parse(checkout / "junit.xml").getroot()
    assert suite.get("failures") == "0" and int(suite.get("tests", "0")) == 8
    # What github-action-benchmark wants of `customSmallerIsBetter`.
    entries = json.loads((checkout / "flash.json").read_text(encoding="utf-8"))
    assert entries and all({"name", "unit", "value"} <= set(entry) for entry in entries)
    assert all(isinstance(entry["value"], int | float) for entry in entries)

    # A commit that writes more: the build fails, and its reports are there.
    shutil.rmtree(checkout / "ffslab")
    settings = checkout / "settings.toml"
    text = settings.read_text(encoding="utf-8")
    assert text.count("count = 1500") == 1
    settings.write_text(text.replace("count = 1500", "count = 1600"), encoding="utf-8")
    ran = server(checkout, origin)
    assert ran.returncode == 1, ran.stderr
    assert "page_programs" in ran.stdout
    assert ElementTree.parse(checkout / "junit.xml").getroot().get("failures") != "0"


def test_the_workflow_can_be_called_by_others_and_draws_what_the_command_writes() -> None:
    workflow = loaded("github.yml")
    # YAML 1.1 reads the key `on` as true.
    on = workflow[True]
    assert set(on) == {"push", "pull_request", "workflow_call"}
    (job,) = workflow["jobs"].values()
    default = on["workflow_call"]["inputs"]["budgets"]["default"]
    assert value_of(job["env"]["BUDGETS"], {"FFSLAB_REPOSITORY": ""}) == default
    assert (EXAMPLES / default).is_file()
    (check,) = [step["run"] for step in job["steps"] if step.get("name") == "check budgets"]
    (drawn,) = [step["with"] for step in job["steps"] if "benchmark" in step.get("uses", "")]
    assert f"--benchmark {drawn['output-file-path']}" in check and drawn["tool"] == "customSmallerIsBetter"
    (gitlab,) = loaded("gitlab.yml").values()
    assert f"--junit {gitlab['artifacts']['reports']['junit']}" in gitlab["script"][-1]
