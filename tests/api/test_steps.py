"""The reference of steps and keys: complete, as the page in docs says, and its examples are what the reader accepts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import native_steps
from ffslab import Experiment, InputError, steps
from ffslab.api import schemas
from ffslab.registries import vocabulary
from ffslab.text import vocabulary as text
from helpers.command import ROOT, Command

PAGE = ROOT / "docs" / "steps.md"


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
    assert "request_B     size, B                required   Bytes of one request." in shown.stdout
    assert "gap_us        time, us               0          Think time after each request." in shown.stdout
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


def test_functions_and_types_are_those_of_the_schema() -> None:
    """`python tools/native_steps.py` makes them."""
    assert native_steps.STEPS.read_text() == native_steps.step_functions()
    assert native_steps.KEYS.read_text() == native_steps.keys_and_calls()


def test_an_experiment_of_typed_steps_is_that_of_the_file() -> None:
    made = Experiment.of(
        "Appends",
        stack={"board": "omap3evm", "fs": "jffs2", "partition_blocks": 40},
        setup=[steps.mount(), steps.open(file="log", flags=["wronly", "create"])],
        measure=[steps.append(file="log", request_B=512, count=np.int64(20), sync="fsync")],  # type: ignore[arg-type]
        axes={"append.sync": ["fsync", "none"]},
    )
    written = """
        title = "Appends"
        stack = { board = "omap3evm", fs = "jffs2", partition_blocks = 40 }
        setup = [{ step = "mount" }, { step = "open", file = "log", flags = ["wronly", "create"] }]
        measure = [{ step = "append", file = "log", request_B = 512, count = 20, sync = "fsync" }]
        axes = { "append.sync" = ["fsync", "none"] }
    """
    assert made.run().summary == Experiment.from_toml(written).run().summary


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("\ud800", "'\\ud800' is no UTF-8 text"),
        (np.arange(2), "ndarray is neither text, number, truth value, list nor table"),
        (1 << 70, "1180591620717411303424 is not from -9223372036854775808 to 9223372036854775807"),
        (float("nan"), "nan is no number"),
    ],
)
def test_data_that_no_file_could_hold_are_told_with_their_place(value: object, said: str) -> None:
    measure = [{"step": "append", "file": value}]
    with pytest.raises(InputError, match="data: measure: entry 1: file: " + re.escape(said)):
        Experiment.from_data({"title": "t", "measure": measure}).run()


WRONG = {
    'steps.apend(file="log", request_B=512, count=1)': 'Module has no attribute "apend"',
    'steps.append(file="log", request_b=512, count=1)': 'Unexpected keyword argument "request_b" for "append"',
    'steps.append(file="log", request_B=512, count=1, sync="fsinc")': "incompatible type",
    'stack.step("setxattr", file="a", nam="user.b", value="c")': "No overload variant",
    'stack.step("setxatr", file="a", name="user.b", value="c")': "No overload variant",
    'ffslab.Stack("ubifs", read_ahed_KiB=0)': 'Unexpected keyword argument "read_ahed_KiB" for "Stack"',
    'machine: MachineKeys = {"board": "omap3evm", "partition_block": 3}': 'Extra key "partition_block"',
}


def test_mypy_finds_a_misspelt_step_or_key(tmp_path: Path) -> None:
    head = "import ffslab\nfrom ffslab import steps\nfrom ffslab.answers.typed_keys import MachineKeys\n"
    right = (
        'stack = ffslab.Stack("ubifs", read_ahead_KiB=0)\nstack.step("setxattr", file="a", name="user.b", value="c")\n'
    )
    (tmp_path / "uses.py").write_text(head + right + "\n".join(WRONG) + "\n")
    command = [str(Path(sys.executable).with_name("mypy")), "--strict", "--config-file", "", "uses.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    first = len((head + right).splitlines()) + 1
    for line, said in enumerate(WRONG.values(), first):
        told = [text for text in ran.stdout.splitlines() if text.startswith(f"uses.py:{line}: error")]
        assert any(said in text for text in told), (line, said, ran.stdout)
    assert not any(f"uses.py:{line}:" in ran.stdout for line in range(1, first)), ran.stdout
