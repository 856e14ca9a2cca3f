"""What answers say of their times: a board that was measured, one that was not, and one that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from ffslab.answers.summary import VariantSummary
from ffslab.text.times import KINDS, evidence, is_calibrated, times_said


def said(*stacks: dict[str, Any]) -> list[str]:
    return list(times_said([cast("VariantSummary", {"stack": stack}) for stack in stacks]))


@pytest.mark.parametrize(
    ("board", "part", "expected"),
    [
        ("omap3evm", "micron-slc-omap3evm", True),
        ("omap3evm", "mt29f2g08abaea", False),
        ("linkit-smart-7688", None, False),
        ("qemu-debian-amd64", None, True),
        ("zero-overhead", None, None),
        ("no-such-board", None, None),
        ("no/such/file.toml", None, None),
    ],
)
def test_a_board_is_calibrated_when_driver_and_cpu_were_measured(
    board: str, part: str | None, expected: bool | None
) -> None:
    assert is_calibrated(board, part) is expected


def test_each_board_is_told_once_with_what_its_times_rest_on() -> None:
    known = evidence()["single calls"]
    assert set(evidence()) == set(KINDS) and known.low < 1 < known.high
    own, other = {"board": "omap3evm", "part": "micron-slc-omap3evm"}, {"board": "omap3evm", "part": "mt29f2g08abaea"}
    calibrated, foreign, router = said(own, other, own, {"board": "linkit-smart-7688"}, {"board": "zero-overhead"}, {})
    assert calibrated == "Times: driver and CPU of board omap3evm were measured."
    assert foreign.startswith("Times: board omap3evm was not measured with mt29f2g08abaea. On ")
    assert f"{known.low:g} to {known.high:g} for single calls ({known.times})" in router


def test_an_answer_is_told_of_what_it_did() -> None:
    """A mount that writes a log is a mount, and a read that no program disturbs a read."""

    def kinds(*steps: tuple[str, int, int]) -> list[str]:
        told = [
            {"step": name, "counts": {"page_reads": reads, "page_programs": programs}}
            for name, reads, programs in steps
        ]
        (said,) = times_said([cast("VariantSummary", {"stack": {"board": "linkit-smart-7688"}, "steps": told})])
        return [kind for kind in KINDS if f" for {kind} (" in said]

    assert kinds(("mount", 5, 2), ("append log", 1, 9)) == ["mounts", "writes", "single calls"]
    assert kinds(("requests", 40, 0), ("fsync", 0, 0)) == ["reads", "single calls"]


def test_the_profile_of_a_user_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "mine"\nbase = "omap3evm"\ncpu_time_scale = 2\n', encoding="utf-8")
    assert is_calibrated(str(path), None) is False
