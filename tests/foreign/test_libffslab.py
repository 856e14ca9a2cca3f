"""Results that a C program wrote with libffslab: what `ffslab run` writes, readable by everything that reads that.

The program is `examples/libffslab/logger.c`, which `make test` compiles and runs first, in the tests of crates/capi.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import ffslab
from ffslab import foreign
from ffslab.cli import root
from helpers.command import ROOT
from helpers.left_out import leave_out

WRITTEN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tmp/libffslab/logger/results"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A copy of what the logger wrote."""
    if not (WRITTEN / "summary.json").is_file():
        leave_out(f"{WRITTEN} is not there: `make test` makes it first")
    return shutil.copytree(WRITTEN, tmp_path / "results")


def test_a_program_in_c_leaves_the_results_of_a_run(results: Path) -> None:
    run = ffslab.Run.load(results)
    calls = run.requests
    assert list(calls["op"].value_counts().items()) == [("append", 3000), ("program", 5), ("other", 1)]
    assert set(calls["cause"]) == {"record", "ring erase", "head scan"}
    # An append that opens a block waits for its erase.
    opens = calls["erases"] == 1
    assert (
        opens.sum() == 47
        and calls[opens]["latency_us"].min() > 10 * calls[~opens & (calls["op"] == "append")]["latency_us"].max()
    )
    assert calls["page_programs"].sum() == 3005
    variant = run.summary["variants"][0]
    assert variant["totals"]["erases"] == 47 == run.blocks["erases_main"].sum()
    assert variant["user_written_B"] == 3000 * 64
    assert [step["step"].split(",")[0] for step in variant["steps"]] == [
        "append records",
        "power cut in the 5th program from here",
    ]
    spent = {cause["reason"]: cause["page_reads"] for cause in variant["by_cause"]}
    assert spent["head scan"] == 958


def test_its_report_is_added(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = ffslab.Run.load(results)
    assert root.run(["foreign", "report", str(results)]) == 0
    assert "ring erase" in capsys.readouterr().out
    after = ffslab.Run.load(results)
    assert after.summary == before.summary and after.requests.equals(before.requests)
    assert "ring erase" in (results / "report.html").read_text(encoding="utf-8")


def test_where_the_library_is_not_flags_say_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(foreign, "LIB", tmp_path)
    assert root.run(["foreign", "flags"]) == 2
    assert "make lib" in capsys.readouterr().err
    (tmp_path / "libffslab.so").touch()
    assert root.run(["foreign", "flags"]) == 0
    assert capsys.readouterr().out.split() == [
        f"-I{foreign.INCLUDE}",
        f"-L{tmp_path}",
        f"-Wl,-rpath,{tmp_path}",
        "-lffslab",
    ]


def test_the_headers_are_in_the_package_and_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert root.run(["foreign", "include"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    page = (ROOT / "docs/libffslab.md").read_text(encoding="utf-8")
    adapters = sorted(path.name for path in (folder / "ffslab").iterdir())
    assert adapters == sorted(re.findall(r"^\| `ffslab/(\w+\.h)`", page, re.MULTILINE))
    declared = set(
        re.findall(r"^\S.*\b(ffslab_\w+)\(", (folder / "ffslab.h").read_text(encoding="utf-8"), re.MULTILINE)
    )
    missing = {name for name in declared if f"`{name}" not in page and f"{name}(" not in page} - {"ffslab_scope_end_"}
    assert missing <= {"ffslab_close", "ffslab_open"}, missing


# `enum cause` of littlefs.c by the names that people read.
CAUSES = {
    "FORMAT": "formatting",
    "MOUNT": "mount scan",
    "NAMES": "name look-up",
    "OPEN": "file open",
    "READ": "read",
    "WALK": "block list walk",
    "DATA": "user data",
    "EXTEND": "new file block",
    "OUTLINE": "outlining",
    "COMMIT": "commit",
    "COMPACTION": "compaction",
    "SCAN": "allocation scan",
    "RELOCATION": "relocation",
    "REPAIR": "repair",
    "NAME_CHANGE": "metadata",
    "SPACE": "space count",
}


def test_the_rules_for_littlefs_are_what_the_file_system_says_of_itself() -> None:
    folder = ROOT / "python/ffslab/foreign"
    header = (folder / "include/ffslab/littlefs.h").read_text(encoding="utf-8")
    text = "".join(re.findall(r'"([^"\n]*)"', header.partition("#define FFSLAB_LFS_CALLERS")[2].partition("static")[0]))
    rules = [tuple(part.strip() for part in line.split("=")) for line in text.split("\\n") if line]
    labels = re.findall(
        r"^    \{\(const void \*\)(\w+), (\w+),", (folder / "littlefs/littlefs.c").read_text(encoding="utf-8"), re.M
    )
    assert len(labels) > 25

    def cause(function: str) -> str:
        return next(cause for name, cause in rules if re.fullmatch(name.replace("*", r"\w*"), function))

    assert {function: cause(function) for function, _ in labels} == {
        function: CAUSES[name] for function, name in labels
    }
