"""One file of a machine and its workload answers all verbs, each from its own table."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.api import schemas
from ffslab.files.asked_tables import TABLES
from ffslab.studies.advise import Question
from ffslab.studies.budgets import Budgets
from ffslab.studies.crashtest import CrashTest
from ffslab.studies.sweep import Study
from helpers.command import Command
from helpers.schemas import disagreements

DEVICE = """\
title = "A device"
stack = { board = "omap3evm", fs = "jffs2", partition_blocks = 24 }
setup = [{ step = "mount" }, { step = "open", file = "log", flags = ["wronly", "create"] }, { step = "sync" }]
measure = [{ step = "append", file = "log", request_B = 3000, count = 20, sync = "fsync" }]
"""
QUESTION = """
[question]
per_day = 3
minimise = "latency_mean_us"
limits = ["latency_max_us <= 1 s"]

[question.axes]
partition_blocks = [24, 32]
"append.sync" = ["fsync", "fdatasync"]
"""
OTHERS = """
[study]
minimise = ["erases"]

[study.axes]
partition_blocks = [24, 32]

[crashtest.cuts]
points = 20

[budgets]
limits = ["write_amplification <= 9"]
"""
# What tells that a verb has read its table.
ANSWERS = {
    "run": "A device",
    "lifetime --years 0.001": "Repetitions: 3.00 a day",
    "sweep": "partition_blocks",
    "advise": "measure.latency_mean_us",
    "crashtest": "of 121 possible ones",
    "ci": "write_amplification",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "device.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("call", ANSWERS)
def test_the_same_file_answers_every_verb(call: str, tmp_path: Path, ffslab: Command) -> None:
    written(tmp_path, DEVICE + QUESTION + OTHERS)
    verb, *more = call.split()
    done = ffslab(verb, "device.toml", *more, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert ANSWERS[call] in done.stdout, done.stdout
    assert "old form" not in done.stderr, done.stderr


def test_answers_of_the_same_file_do_not_take_each_other_s_place(tmp_path: Path, ffslab: Command) -> None:
    written(tmp_path, DEVICE + OTHERS)
    for verb in ("sweep", "run", "sweep"):
        done = ffslab(verb, "device.toml", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert {folder.name for folder in (tmp_path / "results").iterdir()} == {"device", "device-sweep"}


def test_a_file_without_tables_is_swept_and_cut_and_lived_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, DEVICE + 'axes = { "append.sync" = ["fsync", "none"] }\n')
    assert [axis.name for axis in Study.from_file(path).axes] == ["append.sync"]
    test = CrashTest.from_file(path)
    assert (test.title, test.judge, test.cuts.points) == ("A device", {"kind": "synced"}, None)
    # What the setup leaves open is opened again where cuts are looked for.
    assert [step["step"] for step in test.setup] == ["mount"]
    assert [step["step"] for step in test.steps] == ["open", "sync", "append"]
    for reader, table in ((Question, "question"), (Budgets, "budgets")):
        with pytest.raises(InputError, match=rf"^{path}: there is no \[{table}\]: add \[{table}\] with "):
            reader.from_file(path)


def test_an_initial_state_and_mount_options_are_those_of_the_experiment(tmp_path: Path) -> None:
    text = DEVICE.replace('"mount" }', '"mount", options = ["sync"] }').replace(
        "stack", 'initial = "filled 30 %"\nstack', 1
    )
    test = CrashTest.from_file(written(tmp_path, text))
    assert [step["step"] for step in test.setup][:3] == ["mount", "sleep", "occupy"]
    assert test.mount == ("sync",)


def test_further_workloads_are_on_the_same_machine(tmp_path: Path) -> None:
    more = (
        '[[question.workload]]\nname = "reads"\nper_day = 1\n[question.workload.experiment]\n'
        'setup = [{ step = "mount" }]\n'
    )
    question = QUESTION.replace("append.sync", "measure.append.sync")
    asked = Question.from_file(written(tmp_path, DEVICE + question + more + 'measure = [{ step = "sync" }]\n'))
    assert [workload.name for workload in asked.workloads] == ["measure", "reads"]
    assert json.loads(json.dumps(asked.workloads[1].experiment.keys()["variants"]))[0]["key"]
    assert asked.wanted == ("measure.latency_mean_us", False)


@pytest.mark.parametrize(
    ("axis", "says"),
    [
        ("partiton_blocks = [24, 32]", "axis `partiton_blocks` cannot be varied in workload measure: unknown key"),
        (
            '"apend.sync" = ["fsync"]',
            "axis `apend.sync` cannot be varied in workload measure: axis `apend.sync`: unknown",
        ),
        (
            'read_ahead_KiB = ["much", "more"]',
            "axis `read_ahead_KiB` cannot be varied in workload measure: [stack] read_ahead_KiB: invalid",
        ),
    ],
)
def test_an_axis_that_cannot_be_varied_is_refused_before_anything_runs(axis: str, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, DEVICE + QUESTION + axis + "\n")
    with pytest.raises(InputError) as refused:
        Question.from_file(path)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_key_of_one_file_system_alone_can_be_varied_beside_others(tmp_path: Path) -> None:
    axes = 'fs = ["ubifs", "jffs2"]\nsummary = { values = [false, true], when = "fs == \'jffs2\'" }\n'
    text = DEVICE.replace('"jffs2"', '"ubifs"') + QUESTION + axes
    assert len(Question.from_file(written(tmp_path, text)).axes) == 4


def test_programs_that_run_at_once_are_no_test_of_power_cuts(tmp_path: Path) -> None:
    program = '[[program]]\nname = "other"\nsteps = [{ step = "sync" }]\n'
    path = written(tmp_path, DEVICE + program)
    with pytest.raises(InputError, match=r"\[\[program\]\]s run beside .* steps = "):
        CrashTest.from_file(path)
    own = '[crashtest]\nsteps = [{ step = "create", file = "x", bytes = 10 }]\n'
    assert [step["step"] for step in CrashTest.from_file(written(tmp_path, DEVICE + program + own)).steps] == ["create"]


def test_a_list_of_budgets_takes_the_rules_of_each_file(tmp_path: Path) -> None:
    written(tmp_path, DEVICE + QUESTION + OTHERS)
    listed = tmp_path / "all.toml"
    listed.write_text('[[budget]]\nexperiment = "device.toml"\n', encoding="utf-8")
    (budget,) = Budgets.from_file(listed).budgets
    assert (budget.name, budget.per_day, [limit.text for limit in budget.limits]) == (
        "device",
        3.0,
        ["write_amplification <= 9"],
    )


OLD = """\
title = "Old"
minimise = "writes.time_us"
[[workload]]
name = "writes"
per_day = 1
[workload.experiment]
stack = { board = "omap3evm", fs = "jffs2", partition_blocks = 24 }
setup = [{ step = "mount" }]
measure = [{ step = "create", file = "f", bytes = 10 }, { step = "sync" }]
[vary]
partition_blocks = [24]
"""


def test_an_old_file_is_answered_and_told_what_replaces_it(tmp_path: Path, ffslab: Command) -> None:
    written(tmp_path, OLD)
    done = ffslab("advise", "device.toml", cwd=tmp_path)
    assert "[vary] is [question.axes]; the old form goes with the next version" in done.stderr
    assert "24" in done.stdout


SLIPS = {
    "per_dya = 3": "[question]: unknown key `per_dya`: did you mean per_day?",
    "search = { run = 3 }": "[question.search]: unknown key `run`: did you mean runs?",
    "workload = [{ experimnt = 'm' }]": "[[question.workload]]: unknown key `experimnt`: did you mean experiment?",
}


@pytest.mark.parametrize("call", ANSWERS)
def test_a_misspelt_key_is_told_by_each_verb_that_reads_the_file(call: str, tmp_path: Path, ffslab: Command) -> None:
    verb, *more = call.split()
    for slip, said in SLIPS.items():
        written(tmp_path, DEVICE + OTHERS + QUESTION.replace("[question]\nper_day = 3", f"[question]\n{slip}"))
        done = ffslab(verb, "device.toml", *more, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), done.stdout
        assert done.stderr == f"ffslab: device.toml: {said}\n"


def test_an_editor_knows_the_keys_of_all_tables() -> None:
    schema = json.loads(schemas.text("experiment"))
    device = tomllib.loads(DEVICE + QUESTION + OTHERS)
    for name in TABLES:
        assert disagreements(device[name], schema["properties"][name], schema) == []
        wrong = disagreements({**device[name], "unknown": 1}, schema["properties"][name], schema)
        assert len(wrong) == 1
