"""The store of runs: asked again, nothing is run again, and nobody sees a difference."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from ffslab import Experiment, InputError
from ffslab.store import Store
from helpers.command import FFSLAB, SMALL, Command

FOLDER_FILES = ["blocks.parquet", "report.html", "requests.parquet", "resolved.toml", "summary.json", "variants.csv"]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in [*FOLDER_FILES, "variants.parquet"]}


def rows_in(store: Path) -> list[dict[str, object]]:
    return [row for part in sorted((store / "runs").iterdir()) for row in pq.read_table(part).to_pylist()]


def parts_in(store: Path) -> set[str]:
    return {part.name for part in (store / "runs").iterdir()}


def test_what_was_run_is_not_run_again_and_gives_the_same_files(ffslab: Command, tmp_path: Path, small: Path) -> None:
    assert ffslab("run", small, "--out", "without").returncode == 0
    for out in ("first", "second"):
        ran = ffslab("run", small, "--out", out, FFSLAB_STORE="kept")
        assert (ran.returncode, ran.stderr) == (0, "")
    assert bytes_of(tmp_path / "first") == bytes_of(tmp_path / "without")
    assert bytes_of(tmp_path / "second") == bytes_of(tmp_path / "without")
    assert len(rows_in(tmp_path / "kept")) == 2
    assert len(parts_in(tmp_path / "kept")) == 1
    # Nothing ran: the summary is what the store says, also where that is not what a run would say.
    store = Store(tmp_path / "kept")
    keys = Experiment.from_file(small).keys()
    assert store.has([str(one["key"]) for one in keys["variants"]], keys["requests_kept"], with_tables=True) == {
        one["key"] for one in keys["variants"]
    }


def test_a_kept_run_is_what_is_shown(tmp_path: Path) -> None:
    """The result of a run that says something else comes from the store: nothing was run."""
    experiment = Experiment.from_toml(SMALL)
    store = Store(tmp_path / "kept")
    experiment.run(store=store)
    keys = experiment.keys()
    wanted = {str(one["key"]) for one in keys["variants"]}
    found = store.find(wanted, keys["requests_kept"])
    other = Store(tmp_path / "other")
    for run in found.values():
        run.said["stack"]["board"] = "another board"
    other.keep(list(found.values()))
    assert experiment.run(store=other).summary["variants"][0]["stack"]["board"] == "another board"
    assert experiment.run(store=other, again=True).summary["variants"][0]["stack"]["board"] == "zero-overhead"


def test_only_new_variants_run(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    Experiment.from_toml(SMALL).run(store=store)
    more = Experiment.from_toml(SMALL.replace("[128, 0]", "[0, 64, 128]").replace('"Small"', '"More"'))
    run = more.run(store=store)
    fresh = more.run(store=Store(tmp_path / "none"))
    assert json.dumps(run.summary) == json.dumps(fresh.summary)
    pd.testing.assert_frame_equal(run.requests, fresh.requests)
    pd.testing.assert_frame_equal(run.blocks, fresh.blocks)
    assert run.resolved_toml == fresh.resolved_toml
    assert sorted(str(row["variant"]) for row in rows_in(store.folder)) == [
        "read_ahead_KiB=0",
        "read_ahead_KiB=128",
        "read_ahead_KiB=64",
    ]


def test_repetitions_are_put_together_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    Experiment.from_toml(SMALL).changed(repeat=2).run(store=store)
    more = Experiment.from_toml(SMALL).changed(repeat=7)
    assert json.dumps(more.run(store=store).summary) == json.dumps(more.run(store=Store(tmp_path / "none")).summary)


def test_a_variant_that_does_not_end_is_kept_as_well(tmp_path: Path) -> None:
    text = SMALL.replace("[axes]", '[[measure]]\nstep = "unlink"\nfile = "nobody"\n\n[axes]')
    wrong = Experiment.from_toml(text)
    store = Store(tmp_path / "kept")
    said = []
    for _ in range(2):
        with pytest.raises(InputError) as refused:
            wrong.run(store=store)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "nobody" in said[0]
    # Beside one that ends it is a row that says so.
    mixed = SMALL.replace('bytes = "256 KiB"', 'bytes = "3900 KiB"').replace(
        "read_ahead_KiB = [128, 0]", "partition_blocks = [32, 64]"
    )
    failures = [Experiment.from_toml(mixed).run(store=store).failures for _ in range(2)]
    assert failures[0] == failures[1]
    assert len(failures[0]) == 1


def test_images_and_logs_are_kept(tmp_path: Path) -> None:
    text = SMALL.replace("[axes]", '[[measure]]\nstep = "save_image"\nfile = "chip.bin"\n\n[axes]').replace(
        "title =", "probe_logs = true\ntitle ="
    )
    store = Store(tmp_path / "kept")
    first, again = (Experiment.from_toml(text).run(store=store) for _ in range(2))
    assert sorted(first.images) == ["1/chip.bin", "2/chip.bin"]
    assert (again.images, again.logs, again.films) == (first.images, first.logs, first.films)
    assert first.logs


def test_how_many_rows_are_kept_decides_whether_a_run_serves(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    experiment = Experiment.from_toml(SMALL)
    few = Experiment.from_toml(SMALL.replace("title =", "requests_kept = 5\ntitle ="))
    many = Experiment.from_toml(SMALL.replace("title =", "requests_kept = 100000\ntitle ="))
    assert len(experiment.run(store=store).requests) == 2 * 623
    assert len(few.run(store=store).requests) == 2 * 5
    assert len(rows_in(store.folder)) == 4
    assert len(many.run(store=store).requests) == 2 * 623
    assert len(rows_in(store.folder)) == 4


def test_the_verbs_of_the_store(ffslab: Command, tmp_path: Path, small: Path) -> None:
    for name, part in (("a", "[128]"), ("b", "[0]")):
        small.write_text(SMALL.replace("[128, 0]", part), encoding="utf-8")
        assert ffslab("run", small, FFSLAB_STORE=name).returncode == 0
    merged = ffslab("store", "merge", "a", "b", "--store", "both")
    assert merged.stdout == "2 runs added to both\n"
    assert ffslab("store", "merge", "a", "--store", "both").stdout == "0 runs added to both\n"
    small.write_text(SMALL, encoding="utf-8")
    assert ffslab("run", small, FFSLAB_STORE="both").returncode == 0
    assert parts_in(tmp_path / "both") == parts_in(tmp_path / "a") | parts_in(tmp_path / "b")
    listed = ffslab("store", "ls", "--store", "both")
    assert "read_ahead_KiB=0" in listed.stdout and "2 runs" in listed.stdout
    held = json.loads(ffslab("store", "ls", "--store", "both", "--json").stdout)
    assert {run["variant"] for run in held["runs"]} == {"read_ahead_KiB=0", "read_ahead_KiB=128"}
    assert ffslab("store", "verify", "--store", "both").stdout == "2 runs in both: whole\n"
    typo = ffslab("store", "rm", held["runs"][0]["key"][:10], "typo", "--store", "both")
    assert (typo.returncode, "begins with typo" in typo.stderr) == (2, True), "and no run is removed"
    gone = ffslab("store", "rm", held["runs"][0]["key"][:10], "--store", "both")
    assert gone.stdout == "1 run removed from both\n"
    assert len(list((tmp_path / "both" / "tables").iterdir())) == 1
    assert ffslab("store", "rm", "--all", "--store", "both").stdout == "1 run removed from both\n"
    assert list((tmp_path / "both" / "tables").iterdir()) == []


def test_damage_is_told_and_not_used(ffslab: Command, tmp_path: Path, small: Path) -> None:
    assert ffslab("run", small, FFSLAB_STORE="kept", cwd=tmp_path).returncode == 0
    (part,) = (tmp_path / "kept" / "runs").iterdir()
    part.write_bytes(part.read_bytes()[:-100])
    told = ffslab("store", "verify", "--store", "kept")
    assert told.returncode == 1
    assert "is not what was written" in told.stderr
    ran = ffslab("run", small, FFSLAB_STORE="kept")
    assert (ran.returncode, ran.stderr) == (0, "")
    tables = next((tmp_path / "kept" / "tables").iterdir())
    (tables / "requests.parquet").write_bytes(b"")
    assert "missing or damaged" in ffslab("store", "verify", "--store", "kept").stderr
    assert ffslab("run", small, FFSLAB_STORE="kept").returncode == 0
    assert ffslab("store", "verify", "--store", "kept").stdout == "2 runs in kept: whole\n"


def test_a_store_that_another_process_is_making_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever moment it is looked at: the first thing in it that shows is its manifest."""
    seen = []
    mkdir = Path.mkdir

    def looked(folder: Path, *args: Any, **named: Any) -> None:
        mkdir(folder, *args, **named)
        seen.append(Store(tmp_path / "kept"))

    monkeypatch.setattr(Path, "mkdir", looked)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / ".manifest.json.0a1b").write_bytes(b"half")
    Store(tmp_path / "kept")._make()
    assert len(seen) >= 4


