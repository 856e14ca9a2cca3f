"""`ffslab reproduce published`: how a number is taken, what is refused, what sums have, whose folder it may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ffslab import InputError
from ffslab.answers.evidence import Evidence
from ffslab.store import Store
from ffslab.studies.reproduce.published import cases, study, text
from helpers import published_cases
from helpers.command import ROOT
from helpers.published_cases import LOOP, STACK, case, write

if TYPE_CHECKING:
    from helpers.command import Command

PAGE = ROOT / "docs" / "evidence.md"


def reproduced(folder: Path, *said: dict[str, Any], **experiments: str) -> Evidence:
    write(folder / "cases", said, experiments)
    return study.reproduce(folder / "out", folder=folder / "cases", jobs=1, store=Store(folder / "store"))


def simulated(evidence: Evidence) -> dict[str, float | None]:
    return {row["id"]: row["simulated"] for row in evidence["cases"]}


def test_a_number_is_taken_as_its_case_says(tmp_path: Path) -> None:
    half = f'title = "half"\n{STACK}{LOOP.format("program", 64)}{LOOP.format("read", 32)}'
    ways = {
        "seconds": {"s": [1]},
        "all": {"s": "all"},
        "program": {"s": [0]},
        "less": {"s": [1], "minus": "half"},
        "over": {"s": [1], "over": "half"},
        "rate": {"rate_KiB": 128, "step": 1},
        "rate MB": {"rate_MB": 0.128, "steps": [0, 1]},
        "count": {"count": "page_reads", "step": 1},
        "kilo": {"count": "bus_out_B", "step": 1, "per": 1000},
        "mean": {"latency_us": "mean", "step": 1},
    }
    said = [*(case(id=name, get=get) for name, get in ways.items()), case(id="missing", get={"s": [7]})]
    evidence = reproduced(tmp_path, *said, half=half)
    assert evidence["cases"][-1]["failure"] == "loops: has 2 measured steps, fewer than the case names"
    found = simulated(evidence)
    seconds, program = found["seconds"], found["program"]
    assert seconds and program
    assert found["all"] == pytest.approx(seconds + program)
    assert found["less"] == pytest.approx(seconds / 2)
    assert found["over"] == pytest.approx(2)
    assert found["rate"] == pytest.approx(128 / seconds)
    assert found["rate MB"] == pytest.approx(0.128 / (seconds + program))
    assert found["count"] == 64
    assert found["kilo"] == pytest.approx(64 * 2.112)
    assert found["mean"] == pytest.approx(1e6 * seconds / 64)


def test_sums_have_what_counts() -> None:
    evidence = published_cases.evidence()
    every, (read, program, variant) = evidence["all"], evidence["kinds"]
    assert (read["kind"], read["cases"], read["within_20"], read["within_25"]) == ("raw read", 4, 1, 3)
    assert read["worst_id"] == "f3.0" and read["worst_ratio"] == pytest.approx(3.0)
    assert read["median_ratio"] == pytest.approx((1.19 + 1.24) / 2)
    assert (program["cases"], variant["kind"]) == (1, "raw read*")
    assert every is not None and (every["cases"], every["within_20"], every["within_25"]) == (5, 2, 4)
    assert "5 published measurements on 1 board (1 more is not counted)" in evidence["answer"]
    assert "2 (40 %) are within 20 % and 4 (80 %) within 25 %" in evidence["answer"]
    said = text(evidence, Path("out"))
    assert "+19 %" in said and "-18 %" in said and "q: not simulated: no space" in said


def test_what_does_not_come_to_its_end_is_said_and_not_counted(ffslab: Command, tmp_path: Path) -> None:
    jffs2 = STACK.replace("none", "jffs2")
    lost = f'title = "lost"\n{jffs2}[[measure]]\nstep = "mount"\n[[measure]]\nstep = "unlink"\nfile = "a"\n'
    said = [case(), case(id="b", experiment="lost"), case(id="c", experiment="none")]
    write(tmp_path, said, {"lost": lost, "none": 'title = "none"\n[stak]\n'})
    done = ffslab("reproduce", "published", "--jobs", "1", "--cases", tmp_path, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "b: not simulated: lost.toml: " in done.stdout and "ENOENT" in done.stdout
    assert "c: not simulated: none.toml:" in done.stdout and "stak" in done.stdout
    evidence = json.loads((tmp_path / "out" / "evidence.json").read_text(encoding="utf-8"))
    assert evidence["all"]["cases"] == 1
    row = next(row for row in evidence["cases"] if row["id"] == "b")
    assert (row["simulated"], row["ratio"]) == (None, None)


def test_a_board_without_a_driver_stands_beside(tmp_path: Path) -> None:
    boards = tmp_path / "cases" / "boards"
    write(tmp_path / "cases", [case(board="mine"), case(id="file", kind="file read", board="mine")])
    boards.mkdir()
    (boards / "mine-0.toml").write_text(
        'title = "mine-0"\nbase = "omap3evm"\n[driver]\nread_overhead_us = 0\n', encoding="utf-8"
    )
    evidence = study.reproduce(tmp_path / "out", folder=tmp_path / "cases", jobs=1, store=Store(tmp_path / "store"))
    raw, file = evidence["cases"]
    assert raw["driver_0"] and raw["simulated"] and raw["driver_0"] > 1.2 * raw["simulated"]
    assert file["driver_0"] is None and evidence["runs"] == 2
    assert "driver 0" in text(evidence, tmp_path)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"kind": None}, "published.jsonl:1: `kind` must be a text"),
        ({"sorce": "x", "source": None}, "`source` must be a text (`sorce` is not known)"),
        ({"published": 0}, "`published` must be a number above 0"),
        ({"get": {"rate": 3, "step": 0}}, "get: `rate` is not known: did you mean `rate_MB`?"),
        ({"get": {"step": 0}}, "get: must have one of rate_KiB, rate_MB, s, count, latency_us"),
        ({"get": {"s": [-1]}}, "get: steps are numbers of measured steps from 0"),
        ({"experiment": "none"}, "a.read: there is no exps/none.toml"),
    ],
)
def test_what_is_no_case_is_one_line(tmp_path: Path, keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        cases.read(write(tmp_path / "cases", [case(**keys)]))
    assert complaint in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["published", "--cases", "nowhere"], "nowhere: no folder of cases: it has no published.jsonl"),
        (["published", "--id", "no such case"], "--id no such case: matches none of"),
        (["rtems", "--id", "C1"], "--id: belongs to `reproduce published`, rtems has claims"),
    ],
)
def test_options_that_do_not_fit_are_one_line(ffslab: Command, arguments: list[str], complaint: str) -> None:
    done = ffslab("reproduce", *arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert complaint in done.stderr


# ---- the folder that ships, and the page that is made of it -----------------------------------------------------


def test_the_folder_that_ships_has_no_more_than_its_cases_name() -> None:
    folder = cases.read(cases.shipped())
    named = {name for case in folder.cases for name in (case.experiment, *case.taken.experiments)}
    assert {path.stem for path in (folder.path / cases.EXPERIMENTS).glob("*.toml")} == named
    texts = {path: path.read_text(encoding="utf-8") for path in folder.path.glob("*/*.toml")}
    every = "\n".join(texts.values())
    unused = [
        p.name for p in texts if p.parent.name in ("boards", "parts") and f"{p.parent.name}/{p.name}" not in every
    ]
    assert unused == []


def test_cases_that_count_say_where_they_stand_and_what_of_them_is_known() -> None:
    for one in cases.read(cases.shipped()).cases:
        assert one.source and one.set_up and one.reference, one.id


def test_the_page_has_every_case_and_readme_quotes_its_answer() -> None:
    """What they give is asked by the journey of all cases (`tests/journeys/papers.toml`)."""
    page = PAGE.read_text(encoding="utf-8")
    for one in cases.read(cases.shipped()).cases:
        name = one.id if one.counted else f"{one.id} \\*"
        assert f"| {name} | " in page, f"{one.id}: python docs/evidence/figures.py"
    answer = page.split("\n\n**")[1].split("**\n")[0]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").replace("\n> ", " ").split())
    assert answer in readme
