"""The options that name a machine and how often it runs are the same on all verbs, and mean the same."""

import json
import re
from pathlib import Path

import pytest

from helpers.command import ROOT, SMALL, Command

VERBS = {
    "run": ["small.toml"],
    "replay": ["small.fio.log"],
    "fio": ["job.fio"],
    "postmark": ["mail"],
    "sqlite": ["script.sql"],
}
MACHINE = ["--system", "--board", "--part", "--kernel", "--fs", "--partition-blocks", "--read-ahead", "--set"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "small.fio.log").write_text(
        "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf write 4096 4096\nf close\n"
    )
    (tmp_path / "job.fio").write_text("[job]\nrw=randwrite\nbs=4k\nsize=64k\n")
    (tmp_path / "mail").write_text("set number 20\nset transactions 50\nrun\n")
    (tmp_path / "script.sql").write_text("create table a(x); insert into a values (1);")
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_them(verb: str, ffslab: Command) -> None:
    told = ffslab(verb, "--help").stdout
    own = ["--seed", "--out", "--json"] + ([] if verb == "sqlite" else ["--repeat", "--jobs", "--yes"])
    for option in [*MACHINE, *own]:
        assert re.search(rf"^  {option}[ ,]", told, re.MULTILINE), f"{verb} {option}"


@pytest.mark.parametrize("verb", VERBS)
def test_they_mean_the_same(verb: str, ffslab: Command, folder: Path) -> None:
    machine = ["--board", "zero-overhead", "--kernel", "5.10", "--fs", "yaffs2", "--fs", "ubifs", "--seed", 4]
    more = ["--partition-blocks", 90, "--read-ahead", 16, "--set", "page_cache_KiB=2048", "--out", "out"]
    ran = ffslab(verb, *VERBS[verb], *machine, *more)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["seed"] == 4
    variants = summary["variants"]
    assert [variant["axes"] for variant in variants] == [{"fs": "yaffs2"}, {"fs": "ubifs"}]
    for variant in variants:
        stack = variant["stack"]
        assert (stack["board"], stack["kernel"], stack["partition_blocks"]) == ("zero-overhead", "5.10", 90)
        assert (stack["page_cache_KiB"], stack["read_ahead_KiB"]) == (2048, 16)


def test_what_is_given_holds_in_place_of_the_file(ffslab: Command, folder: Path) -> None:
    ran = ffslab("run", "small.toml", "--fs", "ubifs", "--partition-blocks", 80, "--json")
    stacks = [variant["stack"] for variant in json.loads(ran.stdout)["variants"]]
    assert {(stack["fs"], stack["partition_blocks"]) for stack in stacks} == {("ubifs", 80)}
    assert sorted(stack["read_ahead_KiB"] for stack in stacks) == [0, 128], "its axis stays"


def test_mistakes_in_them_are_told(ffslab: Command, folder: Path) -> None:
    wrong: list[tuple[list[str | int], str]] = [
        (["--fs", "jffs2", "--fs", "jffs2"], "--fs jffs2: is given twice"),
        (["--fs", "ext4"], "small.toml"),
        (["--set", "partition_block=3"], "did you mean `partition_blocks`"),
        (["--set", "policy.victm=cat"], "unknown key `policy.victm`: did you mean `policy.victim`?"),
        (["--set", "policy.seed=soon"], "--set policy.seed=soon: policy.seed is a whole number"),
        (["--repeat", 0], "--repeat 0: must be 1 or more"),
        (["--part", "absent"], "absent"),
    ]
    for given, said in wrong:
        ran = ffslab("run", "small.toml", *given)
        assert ran.returncode == 2 and said in ran.stderr, ran.stderr
        assert len(ran.stderr.splitlines()) == 1


def test_fio_of_several_machines_is_a_list_of_its_shape(ffslab: Command, folder: Path) -> None:
    alone = json.loads(ffslab("fio", "job.fio", "--fs", "ubifs", "--json").stdout)
    both = json.loads(ffslab("fio", "job.fio", "--fs", "jffs2", "--fs", "ubifs", "--json").stdout)
    assert [one["variant"] for one in both["variants"]] == ["fs=jffs2", "fs=ubifs"]
    assert both["variants"][1]["jobs"] == alone["jobs"]
    assert (ROOT / "docs" / "fio.md").read_text().count("variants") > 0
