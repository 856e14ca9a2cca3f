"""The reference of steps and keys: complete, as the page in docs says, and its examples are what the reader accepts."""

import json
from pathlib import Path

import pytest

from conftest import Command
from ffslab import Experiment, InputError
from ffslab.api import schemas, vocabulary
from ffslab.text import vocabulary as text

PAGE = Path(__file__).parents[1] / "docs" / "steps.md"


def test_the_page_is_what_the_command_prints(ffslab: Command) -> None:
    """`ffslab steps --markdown > docs/steps.md` makes it."""
    assert ffslab("steps", "--markdown").stdout == PAGE.read_text()


def test_every_step_of_the_schema_is_listed() -> None:
    schema = json.loads(schemas.text("experiment"))
    names = [step["properties"]["step"]["const"] for step in schema["$defs"]["Step"]["oneOf"]]
    assert [*vocabulary.steps()] == names
    listed = [line.split()[0] for line in text.listing().splitlines() if line]
    assert set(names) <= set(listed)


@pytest.mark.parametrize("name", [*vocabulary.steps()])
def test_the_example_of_a_step_is_read(name: str) -> None:
    """Nothing is wrong with it but what only the machine can tell: it names files that are not there."""
    example = vocabulary.entry(name).example
    assert example[0] == f'step = "{name}"'
    head = 'title = "t"\n[stack]\nboard = "omap3evm"\nfs = "ubifs"\npartition_blocks = 100\n'
    try:
        Experiment.from_toml(head + "[[measure]]\n" + "\n".join(example) + "\n")
    except InputError as error:
        assert "cannot be read" in str(error) or "no UBI" in str(error), error


def test_one_step_is_explained(ffslab: Command) -> None:
    shown = ffslab("steps", "requests")
    assert shown.returncode == 0
    assert "request_B  size, B                required   Bytes of one request." in shown.stdout
    assert "gap_us     time, us               0          Think time after each request." in shown.stdout
    assert '    request_B = "4 KiB"' in shown.stdout


def test_a_misspelt_step_is_answered_with_the_right_one(ffslab: Command) -> None:
    refused = ffslab("steps", "reqests")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (
        refused.stderr == 'ffslab: "reqests" is neither a step nor a table of an experiment: did you mean "requests"?\n'
    )


def test_every_key_has_a_meaning() -> None:
    for entry in (vocabulary.steps() | vocabulary.tables()).values():
        assert entry.about
        for key in entry.keys:
            assert key.about or key.words, f"{entry.name}.{key.name}"
            assert key.kind != "any value", f"{entry.name}.{key.name}"