def test_wrong_stores_are_refused(ffslab: Command, tmp_path: Path, small: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x", encoding="utf-8")
    refused = [
        (ffslab("run", small, FFSLAB_STORE="mine"), "mine: not a store of runs (no manifest.json)"),
        (ffslab("store", "ls", "--store", "nowhere"), "nowhere: not a store of runs: there is no such folder"),
        (ffslab("store", "ls"), "FFSLAB_STORE is empty"),
        (ffslab("store", "rm", FFSLAB_STORE="kept"), "name the runs by their keys, or all of them with --all"),
        (ffslab("store", "rm", "", FFSLAB_STORE="kept"), "a KEY is empty"),
        (ffslab("store", "rm", "abc", FFSLAB_STORE="kept"), "no run has a key that begins with abc"),
    ]
    for ran, text in refused:
        assert ran.returncode == 2, text
        assert text in ran.stderr
        assert len(ran.stderr.splitlines()) == 1
    assert (tmp_path / "mine" / "letter.txt").exists()
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "manifest.json").write_text('{"format": 99}', encoding="utf-8")
    with pytest.raises(InputError, match="its format is 99"):
        Store(tmp_path / "later")


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """What a run reads from a pipe is gone afterwards: it must not be looked at for a key."""
    lines = ['openat(AT_FDCWD, "f", O_RDWR|O_CREAT, 0644) = 3', 'write(3, "x", 1) = 1', "close(3) = 0"]
    trace = "".join(f"100.000{number}00 {line} <0.000010>\n" for number, line in enumerate(lines))
    command = [str(FFSLAB), "replay", "/dev/stdin", "--out", "out"]
    env = {**os.environ, "FFSLAB_STORE": "kept"}
    ran = subprocess.run(command, cwd=tmp_path, input=trace, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "kept" / "runs").exists()


def test_programs_without_ffslab_read_a_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    run = Experiment.from_toml(SMALL).run(store=store)
    frame = pd.read_parquet(store.folder / "runs")
    assert list(frame["page_programs"]) == list(run.variants["page_programs"])
    assert json.loads(frame["summary"][0])["name"] == "read_ahead_KiB=128"
    about = json.loads((store.folder / "manifest.json").read_text(encoding="utf-8"))["columns"]
    assert set(about) - {"FIGURES"} <= set(frame.columns)


def test_room_is_made_in_the_usual_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept", bytes_max=1)
    Experiment.from_toml(SMALL.replace("[128, 0]", "[128]")).run(store=store)
    Experiment.from_toml(SMALL.replace("[128, 0]", "[0]")).run(store=store)
    assert [row["variant"] for row in rows_in(store.folder)] == ["read_ahead_KiB=0"]
    assert len(list((store.folder / "tables").iterdir())) == 1
