"""Recordings of every format: replayed, and written as tables that replay the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ffslab import Experiment, InputError
from ffslab.answers.summary import VariantSummary
from ffslab.api.machine import Machine
from ffslab.files.traces import ROW_GROUP, convert
from ffslab.workloads.replay import How, replay_experiment
from helpers.command import ROOT, Command

FIO = """\
fio version 3 iolog
5 data add
10 data open
20 data read 0 4096
1020 data write 8192 512
1030 data sync 0 0
1040 data close
"""
OPENFLASH = """\
#<time_stamp>;<sys_call>;<arguments;>;<file_name>;<elapsed>
1400731049.95;open;3;0;0;0;/mnt/flash/test.db;0.000152
1400731050.26;read;3;0;100;/mnt/flash/test.db;0.000458
1400731050.92;open;4;0;0;0;/mnt/flash/test.db-journal;0.000245
1400731051.12;write;4;0;512;/mnt/flash/test.db-journal;0.000213
1400731051.22;close;4;/mnt/flash/test.db-journal;0.000061
"""
BLKPARSE = """\
  8,0    3        1     0.000000000   697  Q   W 8 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 8 + 8 [kjournald]
  8,0    3        3     0.002000000   697  Q   R 16 + 16 [cat]
"""
TABLE = "start_ms;op;file;offset_KiB;size_B\n1.5;read;a;4;100\n2;write;a;0;512\n3;fsync;a;;\n"
# Small offsets: on a file system, what is read must be there, and is written before.
MSR = """\
128166372003061629,hm,1,Read,4096,8192,413
128166372016382155,hm,1,Write,0,4096,2326
"""
SPC = "0,8,4096,W,0.551706\n0,16,512,w,0.554041\n0,24,2048,r,1.011732\n"
FORMATS = {
    "fio.log": FIO,
    "vfs.csv": OPENFLASH,
    "blk.txt": BLKPARSE,
    "table.csv": TABLE,
    "hm_1.csv": MSR,
    "Financial1.spc": SPC,
}
STRACE = ROOT / "examples/sqlite/select-random-50.strace.gz"


def replayed(trace: Path) -> VariantSummary:
    """The only variant of a replay."""
    run = replay_experiment(trace, Machine("zero-overhead", None, "jffs2", 400), How("keep")).run()
    return run.summary["variants"][0]


def what_happened(variant: VariantSummary) -> tuple[Any, ...]:
    return tuple(variant[key] for key in ("totals", "latency_us", "time_us", "user_read_B", "user_written_B"))


def test_a_cold_replay_reads_from_the_flash_what_a_usual_one_has_in_memory(tmp_path: Path) -> None:
    trace = tmp_path / "reads.csv"
    trace.write_text("op,path,offset_B,size_B\nread,a,0,8192\n", encoding="utf-8")
    machine = Machine("zero-overhead", None, "jffs2", 400)
    runs = [replay_experiment(trace, machine, How("keep"), cold=cold).run() for cold in (False, True)]
    usual, cold = (run.summary["variants"][0] for run in runs)
    assert usual["totals"]["page_reads"] == 0
    assert cold["totals"]["page_reads"] >= 4
    assert cold["user_read_B"] == usual["user_read_B"] == 8192


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_replayed_and_so_is_its_table(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMATS[name], encoding="utf-8")
    first = replayed(tmp_path / name)
    assert first["user_read_B"] + first["user_written_B"] > 500
    assert not any("ended differently" in note for note in first["notes"])
    convert(tmp_path / name, tmp_path / "t.parquet", None)
    assert what_happened(replayed(tmp_path / "t.parquet")) == what_happened(first)


def test_direct_io_of_a_recording_fails_as_on_the_board(tmp_path: Path) -> None:
    """JFFS2, YAFFS2 and UBIFS refuse O_DIRECT: what was done with it on another file system does not happen."""
    calls = [
        'openat(AT_FDCWD, "/w/a", O_RDWR|O_CREAT|O_DIRECT, 0644) = 3',
        'pwrite64(3, ""..., 4096, 0) = 4096',
        "close(3) = 0",
        'openat(AT_FDCWD, "/w/b", O_RDWR|O_CREAT|O_DIRECT, 0644) = -1 EINVAL (Invalid argument)',
        'openat(AT_FDCWD, "/w/b", O_RDWR, 0644) = 3',
        'write(3, ""..., 512) = 512',
    ]
    lines = [f"7 100.{number:06} {call} <0.000001>\n" for number, call in enumerate(calls)]
    (tmp_path / "direct.strace").write_text("".join(lines), encoding="utf-8")
    done = replayed(tmp_path / "direct.strace")
    assert done["user_written_B"] == 512
    assert any("3 of 6 calls" in note and "open gave 3, here EINVAL" in note for note in done["notes"])
    convert(tmp_path / "direct.strace", tmp_path / "direct.csv", None)
    assert "direct" in (tmp_path / "direct.csv").read_text(encoding="utf-8")
    assert what_happened(replayed(tmp_path / "direct.csv")) == what_happened(done)


def test_an_strace_recording_survives_both_forms(ffslab: Command, tmp_path: Path) -> None:
    first = replayed(STRACE)
    ran = ffslab("trace", "convert", STRACE, "--out", "app.parquet")
    assert (ran.returncode, "fcntl lock" in ran.stderr) == (0, True)
    convert(tmp_path / "app.parquet", tmp_path / "app.csv", None)
    for table in ("app.parquet", "app.csv"):
        assert what_happened(replayed(tmp_path / table)) == what_happened(first)
    columns = pq.read_table(tmp_path / "app.parquet")
    assert columns.schema.field("start_ns").type == "uint64"
    assert columns.schema.metadata[b"ffslab.root"]
    assert {"op", "path", "offset_B", "size_B", "duration_ns", "think_ns"} <= set(columns.column_names)


def test_the_resolved_experiment_of_a_table_runs_again(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "fio.log").write_text(FIO, encoding="utf-8")
    convert(tmp_path / "fio.log", tmp_path / "t.parquet", None)
    first = ffslab("replay", "t.parquet", "--board", "zero-overhead", "--json")
    again = ffslab("run", "results/t/resolved.toml", "--out", "again", "--json")
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    one, other = (json.loads(ran.stdout)["variants"][0] for ran in (first, again))
    assert what_happened(one) == what_happened(other)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "op,path,offset\nread,a,0\n", "a.csv:1: column `offset` does not say its unit"),
        ("a.csv", "op,path\nraed,a\n", "a.csv:2: unknown op `raed`: did you mean `read`?"),
        ("a.csv", "op,path\n", "holds no event that could be replayed"),
        ("a.log", "fio version 3 iolog\n1 a read 0 4096\n", "a.log:2: a is not open"),
        ("a.vfs", OPENFLASH.replace("close;4", "cloze;4"), 'a.vfs:6: expected "TIME;read;FD;OFFSET;BYTES'),
        ("a.txt", "nothing\n", "strace -f -ttt -T"),
        ("a.parquet", "PAR1 but no more", "a.parquet: is no table of a recording"),
    ],
)
def test_a_broken_recording_is_one_line(ffslab: Command, tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (("replay", name), ("trace", "convert", name, "--out", "out.parquet")):
        ran = ffslab(*command)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
        assert said in ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_the_ending_of_the_new_file_says_its_form(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "fio.log").write_text(FIO, encoding="utf-8")
    ran = ffslab("trace", "convert", "fio.log", "--out", "out.txt")
    assert ran.returncode == 2
    assert "must end in .parquet or .csv" in ran.stderr


@pytest.mark.parametrize(
    ("head", "line", "said"),
    [
        ("op,file,size_B,offset_KiB", "read,a,10,-4", "t.csv:3: an offset of -4096 B: `read` needs 0 or more"),
        ("op,file,size_B,size_B", "read,a,10,20", "t.csv:1: the column `size_B` is there twice"),
        ("op,file,size_B,bytes", "read,a,10,20", "t.csv:1: the columns `size_B` and `bytes` say the same"),
        ("op,file,start_us,start_ms", "read,a,10,20", "t.csv:1: the columns `start_us` and `start_ms` say the same"),
    ],
)
def test_columns_that_contradict_themselves_are_refused(
    ffslab: Command, tmp_path: Path, head: str, line: str, said: str
) -> None:
    first = line.replace("-4", "4")
    (tmp_path / "t.csv").write_text(f"{head}\n{first}\n{line}\n", encoding="utf-8")
    for ran in (ffslab("trace", "convert", "t.csv", "--out", "t.parquet"), ffslab("replay", "t.csv")):
        assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr


def test_file_systems_of_a_replay_run_side_by_side(ffslab: Command) -> None:
    ran = ffslab("replay", STRACE, "--fs", "ubifs", "--fs", "jffs2", "--json")
    assert [variant["name"] for variant in json.loads(ran.stdout)["variants"]] == ["fs=ubifs", "fs=jffs2"]
    both = ffslab(
        "replay", STRACE, "--fs", "ubifs", "--fs", "jffs2", "--read-ahead", "0", "--read-ahead", "64", "--json"
    )
    assert len(json.loads(both.stdout)["variants"]) == 4
    assert "--fs jffs2: is given twice" in ffslab("replay", STRACE, "--fs", "jffs2", "--fs", "jffs2").stderr


def test_what_compression_saves_is_not_judged_by_a_recording(ffslab: Command, tmp_path: Path) -> None:
    """A recording has no bytes: what they are like must be said, or the answer says that nobody did."""
    lines = ["op,path,offset_B,size_B", *(f"pwrite,log,{i * 4096},4096" for i in range(60)), "sync,,,", ""]
    (tmp_path / "log.csv").write_text("\n".join(lines), encoding="utf-8")
    unjudged = "log.csv holds no contents, so what compression saves cannot be judged"

    def pages(*options: str, told: bool) -> int:
        ran = ffslab("replay", "log.csv", "--fs", "ubifs", "--json", *options)
        assert ran.returncode == 0, ran.stderr
        (variant,) = json.loads(ran.stdout)["variants"]
        assert any(note.startswith(unjudged) for note in variant["notes"]) is told
        programs = variant["totals"]["page_programs"]
        assert isinstance(programs, int)
        return programs

    unsaid = pages(told=True)
    assert pages("--content", "random", told=False) == unsaid
    # 60 pages of 4 KiB, and what UBIFS adds. LZO takes some 10 % more than the share of random bytes in a page.
    half, fifth = pages("--content", "mix", told=False), pages("--content", "20%", told=False)
    assert 0.5 < half / unsaid < 0.7 and 0.2 < fifth / unsaid < 0.4, (unsaid, half, fifth)
    assert pages("--set", "compression=none", told=False) >= unsaid - 2
    assert "Note. log.csv holds no contents" in ffslab("replay", "log.csv", "--fs", "ubifs").stdout
    for wrong in ("photos", "140%", "%", "0.4"):
        refused = ffslab("replay", "log.csv", "--content", wrong)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert f"--content {wrong}: must be random, text, mix, zero, or a share as 40%" in refused.stderr


@pytest.mark.parametrize("again", [("--system", "linux"), ("--think", "none"), ("--speed", "2")])
def test_an_option_with_one_value_is_not_given_twice(ffslab: Command, again: tuple[str, str]) -> None:
    ran = ffslab("replay", STRACE, *again, *again)
    assert (ran.returncode, f"{again[0]}: is given more than once" in ran.stderr) == (2, True), ran.stderr


def test_a_recording_of_several_row_groups_is_the_same_table(tmp_path: Path) -> None:
    rows = 2 * ROW_GROUP + 17
    lines = ["op,file,offset_B,size_B,start_us", *(f"read,f{i % 7},{i * 10},10,{i * 3}" for i in range(rows))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    written, _ = convert(tmp_path / "t.csv", tmp_path / "t.parquet", None)
    table = pq.read_table(tmp_path / "t.parquet")
    assert written == table.num_rows >= rows
    reads = table.filter(pc.equal(table["op"], "pread"))
    assert reads["offset_B"].to_pylist() == [i * 10 for i in range(rows)]
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 3
    again, _ = convert(tmp_path / "t.parquet", tmp_path / "again.parquet", None)
    assert again == written and pq.read_table(tmp_path / "again.parquet").equals(table)
    convert(tmp_path / "t.parquet", tmp_path / "a.csv", None)
    convert(tmp_path / "t.csv", tmp_path / "b.csv", None)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


DEVICE = """\
  8,16    0        1     0.000000000   697  Q   W 8 + 8 [a]
  8,16    0        2     0.002000000   697  Q  FWFS 1024 + 64 [a]
  8,0     0        3     0.003000000   697  Q   W 16 + 16 [b]
  8,16    0        4     0.500000000   697  Q   R 1024 + 64 [a]
  8,16    0        5     0.600000000   697  Q   DS 1024 + 64 [a]
  8,16    0        6     0.700000000   697  Q   FN [a]
