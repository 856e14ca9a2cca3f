"""Whatever is documented or shipped stands in a journey."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ffslab.studies.reproduce import PAPERS
from ffslab.workloads.begin import WORKS
from helpers.command import ROOT
from helpers.verbs import VERBS
from journeys import worked_examples
from journeys.documents import FRONT, VERB_NAMES, documented, flags, is_typed_by, verbs_of, words
from journeys.table import all_journeys, journeys, kept, tables

# What is begun on them must be typed: the front pages, and the pages beside experiments and examples.
OF_CHECKOUT = (*FRONT, *sorted((ROOT / "experiments").glob("**/*.md")), *sorted((ROOT / "examples").glob("*.md")))
OF_DOCS = sorted((ROOT / "docs").glob("**/*.md"))


def of_journeys() -> list[str]:
    return [line for journey in all_journeys() for line in journey.run]


def of_pages() -> Iterator[tuple[Path, str]]:
    """What the pages of docs that are walked have typed, each with the folder in which it was."""
    for page in worked_examples.PAGES:
        text = page.read_text(encoding="utf-8")
        for command in worked_examples.commands(text):
            yield worked_examples.folder_of(text), command.line


def test_every_verb_is_typed() -> None:
    typed = verbs_of([*of_journeys(), *(line for _, line in of_pages())])
    assert set(VERB_NAMES) - typed == set()


def test_every_kind_of_work_is_begun() -> None:
    for name in WORKS:
        wanted = "ffslab new FILE.toml" if name == "logger" else f"ffslab new FILE.toml --work {name}"
        assert any(is_typed_by(wanted, line) for line in of_journeys()), name


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
    assert {f"ffslab reproduce {paper}" for paper in (*PAPERS, "published")} <= set(of_journeys())


def test_the_page_of_evidence_has_what_is_printed() -> None:
    """The journey of all cases is run by `make test-long`; the page is made from the same."""
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8").replace(" \\*", "")
    printed = [re.split(r"  +", line[4:]) for line in kept("papers")["all that is published"]]
    told = [cells for cells in printed if len(cells) == 7 and re.fullmatch(r"[+-]\d+ %", cells[5])]
    assert len(told) > 200
    missing = [
        name
        for name, _, published, simulated, _, error, _ in told
        if f"| {name} | {published} | {simulated} | {error} |" not in page
    ]
    assert missing == [], "python docs/evidence/figures.py"


@pytest.mark.parametrize(
    ("page", "name"), [("README.md", "the first three commands"), ("docs/first-experiment.md", "run")]
)
def test_what_a_front_page_shows_is_what_is_printed(page: str, name: str) -> None:
    """The lives of README, and the table of the first experiment."""
    block = (ROOT / page).read_text(encoding="utf-8").split("```text\n")[1]
    printed = "\n".join(line[4:] for line in kept("readme")[name] if line.startswith("  |"))
    shown = block.split("```")[0].rstrip("\n").splitlines()
    assert len(shown) >= 5
    assert "\n".join(shown[:20]) in printed


def test_every_command_of_the_front_pages_is_a_journey() -> None:
    """With its files and options; so are those that stand beside it."""
    of_front = {each.line: each for page in FRONT for each in documented(page)}
    assert len(of_front) > 30
    typed = [line for journey in all_journeys() for line in journey.documented]
    assert [line for line in of_front if line not in typed] == []
    assert [line for line in typed if line not in of_front] == [], "the front pages no longer say so"
    for journey in all_journeys():
        for line in journey.documented:
            assert any(is_typed_by(line, typed) for typed in journey.run), f"{journey.id}: nobody types: {line}"
            said = of_front[line].remark
            assert flags(said) <= flags(" ".join(journey.run)), f"{journey.id}: {said}"
            # Of one word may be anything.
            beside = {name for name in VERB_NAMES if " " in name and re.search(rf"\b{name}\b", said)}
            assert beside <= verbs_of(list(journey.run)), f"{journey.id}: {said}"


def test_every_command_of_pages_beside_files_is_typed() -> None:
    """Those of the front pages' own kind, and what stands in a block of a shell anywhere."""
    typed = [*of_journeys(), *(line for _, line in of_pages())]
    wanted = [each for page in OF_CHECKOUT for each in documented(page)]
    wanted += [
        each for page in OF_DOCS for each in documented(page) if each.is_of_shell and page not in worked_examples.PAGES
    ]
    assert "\n".join(str(each) for each in wanted if not any(is_typed_by(each.line, line) for line in typed)) == ""


