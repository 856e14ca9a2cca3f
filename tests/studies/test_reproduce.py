"""`ffslab reproduce`: verdicts follow from readings, interrupted campaigns go on, the folder is complete or absent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ffslab import InputError, steps
from ffslab.api.experiment import Experiment
from ffslab.api.steps import MOUNT, Data
from ffslab.sqlite.look_ups import SELECT_CPU_US
from ffslab.store import Store
from ffslab.studies.reproduce import PAPERS, campaign, kernel, readahead, readahead_runs, wear_gc, words
from ffslab.studies.reproduce.claims import Cause, Claims, Judged, Reading, Verdict, alike, falls
from ffslab.studies.reproduce.figures import Figure, Line
from ffslab.studies.reproduce.rows import NotMeasuredError, Row, StepDone, row_of
from ffslab.studies.reproduce.runs import PlannedRun, run_all
from helpers.command import ROOT

if TYPE_CHECKING:
    from helpers.command import Command

EXPERIMENTS = ROOT / "experiments"
MEASURED = ROOT / "tests/measured"


def tiny(kib: int) -> PlannedRun:
    experiment: Data = {
        "title": "tiny",
        "stack": {"board": "zero-overhead", "fs": "jffs2", "partition_blocks": 32},
        "setup": [MOUNT],
        "measure": [steps.create(file="a", bytes=f"{kib} KiB")],
    }
    return PlannedRun("tiny", experiment)


def fs_of(run: PlannedRun) -> object:
    stack = (run.experiment or {})["stack"]
    assert isinstance(stack, dict)
    return stack["fs"]


def judged(**keys: float) -> Judged:
    return Judged("X-1", "t", "s", "because", keys)


# ---- verdicts -----------------------------------------------------------------------------------------------


def test_a_claim_without_readings_was_not_run() -> None:
    assert judged().verdict is Verdict.NOT_RUN


def test_a_relative_tolerance_is_of_the_published_value() -> None:
    claim = judged(tolerance=0.20)
    claim.number("in", 1.0, 1.19)
    assert claim.verdict is Verdict.REPRODUCED
    claim.number("out", 1.0, 1.21)
    assert [reading.holds for reading in claim.readings] == [True, False]


def test_points_are_absolute() -> None:
    claim = judged(tolerance_points=10)
    claim.number("in", 0.05, 0.149)
    claim.number("out", 0.05, 0.151)
    assert [reading.holds for reading in claim.readings] == [True, False]


@pytest.mark.parametrize(
    ("number_holds", "shape_holds", "verdict"),
    [
        (True, True, Verdict.REPRODUCED),
        (False, True, Verdict.SHAPE_ONLY),
        (True, False, Verdict.NOT_REPRODUCED),
        (False, False, Verdict.NOT_REPRODUCED),
        (False, None, Verdict.NOT_REPRODUCED),
    ],
)
def test_a_missed_number_leaves_the_shape_if_there_is_one(
    number_holds: bool, shape_holds: bool | None, verdict: Verdict
) -> None:
    claim = judged(tolerance=0.1)
    claim.number("value", 1.0, 1.0 if number_holds else 2.0)
    if shape_holds is not None:
        claim.shape("order", "rises", "as it is", shape_holds)
    assert claim.verdict is verdict
    assert (claim.as_dict()["differs"] is None) == (verdict is Verdict.REPRODUCED)


def test_trends_allow_what_a_printed_curve_hides_and_no_more() -> None:
    assert falls([0.70, 0.73, 0.20])
    assert not falls([0.70, 0.76, 0.20])
    assert not falls([0.50, 0.50, 0.50])
    assert alike([0.1, 0.5], [0.2, 0.5])[1]
    assert not alike([0.1, 0.5], [0.21, 0.5])[1]


def test_every_claim_says_what_it_is() -> None:
    names = []
    for paper in PAPERS:
        for claim in Claims(paper):
            assert all((claim.id, claim.title, claim.source, claim.differs))
            assert not {"tolerance", "tolerance_points"} <= set(claim.published)
            names.append(claim.id)
    expected = [f"RA-{n}" for n in range(1, 10)] + [f"FFS-{n}" for n in (1, 2, 3)] + ["VFS-1"]
    expected += [f"RT-{n}" for n in range(1, 8)] + [f"C{n}" for n in range(1, 21)] + ["T1"]
    assert sorted(names) == sorted(expected + [f"{study}-{n}" for study in ("WG", "DRV") for n in range(1, 9)])


# ---- runs ---------------------------------------------------------------------------------------------------


def test_an_interrupted_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    store, shares = Store(tmp_path / "store"), list[float]()
    first = run_all([tiny(4)], jobs=1, store=store, progress=shares.append)
    assert shares == [1.0]
    shares.clear()
    again = run_all([tiny(4), tiny(8)], jobs=1, store=store, progress=shares.append)
    # What the store holds is not made again; only the other one is.
    assert shares == [1.0] and len(store.table()) == 2
    assert again["tiny"][0] == first["tiny"][0]
    assert again["tiny"][1]["page_programs"] > first["tiny"][0]["page_programs"] > 0


def test_of_an_experiment_only_the_variants_that_are_missing_are_made(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    one, two = (
        PlannedRun("tiny", {**(tiny(4).experiment or {}), "axes": {"read_ahead_KiB": kib}}) for kib in ([0], [0, 128])
    )
    (row,) = run_all([one], jobs=1, store=store)["tiny"]
    rows = run_all([two], jobs=1, store=store)["tiny"]
    assert rows[0] == row and [each["read_ahead_KiB"] for each in rows] == [0, 128]
    assert len(store.table()) == 2


def test_a_run_that_cannot_end_ends_the_campaign_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"<tiny>: variant base: .*ENOSPC"):
        run_all([tiny(1 << 20)], jobs=1, store=Store(tmp_path / "store"))


def test_planned_runs_differ() -> None:
    for paper in PAPERS.values():
        made = [(run.experiment, run.look_ups, run.job_files) for run in paper.planned()]
        assert all(one not in made[:at] for at, one in enumerate(made))


@pytest.mark.parametrize("paper", PAPERS)
def test_planned_runs_are_accepted(paper: str, tmp_path: Path) -> None:
    for run in PAPERS[paper].planned():
        if run.experiment is not None:
            run.experiment_in(tmp_path).check()


def test_the_experiments_are_those_that_the_study_runs() -> None:
    folder = EXPERIMENTS / "readahead"
    wanted = dict(readahead_runs.experiments())
    found = {name: (folder / name).read_text(encoding="utf-8") for name in wanted if (folder / name).exists()}
    assert found == wanted, "write them again: ffslab.studies.reproduce.readahead_runs.write_experiments"
    # What the study does not run for its claims.
    assert {path.name for path in folder.glob("*.toml")} - set(wanted) == {"file-size.toml", "sqlite.toml"}


def test_a_gain_is_that_of_the_middle_draw() -> None:
    def row(read_ahead_kib: int, us: list[float]) -> Row:
        def took(step_us: float) -> StepDone:
            return {"us": step_us, "uJ": 0.0, "page_reads": 0, "read_shares": []}

        steps = [each for draw in us for each in (took(1.0), took(draw))]
        return {"read_ahead_KiB": read_ahead_kib, "steps": steps}

    rows = [row(128, [10.0, 10.0, 10.0]), row(0, [9.0, 5.0, 1.0])]
    assert readahead.gains_of_draws(rows) == pytest.approx([0.1, 0.5, 0.9])
    assert readahead.gain(rows) == pytest.approx(0.5)


def test_other_computing_of_sqlite_is_added_to_each_statement() -> None:
    def row(read_ahead_kib: int, time_us: float) -> Row:
        chosen: Row = {"fs": "jffs2", "pattern": "random", "kind": "small", "records": 10}
        return {**chosen, "read_ahead_KiB": read_ahead_kib, "selects": 10, "time_us": time_us}

    rows = [row(128, 20 * SELECT_CPU_US), row(0, 15 * SELECT_CPU_US)]
    assert readahead.look_up_gains(rows, "jffs2", "random") == {("small", 10): pytest.approx(0.25)}
    without = readahead.look_up_gains(rows, "jffs2", "random", select_cpu_us=0)
    assert without == {("small", 10): pytest.approx(0.5)}


# ---- a campaign ---------------------------------------------------------------------------------------------


def test_the_folder_is_complete_and_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(claims: Claims, series: campaign.Series) -> None:
        claims["RA-2"].shape("programs", "some", str(series["tiny"][0]["page_programs"]), True)

    def one(series: campaign.Series) -> list[Figure]:
        return [Figure("One", "x", "y", [Line("a", [1, 2], [3, 4]), Line("b", [1, 2], [4, 3])])]

    monkeypatch.setitem(
        PAPERS, "readahead", campaign.Paper(lambda: [tiny(4)], judge, lambda _, series: iter(one(series)))
    )
    folder, store = tmp_path / "results", Store(tmp_path / "store")
    result = campaign.reproduce("readahead", folder, jobs=1, store=store)
    assert {path.name for path in folder.iterdir()} == campaign.FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "store"]
    assert json.loads((folder / campaign.CLAIMS).read_text(encoding="utf-8")) == result
    verdicts = {claim["id"]: claim["verdict"] for claim in result["claims"]}
    assert verdicts["RA-2"] == "reproduced"
    assert verdicts["RA-1"] == "not yet run"
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert 'data-chart="figure-0"' in html
    assert "not yet run" in html
    assert "not yet run" in words.text(result, folder)
    shares: list[float] = []
    assert campaign.reproduce("readahead", folder, jobs=1, store=store, progress=shares.append) == result
    assert shares == []
    (folder / campaign.RUNS).unlink()
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="not a results folder"):
        campaign.reproduce("readahead", folder, jobs=1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["reproduce", "nothing"], "'nothing' is not one of 'readahead',"),
        (["reproduce", "readahead", "--jobs", "0"], "--jobs 0: must be 1 or more"),
    ],
)
def test_bad_options_are_one_line(ffslab: Command, arguments: list[str], complaint: str) -> None:
    done = ffslab(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---- the real kernel beside ours ----------------------------------------------------------------------------


def three_columns(ours: float, real: float, elsewhere: float | None = None) -> Reading:
    """A published 1.0 (10 %), beside it ours and the real kernel's."""
    made = [judged(tolerance=0.10) for _ in range(3)]
    for claim, value in zip(made, (ours, real, elsewhere), strict=True):
        if value is not None:
            claim.number("n", 1.0, value)
    claim, *others = made
    claim.put_beside(dict(zip(("here", "there"), others, strict=True)), "here")
    (reading,) = claim.readings
    assert claim.cause is reading.cause
    return reading


