"""Key-value stores on a bare program, and the same steps on file systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command

NOR: dict[str, Any] = {
    "system": "bare",
    "board": "licheepi-nano",
    "part": "w25q128jv",
    "erase_block_KiB": 4,
    "partition_blocks": 32,
}
STORES = ["sequential-storage", "ekv", "tickv"]
FILE_SYSTEMS: dict[str, dict[str, Any]] = {
    "littlefs": NOR | {"fs": "littlefs"},
    "yaffs2": {"system": "bare", "board": "omap3evm", "fs": "yaffs2", "partition_blocks": 64},
    "ubifs": {"board": "omap3evm", "fs": "ubifs", "partition_blocks": 64},
    "jffs2": {"board": "omap3evm", "fs": "jffs2", "partition_blocks": 64},
}
WORK = """
[[setup]]
step = "mount"
[[measure]]
step = "set"
keys = 10
bytes = 100
count = 60
pattern = "random"
[[measure]]
step = "get"
keys = 10
[[measure]]
step = "delete"
keys = 10
count = 3
[[measure]]
step = "get"
keys = 10
"""
ITERATE = '[[measure]]\nstep = "iterate"\n'


def written(tmp_path: Path, stack: dict[str, Any], steps: str) -> str:
    """The file of an experiment."""
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in stack.items() if not isinstance(value, dict))
    tables = "".join(
        f"\n[stack.{name}]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
        for name, table in stack.items()
        if isinstance(table, dict)
    )
    file = tmp_path / "experiment.toml"
    file.write_text(f'title = "Keys"\n[stack]\n{keys}\n{tables}\n{steps}')
    return str(file)


def ran(ffslab: Command, tmp_path: Path, stack: dict[str, Any], steps: str) -> dict[str, Any]:
    out = tmp_path / "results"
    done = ffslab("run", written(tmp_path, stack, steps), "--out", str(out))
    assert done.returncode == 0, done.stderr
    variant: dict[str, Any] = json.loads((out / "summary.json").read_text())["variants"][0]
    return variant


@pytest.mark.parametrize("name", [*STORES, *FILE_SYSTEMS])
def test_the_same_steps_run_on_stores_and_on_file_systems(ffslab: Command, tmp_path: Path, name: str) -> None:
    stack = FILE_SYSTEMS.get(name, NOR | {"fs": name})
    variant = ran(ffslab, tmp_path, stack, WORK + (ITERATE if name != "tickv" else ""))
    steps = variant["steps"]
    assert [step["requests_done"] for step in steps[:4]] == [60, 10, 3, 7]
    assert any("3 of 10 keys were not there" in note for note in variant["notes"]), variant["notes"]
    if name != "tickv":
        assert steps[4]["bytes_accepted_B"] == 7 * 100
    # Each operation of a store has a cause of its own.
    if name in STORES:
        assert not [cause for cause in variant["by_cause"] if cause["reason"] in ("other", "user data", "metadata")]


def test_what_is_no_file_system_has_no_files(ffslab: Command, tmp_path: Path) -> None:
    mount = '[[setup]]\nstep = "mount"\n'
    for steps, told in (
        ('[[measure]]\nstep = "create"\nfile = "a"\nbytes = 10\n', "files (its steps are set, get, delete, iterate)"),
        ('[[measure]]\nstep = "iterate"\n', "list of its keys, only hashes of them"),
    ):
        done = ffslab("run", written(tmp_path, NOR | {"fs": "tickv"}, mount + steps))
        assert done.returncode == 2 and told in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        (
            {"fs": "sequential-storage", "sequential_storage": {"word_B": 3}},
            "sequential_storage.word_B = 3",
        ),
        ({"fs": "sequential-storage", "sequential_storage": {"buffer_B": 9}}, "sequential_storage.buffer_B = 9"),
        ({"fs": "ekv", "partition_blocks": 300}, "partition_blocks = 300: ekv needs 16 to 256 erase blocks"),
        ({"fs": "ekv", "erase_block_KiB": 64}, "erase_block_KiB = 64: ekv is compiled here for erase blocks of 4 KiB"),
        ({"fs": "tickv", "ekv": {"random_seed": 1}}, "ekv"),
    ],
)
def test_settings_that_cannot_be_are_refused(ffslab: Command, tmp_path: Path, stack: dict[str, Any], told: str) -> None:
    done = ffslab("run", written(tmp_path, NOR | stack, '[[measure]]\nstep = "mount"\n'))
    assert done.returncode == 2 and told in done.stderr, done.stderr


def test_nand_is_refused(ffslab: Command, tmp_path: Path) -> None:
    for fs in STORES:
        stack = {"system": "bare", "board": "omap3evm", "fs": fs}
        done = ffslab("run", written(tmp_path, stack, '[[measure]]\nstep = "mount"\n'))
        assert done.returncode == 2 and "needs NOR flash, which programs single bytes" in done.stderr, done.stderr
