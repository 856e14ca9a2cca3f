"""`ffslab ci`: budgets that are kept, changes that are found with what they come from, files for build servers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast
from xml.etree import ElementTree

import pytest

from ffslab import Experiment, InputError, steps
from ffslab.answers.budgets import BudgetsAnswer
from ffslab.store import Store
from ffslab.studies.budgets import Baseline, Budget, Budgets, Change, checked, measured
from ffslab.studies.differences import amount_of
from helpers.command import ROOT, Command

STACK: dict[str, Any] = {
    "board": "omap3evm",
    "kernel": "2.6.37",
    "fs": "jffs2",
    "partition_blocks": 40,
    "compression": "none",
}
SETUP = [steps.mount(), steps.occupy(file="programs", percent=30, of="df"), steps.sync()]
RULES = ("page_programs", "erases", "write_amplification", "user_written_B", "time_us")


def application(
    record_B: int = 1000,  # noqa: N803
    records: int = 200,
    sync: Literal["fsync", "sync"] = "fsync",
    settings_B: int = 8192,  # noqa: N803
    saves: int = 4,
    extra: list[steps.Step] | None = None,
    **stack: Any,
) -> Experiment:
    """A logger that appends records, and replaces its settings now and then."""
    measure = [
        steps.open(file="log", flags=["wronly", "create"]),
        steps.append(file="log", request_B=record_B, count=records, sync=sync),
        steps.close(file="log"),
    ]
    for _ in range(saves):
        measure += [
            steps.create(file="settings.new", bytes=settings_B, request_B=4096),
            steps.sync(),
            steps.rename(file="settings.new", to="settings"),
        ]
    return Experiment.of(
        "application", stack=cast("Any", STACK | stack), setup=SETUP, measure=[*measure, *(extra or [])]
    )


def budgets_of(experiment: Experiment) -> Budgets:
    changes = tuple(Change(f"{figure} <= +1.9 %", figure, "<=", 0.019) for figure in RULES)
    return Budgets((Budget("application", experiment, (), changes),), Path("baseline.json"))


def against(before: Baseline, experiment: Experiment) -> BudgetsAnswer:
    asked = budgets_of(experiment)
    return checked(asked, measured(asked), before)


@pytest.fixture(scope="module")
def baseline() -> Baseline:
    return Baseline.of(measured(budgets_of(application())))


def again(step: Callable[[], list[steps.Step]]) -> list[steps.Step]:
    return [each for _ in range(3) for each in step()]


def rewritten() -> list[steps.Step]:
    return [
        steps.open(file="log", flags=["wronly"]),
        steps.requests(file="log", op="write", pattern="random", request_B=512, count=20),
        steps.fsync(file="log"),
        steps.close(file="log"),
    ]


def synced(step: steps.Step) -> list[steps.Step]:
    return [step, steps.sync()]


def lock() -> list[steps.Step]:
    return [*synced(steps.create(file="lock", bytes=1)), *synced(steps.unlink(file="lock"))]


TIMES = [step for _ in range(9) for step in synced(steps.create(file="times", bytes=300))]
QUEUE = [*(steps.create(file=f"queue{i}", bytes=200) for i in range(48)), steps.sync()]
Changed = dict[str, Any]
# What somebody did to the application, a figure that must be found, and words of which one must be said of it.
REGRESSIONS: dict[str, tuple[Changed, str, str]] = {
    "records are 5 % larger": ({"record_B": 1050}, "user_written_B", '"log"'),
    "records are twice as large": ({"record_B": 2000}, "user_written_B", '"log"'),
    "5 % more records": ({"records": 210}, "page_programs", '"log"'),
    "half of the record each time": ({"record_B": 500, "records": 400}, "page_programs", "append"),
    "a tenth of the record each time": ({"record_B": 100, "records": 2000}, "write_amplification", "append"),
    "everything is synced": ({"sync": "sync"}, "time_us", "append"),
    "one more save": ({"saves": 5}, "user_written_B", "5 times instead of 4"),
    "three more saves": ({"saves": 7}, "page_programs", '"settings.new"'),
    "settings are 16 KiB": ({"settings_B": 16384}, "page_programs", '"settings.new"'),
    "settings are 32 KiB": ({"settings_B": 32768}, "page_programs", '"settings.new"'),
    "the log is rewritten": ({"extra": rewritten()}, "user_written_B", "requests"),
    "the log is rewritten thrice": ({"extra": again(rewritten)}, "time_us", "requests"),
    "a backup is made": ({"extra": synced(steps.create(file="backup", bytes=100_000))}, "page_programs", "backup"),
    "a cache on flash": ({"extra": [steps.create(file="cache", bytes=50_000)]}, "user_written_B", "cache"),
    "a lock file": ({"extra": again(lock)}, "page_programs", "lock"),
    "access times in a file": ({"extra": TIMES}, "page_programs", "times"),
    "a few more records": ({"records": 206}, "user_written_B", '"log"'),
    "a second start": ({"extra": [steps.umount(), steps.boot()]}, "time_us", "boot"),
    "many small files": ({"extra": QUEUE}, "page_programs", "queue"),
    "another file system": (
        {"fs": "ubifs", "partition_blocks": 96, "compression": None},
        "page_programs",
        "fs ubifs instead of jffs2",
    ),
}


@pytest.mark.parametrize(("changed", "figure", "word"), REGRESSIONS.values(), ids=REGRESSIONS)
def test_a_regression_is_found_and_what_it_comes_from(
    baseline: Baseline, changed: Changed, figure: str, word: str
) -> None:
    answer = against(baseline, application(**changed))
    failed = {row["figure"]: row for row in answer["rows"] if not row["holds"]}
    assert not answer["holds"] and figure in failed, answer
    row = failed[figure]
    assert row["before"] is not None and row["found"] is not None and row["found"] > row["before"] * 1.019
    assert word in "\n".join(row["why"]), row["why"]


def test_the_same_application_is_never_found(baseline: Baseline, tmp_path: Path) -> None:
    for i in range(10):
        asked = budgets_of(application())
        answer = checked(asked, measured(asked, store=Store(tmp_path / str(i))), baseline)
        assert answer["holds"] and all(row["found"] == row["before"] and not row["why"] for row in answer["rows"])


@pytest.mark.parametrize("runs", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_runs_of_an_unchanged_application_do_not_differ(runs: int) -> None:
    """Each is run anew: without a store nothing is known of another run."""
    save = [
        steps.create(file="settings.new", bytes=2048),
        steps.sync(),
        steps.rename(file="settings.new", to="settings"),
    ]
    small = Experiment.of("small", stack=cast("Any", STACK), setup=[steps.mount()], measure=[*save, steps.sync()])
    asked = budgets_of(small)
    before = Baseline.of(measured(asked))
    for i in range(runs):
        answer = checked(asked, measured(asked), before)
        assert answer["holds"] and all(row["found"] == row["before"] for row in answer["rows"]), i


def test_less_may_be_asked_for_and_the_last_digit_is_no_change() -> None:
    at_least = Change("years >= -5 %", "years", ">=", -0.05)
    assert at_least.holds(10.0, 9.6) and not at_least.holds(10.0, 9.4)
    none = Change("erases <= 0 %", "erases", "<=", 0.0)
    assert none.holds(0.3, 0.1 + 0.2) and not none.holds(10.0, 11.0) and none.holds(10.0, 9.0)
    assert [amount_of(name) for name in ("years", "latency_p99_us", "write_amplification")] == [
        "erases",
        "time_us",
        "page_programs",
    ]


FILE = """
[[budget]]
name = "writes"
experiment = "writes.toml"
per_day = 24
limits = ["years >= 0.1", "time_us <= 99 s"]
changes = ["page_programs <= +2 %"]
"""
RULE_LINES = FILE[FILE.index("limits") :]
WRITES = """
title = "writes"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 40
[[setup]]
step = "mount"
"""
# So often that the partition is filled more than once: before, years are not told.
SAVE = """
[[measure]]
step = "create"
file = "log"
bytes = "1 MiB"
[[measure]]
step = "sync"
"""
WRITES += 24 * SAVE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ffslab-budgets.toml").write_text(FILE, encoding="utf-8")
    (tmp_path / "writes.toml").write_text(WRITES, encoding="utf-8")
    return tmp_path


def test_the_way_of_a_build_server(ffslab: Command, folder: Path) -> None:
    ran = ffslab("ci")
    assert ran.returncode == 2 and "ffslab ci --update" in ran.stderr
    ran = ffslab("ci", "--update")
    assert ran.returncode == 0 and "3 of 3 rules hold" in ran.stdout
    ran = ffslab("ci", "--junit", "out/junit.xml", "--benchmark", "out/benchmark.json")
    assert (ran.returncode, ran.stderr) == (0, "")
    suite = ElementTree.parse(folder / "out/junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "0")
    named = {entry["name"]: entry for entry in json.loads((folder / "out/benchmark.json").read_text())}
    # Years are left out: fewer would be shown as better.
    assert set(named) == {"writes: time_us", "writes: page_programs"}
    (folder / "writes.toml").write_text(WRITES.replace("1 MiB", "1100 KiB"), encoding="utf-8")
    ran = ffslab("ci", "--junit", "out/junit.xml")
    assert ran.returncode == 1 and "programs write 27,033,600 B instead of 25,165,824 B" in ran.stdout
    failure = ElementTree.parse(folder / "out/junit.xml").getroot().find("testcase/failure")
    assert failure is not None and "page_programs" in str(failure.get("message"))
    assert json.loads(ffslab("ci", "--json").stdout)["holds"] is False


def test_a_short_run_holds_no_years_and_says_how_long_it_must_be(ffslab: Command, folder: Path) -> None:
    (folder / "writes.toml").write_text(WRITES.replace(24 * SAVE, SAVE), encoding="utf-8")
    assert ffslab("ci", "--update").returncode == 1
    ran = ffslab("ci", "--json")
    rows = {row["figure"]: row for row in json.loads(ran.stdout)["rows"]}
    assert ran.returncode == 1 and not rows["years"]["holds"]
    assert rows["years"]["found"] is rows["years"]["before"] is None and rows["years"]["needs_us"] > 0
    assert "years >= 0.1: too short" in ffslab("ci").stdout and " times the " in rows["years"]["why"][0]
    # What a longer look does not turn round is held as ever.
    assert rows["time_us"]["holds"] and rows["page_programs"]["holds"]


def test_years_end_where_what_is_written_stays(folder: Path) -> None:
    """One partition is rewritten, and each round leaves a file: wear allows thousands of years, the room does not."""
    stack: Any = {"board": "omap3evm", "fs": "jffs2", "partition_blocks": 40}
    leaves: list[Any] = []
    for number in range(16):
        kept = steps.create(file=f"kept{number}", bytes=150_000)
        leaves += [steps.create(file="log", bytes=1 << 20), kept, steps.sync()]
    stays = [step for step in leaves if not str(step.get("file", "")).startswith("kept")]
    found = {}
    for name, measure in (("leaves", leaves), ("stays", stays)):
        experiment = Experiment.of(name, stack=stack, setup=[steps.mount()], measure=measure)
        budgets = Budgets((Budget(name, experiment, (), (), 1.0),), folder / "none.json")
        found[name] = measured(budgets)[name][""]["figures"]["years"]
    assert found["leaves"] < 0.01 < 1 < found["stays"]


def test_work_that_was_not_done_holds_nothing(ffslab: Command, folder: Path) -> None:
    """A full partition and a page that cannot be read end requests before all of them are done."""
    begun = """
