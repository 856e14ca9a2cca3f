"""Initial states are kept between runs, where the user says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab import InputError, Stack
from helpers.command import SMALL, Command

STATE = """\
[[state]]
step = "mount"
[[state]]
step = "occupy"
file = "static"
percent = 30
"""


def test_a_state_is_made_once_and_results_do_not_depend_on_where_it_came_from(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL.replace("[[setup]]", STATE + "[[setup]]", 1), encoding="utf-8")
    summaries = []
    for states in ("kept", "kept", ""):
        ran = ffslab("run", "a.toml", FFSLAB_STATES=states)
        assert (ran.returncode, ran.stderr) == (0, "")
        summaries.append((tmp_path / "results" / "a" / "summary.json").read_bytes())
        kept = [path.name for path in (tmp_path / "kept").iterdir()]
        assert len(kept) == 1
        assert kept[0].endswith(".state")
    assert summaries[0] == summaries[1] == summaries[2]
    page = (tmp_path / "results" / "a" / "report.html").read_text(encoding="utf-8")
    assert "what it holds before and after the measured steps" in page


def test_a_stack_is_settled_behind_its_first_mount_unless_it_is_fresh() -> None:
    told = {}
    for initial in ("settled", "fresh"):
        stack = Stack("jffs2", board="omap3evm", partition_blocks=50, initial=initial)
        stack.mount()
        with stack.measured("write"):
            fd = stack.open("a", "wronly create")
            stack.pwrite(fd, bytes(5000), 0)
            stack.fsync(fd)
            stack.close(fd)
        told[initial] = "formatting" in stack.measurement().variant
    assert told == {"settled": False, "fresh": True}
    with pytest.raises(InputError, match='initial = "used": must be "settled"'):
        Stack("jffs2", initial="used")
