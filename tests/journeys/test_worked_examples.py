"""The tutorial, docs/how-to and docs/worked: each command works as it stands and prints what stands below it."""

import shutil
from pathlib import Path

import pytest

from journeys import worked_examples as worked


@pytest.mark.parametrize("page", worked.PAGES, ids=lambda page: page.stem)
def test_the_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """`python tests/journeys/worked_examples.py` writes it again."""
    text = page.read_text(encoding="utf-8")
    place = tmp_path / "example"
    shutil.copytree(worked.folder_of(text), place)
    blocks = worked.BLOCK.findall(text)
    assert blocks
    for command in (command for block in blocks for command in worked.commands(block)):
        printed = worked.output(command.line, place)
        shown = "\n".join(command.shown)
        assert worked.is_shown(command.shown, printed), f"{command.line}\n{shown}\n--- but\n" + "\n".join(printed)


def test_what_is_left_out_is_any_number_of_lines() -> None:
    printed = ["a", "b", "c", "d"]
    assert worked.is_shown(["a", "...", "d"], printed) and worked.is_shown(["...", "b", "..."], printed)
    assert not worked.is_shown(["a", "...", "c"], printed) and not worked.is_shown(["b", "..."], printed)
    assert not worked.is_shown(["a", "b"], printed)
