"""The border between Rust and Python: each result is as its JSON Schema says, and Python's types are as the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ffslab as package
import native_types
from ffslab import _native
from ffslab.answers.lifetime import Lifetime
from ffslab.answers.reproduction import JudgedPaper
from ffslab.api import profiles, schemas
from ffslab.inspection import inspect_image
from ffslab.measured.compare import comparison
from ffslab.measured.tracereport.diff import Side, difference
from ffslab.measured.tracereport.recording import load
from ffslab.measured.tracereport.summary import summarize
from ffslab.measured.tracereport.verb import Options, summarized
from ffslab.measured.tracereport.wear import Endurance
from ffslab.studies.calibrate.verb import Inputs, calibrate
from ffslab.studies.reproduce.claims import Claims
from helpers import published_cases
from helpers.bench_logs import Bench
from helpers.cases import case_file
from helpers.command import Command
from helpers.schemas import check, disagreements
from helpers.trace_logs import other_session, write_session


def test_the_types_of_python_are_those_of_the_schemas() -> None:
    for module, text in native_types.sources().items():
        written = (native_types.FOLDER / f"{module}.py").read_text(encoding="utf-8")
        assert written == text, "write them again: python tools/native_types.py"


def test_every_answer_has_types() -> None:
    known = {name for names in native_types.MODULES.values() for name in names}
    assert known == {name for name, _ in _native.schemas()} - {"experiment"}


def test_a_value_that_is_not_as_its_schema_is_found() -> None:
    schema = json.loads(schemas.text("totals"))
    stack = package.Stack(partition_blocks=160)
    right: dict[str, Any] = {**stack.counters()}
    assert disagreements(right, schema, schema) == []
    for wrong in ({"new": 1}, {"erases": 0.5}, {"erases": None}, {"energy_uJ": {"cpu": 1.0}}):
        assert disagreements({**right, **wrong}, schema, schema) != [], wrong
    del right["time_us"]
    assert disagreements(right, schema, schema) == ["$: time_us is missing"]


RUNS = {
    "linux": """
[stack]
board = "omap3evm"
fs = "ubifs"
partition_blocks = 160

[axes]
read_ahead_KiB = [0, 128]

[[setup]]
step = "mount"

[[measure]]
step = "postmark"
file = "mail.pmrc"
commands = "set number 20\\nset transactions 20\\nrun\\nquit"

[[measure]]
step = "fio"
file = "job.fio"
""",
    "rtems": """
[stack]
system = "rtems"
fs = "rfs"
device = "sd-card"

[[setup]]
step = "mount"

[[measure]]
step = "open"
file = "a"
flags = ["create", "wronly"]

