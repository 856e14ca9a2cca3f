"""The step `sqlite` of experiments: the calls of `ffslab sqlite`, results, errors, and that runs can be repeated."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import ffslab
from ffslab import _native
from ffslab.sqlite import measure_script
from ffslab.sqlite.script import Script
from helpers.command import ROOT
from test_sqlite import FILE_SYSTEMS, recorded_sql

if TYPE_CHECKING:
    from helpers.command import Command

STACK = {"board": "omap3evm", "partition_blocks": 96}
# What SQLite can do to its files: both journals, rows that overflow their page, changes that are taken back, temporary
# files, a file that shrinks.
SCRIPTS = {
    "delete": "",
    "truncate": "PRAGMA journal_mode = truncate;",
    "persist": "PRAGMA journal_mode = persist;",
    "extra": "PRAGMA synchronous = extra; PRAGMA cache_size = 4;",
    "wal": "PRAGMA journal_mode = wal;",
}
WORK = """
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB);
BEGIN; INSERT INTO t (a, b) VALUES ('x', zeroblob(9000)), ('y', zeroblob(100)), ('z', zeroblob(30000)); COMMIT;
CREATE INDEX i ON t (a);
BEGIN; DELETE FROM t; ROLLBACK;
UPDATE t SET a = a || 'more' WHERE id < 3;
SELECT a, count(*) FROM t GROUP BY length(b) ORDER BY a DESC;
SAVEPOINT s; INSERT INTO t (a) VALUES ('w'); ROLLBACK TO s; RELEASE s;
DELETE FROM t WHERE id = 3;
VACUUM;
PRAGMA integrity_check;
"""


def experiment(*steps: dict[str, object], **keys: object) -> ffslab.Experiment:
    data: dict[str, Any] = {
        "title": "x",
        "stack": {**STACK, "fs": "jffs2"},
        "measure": [{"step": "mount"}, *steps],
        **keys,
    }
    return ffslab.Experiment.from_data(data)


def calls(rows: pd.DataFrame) -> list[tuple[str, str, int, int]]:
    columns = rows[["op", "file", "offset_B", "bytes"]].itertuples(index=False, name=None)
    return [(op, file.lstrip("/"), int(at), int(count)) for op, file, at, count in columns]


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
@pytest.mark.parametrize("mode", SCRIPTS)
def test_the_calls_are_those_of_the_interface_in_python(fs: str, mode: str) -> None:
    """One SQLite, two interfaces: `ffslab.sqlite` gives programs in Python a connection, the step needs no Python."""
    sql = SCRIPTS[mode] + WORK
    stack = ffslab.Stack(fs, **STACK)  # type: ignore[arg-type]
    stack.mount()
    rows = measure_script(stack, Script.parse(sql, "x.sql"), "a.db", wal=False)
    by_python = calls(pd.DataFrame(stack.measurement().request_columns))
    run = experiment({"step": "sqlite", "file": "a.db", "sql": sql}, axes={"fs": [fs]}).run()
    assert calls(run.requests) == by_python and len(by_python) > 60
    done = run.summary["variants"][0]["steps"][1]
    assert (done["rows"], done["requests_done"]) == (len(rows), len(by_python))


def test_a_thousand_inserts_make_the_calls_that_the_shell_made() -> None:
    """`test_sqlite` compares those of the interface in Python with a recording of the shell on Linux."""
    stack = ffslab.Stack("jffs2", **STACK)  # type: ignore[arg-type]
    stack.mount()
    script = recorded_sql()
    measure_script(stack, script, "contacts.db", wal=False)
    run = experiment({"step": "sqlite", "file": "contacts.db", "sql": script.text}).run()
    assert calls(run.requests) == calls(pd.DataFrame(stack.measurement().request_columns))


TEXT = """
title = "x"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 96
[[setup]]
step = "mount"
[[setup]]
step = "sqlite"
file = "a.db"
sql = "CREATE TABLE t (at, value)"
pragmas = ["page_size = 1024", "journal_mode = truncate"]
[[measure]]
step = "sqlite"
file = "a.db"
script = "insert.sql"
count = 50
[[measure]]
step = "umount"
[[measure]]
step = "save_image"
file = "nand.bin"
oob = true
"""
INSERT = "INSERT INTO t VALUES (:i, random());\nINSERT INTO t VALUES (strftime('%Y', 'now'), randomblob(300));\n"


def write(folder: Path, text: str = TEXT, insert: str = INSERT) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "x.toml").write_text(text, encoding="utf-8")
    (folder / "insert.sql").write_text(insert, encoding="utf-8")


def data_base(ffslab: Command, image: Path, folder: Path) -> sqlite3.Connection:
    assert ffslab("extract", image, folder).returncode == 0
    return sqlite3.connect(folder / "a.db")


def test_a_script_beside_the_experiment_leaves_a_data_base_for_the_hosts_sqlite(
    ffslab: Command, tmp_path: Path
) -> None:
    write(tmp_path / "here")
    ran = ffslab("run", "here/x.toml", "--out", "first")
    assert ran.returncode == 0, ran.stderr
    database = data_base(ffslab, tmp_path / "first/images/nand.bin", tmp_path / "files")
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("PRAGMA page_size").fetchall() == [(1024,)]
    rows = database.execute("SELECT at, typeof(value) FROM t ORDER BY rowid").fetchall()
    # The time is that of the board, and the repetitions are counted from 0.
    assert rows == [row for i in range(50) for row in ((i, "integer"), ("2011", "blob"))]
    # What was resolved runs again from elsewhere, to the same bytes.
    (tmp_path / "again.toml").write_text(
        (tmp_path / "first/resolved.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert ffslab("run", "again.toml", "--out", "again").returncode == 0
    for name in ("summary.json", "requests.parquet", "images/nand.bin"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    step = json.loads((tmp_path / "first/summary.json").read_text(encoding="utf-8"))["variants"][0]["steps"][0]
    assert (step["statements"], step["rows"], step["stopped_by"]) == (100, 0, None)


def test_a_script_cannot_be_part_of_a_kept_state(ffslab: Command, tmp_path: Path) -> None:
    write(
        tmp_path,
        TEXT.replace("[[setup]]", "[[state]]").replace('sql = "CREATE TABLE t (at, value)"', 'script = "insert.sql"'),
    )
    ran = ffslab("run", "x.toml")
    assert (
        ran.returncode == 2 and "state step 2 (sqlite): cannot be part of a state, put it into [[setup]]" in ran.stderr
    )


def test_any_number_of_workers_gives_the_same(ffslab: Command, tmp_path: Path) -> None:
    """SQLite's random numbers stand in journals and data; they come from its seed, whoever computes beside it."""
    text = TEXT.replace('[[measure]]\nstep = "save_image"\nfile = "nand.bin"\noob = true\n', "")
    text = text.replace("count = 50", "count = 50\nseed = 5") + '[axes]\nfs = ["jffs2", "ubifs", "yaffs2"]\n'
    write(tmp_path, text)
    for jobs in ("1", "3"):
        ran = ffslab("run", "x.toml", "--jobs", jobs, "--out", jobs)
        assert ran.returncode == 0, ran.stderr
    for name in ("summary.json", "requests.parquet", "blocks.parquet"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes(), name


def test_sql_that_is_wrong_is_one_line_with_its_place(ffslab: Command, tmp_path: Path) -> None:
    write(tmp_path, insert="INSERT INTO t VALUES (1, 2);\n\nINSERT INTO tt VALUES (1);\n")
    ran = ffslab("run", "x.toml")
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran.stderr
    says = 'step 1 (sqlite "a.db"): statement 2 (line 3): SQLITE_ERROR: no such table: tt: INSERT INTO tt VALUES (1);'
    assert says in ran.stderr
    (tmp_path / "insert.sql").unlink()
    assert "insert.sql: no such file" in ffslab("run", "x.toml").stderr
    write(tmp_path, TEXT.replace('script = "insert.sql"', ""))
    assert "give either sql, the statements, or script, a file of them" in ffslab("run", "x.toml").stderr


def test_a_variant_that_fills_its_partition_says_so(ffslab: Command, tmp_path: Path) -> None:
    insert = "INSERT INTO t VALUES (:i, randomblob(100000));"
    write(tmp_path, TEXT + "[axes]\npartition_blocks = [24, 96]\n", insert)
    ran = ffslab("run", "x.toml")
    assert ran.returncode == 0, ran.stderr
    small, large = json.loads((tmp_path / "results/x/summary.json").read_text(encoding="utf-8"))["variants"]
    assert (large["steps"][0]["stopped_by"], large["steps"][0]["statements"]) == (None, 50)
    assert small["steps"][0]["stopped_by"] == "SQLITE_FULL" and 1 < small["steps"][0]["statements"] < 50
    note = next(note for note in small["notes"] if "SQLITE_FULL" in note)
    assert f"statement {small['steps'][0]['statements'] + 1} (line 1): SQLITE_FULL: database or disk is full" in note


@pytest.mark.parametrize(
    "stack",
    [
        {"system": "rtems", "fs": "rfs", "device_KiB": 8192, "quirks": "fixed"},
        {"system": "rtems", "fs": "dosfs", "device_KiB": 8192, "quirks": "fixed"},
        {"system": "bare", "fs": "yaffs2"},
    ],
    ids=lambda stack: f"{stack['system']}-{stack['fs']}",
)
def test_it_runs_on_the_other_systems(stack: dict[str, object]) -> None:
    sql = "CREATE TABLE t (a); INSERT INTO t VALUES (1); SELECT * FROM t"
    steps = [{"step": "mount"}, {"step": "sqlite", "file": "a.db", "sql": sql}]
    run = ffslab.Experiment.from_data({"title": "x", "stack": stack, "measure": steps}).run()
    done = run.summary["variants"][0]["steps"][1]
    assert (done["statements"], done["rows"]) == (3, 1)


def test_the_step_of_the_manual_works(ffslab: Command, tmp_path: Path) -> None:
    manual = (ROOT / "docs/experiments.md").read_text(encoding="utf-8")
    block = next(found for found in re.findall(r"```toml\n(.*?)```", manual, re.DOTALL) if '"sqlite"' in found)
    write(tmp_path, TEXT[: TEXT.index("[[measure]]")].replace("a.db", "contacts.db") + block)
    ran = ffslab("run", "x.toml")
    assert ran.returncode == 0, ran.stderr


def test_a_session_reads_a_script_again_that_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stack = ffslab.Stack("jffs2", **STACK)  # type: ignore[arg-type]
    stack.mount()
    with stack.measured("both"):
        for sql in ("CREATE TABLE t (a)", "INSERT INTO t VALUES (1); SELECT a FROM t"):
            (tmp_path / "x.sql").write_text(sql, encoding="utf-8")
            stack.step("sqlite", file="a.db", script="x.sql")
    stack.read_file("a.db")


def test_a_reference_run_gets_its_calls(tmp_path: Path) -> None:
    """A real kernel repeats the calls that SQLite made here: it has no SQLite."""
    steps: list[dict[str, object]] = [
        {"step": "mount"},
        {"step": "sqlite", "file": "a.db", "sql": "CREATE TABLE t (a)"},
    ]
    text = (
        'title = "x"\n[stack]\nboard = "omap3evm"\nfs = "jffs2"\npartition_blocks = 96\n[[measure]]\nstep = "mount"\n'
    )
    experiment = ffslab.Experiment.from_toml(text, tmp_path)
    found, data = _native.recorded_calls(experiment, 0, "[]", json.dumps(steps), ["sqlite"])
    [(_, _, lines)] = found
    words = [line.split()[0] for line in lines.splitlines()]
    assert words.count("fdatasync") == 4 and words.count("unlink") == 1 and "pwrite" in words
    assert b"SQLite format 3" in bytes(data)
