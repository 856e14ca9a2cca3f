"""Advice: a day's figures, the search beside an exhaustive one, limits, the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ffslab import Experiment, InputError
from ffslab.answers.advice import Advice
from ffslab.api.schemas import text as schema_text
from ffslab.registries.profiles import endurance_of
from ffslab.steady import variant_needs_us
from ffslab.store import Store
from ffslab.studies.advise import Question
from ffslab.studies.advise import day as day_of_points
from ffslab.studies.advise.answer import Looked, changes_of, rank_of
from ffslab.studies.advise.day import DAY_US, Tried, tried
from ffslab.studies.advise.living import lived_of
from ffslab.studies.advise.search import Search, every_point
from ffslab.studies.sweep.running import at_work
from helpers.command import ROOT, SMALL, Command

QUESTION = """\
title = "Small question"
limits = ["years >= 0.001"]
minimise = "energy_J_per_day"

[[workload]]
name = "writes"
experiment = "small.toml"
per_day = 3

[[workload]]
name = "reads"
per_day = 20
[workload.experiment]
stack = { board = "omap3evm", kernel = "2.6.37", fs = "ubifs", partition_blocks = 64 }
setup = [{ step = "mount" }, { step = "create", file = "f", bytes = "64 KiB" },
         { step = "sync" }, { step = "drop_caches" }]
measure = [{ step = "open", file = "f", flags = ["rdonly"] },
           { step = "requests", file = "f", op = "read", pattern = "sequential", request_B = "4 KiB", count = 16 }]

[vary]
fs = ["ubifs", "jffs2", "yaffs2"]
partition_blocks = { from = 64, to = 80, step = 16 }
compression = { values = ["lzo", "none", "zlib"], when = "fs != 'yaffs2'" }
"writes.requests.request_B" = ["4 KiB", "2 KiB"]

