"""`ffslab crashtest` of programs that drive a chip by themselves: toys, right and with their mistakes.

They are in `examples/crashtest`, and `make test` compiles them first, in the tests of crates/capi.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ffslab import InputError, _native
from ffslab.studies.crashtest import CrashTest, crashtest
from ffslab.studies.crashtest.keep import keep
from ffslab.studies.crashtest.run import Outcome, answer_of
from ffslab.studies.crashtest.text import text_of
from helpers.command import ROOT
from helpers.left_out import leave_out

COMPILED = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tmp/libffslab"
RIGHT = {
    "setup": ["./updater", "factory"],
    "command": ["./updater", "update"],
    "check": ["./updater", "check"],
}


def with_program(place: Path, program: str) -> Path:
    """A folder with a program that the tests of crates/capi compiled."""
    compiled = COMPILED / program
    if not compiled.is_file():
        leave_out(f"{compiled} is not there: `make test` makes it first")
    shutil.copy(compiled, place)
    return place


def updater(place: Path, mistake: int = 0) -> Path:
    """A folder with the updater."""
    return with_program(place, f"updater/{mistake}/updater")


def judged(place: Path, program: dict[str, Any] | None = None, **keys: Any) -> Outcome:
    """What is found with these keys of `[crashtest]`."""
    stack = {"stack": keys.pop("stack")} if "stack" in keys else {}
    table = {**stack, "crashtest": {"program": program or RIGHT, **keys}}
    (place / "test.toml").write_text(_native.toml_of(table), encoding="utf-8")
    return crashtest(CrashTest.from_file(place / "test.toml"), jobs=2)


def test_the_right_updater_is_safe_at_all_cuts_and_where_its_way_back_is_cut(tmp_path: Path) -> None:
    outcome = judged(updater(tmp_path), cuts={"recovery": 1})
    answer = answer_of(outcome)
    assert answer["failures"] == [] and answer["holds"]
    # Each of 12 operations before it and torn, and behind the last one, where the check has nothing to do.
    assert (answer["operations"], answer["points"]) == (12, 25)
    assert (answer["recoveries"], answer["cuts_of_recoveries"]) == (25 + 24, 24)
    assert (
        answer["machine"] == "board licheepi-nano, part w25q128jv, 4 erase blocks of 4 KiB; 12 operations of the flash"
    )
    assert "49 runs of the check" in text_of(answer) and "promised" not in text_of(answer)


def check_alone(place: Path, kept: Path) -> tuple[int, str]:
    """How the check ends that a person runs again by the line that a kept failure has for it."""
    line = tomllib.loads(kept.read_text(encoding="utf-8"))["timeline"][-1]
    ran = subprocess.run(line, shell=True, cwd=place, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stderr.strip()


@pytest.mark.parametrize(
    ("mistake", "says", "during"),
    [
        (1, "the image that boots is not whole", "by write_image"),
        # The erased image has the highest version of all.
        (2, "the image that boots is not whole", "by write_image"),
        (3, "the trailer says a length that no image has", "by write_trailer"),
    ],
)
def test_each_mistake_is_found_with_the_function_whose_operation_was_cut(
    tmp_path: Path, mistake: int, says: str, during: str
) -> None:
    outcome = judged(updater(tmp_path, mistake))
    failure = outcome.failures[0]
    assert (failure["found"], failure["says"]) == ("program", says)
    assert failure["during"].endswith(during), failure
    # It is kept, and fails again: by the command, and by the check alone.
    path = keep(outcome, failure, tmp_path / "kept", 1)
    again = crashtest(CrashTest.from_file(path))
    assert [(found["says"], found["operation"]) for found in again.failures] == [(says, failure["operation"])]
    assert check_alone(tmp_path, path) == (1, says)


def test_a_cut_in_the_way_back_of_a_cut_is_found_where_no_first_one_is(tmp_path: Path) -> None:
    """The command is right, and so is what its check does until it is cut itself."""
    place = updater(tmp_path)
    (place / "wrong").mkdir()
    program = {**RIGHT, "check": [f"{updater(place / 'wrong', 3)}/updater", "check"]}
    assert judged(place, program, cuts={"points": 1}).failures == []
    (failure, *_) = judged(place, program, cuts={"recovery": 12, "tears": 0, "points": 2}).failures
    assert failure["recoveries_cut"] == ["12 of 12: program of 8 B at 0x3000 by write_trailer"]


PAGE = (ROOT / "docs/updates.md").read_text(encoding="utf-8")


def _of_page(head: str) -> dict[tuple[str, int], str]:
    """A table of the page: by way and mistake, after how many cuts of how many something is wrong."""
    titles, _, *rows = [
        line.strip()[1:-1].split("|") for line in PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()
    ]
    found = {}
    for title, column in zip(titles[1:], zip(*[row[1:] for row in rows], strict=True), strict=True):
        way = re.search(r"`(.*)`", title)
        of = re.search(r"of (\d+)", title)
        for row, cell in zip(rows, map(str.strip, column), strict=True):
            if cell:
                whole = cell if " of " in cell or of is None else f"{cell} of {of[1]}"
                found[way[1] if way else "two", int(row[0].partition(":")[0])] = whole
    return found


BOOTLOADERS = _of_page("| mistake | `overwrite`")
ENVIRONMENTS = _of_page("| mistake | wrong after cuts")
# These are found only where a way back is cut, too.
OF_TWO_CUTS = {12}


@pytest.mark.parametrize(
    ("program", "way", "mistake", "wrong"),
    [
        *(
            pytest.param(
                "bootloader", way, mistake, wrong, marks=pytest.mark.long if way == "move" else pytest.mark.soak
            )
            for (way, mistake), wrong in BOOTLOADERS.items()
        ),
        *(
            pytest.param("environment", way, mistake, wrong, marks=pytest.mark.long)
            for (way, mistake), wrong in ENVIRONMENTS.items()
        ),
        pytest.param("bootloader", "overwrite", 0, "0 of 39", marks=pytest.mark.long),
        pytest.param("bootloader", "scratch", 0, "0 of 71", marks=pytest.mark.long),
        pytest.param("bootloader", "move", 0, "0 of 71", marks=pytest.mark.long),
    ],
)
def test_each_mistake_of_the_page_is_found_and_no_right_program_is_blamed(
    tmp_path: Path, program: str, way: str, mistake: int, wrong: str
) -> None:
    place = with_program(tmp_path, f"programs/{program}/{program}")
    call = {"setup": "factory", "command": "update", "check": "check"}
    words = {key: [f"./{program}", way, what, str(mistake)] for key, what in call.items()}
    cuts = {"recovery": 1} if mistake in OF_TWO_CUTS | {0} else {}
    answer = answer_of(judged(place, words, cuts=cuts))
    assert f"{answer['wrong']} of {answer['points']}" == wrong


def test_there_are_thirty_mistakes() -> None:
    assert len(BOOTLOADERS) + len(ENVIRONMENTS) >= 30


def _is_running(process: int) -> bool:
    """Whether it is there, and not merely waited for by nobody."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(") ")[2][0] not in "ZX"