"""


def on_device(trace: Path, ftl: str, **keys: object) -> VariantSummary:
    """A replay on a block device, and nothing before it."""
    device = {"ftl": ftl, "part": "k9f1g08u0a", "blocks": 64, "spare": 0.25}
    data = {
        "title": "t",
        "stack": {"system": "bare", "fs": "block-device", "device": device},
        "measure": [{"step": "replay", "file": str(trace), **keys}],
    }
    return Experiment.from_data(data).run().whole().summary["variants"][0]


def test_a_recording_of_a_device_is_replayed_on_a_device(tmp_path: Path) -> None:
    trace = tmp_path / "t.blkparse"
    trace.write_text(DEVICE, encoding="utf-8")
    with pytest.raises(InputError, match="`only` must name one: 8,0 8,16"):
        on_device(trace, "page-map", onto="disk")
    done = on_device(trace, "page-map", onto="disk", only="8,16", think="arrivals")
    # Open, two writes, a read, two flushes beside the second write, a trim, a flush.
    assert (done["steps"][0]["requests_done"], done["user_written_B"], done["user_read_B"]) == (8, 36_864, 32_768)
    (note,) = done["notes"]
    assert note.endswith("not replayed: on others than 8,16 (2)")
    assert 700_000 <= done["time_us"] < 720_000
    fast = on_device(trace, "page-map", onto="disk", only="8,16", think="arrivals", speed=10.0)
    assert 70_000 <= fast["time_us"] < 90_000
    # Hybrid mappings have no trim, as in their papers.
    hybrid = on_device(trace, "fast", onto="disk", only="8,16", think="none")
    assert any("line 5: trim gave 0, here ENOSYS" in note for note in hybrid["notes"])


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({"speed": 0.0}, "speed is 0: it must be more than 0"),
        ({"speed": 2.0, "think": "none"}, "speed divides pauses or arrivals"),
        ({"only": "8,0"}, "only goes with onto"),
        ({"onto": "disk", "only": "8,1"}, "has no file or device `8,1`: it has 8,0 8,16"),
    ],
)
def test_how_a_recording_cannot_be_replayed(tmp_path: Path, keys: dict[str, object], wanted: str) -> None:
    trace = tmp_path / "t.blkparse"
    trace.write_text(DEVICE, encoding="utf-8")
    with pytest.raises(InputError, match=wanted):
        on_device(trace, "page-map", **keys)
