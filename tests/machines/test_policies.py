"""Policies: the page docs/policies.md is executed, and what a policy in Python does wrong ends the run."""

from __future__ import annotations

import gc
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.api.machine import Machine, settings_of
from ffslab.api.policies import forget, known
from ffslab.store import Store
from ffslab.studies.sweep.axes import Listed
from ffslab.studies.sweep.workers import LocalWorkers
from helpers.command import ROOT, Command

COLUMNS = ("block", "valid", "invalid", "erases", "age", "idle", "stream")
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
    assert len(code) == 2
    names: dict[str, object] = {}
    exec(compile(code[0], "docs/policies.md", "exec"), names)
    assert capsys.readouterr().out.count("policy.victim=") >= 2
    exec(compile(code[1], "docs/policies.md", "exec"), names)
    assert "segmented-lru" in capsys.readouterr().out


def test_the_studies_of_the_page_say_who_gains_what(tmp_path: Path) -> None:
    """Each as it is, but with two policies, the first of its other settings, and one run of each."""
    named = re.findall(r"^    ffslab sweep (\S+)$", (ROOT / "docs/policies.md").read_text(), re.MULTILINE)
    assert len(named) == 2
    left = {"fs": 3, "policy.victim": 2}
    for name in named:
        study = ffslab.Study.from_file(ROOT / name)
        lists = [axis for axis in study.axes if isinstance(axis, Listed)]
        axes = tuple(Listed(axis.name, axis.listed[: left.get(axis.name, 1)]) for axis in lists)
        done = replace(study, axes=axes, repeat=1).run(store=Store(tmp_path), workers=LocalWorkers(1))
        assert not done.failures
        gains = done.answer["gains"][0]
        assert (gains["axis"], gains["base"], gains["values"]) == ("policy.victim", "kernel", ["greedy"])
        assert [row["axes"]["fs"] for row in gains["rows"]] == ["jffs2", "yaffs2", "ubifs"]
        for row in gains["rows"]:
            median = row["changes"][0]["median"]
            assert median is not None
            assert -0.5 < median < 0.5


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


def test_arrays_are_no_copies_and_what_is_kept_stays_as_it_was() -> None:
    kept: list[Any] = []

    def keeps_parts(candidates):  # type: ignore[no-untyped-def]
        columns = [getattr(candidates, name) for name in COLUMNS]
        for column in columns:
            assert not column.flags.writeable
            assert not column.flags.owndata
            assert len(column) == len(candidates)
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                column.flags.writeable = True
        # The same memory at each access, other memory at each decision, because it is kept.
        again = candidates.valid
        assert again.__array_interface__["data"] == columns[1].__array_interface__["data"]
        if len(kept) < 50:
            part = candidates.invalid[1:-1:2]
            kept.append((part, part.copy(), memoryview(candidates.block), candidates.block.tolist()))
        return int(candidates.invalid.argmax())

    own = run(keeps_parts)
    assert len(kept) > 20
    gc.collect()
    for part, copy, block, listed in kept:
        assert (part == copy).all()
        assert block.tolist() == listed
        assert block.readonly
    assert len({part.__array_interface__["data"][0] for part, *_ in kept}) == len(kept)
    built_in = ffslab.Experiment.from_file(SMALL).with_axes({"policy.victim": ["greedy"]}).run()
    assert list(own.blocks["erases_main"]) == list(built_in.blocks["erases_main"])


def test_nothing_is_taken_anew_while_nothing_is_kept() -> None:
    places = []

    def looks(candidates):  # type: ignore[no-untyped-def]
        places.append(candidates.invalid.__array_interface__["data"][0])
        return int(candidates.invalid.argmax())

    run(looks)
    # Two pieces of memory at the most take turns, but for those of the first fillings, which grow.
    assert len(places) > 20
    assert len(set(places[len(places) // 2 :])) <= 2


def test_a_policy_that_cannot_be_made_says_why() -> None:
    class Fails:
        def __init__(self) -> None:
            raise ValueError("no weights")

        def choose(self, candidates):  # type: ignore[no-untyped-def]
            return 0

    with pytest.raises(Exception, match=r"line \d+: ValueError: no weights"):
        run(Fails)


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


def test_a_key_of_a_table_is_set_from_the_command(ffslab: Command, tmp_path: Path) -> None:
    """`--set policy.victim` takes the place of what the file says, of an axis too; the table's other keys stay."""
    text = SMALL.read_text(encoding="utf-8")
    said = '[stack.policy]\nseed = 7\nvictim = "fifo"\n\n[axes]\npolicy.victim = ["lru", "random"]\n'
    assert "[stack.policy]" not in text and "[axes]" not in text
    (tmp_path / "own.toml").write_text(f"{text}\n{said}", encoding="utf-8")
    ran = ffslab("run", "own.toml", "--set", "policy.victim=windowed-greedy(5)", "--out", "set")
    assert ran.returncode == 0, ran.stderr
    stack = tomllib.loads((tmp_path / "set/resolved.toml").read_text(encoding="utf-8"))["stack"]
    assert (stack["policy"]["victim"], stack["policy"]["seed"]) == ("windowed-greedy(5)", 7)
    keys = settings_of(["faults.badblocks=[3, 17]", "kernel=5.10", "ageing.retry_share=0.5"])
    assert Machine(settings=keys).keys()["faults"] == {"badblocks": [3, 17]}
    assert (keys["kernel"], keys["ageing.retry_share"]) == ("5.10", 0.5)
