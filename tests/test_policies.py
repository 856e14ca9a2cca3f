"""Policies: the page docs/policies.md is executed, and what a policy in Python does wrong ends the run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ffslab
from ffslab.api.policies import forget, known

ROOT = Path(__file__).resolve().parent.parent
SMALL = ROOT / "experiments/policies/small.toml"


def run(chooser: object) -> ffslab.Run:
    name = ffslab.policy(chooser)  # type: ignore[arg-type]
    try:
        return ffslab.Experiment.from_file(SMALL).with_axes({"policy.victim": [name]}).run()
    finally:
        forget(name)


def test_the_page_is_executed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/policies.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(code) == 1
    exec(compile(code[0], "docs/policies.md", "exec"), {})
    assert capsys.readouterr().out.count("policy.victim=") >= 2


def test_a_python_policy_that_is_greedy_does_what_greedy_does() -> None:
    asked = []

    def most_invalid(candidates):  # type: ignore[no-untyped-def]
        asked.append(len(candidates))
        return int(candidates.invalid.argmax())

    own = run(most_invalid)
    built_in = ffslab.Experiment.from_file(SMALL).with_axes({"policy.victim": ["greedy"]}).run()
    assert asked
    assert list(own.blocks["erases_main"]) == list(built_in.blocks["erases_main"])


def test_what_is_wrong_with_a_policy_ends_the_run() -> None:
    def outside(candidates):  # type: ignore[no-untyped-def]
        return len(candidates)

    def fails(candidates):  # type: ignore[no-untyped-def]
        return candidates.colour

    with pytest.raises(Exception, match=r"policy outside-\w+: it chose candidate \d+ of \d+"):
        run(outside)
    with pytest.raises(
        Exception, match=r"policy fails-\w+: line \d+: AttributeError: candidates have no column colour"
    ):
        run(fails)


def test_candidates_of_an_earlier_decision_are_closed() -> None:
    kept = []

    def keeps(candidates):  # type: ignore[no-untyped-def]
        kept.append(candidates)
        return None

    run(keeps)
    with pytest.raises(RuntimeError, match="a decision that is over"):
        kept[0].valid  # noqa: B018


def test_every_policy_names_what_it_does_and_its_paper() -> None:
    assert {each["name"] for each in known()} >= {"greedy", "cat", "dual-pool", "least-worn"}
    assert all(each["about"] and each["paper"] for each in known())
