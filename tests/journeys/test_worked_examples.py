"""The tutorial, docs/how-to and docs/worked: each command works as it stands and prints what stands below it."""

import shutil
from pathlib import Path

import pytest

from helpers.command import FFSLAB, Ran
from helpers.command_server import Server
from journeys import worked_examples as worked

# What takes longer than all others together.
LONG = {"which-root", "which-store"}


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.long] * (page.stem in LONG)) for page in worked.PAGES]
)
def test_the_commands_print_what_the_page_shows(page: Path, tmp_path: Path, command_server: Server) -> None:
    """`python tests/journeys/worked_examples.py` writes it again."""

    def call(words: list[str], place: Path, stdin: Path | None) -> Ran:
        return command_server.run([str(FFSLAB), *words], place, worked.ENVIRONMENT, 600, stdin)

    text = page.read_text(encoding="utf-8")
    place = tmp_path / "example"
    shutil.copytree(worked.folder_of(text), place)
    commands = worked.commands(text)
    assert commands
    for command in commands:
        printed, code = worked.answer(command.line, place, call)
        shown = "\n".join(command.shown)
        assert worked.is_shown(command.shown, printed), f"{command.line}\n{shown}\n--- but\n" + "\n".join(printed)
        assert code == command.exit_code, command.line


def test_exit_codes_stand_above_their_block() -> None:
    text = "```console\n$ a\n1\n```\ntext\n<!-- exit codes 0, 1 -->\n```console\n$ b\n$ c\n2\n3\n```\n"
    assert worked.commands(text) == [
        worked.Command("a", ["1"], 0),
        worked.Command("b", [], 0),
        worked.Command("c", ["2", "3"], 1),
    ]
    with pytest.raises(AssertionError, match="has 2 commands"):
        worked.commands(text.replace("0, 1", "1"))


def test_what_is_left_out_is_any_number_of_lines() -> None:
    printed = ["a", "b", "c", "d"]
    assert worked.is_shown(["a", "...", "d"], printed) and worked.is_shown(["...", "b", "..."], printed)
    assert not worked.is_shown(["a", "...", "c"], printed) and not worked.is_shown(["b", "..."], printed)
    assert not worked.is_shown(["a", "b"], printed)