def test_who_differs_follows_from_the_real_kernel() -> None:
    assert three_columns(1.05, 1.0).cause is None
    assert three_columns(1.5, 1.0).cause is Cause.OURS
    assert three_columns(1.5, 3.0).cause is Cause.OURS
    assert three_columns(1.5, 1.45).cause is Cause.KERNEL
    assert three_columns(1.5, 1.45, 1.0).cause is Cause.SET_UP
    # Ours holds by chance: that is no agreement, and is counted.
    assert (three_columns(1.05, 2.0).cause, three_columns(1.05, 2.0).agrees) == (None, False)
    alone = judged(tolerance=0.10)
    alone.number("n", 1.0, 2.0)
    assert alone.cause is Cause.UNKNOWN


def test_a_reading_of_the_real_kernel_has_one_of_ours() -> None:
    ours, real = judged(tolerance=0.10), judged(tolerance=0.10)
    real.number("n", 1.0, 1.0)
    with pytest.raises(AssertionError, match="without ours"):
        ours.put_beside({"here": real}, "here")


@pytest.mark.parametrize(("paper", "least"), [("wear-gc", 40), ("readahead", 25)])
def test_the_real_kernel_is_read_as_far_as_it_was_measured(paper: str, least: int) -> None:
    real = kernel.judged(paper, PAPERS[paper].judge)
    ours = next(iter(real.values()))
    assert sum(len(claim.readings) for claim in ours) >= least
    assert all(reading.agrees is None for claims in real.values() for claim in claims for reading in claim.readings)