# What a table says in the place of that of the right program, and what is told of it.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no check": (
        {"check": ""},
        "program: the key `check` is missing, which judges what is left",
    ),
    "no such command": ({"command": ["./none"]}, "program: command: ./none: No such file or directory"),
    "a word that is none": ({"chek": "x"}, "program: "),
    "a word with NUL": ({"command": ["./updater", "up\0date"]}, "`command` has a NUL character"),
    "no chip": ({"setup": ["true"]}, "program: the setup, true, has opened no chip"),
    "a command that fails": (
        {"command": ["./updater"]},
        "program: the command ended with 1: updater factory|update|check: it must end with 0 when no power is cut",
    ),
    "two processes": (
        {"command": "./updater factory; ./updater factory; true"},
        "program: another process of the command has opened a chip before",
    ),
    "a check that opens none": ({"check": "echo fine"}, "it has opened no chip, so nothing was judged"),
    "a check that is not there": ({"check": "./none"}, "it judges nothing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_nobody_could_judge_is_refused_in_a_line(tmp_path: Path, name: str) -> None:
    table, says = WRONG[name]
    place = updater(tmp_path)
    program = {key: value for key, value in {**RIGHT, **table}.items() if value}
    with pytest.raises(InputError) as refused:
        judged(place, program, cuts={"points": 1})
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("key", ["cache", "second_mount"])
def test_cuts_of_file_systems_are_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(InputError, match=f"`{key}`: is of file systems"):
        judged(tmp_path, cuts={key: 1})


def test_steps_beside_a_program_that_has_no_file_system_are_refused(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(
        _native.toml_of({"title": "x", "crashtest": {"program": RIGHT}, "measure": [{"step": "sync"}]}),
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="`measure`: what a program on libffslab does stands in its table: leave it"):
        CrashTest.from_file(tmp_path / "test.toml")


def test_a_check_that_hangs_fails_in_its_own_words_with_all_that_it_started(tmp_path: Path) -> None:
    program = {**RIGHT, "check": "sleep 100 & echo $! >> started", "seconds": 1}
    (failure,) = judged(updater(tmp_path), program, cuts={"points": 1, "tears": 0}).failures
    assert failure["says"] == "the check has not ended after 1 s"
    started = (tmp_path / "started").read_text(encoding="utf-8").split()
    assert started and not [number for number in started if _is_running(int(number))]


def test_the_chip_of_the_test_takes_the_place_of_the_programs(tmp_path: Path) -> None:
    place = updater(tmp_path)
    stack = {"board": "licheepi-nano", "part": "w25q128jv", "erase_block_KiB": 4, "partition_blocks": 5}
    assert "5 erase blocks" in answer_of(judged(place, stack=stack, cuts={"points": 1}))["machine"]
    with pytest.raises(InputError, match=r"the setup ended with 1: .*no-such-part"):
        judged(place, stack={**stack, "part": "no-such-part"})
    # The line that runs a check again says which chip it is, and a text for the shell is told of it as a whole.
    wrong = {**RIGHT, "check": ":; ./updater check && echo here >&2 && false"}
    outcome = judged(place, wrong, stack=stack, cuts={"points": 1})
    assert outcome.failures[0]["says"] == "here"
    assert check_alone(place, keep(outcome, outcome.failures[0], tmp_path / "kept", 1)) == (1, "here")
