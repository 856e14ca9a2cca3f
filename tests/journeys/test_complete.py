"""Whatever is documented or shipped stands in a journey."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup

from ffslab.studies.reproduce import PAPERS
from helpers.command import ROOT
from helpers.verbs import VERBS
from journeys import worked_examples
from journeys.table import all_journeys, journeys, kept, tables

VERB_NAMES = [name for name, verb in VERBS.items() if not isinstance(verb, TyperGroup)]
# A command stands alone on a line, indented or behind a prompt; two spaces begin what is said about it.
OF_DOCUMENT = re.compile(r"^(?:    |\$ )(?:\.venv/bin/)?(ffslab .*?)(?:  .*)?$", re.MULTILINE)
# Called from a shell that did something before.
CALL = re.compile(r"(?:^|[&|;(]\s*|-- )ffslab ([^&|;<>]*)")


def of_journeys() -> list[str]:
    return [line for journey in all_journeys() for line in journey.run]


def of_pages() -> Iterator[tuple[Path, str]]:
    """What the pages of docs that are walked have typed, each with the folder in which it was."""
    for page in worked_examples.PAGES:
        text = page.read_text(encoding="utf-8")
        for block in worked_examples.BLOCK.findall(text):
            for command in worked_examples.commands(block):
                yield worked_examples.folder_of(text), command.line


def verbs_of(lines: list[str]) -> set[str]:
    calls = [call for line in lines for call in CALL.findall(line)]
    return {name for name in VERB_NAMES for call in calls if call.split()[: len(name.split())] == name.split()}


def test_every_verb_is_typed() -> None:
    typed = verbs_of([*of_journeys(), *(line for _, line in of_pages())])
    assert set(VERB_NAMES) - typed == {"reference fetch"}, "downloads a kernel: tests/referee/test_reference_armhf.py"


def named_by(file: Path) -> set[Path]:
    """Files that another one names, by their path from its folder."""
    text = file.read_text(encoding="utf-8")
    return {(file.parent / name).resolve() for name in re.findall(r'"([\w./-]+\.toml)"', text)}


def test_every_shipped_file_is_used() -> None:
    shipped = {path for top in ("experiments", "examples") for path in (ROOT / top).glob("**/*.toml")}
    names = {(ROOT / name) for line in of_journeys() for name in re.findall(r"[\w./-]+\.toml", line)}
    names |= {folder / name for folder, line in of_pages() for name in re.findall(r"[\w./-]+\.toml", line)}
    # In the folder of its budgets a command names none.
    names.add(ROOT / "examples/ci/ffslab-budgets.toml")
    used = {path.resolve() for path in names if path.exists()}
    while more := {other for file in used & shipped for other in named_by(file)} - used:
        used |= more
    assert sorted(path.relative_to(ROOT).as_posix() for path in shipped - used) == []


def test_every_table_is_run_by_a_test() -> None:
    tested = {path.stem.removeprefix("test_journeys_") for path in Path(__file__).parent.glob("test_journeys_*.py")}
    assert set(tables()) == tested
    for table in tables():
        assert sorted(kept(table)) == sorted(journey.name for journey in journeys(table)), f"kept/{table}.txt"


def test_every_paper_is_a_journey() -> None:
    assert {f"ffslab reproduce {paper}" for paper in PAPERS} <= set(of_journeys())


def test_what_readme_shows_is_what_is_printed() -> None:
    """The first experiment's table."""
    lines = [line[4:] for line in kept("readme")["run"] if line.startswith("  |")]
    shown = (ROOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].splitlines()
    assert shown[:20] == lines[:20]


def test_every_verb_of_readme_is_a_journey() -> None:
    documented = OF_DOCUMENT.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(documented) > 30
    typed = [line for journey in all_journeys() for line in journey.documented]
    assert [line for line in documented if line not in typed] == []
    assert [line for line in typed if line not in documented] == [], "README no longer says so"
    for journey in all_journeys():
        assert verbs_of(list(journey.documented)) <= verbs_of(list(journey.run)), journey.name


@pytest.mark.parametrize("page", worked_examples.PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_walked_page_is_walked(page: Path) -> None:
    """What stands in a block that shows no output would be typed by nobody."""
    text = page.read_text(encoding="utf-8")
    walked = sum(len(worked_examples.commands(block)) for block in worked_examples.BLOCK.findall(text))
    assert OF_DOCUMENT.findall(worked_examples.BLOCK.sub("", text)) == []
    assert walked > 0


def calls_of_documents() -> list[tuple[str, str]]:
    return [
        (page.name, line)
        for page in sorted((ROOT / "docs").glob("*.md"))
        for line in OF_DOCUMENT.findall(page.read_text(encoding="utf-8"))
    ]


def test_commands_of_other_pages_are_calls_of_verbs() -> None:
    wrong = []
    for page, line in calls_of_documents():
        words = shlex.split(
            line.split(" #")[0].split(" < ")[0].split(" > ")[0].split(" -- ")[0].replace("[", "").replace("]", "")
        )
        names = [name for name in VERB_NAMES if words[1 : 1 + len(name.split())] == name.split()]
        # `mount stat` is below `mount`, which is a verb as well.
        name = max(names, key=len, default=None)
        flags = {flag for each in VERBS[name].params for flag in each.opts} if name else set()
        unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in flags]
        unknown += [
            word for word in words if word.startswith(("experiments/", "examples/")) and not list(ROOT.glob(word))
        ]
        if name is None or unknown:
            wrong.append(f"{page}: {line}: {unknown or 'no such verb'}")
    assert wrong == []


def test_the_checks_see_what_is_missing() -> None:
    assert verbs_of(["ffslab run a.toml", "cd x && ffslab trace report a | head"]) == {"run", "trace report"}
    assert OF_DOCUMENT.findall("    ffslab run a.toml    runs it\ntext\n$ ffslab store ls\n") == [
        "ffslab run a.toml",
        "ffslab store ls",
    ]