def test_the_study_runs_the_set_up_that_was_measured() -> None:
    """What the facts say of the real kernel in it: 2.53 erases a block with JFFS2 at 2 KiB, 1.15 from 8 KiB on."""
    series = kernel.wear_gc()[wear_gc.SET_UP]
    erases = wear_gc.curve(series, "SW", "jffs2", wear_gc.ERASES)
    assert {size: round(value, 2) for size, value in erases.items() if size in (2, 8, 512)} == {
        2: 2.53,
        8: 1.15,
        512: 1.15,
    }
    # O_SYNC was not run in it, and 16 KiB were not measured.
    with pytest.raises(NotMeasuredError):
        wear_gc.curve(series, f"SW{wear_gc.SYNCED}", "jffs2")
    assert 16 not in erases


def test_the_rows_of_the_real_kernel_are_those_of_its_cases() -> None:
    text = gzip.decompress((MEASURED / "linux-2.6.37.jsonl.gz").read_bytes()).decode()
    # The cases that ship have no latencies.
    made = [
        {key: value for key, value in row.items() if not key.startswith("latency")}
        for row in kernel.rows_of_cases("readahead", text.splitlines())
    ]
    kept = [{key: row[key] for key in made[0]} for row in kernel.rows("readahead")]
    assert len(made) > 10
    assert all(row in kept for row in made)


@pytest.mark.parametrize(
    ("file", "axes", "series"),
    [
        ("saturated", {"uflip.pattern": "RW"}, "RW"),
        ("fill-rate", {"setup.occupy.percent": 60}, "fill 60"),
        ("inter-arrival", {"uflip.pause_us": "10 ms"}, "pause 10"),
    ],
)
def test_the_experiments_of_the_wear_study_are_the_runs_of_its_claims(
    file: str, axes: dict[str, object], series: str
) -> None:
    """Beside the axes of the files themselves, which are narrowed to one variant."""
    text = (EXPERIMENTS / "wear-gc" / f"{file}.toml").read_text(encoding="utf-8")
    chosen = {"fs": "ubifs", "uflip.io_size_B": "32 KiB", **axes}
    narrowed = "".join(f"{key} = [{json.dumps(value)}]\n" for key, value in chosen.items())
    (variant,) = Experiment(text.split("[axes]")[0] + "[axes]\n" + narrowed).run().summary["variants"]
    (planned,) = (run for run in wear_gc.planned() if run.series == series and fs_of(run) == "ubifs")
    rows = [row for row in run_all([planned])[series] if row["uflip.io_size_B"] == "32 KiB"]
    ours = [(row["latency_sum_us"], row["erases"], row["page_programs"]) for row in rows]
    made = row_of(variant)
    assert ours == [(made["latency_sum_us"], made["erases"], made["page_programs"])]
