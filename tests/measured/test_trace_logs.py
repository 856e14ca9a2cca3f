"""Logs that cannot be right are refused by one line, incomplete ones are flagged; what is read is what was written."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffslab import InputError
from ffslab.measured.tracereport import recording, verb
from ffslab.measured.tracereport.columns import LETTERS, Names
from ffslab.measured.tracereport.header import Chip
from ffslab.measured.tracereport.reader import read_log
from ffslab.measured.tracereport.recording import load
from ffslab.measured.tracereport.summary import summarize
from ffslab.measured.tracereport.tables import tables
from ffslab.studies.calibrate import probe_logs
from helpers.command import ROOT, Command
from helpers.trace_logs import CHIP, FLASH, FUNC, VFS, log_text, seconds, write_session
from helpers.verbs import help_of

GOOD = log_text("flashmon", FLASH)
GOOD_VFS = log_text("vfsmon", VFS)


def changed(text: str, right: str, wrong: str) -> str:
    assert right in text
    return text.replace(right, wrong, 1)


def line_of(text: str, line: str) -> int:
    return text.splitlines().index(line) + 1


REFUSED = {
    "another version": (
        changed(GOOD, "# ffslab-probe 1", "# ffslab-probe 2"),
        [":1:", "unknown header", "ffslab-probe 1"],
    ),
    "another kind": (changed(GOOD, "1 flashmon", "1 flashmonk"), [":1:", "unknown header", "flashmon"]),
    "no log": ("hello\n", [":1:", "unknown header", "hello", "Flashmon v2"]),
    "an empty file": ("", ["empty"]),
    "no chip": (changed(GOOD, f"# chip: {CHIP}\n", ""), ["chip", "missing"]),
    "an unknown key": (changed(GOOD, "# buffer_KiB", "# buffer_kib"), ["buffer_kib", "did you mean `buffer_KiB`"]),
    "a page in KiB": (changed(GOOD, "page_B=2048", "page_KiB=2"), ["page_KiB=2", "page_B"]),
    "blocks that are no pages": (changed(GOOD, "block_B=131072", "block_B=1000"), ["1000 B", "whole pages", "bytes"]),
    "other columns": (changed(GOOD, "t_s;type", "t_us;type"), ["t_us", "t_s"]),
    "a page beyond the chip": (
        changed(GOOD, "W;10;app", "W;65536;app"),
        [f":{line_of(GOOD, '105.0;W;10;app;200;2048')}:", "page 65536", "beyond the chip", "1024 blocks", "geometry"],
    ),
    "a block beyond the chip": (changed(GOOD, "E;600;", "E;1024;"), ["block 1024", "beyond the chip"]),
    "addresses in bytes": (changed(GOOD, "W;10;app", "W;67108864;app"), ["beyond the chip", "bytes"]),
    "a page of too many bytes": (changed(GOOD, "R;32768;app;200;2048", "R;32768;app;200;4096"), ["4096 B", "geometry"]),
    "times that go backwards": (
        changed(GOOD, "105.0;W", "104.0;W"),
        [f":{line_of(GOOD, '105.0;W;10;app;200;2048')}:", "104.000000000 s comes after 104.000200000 s", "backwards"],
    ),
    "an unknown type": (changed(GOOD, "105.0;W;", "105.0;X;"), ["105.0;X;10", "no event of flashmon"]),
    "a line cut short inside": (changed(GOOD, "W;10;app;200;2048", "W;10;a"), ["105.0;W;10;a", "no event"]),
    "no address": (changed(GOOD, "W;10;app", "W;;app"), ["105.0;W;;app", "no event"]),
    "times in milliseconds": (
        changed(GOOD, "106.0;W", "106000.0;W"),
        ["106000.000000 s", "ended at 200.000000 s", "seconds"],
    ),
    "times before the start": (changed(GOOD, "100.5;R", "0.1005;R"), ["older than the log", "100.000000 s"]),
    "two logs in one": (changed(GOOD, "# end", GOOD + "# end"), ["two logs in one file"]),
    "something behind the end": (GOOD + "199.0;W;10;app;200;2048\n", ["something follows the end"]),
    "a duration in nanoseconds": (
        changed(GOOD_VFS, "107.0;100;", "107.0;100000000;"),
        ["ended at 200", "microseconds"],
    ),
    "durations in nanoseconds": (
        log_text("funcmon", [f"{101 + i / 100};20000;f;app;7" for i in range(50)]),
        ["49 of 50 calls begin inside a call of their thread and end after it", "microseconds"],
    ),
    "calls that go backwards": (changed(GOOD_VFS, "107.0;100", "100.0;100"), ["backwards", "duration_us"]),
    "a negative duration": (changed(GOOD_VFS, "107.0;100", "107.0;-100"), ["duration of -100.0 us"]),
    "a count that is none": (changed(GOOD, "lost=0", "lost=none"), ["lost=none", "whole number"]),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_log_that_cannot_be_right_is_refused_by_one_line(wrong: str, tmp_path: Path) -> None:
    text, says = REFUSED[wrong]
    (tmp_path / "a.log").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refusal:
        load([tmp_path / "a.log"])
    line = str(refusal.value)
    assert "a.log" in line and "\n" not in line
    for word in says:
        assert word in line, line


def test_the_good_logs_are_not_refused(tmp_path: Path) -> None:
    recording = load([write_session(tmp_path)])
    assert (recording.flaws, recording.notes) == ([], [])


@pytest.mark.parametrize(
    "text", [GOOD.replace("\n", "\r\n"), gzip.compress(GOOD.encode())], ids=["serial line", "gzip"]
)
def test_logs_come_over_serial_lines_and_packed(tmp_path: Path, text: str | bytes) -> None:
    (tmp_path / "a.log").write_bytes(text if isinstance(text, bytes) else text.encode())
    recording = load([tmp_path / "a.log"])
    assert (recording.flaws, recording.notes, recording.phases) == ([], [], ["start", "second phase"])
    assert recording.flash is not None and len(recording.flash) == len(FLASH) - 1
    assert recording.partitions[1].name == "the data"


def test_what_the_kit_notes_is_passed_on(tmp_path: Path) -> None:
    text = log_text("flashmon", FLASH, notes=("level mtd", "one probe left out"))
    (tmp_path / "a.log").write_text(text, encoding="utf-8")
    notes = load([tmp_path / "a.log"]).notes
    assert [note.partition(": ")[2] for note in notes] == ["level mtd", "one probe left out"]


def test_a_wrong_geometry_of_an_old_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("1.5;R;70000;app\n", encoding="utf-8")
    assert load([tmp_path / "old.log"]).notes[-1].startswith("the logs do not say what the chip is like")
    with pytest.raises(InputError, match="page 70000 is beyond the chip"):
        load([tmp_path / "old.log"], Chip(2048, 64, 64, 1024))
    (tmp_path / "map").write_text("1 2 3\n" * 1025, encoding="utf-8")
    with pytest.raises(InputError, match="1025 blocks, but the chip has 1024"):
        load([tmp_path / "map"], Chip(2048, 64, 64, 1024))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vfsmon": ("clock: mono", "clock: local")}, "not of one session: clock is `mono` and `local`"),
        ({"vfsmon": ("size_B=134217728", "size_B=67108864"), "partitions": ()}, "not of one session: chip"),
        ({"vfsmon": ("vfsmon", "flashmon")}, "are both flashmon logs"),
    ],
)
def test_logs_of_two_sessions_are_not_put_together(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    (tmp_path / "a.log").write_text(log_text("flashmon", FLASH, partitions=()), encoding="utf-8")
    kind = "flashmon" if changes["vfsmon"][1] == "flashmon" else "vfsmon"
    lines = FLASH if kind == "flashmon" else VFS
    text = log_text(kind, lines, partitions=())
    if kind == "vfsmon":
        text = changed(text, *changes["vfsmon"])
    (tmp_path / "b.log").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"b\.log") as refusal:
        load([tmp_path])
    assert says in str(refusal.value)


def test_logs_of_two_times_are_not_put_together(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("1.5;R;7;app\n9.5;R;7;app\n", encoding="utf-8")
    (tmp_path / "b.log").write_text(log_text("funcmon", FUNC), encoding="utf-8")
    with pytest.raises(InputError, match="--shift KIND=SECONDS"):
        load([tmp_path])
    assert load([tmp_path], shifts_s={"flashmon": 99.5}).flash is not None


def test_results_without_logs_say_how_to_get_them(small_results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="probe_logs = true"):
        load([small_results])
    (tmp_path / "logs" / "1").mkdir(parents=True)
    (tmp_path / "summary.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"several variants: name one, such as .*logs/1"):
        load([tmp_path])


FLAWED = {
    "lost events": (changed(GOOD, "lost=0", "lost=12"), "12 events were lost (a buffer of 1024 KiB)"),
    "no end": (log_text("flashmon", FLASH, end=None), "the log is truncated"),
    "a torn last line": (
        log_text("flashmon", FLASH, end=None) + "107.0;W;12;a",
        "the file ends in the middle of a line, which is left out",
    ),
    "lines lost on the way": (changed(GOOD, "105.0;W;10;app;200;2048\n", ""), "events were written, the file holds"),
}


@pytest.mark.parametrize("flaw", FLAWED)
def test_an_incomplete_log_is_reported_and_flagged(tmp_path: Path, flaw: str) -> None:
    text, says = FLAWED[flaw]
    (tmp_path / "a.log").write_text(text, encoding="utf-8")
    summary, printed, folder = verb.report([tmp_path / "a.log"], verb.Options(), tmp_path / "out")
    assert f"INCOMPLETE: {tmp_path / 'a.log'}" in printed and says in printed
    assert not summary["complete"] and any(says in line for line in summary["flaws"])
    assert "INCOMPLETE" in (folder / "report.html").read_text(encoding="utf-8")
    assert summary["operations"]["totals"]["page_reads"] == 66


def test_the_answer_about_an_incomplete_log_is_negative(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(log_text("flashmon", FLASH, end=None), encoding="utf-8")
    ran = ffslab("trace", "report", "a.log")
    assert ran.returncode == 1
    assert ran.stderr == "ffslab: incomplete: a.log: the log is truncated: its last line, `# end: ...`, is missing\n"


def test_logs_of_too_many_events_are_read_when_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(tmp_path / "session")
    session = load([tmp_path / "session"])
    both = session.logs[0].events + session.logs[1].events
    monkeypatch.setattr(recording, "EVENTS_MAX", both)
    with pytest.raises(InputError, match=f"more than {both:,} events with those of the logs before it, .* give --yes$"):
        verb.report([tmp_path / "session"], verb.Options(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    summary, _, _ = verb.report([tmp_path / "session"], verb.Options(large=True), tmp_path / "out")
    assert summary["complete"]


def test_calibrate_reads_no_more_events_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(tmp_path / "session")
    monkeypatch.setattr(recording, "EVENTS_MAX", 1)
    with pytest.raises(InputError, match="more than 1 events, each of which takes about 160 B of memory"):
        probe_logs.observations([tmp_path / "session"])
    assert probe_logs.observations([tmp_path / "session"], large=True).source


def test_the_limit_of_events_is_the_one_that_is_told(ffslab: Command) -> None:
    limit = f"{recording.EVENTS_MAX:,}"
    for verb_of_logs in ("trace report", "trace diff", "calibrate"):
        assert limit in help_of(verb_of_logs, "--yes")
        assert "--yes" in ffslab(*verb_of_logs.split(), "--help").stdout
    for page in ("limits.md", "trace-report.md"):
        assert limit in (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"shift": ("flash=1",)}, "KIND=SECONDS"),
        ({"shift": ("flashmon=soon",)}, "KIND=SECONDS"),
        ({"shift": ("flashmon=1e400",)}, "SECONDS at most 31,536,000 (a year)"),
        ({"shift": ("flashmon=nan",)}, "KIND=SECONDS"),
        ({"chip": "page_B=2048"}, "oob_B"),
        ({"part": "mt29f2g08aac"}, "wrong geometry"),
        ({"part": "2.6.37"}, "is a kernel"),
        ({"endurance": 0}, "must be 1 or more"),
        ({"part": "omap3evm", "chip": CHIP}, "give one of them"),
    ],
)
def test_options_that_cannot_be_right(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    write_session(tmp_path / "session")
    with pytest.raises(InputError) as refusal:
        verb.report([tmp_path / "session"], verb.Options(**options), tmp_path / "out")
    assert says in str(refusal.value) and "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_else_is_not_written_to(ffslab: Command, tmp_path: Path) -> None:
    write_session(tmp_path / "session")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x", encoding="utf-8")
    ran = ffslab("trace", "report", "session", "--out", "mine")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("ffslab: mine: not a results folder") and len(ran.stderr.splitlines()) == 1
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


NAMES = st.text(st.characters(blacklist_characters=";\n\r", blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=16)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 10**9), st.sampled_from(LETTERS), st.integers(0, 1023), NAMES, st.none() | st.integers(0, 99999)
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(EVENTS, st.integers(0, 5))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, events: list[Any], decimals: int) -> None:
    """Times are whole nanoseconds, exactly, at any age of the system; unknown fields stay unknown."""
    t_ns, lines, truth = 4_000_000 * 10**9, [], []
    for step, letter, address, task, pid in events:
        t_ns += step // 10**decimals * 10**decimals
        lines.append(f"{seconds(t_ns)};{letter};{address};{task};{'' if pid is None else pid};")
        truth.append((t_ns, letter, address, task, -1 if pid is None else pid, -1))
    path = tmp_path_factory.mktemp("log") / "a.log"
    text = log_text("flashmon", lines, end="t_s=5000000 events={events} lost=0")
    path.write_text(text, encoding="utf-8")
    tasks = Names()
    log = read_log(path, tasks, Names())
    flash = log.flash
    assert flash is not None and not log.flaws
    read = zip(flash.t_ns, flash.kind, flash.address, flash.task, flash.pid, flash.moved_B, strict=True)
    assert [(int(t), LETTERS[k], int(a), tasks.texts[n], int(p), int(b)) for t, k, a, n, p, b in read] == truth


MUTATION = st.tuples(
    st.sampled_from(["cut", "replace", "drop", "double"]), st.integers(0, 10**6), st.binary(max_size=6)
)


@settings(max_examples=250)
@given(
    st.sampled_from([GOOD, GOOD_VFS, "1.5;R;1;app\n2.5;E;0;gc\n---\n", "3 2 1\n0 0 0\n"]),
    st.lists(MUTATION, max_size=4),
)
def test_damaged_logs_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str, mutations: list[tuple[str, int, bytes]]
) -> None:
    """Whatever a serial line makes of a log: one line of refusal, or a summary; never an exception of another kind."""
    data = text.encode()
    for what, at, put in mutations:
        at %= len(data) + 1
        match what:
            case "cut":
                data = data[:at]
            case "replace":
                data = data[:at] + put + data[at + len(put) :]
            case "drop":
                data = data[:at] + data[at + len(put) :]
            case "double":
                data = data[:at] + data[at // 2 : at] + data[at:]
    path = tmp_path_factory.mktemp("damaged") / "a.log"
    path.write_bytes(data)
    try:
        recording = load([path])
    except InputError as refusal:
        assert "\n" not in str(refusal) and "a.log" in str(refusal)
    else:
        summary, _ = summarize(recording)
        assert tables(summary) is not None
