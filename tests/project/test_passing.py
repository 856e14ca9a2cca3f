"""A system that stands before another one answers or passes on whatever a machine may be asked.

What it forgot would keep its default, which answers that the machine lacks it. Where a whole trait is passed on the
compiler sees to that (`ambassador`); the macros of crates/system/src/passing.rs pass on parts of one.
"""

from __future__ import annotations

import re

import pytest

from helpers.command import ROOT

SYSTEM = ROOT / "crates" / "system" / "src"
METHOD = re.compile(r"^\s+fn (\w+)", re.MULTILINE)


def forgotten(source: str) -> set[str]:
    macros = dict(re.findall(r"macro_rules! (\w+) (.*?^\})", (SYSTEM / "passing.rs").read_text("utf-8"), re.M | re.S))
    passed_on = "".join(text for name, text in macros.items() if f"    {name}!();" in source)
    asked = "".join(
        (SYSTEM / name).read_text("utf-8").split("\npub trait ", 1)[1] for name in ("calls.rs", "system.rs")
    )
    return set(METHOD.findall(asked)) - set(METHOD.findall(source + passed_on))


@pytest.mark.parametrize(
    ("path", "left"),
    [
        # By node and as itself the machine is for others than programs.
        ("lab/src/programs/seat.rs", {"nodes", "as_any", "as_any_mut"}),
        # By node nobody's calls would be seen.
        ("crashtest/src/witness.rs", {"nodes"}),
    ],
)
def test_whatever_a_machine_may_be_asked_goes_to_it(path: str, left: set[str]) -> None:
    source = (ROOT / "crates" / path).read_text(encoding="utf-8")
    assert forgotten(source) == left
    assert forgotten(source.replace("looks_of_system!();", "")) > left
