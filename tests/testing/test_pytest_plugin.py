"""The plugin of pytest: machines of fixtures, causes in failures, budgets with a baseline, mounts for real programs."""

from __future__ import annotations

import re
import shutil
import tomllib

import pandas as pd
import pytest

from ffslab.testing import mounts
from helpers.command import ROOT
from helpers.mounted import need_fuse

pytest_plugins = ["pytester"]
PLUGIN = "ffslab.testing.plugin"

SAVE = """
import pytest

def save(flash, times=10):
    for _ in range(times):
        flash.write_file("settings.tmp", bytes(2000))
        fd = flash.open("settings.tmp", "rdwr")
        flash.fsync(fd)
        flash.close(fd)
        flash.rename("settings.tmp", "settings")
"""


@pytest.fixture
def tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with tests that see this plugin and no other, installed or not.

    They run in this process, which forgets afterwards what they imported; NumPy bears being imported only once.
    """
    assert pd.__name__ == "pandas"
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nflash_stack = board.toml\naddopts = --strict-markers\n")
    (pytester.path / "board.toml").write_text(
        '[stack]\nboard = "omap3evm"\nkernel = "2.6.37"\ncompression = "none"\nfs = "jffs2"\npartition_blocks = 24\n'
        '[[setup]]\nstep = "mount"\n'
        '[[setup]]\nstep = "create"\nfile = "programs"\nbytes = 3000\n',
        encoding="utf-8",
    )
    return pytester


def ran(tests: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    tests.makepyfile(test_flash=SAVE + source)
    return tests.runpytest_inprocess("-p", PLUGIN, *options)


def test_the_package_declares_the_plugin() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared["pytest11"] == {"ffslab": PLUGIN}


def test_the_machine_is_that_of_the_settings_changed_by_the_nearest_marker(tests: pytest.Pytester) -> None:
    other = '[stack]\nboard = "omap3evm"\nkernel = "2.6.37"\nfs = "yaffs2"\npartition_blocks = 30\n'
    (tests.path / "other.toml").write_text(other, encoding="utf-8")
    result = ran(
        tests,
        """
def test_usual(flash_stack):
    assert (flash_stack.keys["fs"], flash_stack.keys["partition_blocks"]) == ("jffs2", 24)
    assert len(flash_stack.read_file("programs")) == 3000

@pytest.mark.flash_stack(fs="ubifs", partition_blocks=40)
class TestOther:
    @pytest.mark.flash_stack(partition_blocks=44)
    def test_nearest(self, flash_stack):
        assert (flash_stack.keys["fs"], flash_stack.keys["partition_blocks"]) == ("ubifs", 44)

    @pytest.mark.flash_stack("other.toml")
    def test_file(self, flash_stack):
        assert flash_stack.keys["fs"] == "ubifs"
        assert flash_stack.listdir() == []
""",
    )
    result.assert_outcomes(passed=3)


def test_a_failed_assertion_says_what_the_figure_consists_of(tests: pytest.Pytester) -> None:
    result = ran(
        tests,
        """
def test_save(flash_stack):
    with flash_stack.measured("save"):
        save(flash_stack)
    run = flash_stack.figures()
    assert run.user_written_B == 20000
    assert 0 < run.write_amplification < 5
    assert run.page_programs < 10
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*assert page_programs * < 10",
            "E*reasons: user data (program) * page programs*",
            "E*steps: save * page programs",
            'E*files: "settings.tmp" * page programs',
        ]
    )


BUDGET = """
@pytest.mark.flash_budget("page_programs <= +2 %", "erases <= 99", per_day=20)
def test_save(flash_stack):
    with flash_stack.measured("save"):
        save(flash_stack)
"""


def test_budgets_are_held_against_a_baseline_and_fail_the_test_with_the_cause(tests: pytest.Pytester) -> None:
    result = ran(tests, BUDGET)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*flash-baseline.json: there is no baseline yet: write it with pytest --flash-update"])
    ran(tests, BUDGET, "--flash-update").assert_outcomes(passed=1)
    ran(tests, BUDGET, "--junit-xml=junit.xml").assert_outcomes(passed=1)
    assert '<property name="page_programs"' in (tests.path / "junit.xml").read_text(encoding="utf-8")
    result = ran(tests, BUDGET.replace("save(flash_stack)", "save(flash_stack, times=15)"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["page_programs <= +2 %: found *, baseline *", "*programs write 30,000 B instead of 20,000 B"]
    )
    # Another test is not in the baseline; the update adds it, and leaves the first one as it was.
    other = BUDGET.replace("test_save", "test_other")
    ran(tests, other).stdout.fnmatch_lines(["*has nothing of test_flash.py::test_other: add it with*"])
    ran(tests, other, "--flash-update").assert_outcomes(passed=1)
    ran(tests, BUDGET + other).assert_outcomes(passed=2)


def test_a_limit_fails_with_what_the_figure_consists_of_and_needs_no_baseline(tests: pytest.Pytester) -> None:
    result = ran(tests, BUDGET.replace("page_programs <= +2 %", "page_programs <= 9"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["page_programs <= 9: found *", "*steps: save * page programs"])


def test_years_of_a_short_test_are_too_short(tests: pytest.Pytester) -> None:
    result = ran(tests, BUDGET.replace('"page_programs <= +2 %", "erases <= 99"', '"years >= 1"'))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["years >= 1: too short", "*this needs about * of the workload, * times the * seen*"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('@pytest.mark.flash_stack(fs="ubifsx")\ndef test(flash_stack): pass', "did you mean `ubifs`?"),
        ('@pytest.mark.flash_stack("no.toml")\ndef test(flash_stack): pass', "no.toml"),
        ('@pytest.mark.flash_budget("erases <= 3")\ndef test(flash_stack): pass', "nothing was measured"),
        ('@pytest.mark.flash_budget("erases <= 3")\ndef test(): pass', "neither flash_stack nor flash_mount"),
        (BUDGET.replace("page_programs", "page_program"), "did you mean page_programs?"),
        (BUDGET.replace('"erases <= 99", per_day=20', '"years >= 1"'), "years need `per_day`"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tests: pytest.Pytester, source: str, said: str) -> None:
    outcome = ran(tests, source).stdout.str()
    assert said in outcome and "Traceback" not in outcome and "another exception" not in outcome


def test_the_example_runs_as_the_page_says(tests: pytest.Pytester) -> None:
    """docs/budgets.md shows the first test of the example; both of them run, on a small partition."""
    page = (ROOT / "docs/budgets.md").read_text(encoding="utf-8")
    example = (ROOT / "examples/ci/test_flash.py").read_text(encoding="utf-8")
    (shown,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "flash_budget" in block)
    assert shown.strip() in example
    for name in ("test_flash.py", "pytest.ini", "settings.toml", "flash-baseline.json"):
        shutil.copy(ROOT / "examples/ci" / name, tests.path)
    tests.makeini((ROOT / "examples/ci/pytest.ini").read_text(encoding="utf-8"))
    tests.runpytest_inprocess("-p", PLUGIN, "-k", "not real_program").assert_outcomes(passed=1, deselected=1)
    need_fuse()
    tests.runpytest_subprocess("-p", PLUGIN, "-k", "real_program").assert_outcomes(passed=1, deselected=1)


def test_without_fuse_a_mount_is_skipped(tests: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "lacks_fuse", lambda: "/dev/fuse is missing")
    result = ran(tests, "def test(flash_mount): pass", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*/dev/fuse is missing"])