[[measure]]
step = "append"
file = "a"
count = 4
request_B = 512
""",
}


@pytest.mark.parametrize("system", RUNS)
def test_summaries_are_as_their_schema_says(system: str, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text("[a]\nrw=randwrite\nsize=64k\nbs=4k\n", encoding="utf-8")
    text = f'title = "x"\n{RUNS[system]}'
    experiment = package.Experiment.from_toml(text, tmp_path)
    run = experiment.run()
    check("summary", json.dumps(run.summary))
    check("variant", json.dumps(run.summary["variants"][0]))
    if system == "linux":
        check("plan", _native.planned_variants(experiment))


def test_what_a_stack_says_is_as_its_schemas_say() -> None:
    stack = package.Stack("yaffs2", partition_blocks=160)
    stack.mount()
    with stack.measured("write"):
        stack.write_file("a", b"x" * 5000)
    check("totals", json.dumps(stack.counters()))
    check("activity", json.dumps(stack.activity()))
    check("stack", json.dumps(stack.keys))
    check("variant", json.dumps(stack.measurement().variant))


def test_inspections_are_as_their_schemas_say(tmp_path: Path) -> None:
    for fs in ("jffs2", "yaffs2", "ubifs"):
        stack = package.Stack(fs, partition_blocks=160)
        stack.mount()
        stack.write_file("a", b"x" * 5000)
        stack.umount()
        image = tmp_path / fs
        image.write_bytes(stack.image(oob=True))
        machine: dict[str, Any] = {
            "board": "omap3evm",
            "part": None,
            "kernel": None,
            "device": "sd-card",
            "deleted": True,
        }
        check("inspection", _native.inspect(image, {}, **machine))
        check("partitions", _native.recognise(image, {}))
        check("image", json.dumps(inspect_image(image)))


def test_lifetimes_are_as_their_schema_says(ffslab: Command, small_results: Path) -> None:
    done = ffslab("lifetime", small_results, "--json")
    assert done.returncode in (0, 1), done.stderr
    check("lifetime", done.stdout)


def test_reports_of_logs_are_as_their_schema_says(tmp_path: Path) -> None:
    session = write_session(tmp_path / "session")
    check("trace_report", json.dumps(summarize(load([session]), Endurance(100_000, "test"))[0]))


def test_differences_of_logs_are_as_their_schema_says(tmp_path: Path) -> None:
    before, after = write_session(tmp_path / "before"), other_session(tmp_path / "after")
    sides = [Side(*summarized([session], Options(), None), name=session.name) for session in (before, after)]
    check("trace_diff", json.dumps(difference(*sides)))


def test_profiles_are_as_their_schemas_say() -> None:
    check("profiles", _native.profiles())
    for profile in json.loads(_native.profiles()):
        check("profile", _native.profile(profile["name"]))


def test_differences_of_profiles_are_as_their_schema_says() -> None:
    check("profile_difference", json.dumps(profiles.difference("mt29f2g08aac", "tc58nvg1s3e")))


def test_judged_studies_are_as_their_schema_says() -> None:
    claims = list(Claims("rtems"))
    claims[0].shape("order", "rises", "as it is", True)
    judged: JudgedPaper = {
        "paper": "rtems",
        "title": "x",
        "machine": "board b; 1 run seen.",
        "ffslab": package.__version__,
        "set_up": None,
        "runs": 1,
        "claims": [claim.as_dict() for claim in claims],
    }
    check("reproduction", json.dumps(judged))


def test_published_measurements_are_as_their_schema_says() -> None:
    check("evidence", json.dumps(published_cases.evidence()))


def test_calibrations_are_as_their_schema_says(tmp_path: Path) -> None:
    Bench().write_loops(tmp_path / "loops.csv")
    check("calibration", json.dumps(calibrate(Inputs(tmp_path / "loops.csv")).as_dict()))


def test_comparisons_are_as_their_schema_says() -> None:
    times = comparison.TimeRow("insert", 128, 1, "read", 3, 1.5, 2, 1.0, None, 0.5)
    flash = comparison.FlashRow("insert", 128, 1, "reads", "all", 0, 2, None)
    check("comparison", json.dumps(comparison.Comparison("omap3evm", [times], [flash], ["a note"]).as_dict()))


def test_a_union_with_a_typed_dictionary_is_described() -> None:
    schema: Any = schemas.schema_of(Lifetime)
    busiest = schema["$defs"]["LifetimeYears"]["properties"]["busiest_block"]
    assert busiest == {"anyOf": [{"$ref": "#/$defs/Years"}, {"type": "null"}]}
    assert schema["required"] == ["machine", "start", "workloads"]


def test_validations_are_as_their_schema_says(tmp_path: Path) -> None:
    cases = case_file(tmp_path, {}, {"expect": {"at_step": 0, "page_reads": 4}}, {"setup": []})
    check("validation", _native.validate(cases, None, 1, 1, None))
    check("validation", _native.validate(cases, None, 1, 3, None))


def test_the_command_prints_each_schema(ffslab: Command) -> None:
    assert ffslab("schema").stdout == ffslab("schema", "experiment").stdout
    described = ffslab("schema", "--help").stdout
    for name in schemas.names():
        assert name in described
    assert json.loads(ffslab("schema", "validation").stdout)["title"] == "ValidationReport"
    wrong = ffslab("schema", "sumary")
    assert (wrong.returncode, wrong.stderr) == (2, 'ffslab: schema "sumary": did you mean summary?\n')