[[setup]]
step = "create"
file = "f"
bytes = "256 KiB"
[[setup]]
step = "fill"
file = "rest"
[[setup]]
step = "drop_caches"
[[setup]]
step = "open"
file = "f"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "f"
request_B = "4 KiB"
count = 64
pattern = "sequential"
"""
    pages = [f"{page}:0" for page in range(0, 2560, 7)]
    for op, stack, said in (
        ("write", "", "ended with ENOSPC"),
        ("read", f"faults = {{ gravepages = {json.dumps(pages)} }}", "ended with EIO"),
    ):
        text = WRITES.replace(24 * SAVE, begun + f'op = "{op}"\n').replace("40\n", f"40\n{stack}\n", 1)
        (folder / "writes.toml").write_text(text, encoding="utf-8")
        ran = ffslab("ci", "--update")
        assert ran.returncode == 1 and "0 of 3 rules hold" in ran.stdout, (ran.stdout, ran.stderr)
        assert "not all was done: " in ran.stdout and said in ran.stdout
        assert not (folder / "ffslab-baseline.json").exists() and "not written" in ran.stderr


FULL = """
title = "Too much"
stack = { board = "omap3evm", fs = "jffs2", partition_blocks = 16 }
setup = [{ step = "mount" }]
measure = [{ step = "create", file = "log", bytes = "4 MiB" }]
budgets = { limits = ["erases <= 100"] }
"""


@pytest.mark.parametrize(
    ("axes", "held"), [("", "0 of 1 rule hold"), ("[axes]\npartition_blocks = [16, 64]", "1 of 2")]
)
def test_a_device_that_ends_the_run_is_a_negative_answer(axes: str, held: str, ffslab: Command, folder: Path) -> None:
    """A wrong step is none: it is told as bad input."""
    (folder / "full.toml").write_text(FULL + axes, encoding="utf-8")
    ran = ffslab("ci", "full.toml")
    assert ran.returncode == 1 and held in ran.stdout, (ran.stdout, ran.stderr)
    assert "not all was done: " in ran.stdout and "ENOSPC after " in ran.stdout
    (folder / "full.toml").write_text(FULL.replace("create", "unlink").replace(', bytes = "4 MiB"', "") + axes, "utf-8")
    ran = ffslab("ci", "full.toml")
    assert (ran.returncode, ran.stdout) == (2, "") and "ENOENT" in ran.stderr


def test_an_energy_of_which_nothing_is_known_holds_no_budget(ffslab: Command, folder: Path) -> None:
    """Its board has no price of an operation, which is counted as 0 and kept any limit."""
    unpriced = FULL.replace("4 MiB", "64 KiB").replace("omap3evm", "zero-overhead").replace("erases", "energy_total_uJ")
    (folder / "unpriced.toml").write_text(unpriced, encoding="utf-8")
    ran = ffslab("ci", "unpriced.toml")
    assert ran.returncode == 1 and "not known: no source gives what the chip" in ran.stdout, (ran.stdout, ran.stderr)


def test_an_axis_gives_each_variant_its_budget_and_a_new_one_needs_an_update(ffslab: Command, folder: Path) -> None:
    assert ffslab("ci", "--update").returncode == 0
    (folder / "writes.toml").write_text(WRITES + '[axes]\nfs = ["jffs2", "yaffs2"]\n', encoding="utf-8")
    ran = ffslab("ci")
    assert ran.returncode == 1 and "the baseline has nothing of it" in ran.stdout
    assert ffslab("ci", "--update").returncode == 0
    assert ffslab("ci").returncode == 0


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("page_programs", "page_program", "did you mean page_programs?"),
        ("+2 %", "+2", "must be a percentage"),
        ("per_day = 24\n", "", "years need `per_day`"),
(RULE_LINES, "", "nothing is asked"),
        ("writes.toml", "other.toml", "other.toml"),
        ("[[budget]]", "[budget]", "[[budget]]"),
        ("per_day", "per_dya", "did you mean per_day?"),
        ("99 s", "soon", "must be a number"),
        ("99 s", "2 MiB", 'time_us is no size, but "2 MiB" is one'),
        ("years >= 0.1", "erases <= 3 ms", 'erases is no time, but "3 ms" is one'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line(ffslab: Command, folder: Path, before: str, after: str, said: str) -> None:
    (folder / "ffslab-budgets.toml").write_text(FILE.replace(before, after), encoding="utf-8")
    ran = ffslab("ci", "--update")
    assert ran.returncode == 2 and said in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert not (folder / "ffslab-baseline.json").exists()


def test_a_damaged_baseline_is_told_before_anything_runs(folder: Path) -> None:
    (folder / "ffslab-baseline.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not a baseline"):
        Baseline.from_file(folder / "ffslab-baseline.json")


def test_what_the_docs_and_examples_say_works(ffslab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example keeps its budgets, and the page's Python runs."""
    shutil.copytree(ROOT / "examples/ci", tmp_path, dirs_exist_ok=True)
    page = (ROOT / "docs/budgets.md").read_text(encoding="utf-8")
    lines = [line.split("#")[0].split() for line in page.splitlines() if line.startswith("    ffslab ci --")]
    assert len(lines) == 2
    for words in lines:
        ran = ffslab(*words[1:])
        assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    # The page shows the table of the experiment, and a list of files, as they are.
    table, listed = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    of_file = (tmp_path / "settings.toml").read_text(encoding="utf-8").split("[budgets]")[0]
    (tmp_path / "shown.toml").write_text(of_file + table, encoding="utf-8")
    (tmp_path / "listed.toml").write_text(listed, encoding="utf-8")
    shown = [*Budgets.from_file(tmp_path / "shown.toml").budgets, *Budgets.from_file(tmp_path / "listed.toml").budgets]
    settings, start = Budgets.from_file(tmp_path / "ffslab-budgets.toml").budgets
    for said, held in zip(shown, (settings, settings, start), strict=True):
        assert (said.limits, said.per_day) == (held.limits, held.per_day)
    assert shown[0].changes == shown[1].changes == settings.changes
    # The other one is a test: tests/testing/test_pytest_plugin.py runs it.
    code, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/budgets.md", "exec"), {})