@pytest.mark.parametrize("page", worked_examples.PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_walked_page_is_walked(page: Path) -> None:
    """What stands in a block that shows no output would be typed by nobody."""
    text = page.read_text(encoding="utf-8")
    walked = [each.line for each in worked_examples.commands(text)]
    assert walked
    assert [str(each) for each in documented(page) if not any(line.startswith(each.line) for line in walked)] == []


def test_commands_of_other_pages_are_calls_of_verbs() -> None:
    wrong = []
    for each in (each for page in OF_DOCS for each in documented(page) if each.line.startswith("ffslab")):
        called = words(each.line.split(" < ")[0].split(" > ")[0].split(" -- ")[0])
        names = [name for name in VERB_NAMES if called[1 : 1 + len(name.split())] == name.split()]
        # `mount stat` is below `mount`, which is a verb as well.
        name = max(names, key=len, default=None)
        known = {flag for parameter in VERBS[name].params for flag in parameter.opts} if name else set()
        unknown = [word for word in called if word.startswith("--") and word.partition("=")[0] not in known]
        shipped = [word for word in called if word.startswith(("experiments/", "examples/"))]
        unknown += [word for word in shipped if not list(ROOT.glob(word))]
        if name is None or unknown:
            wrong.append(f"{each}: {unknown or 'no such verb'}")
    assert wrong == []


def test_the_checks_see_what_is_missing(tmp_path: Path) -> None:
    assert verbs_of(
        ["ffslab run a.toml", "cd x && ffslab trace report a | head", "proxy=x ffslab reference fetch"]
    ) == {
        *("run", "trace report", "reference fetch"),
    }
    page = tmp_path / "page.md"
    page.write_text(
        "    ffslab run a.toml    runs it,\n                     with --json\ntext\n$ ffslab store ls\n"
        "```sh\nffslab new my.toml   # begins\n```\n```toml\nffslab ls\n```\n    python tool.py --chips 4\n"
    )
    assert [(each.line, each.remark, each.is_of_shell) for each in documented(page)] == [
        ("ffslab run a.toml", "runs it, with --json", False),
        ("ffslab store ls", "", False),
        ("ffslab new my.toml", "# begins", True),
        ("python tool.py --chips 4", "", False),
    ]


@pytest.mark.parametrize(
    ("line", "typed", "is_typed"),
    [
        ("ffslab fio JOBFILE --fs ubifs", "ffslab fio a.fio --fs jffs2", False),
        ("ffslab fio JOBFILE --fs ubifs", "ffslab fio a.fio --fs jffs2 --fs ubifs --json", True),
        ("ffslab extract rootfs.jffs2 DIR", "ffslab extract dump.bin files", False),
        ("ffslab extract rootfs.jffs2 DIR", "cd x && ffslab extract rootfs.jffs2 files | head", True),
        ("ffslab extract rootfs.jffs2 DIR", "ffslab extract rootfs.jffs2", False),
        ("ffslab trace convert IN --out OUT.parquet", "ffslab trace convert a.gz --out a.csv", False),
        ("ffslab lifetime a.toml --years 10", "ffslab lifetime a.toml --years 5", True),
        ("ffslab lifetime a.toml --years 10", "ffslab lifetime a.toml --per-day 10", False),
        ("ffslab profiles diff 5.10 6.12", "ffslab profiles diff 5.10 6.6", False),
        ("ffslab sqlite --fs ubifs < script.sql", "ffslab sqlite --fs ubifs < other.sql", False),
        ("ffslab reference run e/*.toml", "ffslab reference run e/one.toml", True),
        ("ffslab trace compare TRACE... [--json]", "ffslab trace compare board --json", True),
    ],
)
def test_a_command_is_typed_with_its_files_and_options(line: str, typed: str, *, is_typed: bool) -> None:
    assert is_typed_by(line, typed) == is_typed