[search]
runs = 14
"""


def question_in(folder: Path) -> Path:
    text = SMALL.split("[axes]")[0].replace("zero-overhead", "omap3evm")
    (folder / "small.toml").write_text(text, encoding="utf-8")
    path = folder / "question.toml"
    path.write_text(QUESTION, encoding="utf-8")
    return path


@pytest.fixture
def question(tmp_path: Path) -> Path:
    return question_in(tmp_path)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Advice, Path]:
    """The answer, and the store with the runs that it took."""
    folder = tmp_path_factory.mktemp("answered")
    kept = folder / "kept"
    return Question.from_file(question_in(folder)).answer(store=Store(kept)), kept


def test_a_day_is_the_sum_of_its_work(question: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Question.from_file(question)
    store = Store(tmp_path / "kept")
    point = ("jffs2", 80, "none", "2 KiB")
    # What goes on until it is steady is another run: `test_a_workload_goes_on_until_it_is_steady`.
    monkeypatch.setattr(day_of_points, "ATTEMPTS", 0)
    with at_work(None) as crew:
        ((found,),) = tried(asked, [point], store, crew, lambda *_: None)
    assert found.needs_us is not None and found.needs_us[0] == "writes"
    runs = {}
    for workload in asked.workloads:
        own = workload.experiment.changed(stack={"fs": "jffs2", "partition_blocks": 80, "compression": "none"})
        axes = {"requests.request_B": ["2 KiB"]} if workload.name == "writes" else {}
        runs[workload.name] = own.with_axes(axes).run().summary["variants"][0]
    day = {"writes": 3, "reads": 20}
    energies = {name: run["energy_uJ"] for name, run in runs.items()}
    assert found.figures["energy_J_per_day"] == pytest.approx(
        sum(day[name] * energy["total"] / 1e6 for name, energy in energies.items() if energy is not None)
    )
    assert found.figures["busy_share"] == pytest.approx(
        sum(day[name] * (run["time_us"] - run["idle_us"]) for name, run in runs.items()) / DAY_US
    )
    # By hand: erases of a block a day, at least one for each block full of pages, beside what the part bears.
    borne = endurance_of("micron-slc-omap3evm")
    assert borne is not None
    erases_a_day = sum(
        day[name] * max(run["totals"]["erases"], run["totals"]["page_programs"] / 64) / 80 for name, run in runs.items()
    )
    assert found.figures["years"] == pytest.approx(borne[0] / erases_a_day / 365.25, rel=1e-6)
    assert found.figures["writes.latency_p99_us"] == pytest.approx(runs["writes"]["latency_us"]["p99"], rel=2e-3)


def test_advice_is_as_good_as_an_exhaustive_search_with_a_part_of_its_runs(
    question: Path, answered: tuple[Advice, Path]
) -> None:
    asked = Question.from_file(question)
    advice, kept = answered
    store = Store(kept)
    points = every_point(asked)
    # YAFFS2 has no compressor: its points are there once.
    assert len(points) == advice["points"] == (2 * 3 + 1) * 2 * 2
    assert 8 < advice["points_tried"] <= 14 and advice["points_too_short"] == 0
    with at_work(None) as crew:
        found = [runs[0] for runs in tried(asked, points, store, crew, lambda *_: None)]
    best = min(found, key=lambda one: rank_of(asked, one))
    default = next(one for one in found if one.point == points[0])
    here = advice["choice"]["wanted"]["median"]
    assert here is not None
    assert here <= 1.05 * best.figures["energy_J_per_day"]
    assert here <= default.figures["energy_J_per_day"]


def test_limits_decide_first(question: Path, answered: tuple[Advice, Path]) -> None:
    free, kept = answered
    store = Store(kept)
    years = free["choice"]["figures"]["years"]["median"]
    assert years is not None and free["holds"] and free["forbidden"] is None
    limited = QUESTION.replace("years >= 0.001", f"years <= {years * 0.9}")
    question.write_text(limited, encoding="utf-8")
    tight = Question.from_file(question).answer(store=store)
    assert tight["choice"]["axes"] != free["choice"]["axes"]
    if tight["holds"]:
        assert tight["forbidden"] is not None
        assert [state["holds"] for state in tight["forbidden"]["limits"]] == [False]
    else:
        assert not tight["choice"]["limits"][0]["holds"]


def test_the_page_says_what_it_must(ffslab: Command, question: Path, answered: tuple[Advice, Path]) -> None:
    kept = str(answered[1])
    told = ffslab("advise", question, FFSLAB_STORE=kept)
    # The question is of the form that only this verb reads.
    assert (told.returncode, len(told.stderr.splitlines())) == (0, 1)
    assert "[vary] is [question.axes]; the old form goes with the next version" in told.stderr
    for word in ("Take fs ", "Why:", "Second: fs ", "What one other value would do", "Unverified: ", "Not modelled: "):
        assert word in told.stdout
    assert len(told.stdout.splitlines()) < 50
    again = ffslab("advise", question, "--json", FFSLAB_STORE=kept)
    answer = json.loads(again.stdout)
    schema = json.loads(schema_text("advice"))
    assert answer.keys() == schema["properties"].keys()
    hopeless = QUESTION.replace("years >= 0.001", "years >= 1e9").replace("runs = 14", "runs = 2")
    question.write_text(hopeless, encoding="utf-8")
    none = ffslab("advise", question, FFSLAB_STORE=kept)
    assert none.returncode == 1
    assert "Nothing that was tried is within all limits." in none.stdout


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("per_day = 3", "", "`per_day` must say how often"),
        ("years >= 0.001", "years >= 1e999", '"1e999" must be a number'),
        ("years >= 0.001", "years about 3", "a figure, a sign and a value"),
        ("years >= 0.001", "writes.latency_p9_us <= 5 ms", "did you mean writes.latency_p9"),
        ("years >= 0.001", "years >= many", "must be a number"),
        ('minimise = "energy_J_per_day"', "", "say what is wanted"),
        ('minimise = "energy_J_per_day"', 'minimise = "joy"', "no figure is called joy"),
        ('name = "writes"', 'name = "reads"', "two are called reads"),
        ('experiment = "small.toml"', 'experiment = "none.toml"', "none.toml"),
        ("title =", "titel =", "did you mean title"),
        # A value with which no point could run is no point that does not work.
        ('["lzo", "none",', '["lzo", "noone",', 'axis `compression`: "noone" in workload writes: [stack]'),
        ('["4 KiB", "2 KiB"]', '["4 KiB", true]', "axis `writes.requests.request_B`: true in workload writes: "),
        ("[search]", 'policy.victim = ["kernel", "greedi"]\n[search]', 'axis `policy.victim`: "greedi" in workload'),
    ],
)
def test_wrong_questions_are_one_line(ffslab: Command, question: Path, old: str, new: str, says: str) -> None:
    question.write_text(QUESTION.replace(old, new, 1), encoding="utf-8")
    refused = ffslab("advise", question)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_conditions_may_rule_out_the_default(question: Path) -> None:
    """In a small space nothing else was drawn: the search had nowhere to begin."""
    asked = replace(Question.from_file(question), conditions=("fs == 'yaffs2'",))
    search = Search(asked, lambda points: [Tried(point, {}) for point in points], lambda _: (0.0,))
    search.run()
    assert {point[0] for point in search.tried} == {"yaffs2"}
    with pytest.raises(InputError, match="no point satisfies all `conditions`"):
        replace(asked, conditions=("fs == 'ext4'",)).answer(store=Store(question.parent / "kept"))


def test_an_experiment_with_axes_is_refused(question: Path) -> None:
    question.with_name("small.toml").write_text(SMALL, encoding="utf-8")
    with pytest.raises(InputError, match="what may vary is said in"):
        Question.from_file(question)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Cell by cell, as Jupyter would."""
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "studies" / "logger.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            # A list of lines, or one text (nbformat 4).
            exec(compile("".join(cell["source"]), "logger.ipynb", "exec"), names)
    shown = eval("done._repr_html_()", names)
    assert shown.startswith("<h4>") and "<table>" in shown
    assert "Take fs " in capsys.readouterr().out


def test_the_questions_that_ship_are_read(tmp_path: Path) -> None:
    files = sorted((ROOT / "experiments" / "questions").glob("*.toml"))
    assert len(files) == 12
    table = (ROOT / "docs" / "advise.md").read_text(encoding="utf-8")
    for file in files:
        question = Question.from_file(file)
        assert f"{file.stem} " in table
        points = every_point(question)
        assert f" of {len(points)} " in next(line for line in table.splitlines() if line.startswith(f"{file.stem} "))
        # The default of each can run.
        first = {axis.name: one for axis, one in zip(question.axes, points[0], strict=True) if one is not None}
        for workload in question.workloads:
            names = {workload.name for workload in question.workloads}
            own = {}
            for name, value in first.items():
                head, _, rest = name.partition(".")
                if head not in names:
                    own[name] = [value]
                elif head == workload.name:
                    own[rest] = [value]
            assert isinstance(workload.experiment, Experiment)
            workload.experiment.with_axes(own).check()


def test_a_workload_goes_on_until_it_is_steady(question: Path, tmp_path: Path) -> None:
    """A winner of what was seen of a new partition is none: a round goes on until the rates of two halves agree."""
    asked = Question.from_file(question)
    with at_work(None) as crew:
        ((found,),) = tried(asked, [("jffs2", 80, "none", "2 KiB")], Store(tmp_path / "kept"), crew, lambda *_: None)
    assert found.needs_us is None and found.figures.get("writes.needs_us") is None
    said = Store(tmp_path / "kept").find(set(found.keys.values()), 0, with_tables=False)[found.keys["writes"]].ended
    assert said is not None and variant_needs_us(said) is None
    # The room of a new partition was used up before what is told; figures are those of one round.
    rounds = said["totals"]["erases"] / found.figures["writes.erases"]
    assert rounds > 4 and rounds == pytest.approx(round(rounds))
    assert said["space_before"] is not None and said["space_before"]["invalid_B"] > 0
    assert found.figures["erases_per_day"] == pytest.approx(3 * found.figures["writes.erases"])
    # Those of a life are no more than those of rounds without rest.
    slowest = said["latency_us"]["max"]
    assert slowest is not None and found.figures["writes.latency_max_us"] <= slowest


GROWING = """
title = "A log that nobody empties"
limits = ["years >= 1"]
maximise = "years"
[[workload]]
name = "log"
per_day = 10
[workload.experiment]
stack = { board = "omap3evm", fs = "jffs2", partition_blocks = 40 }
setup = [{ step = "mount" }, { step = "open", file = "log", flags = ["wronly", "create"] }, { step = "sync" }]
measure = [{ step = "append", file = "log", request_B = 4096, count = 60, sync = "fsync", content = "random" }]
[vary]
fs = ["jffs2", "yaffs2"]
"""


def test_what_fills_the_partition_is_no_advice(ffslab: Command, tmp_path: Path) -> None:
    """240 KiB are left each time: what bears them for years is full after two days."""
    (tmp_path / "growing.toml").write_text(GROWING, encoding="utf-8")
    ran = ffslab("advise", "growing.toml")
    assert ran.returncode == 1 and "Take " not in ran.stdout, ran.stdout
    assert "ENOSPC" in ran.stdout and "times one after the other" in ran.stdout


def test_a_medium_that_fails_is_no_advice(ffslab: Command, tmp_path: Path) -> None:
    pages = ", ".join(f'"{page}:0"' for page in range(0, 2560, 7))
    text = """
limits = ["years >= 1"]
maximise = "years"
[[workload]]
name = "log"
per_day = 10
[workload.experiment]
setup = [{ step = "mount" }, { step = "create", file = "log", bytes = "1 MiB" }, { step = "drop_caches" },
         { step = "open", file = "log", flags = ["rdonly"] }]
measure = [{ step = "requests", file = "log", op = "read", pattern = "sequential", request_B = 4096, count = 60 }]
[workload.experiment.stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 40
"""
    faults = f"faults = {{ gravepages = [{pages}] }}"
    (tmp_path / "faulty.toml").write_text(text + faults + '\n[vary]\nfs = ["jffs2", "ubifs"]\n', encoding="utf-8")
    ran = ffslab("advise", "faulty.toml")
    assert ran.returncode == 1 and "Take " not in ran.stdout, ran.stdout
    assert "EIO" in ran.stdout


def test_an_energy_of_which_nothing_is_known_is_no_advice(ffslab: Command, tmp_path: Path) -> None:
    text = """
title = "A log that is only read"
setup = [{ step = "mount" }, { step = "create", file = "log", bytes = "64 KiB" }, { step = "drop_caches" }]
measure = [{ step = "open", file = "log", flags = ["rdonly"] },
           { step = "requests", file = "log", op = "read", request_B = 4096, count = 1, pattern = "sequential" }]
stack = { board = "zero-overhead", fs = "jffs2", partition_blocks = 40 }
question = { minimise = "energy_J_per_day", per_day = 1, name = "reads", axes = { fs = ["jffs2", "yaffs2"] } }
"""
    (tmp_path / "unpriced.toml").write_text(text, encoding="utf-8")
    ran = ffslab("advise", "unpriced.toml")
    assert ran.returncode == 1 and "Take " not in ran.stdout, (ran.stdout, ran.stderr)
    assert "no energy_J_per_day is known" in ran.stdout


def test_changes_compare_lives_of_one_length(question: Path) -> None:
    """Beside a choice that is told, what was only compared is of another length: a change of 0 % looked like a gain."""
    asked = Question.from_file(question)
    best, told, compared = [("ubifs", 64, text, "4 KiB") for text in ("lzo", "none", "zlib")]
    wanted = asked.wanted[0]
    search = Search(asked, lambda _: [], lambda one: rank_of(asked, one))
    search.tried = {point: Tried(point, {wanted: 2.0}) for point in (best, told, compared)}
    looked = Looked(asked, search, lambda _: [])
    looked.runs = {best: [Tried(best, {wanted: 4.0})], told: [Tried(told, {wanted: 3.0})]}
    found = {one["value"]: (one["wanted_ratio"], one["looked_into"]) for one in changes_of(asked, looked, best)}
    assert found == {"none": (0.75, True), "zlib": (1.0, False)}


@pytest.mark.parametrize(("points", "years"), [(3, 100_000 / 0.25 / 365.25), (2, None)])
def test_a_ring_lasts_by_the_sum_of_its_erases(points: int, years: float | None) -> None:
    """Eight erases a day of 32 blocks: ten of the usual block in 43.5 days, which a new one begins without, were 9 %
    more years than there are."""
    begun, filled, end = [0] * 32, [9] * 2 + [8] * 30, [10] * 30 + [9] * 2
    wear = {"days": [0.0, 36.0, 43.5][:points], "erases": [begun, filled, end][:points]}
    ended = {"by": "unknown", "error": None}
    life: Any = {"wear": wear, "endurance_erases": 100_000, "ended": ended, "first_bad_block_years": None}
    life |= {"levels_from_erases": None, "blocks_fail": False, "points": [], "repetitions": 87}
    assert lived_of(life).years == (None if years is None else pytest.approx(years))


def test_what_cannot_go_on_by_itself_is_too_short(ffslab: Command, tmp_path: Path) -> None:
    once = GROWING.replace('content = "random" }]', 'content = "random" }, { step = "crash" }]')
    (tmp_path / "once.toml").write_text(once, encoding="utf-8")
    ran = ffslab("advise", "once.toml")
    assert ran.returncode == 1 and "Take " not in ran.stdout
    assert "Too short: none of 2 points" in ran.stdout and " of the workload log" in ran.stdout
