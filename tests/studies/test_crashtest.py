"""`ffslab crashtest`: deliberate defects of applications are found, right ones are not blamed; failures fail again."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ffslab import InputError
from ffslab.studies.crashtest import CrashTest, Cut, Cuts, crashtest, run
from ffslab.studies.crashtest.keep import keep
from ffslab.studies.crashtest.resume import Kept
from ffslab.studies.crashtest.run import Outcome, answer_of
from ffslab.studies.crashtest.shrink import same_kind, shrunk
from ffslab.studies.crashtest.text import text_of
from helpers.command import ROOT, Command
from helpers.mounted import need_fuse

EXAMPLES = ROOT / "examples/crashtest"
UBIFS = {"board": "omap3evm", "kernel": "2.6.37", "compression": "none", "fs": "ubifs", "partition_blocks": 40}
# Each judge with the applications that are right, and with those that are not.
APPLICATIONS = {
    "whole_settings": (
        ["settings_right"],
        [
            "settings_no_fsync",
            "settings_no_directory_fsync",
            "settings_told_first",
            "settings_in_place",
            "settings_unlink_first",
            "settings_fsync_after_rename",
        ],
    ),
    "records": (["log_right"], ["log_no_fsync", "log_in_new_files", "log_fsync_every_second"]),
    "valid_store": (["store_right"], ["store_header_first", "store_no_barrier"]),
    "boots": (["update_right"], ["update_no_fsync", "update_one_slot", "update_pointer_no_fsync"]),
    "no_message_lost": (["queue_right"], ["queue_no_fsync", "queue_deletes_first"]),
    "counted": (["counter_right"], ["counter_no_fsync", "counter_one_slot", "counter_no_checksum"]),
    "whole_after_replay": (
        ["journal_right"],
        [
            "journal_not_synced",
            "journal_data_not_synced",
            "journal_after_data",
            "journal_cleared_first",
            "journal_no_checksum",
        ],
    ),
    "found_by_index": (
        ["index_right"],
        ["index_before_record", "index_records_not_synced", "index_synced_first", "index_not_synced"],
    ),
    "no_record_lost": (
        ["rotation_right"],
        ["rotation_copies_without_fsync", "rotation_forgets_fsync", "rotation_unlinks_first"],
    ),
    "whole_version": (
        ["bundle_right"],
        ["bundle_forgets_one_fsync", "bundle_pointer_first", "bundle_removes_old_first"],
    ),
}
RIGHT = [(judge, name) for judge, (right, _) in APPLICATIONS.items() for name in right]
WRONG = [(judge, name) for judge, (_, wrong) in APPLICATIONS.items() for name in wrong]


def application(judge: str, name: str, **stack: object) -> CrashTest:
    return CrashTest(
        stack={**UBIFS, **stack},
        judge={"kind": "python", "function": f"applications.py:{judge}"},
        program=f"applications.py:{name}",
        cuts=Cuts(second_mount=False),
        folder=EXAMPLES,
    )


def of_steps(*steps: dict[str, object], judge: Mapping[str, object] | None = None, **stack: object) -> CrashTest:
    return CrashTest(stack={**UBIFS, **stack}, judge=judge or {"kind": "synced"}, steps=steps)


def found(outcome: Outcome) -> list[str]:
    return [f"{failure['found']}: {failure['says']}" for failure in outcome.failures]


@pytest.mark.parametrize(("judge", "name"), RIGHT)
def test_a_right_application_is_not_blamed(judge: str, name: str) -> None:
    assert found(crashtest(application(judge, name))) == []


@pytest.mark.parametrize(("judge", "name"), WRONG)
def test_a_deliberate_defect_is_found_and_the_application_is_blamed(judge: str, name: str) -> None:
    said = found(crashtest(application(judge, name), points=200))
    assert said
    assert all(text.startswith("application: ") for text in said)


WRITES: tuple[dict[str, object], ...] = (
    {"step": "create", "file": "a", "bytes": 6000, "request_B": 2000},
    {"step": "open", "file": "b", "flags": ["rdwr", "create"]},
    {"step": "append", "file": "b", "request_B": 3000, "count": 2, "sync": "fsync"},
    {"step": "sync"},
    {"step": "rename", "file": "a", "to": "c"},
    {"step": "append", "file": "b", "request_B": 3000, "count": 2, "sync": "fsync"},
    {"step": "unlink", "file": "c"},
    {"step": "close", "file": "b"},
)
# What drives a device alone knows one file.
DISK_WRITES = (
    {"step": "open", "file": "disk", "flags": ["rdwr"]},
    {
        "step": "requests",
        "file": "disk",
        "op": "write",
        "pattern": "random",
        "request_B": 2048,
        "range_B": 32768,
        "count": 12,
    },
    {"step": "fsync", "file": "disk"},
    {
        "step": "requests",
        "file": "disk",
        "op": "write",
        "pattern": "random",
        "request_B": 2048,
        "range_B": 32768,
        "count": 12,
    },
    {"step": "close", "file": "disk"},
)
FLASH_DISK = {"part": "k9f1g08u0a", "blocks": 24, "spare": 0.3}
STACKS: dict[str, tuple[dict[str, Any], Sequence[dict[str, Any]]]] = {
    "jffs2": ({**UBIFS, "fs": "jffs2"}, WRITES),
    "yaffs2": ({**UBIFS, "fs": "yaffs2"}, WRITES),
    "ubifs": (UBIFS, WRITES),
    "bare yaffs2": ({"system": "bare", "fs": "yaffs2", "partition_blocks": 40}, [WRITES[i] for i in (0, 1, 2, 5, 7)]),
    "page-map": ({"system": "bare", "fs": "block-device", "device": {"ftl": "page-map", **FLASH_DISK}}, DISK_WRITES),
    "jffs2 on NOR": ({"board": "omap3evm", "fs": "jffs2", "part": "js28f256p30", "partition_blocks": 20}, WRITES),
}
RTEMS_WRITES = [WRITES[i] for i in (0, 1, 2, 5, 7)]


# On NOR a recovery has more operations than elsewhere together.
@pytest.mark.parametrize(
    ("name", "points"),
    [
        *((name, 60) for name in STACKS if name != "jffs2 on NOR"),
        ("jffs2 on NOR", 8),
        pytest.param("jffs2 on NOR", 60, marks=pytest.mark.long),
    ],
)
def test_what_was_synced_is_there_after_each_cut_and_each_cut_of_a_recovery(name: str, points: int) -> None:
    stack, steps = STACKS[name]
    test = CrashTest(stack=stack, judge={"kind": "synced"}, steps=tuple(steps), cuts=Cuts(recovery=1, depth=2))
    outcome = crashtest(test, points=points)
    answer = answer_of(outcome)
    assert found(outcome) == []
    assert answer["holds"]
    assert answer["operations"] > 5
    assert answer["states"] <= answer["points"]
    assert answer["recoveries"] >= answer["states"]


def test_a_torn_program_on_mlc_takes_along_what_was_synced_in_the_page_that_shares_its_cells() -> None:
    for part, holds in (("k9gag08u0m", False), ("k9f1g08u0a", True)):
        append: dict[str, object] = {"step": "append", "file": "b", "request_B": 4000, "count": 12, "sync": "fsync"}
        test = of_steps(WRITES[1], append, WRITES[-1], fs="yaffs2", part=part, partition_blocks=24)
        outcome = crashtest(test, points=120)
        assert answer_of(outcome)["holds"] is holds
        assert all("file-system: /b: byte " in text for text in found(outcome))


@pytest.mark.parametrize("fs", ["dosfs", "rfs"])
def test_a_file_system_of_rtems_on_a_flash_disk_is_not_blamed_for_what_it_does_not_promise(fs: str) -> None:
    stack = {"system": "rtems", "fs": fs, "device": {"ftl": "page-map", **FLASH_DISK}}
    outcome = crashtest(CrashTest(stack=stack, judge={"kind": "synced"}, steps=tuple(RTEMS_WRITES)), points=60)
    answer = answer_of(outcome)
    said = found(outcome)
    assert all(text.startswith("not-promised: ") for text in said)
    # RFS writes its tables in any order: what a cut leaves may be a file with the blocks of another.
    assert bool(said) == (fs == "rfs") and answer["operations"] > 20
    # What was synced is gone all the same.
    assert answer["holds"] == (fs != "rfs")
    assert ("which this file system never promised to keep" in text_of(answer)) == (fs == "rfs")


def test_what_was_never_promised_is_safe_only_for_a_judge_that_does_without_it(tmp_path: Path) -> None:
    stack = {"system": "rtems", "fs": "rfs", "device": {"ftl": "page-map", **FLASH_DISK}}
    test = CrashTest(stack=stack, judge={"kind": "synced"}, steps=tuple(RTEMS_WRITES))
    for command, kinds, headline in (
        ("true", {"tolerated"}, "safe for the judge of the test, though"),
        ("false", {"application"}, "not safe: something is wrong"),
    ):
        answer = answer_of(crashtest(replace(test, judge={"kind": "command", "command": command}), points=60))
        assert {failure["found"] for failure in answer["failures"]} == kinds
        assert answer["holds"] == (kinds == {"tolerated"})
        assert headline in text_of(answer).splitlines()[0]


def test_the_answer_does_not_depend_on_the_number_of_threads() -> None:
    test = replace(application("whole_settings", "settings_no_fsync"), cuts=Cuts(tears=2, recovery=1))
    one, three = (crashtest(test, points=90, jobs=jobs) for jobs in (1, 3))
    assert one.judged == three.judged
    assert one.judged["findings"]


def test_sqlite_loses_the_last_transaction_unless_it_syncs_the_directory_of_its_journal() -> None:
    """Its manual says so: `extra` differs from `full` in that sync (https://sqlite.org/pragma.html#pragma_synchronous)."""
    sql = "CREATE TABLE IF NOT EXISTS t (i, v); INSERT INTO t VALUES (:i, hex(randomblob(300)));"
    step = {"step": "sqlite", "file": "d.db", "sql": sql, "count": 4}
    judge = {"kind": "sqlite", "file": "d.db"}
    for synchronous, right in (("extra", True), ("full", False)):
        test = of_steps({**step, "pragmas": [f"synchronous = {synchronous}"]}, judge=judge)
        outcome = crashtest(test, points=120)
        assert answer_of(outcome)["holds"] is right, found(outcome)
        assert len(outcome.recording.told()) >= 5
        assert all("transactions that were done are lost" in text for text in found(outcome))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sqlite-synchronous-off", "malformed"),
        ("sqlite-journal-in-memory", "malformed"),
        ("sqlite-no-journal", "malformed"),
        ("sqlite-wal-normal", "transactions that were done are lost"),
    ],
)
def test_what_the_manual_of_sqlite_warns_of_is_found(name: str, says: str) -> None:
    outcome = crashtest(CrashTest.from_file(EXAMPLES / f"{name}.toml"), points=60)
    said = found(outcome)
    assert any(says in text for text in said), said
    assert all(text.startswith("application: ") for text in said)


def test_a_failure_is_shrunk_kept_and_fails_again(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(
        "def check(files, told):\n    return None if len(files.get('a', b'')) in (0, 4000) else 'half of a'\n",
        encoding="utf-8",
    )
    steps = (
        {"step": "create", "file": "other", "bytes": 3000},
        {"step": "mkdir", "dir": "d"},
        {"step": "create", "file": "a", "bytes": 4000, "request_B": 500},
        {"step": "create", "file": "d/b", "bytes": 3000},
        {"step": "sync"},
    )
    judge = {"kind": "python", "function": "judge.py:check"}
    test = CrashTest(stack={**UBIFS, "fs": "jffs2"}, judge=judge, steps=steps, folder=tmp_path, title="half")
    outcome = crashtest(test)
    (failure,) = outcome.failures
    assert (failure["found"], failure["says"]) == ("application", "half of a")
    smaller = shrunk(outcome, failure, jobs=1, progress=None)
    assert smaller is not None
    assert 1 <= len(smaller.test.steps) < len(steps)
    first = same_kind(smaller, failure)
    assert first is not None
    path = keep(smaller, first, tmp_path / "kept", 1)
    again = crashtest(CrashTest.from_file(path))
    assert found(again) == ["application: half of a"]
    assert path.with_suffix(".img").stat().st_size == 40 * 128 * 1024
    assert "power cut at operation" in path.read_text(encoding="utf-8")
    assert "to blame: the application (it relies on more" in text_of(answer_of(again))


def test_axes_that_are_not_varied_are_told(tmp_path: Path) -> None:
    (tmp_path / "axes.toml").write_text(
        'title = "Axes"\nstack = { board = "omap3evm", fs = "jffs2", partition_blocks = 40 }\n'
        'setup = [{ step = "mount" }]\nmeasure = [{ step = "create", file = "a", bytes = 4096 }, { step = "sync" }]\n'
        'axes = { fs = ["jffs2", "ubifs"] }\n',
        encoding="utf-8",
    )
    answer = answer_of(crashtest(CrashTest.from_file(tmp_path / "axes.toml"), points=2))
    assert answer["axes_not_varied"] == ["fs"] and "fs of [axes] not varied" in text_of(answer)


def test_a_command_and_check_sums_judge_the_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3000)
    (tmp_path / "a.sha256").write_text(
        "0000000000000000000000000000000000000000000000000000000000000000  a\n", encoding="utf-8"
    )
    steps: tuple[dict[str, Any], ...] = (
        *(
            {"step": "create", "file": n, "bytes": (tmp_path / n).stat().st_size, "content_file": n}
            for n in ("a", "a.sha256")
        ),
        {"step": "sync"},
    )
    for judge, says in (
        ({"kind": "checksums"}, "a.sha256: a has another check sum"),
        (
            {"kind": "command", "command": "test ! -e a.sha256 || { echo no >&2; exit 3; }"},
            "the command ended with 3: no",
        ),
    ):
        test = CrashTest(stack=UBIFS, judge=judge, steps=steps, folder=tmp_path, cut=Cut(10**6))
        with pytest.raises(InputError, match="the workload has"):
            crashtest(test)
        assert f"application: {says}" in found(crashtest(replace(test, cut=None), points=20))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[judge]\nkind = 'synced'\n", "no [stack]"),
        ("[stack]\nfs = 'ubifs'\n", "the workload is either steps"),
        ("points = 3\n[stack]\n", "unknown key `points`"),
        ("program = 'x'\n[stack]\n", '"settings.py:run"'),
        ("program = 'x.py:f'\n[stack]\n[cuts]\ntears = -1\n", "`tears` must be a whole number"),
    ],
)
def test_bad_input_gets_a_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(says)):
        CrashTest.from_file(path)


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        ({"kind": "sqlite", "file": "misspelt.db"}, '`file` = "misspelt.db" was there after no cut'),
        ({"kind": "checksums", "files": "*.sha"}, 'a file like `files` = "*.sha" was there after no cut'),
        ({"kind": "command", "command": "no-such-program-here"}, "not found: it judges nothing"),
    ],
)
def test_a_judge_that_has_judged_nothing_calls_nothing_safe(judge: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        crashtest(of_steps(*WRITES, judge=judge))


def test_a_judge_that_is_none_and_a_machine_without_flash_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean synced"):
        crashtest(of_steps({"step": "sync"}, judge={"kind": "sinced"}))
    memory = CrashTest(
        stack={"system": "rtems", "fs": "rfs", "quirks": "fixed"}, judge={"kind": "synced"}, steps=WRITES
    )
    with pytest.raises(InputError, match="no flash"):
        crashtest(memory)


def test_work_that_ends_for_want_of_room_is_refused() -> None:
    """What its calls have made of it is a matter of chance, and whose fault that is, nobody can say."""
    more_than_there_is: tuple[dict[str, object], ...] = (
        {"step": "open", "file": "a", "flags": ["rdwr", "create"]},
        {
            "step": "requests",
            "file": "a",
            "op": "write",
            "pattern": "sequential",
            "request_B": 4096,
            "count": 99_999,
            "range_B": 1 << 28,
        },
    )
    with pytest.raises(InputError, match=r"step 2 \(requests\): ENOSPC after a part of it"):
        crashtest(of_steps(*more_than_there_is))


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (
            'kind = "command"',
            'kind = "comand"',
            'mine.toml: [crashtest.judge]: `kind` = "comand": did you mean command?',
        ),
        ('kind = "command"', "", "mine.toml: [crashtest.judge]: the key `kind` is missing: known are synced"),
        ("command = ", "command = 3 #", "mine.toml: [crashtest.judge]: `command` must be a text"),
        ("test $(", "no-such-program-here $(", "mine.toml: [crashtest.judge]: the command ended with 127"),
        ('fs = "ubifs"', 'fs = "ext4"', "mine.toml: [stack]: unknown fs `ext4`"),
        # The step is named once.
        ("partition_blocks = 40", "partition_blocks = 12", "mine.toml: setup step 1 (mount): UBIFS needs at least"),
    ],
)
def test_what_is_wrong_in_a_test_is_told_with_its_file(
    ffslab: Command, tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    ffslab("crashtest", "--new", "mine.toml")
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "mine.toml").write_text(text.replace(right, wrong), encoding="utf-8")
    ran = ffslab("crashtest", "mine.toml", "--points", "3")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1) and says in ran.stderr, ran.stderr
    assert "--points 0: must be" in ffslab("crashtest", "mine.toml", "--points", "0").stderr


def test_the_commands_and_the_python_of_the_page_work(
    ffslab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/power-cuts.md: each command ends as the page says, and the TOML is that of the example."""
    page = (ROOT / "docs/power-cuts.md").read_text(encoding="utf-8")
    shutil.copytree(EXAMPLES, tmp_path / "examples/crashtest")
    monkeypatch.chdir(tmp_path)
    need_fuse()
    commands = [
        shlex.split(line, comments=True)[1:] for line in page.splitlines() if line.startswith("    ffslab crashtest ")
    ]
    # A program in C, which a journey runs.
    commands.remove(["crashtest", "examples/crashtest/updater.toml"])
    with_points = [[words[0], "--points", "150", *words[1:]] for words in commands]
    assert [ffslab(*words).returncode for words in with_points] == [0, 0, 0, 1, 0, 1, 1]
    assert json.loads(ffslab(*commands[2], "--points", "20", "--json").stdout)["holds"] is True
    shown, of_program = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("examples/crashtest/shown.toml").write_text(shown, encoding="utf-8")
    held = CrashTest.from_file("examples/crashtest/settings.toml")
    said = replace(CrashTest.from_file("examples/crashtest/shown.toml"), file_name=held.file_name)
    assert said == held
    Path("examples/crashtest/shown.toml").write_text(of_program, encoding="utf-8")
    held = CrashTest.from_file("examples/crashtest/updater.toml")
    assert (
        replace(CrashTest.from_file("examples/crashtest/shown.toml"), file_name=held.file_name, title=held.title)
        == held
    )
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path / "examples/crashtest")
    exec(compile(code, "docs/power-cuts.md", "exec"), {})


SAVES = "for i in 1 2; do echo $i > new; {sync}mv new saved; sync .; done"


@pytest.mark.parametrize(("sync", "code"), [("sync new; ", 0), ("", 1)])
def test_a_real_program_on_a_mount_is_cut_everywhere(ffslab: Command, tmp_path: Path, sync: str, code: int) -> None:
    need_fuse()
    judge = "test ! -e saved || test -s saved"
    machine = ["--kernel", "2.6.37", "--fs", "ubifs", "--blocks", "40"]
    words = [*machine, "--judge", judge, "--out", str(tmp_path / "kept"), "--json"]
    done = ffslab("crashtest", *words, "--", "sh", "-c", SAVES.format(sync=sync))
    assert done.returncode == code, done.stderr
    answer = json.loads(done.stdout)
    assert answer["operations"] > 10 and answer["points"] == answer["possible"]
    for failure in answer["failures"]:
        assert failure["found"] == "application" and failure["says"] == "the command ended with 1"
        # What was kept is a real program, too, and fails again.
        assert ffslab("crashtest", failure["file"]).returncode == 1


def test_a_program_on_a_mount_that_fails_is_no_workload(tmp_path: Path) -> None:
    need_fuse()
    for command, says in (("exit 3", "ended with 3"), (["./none"], "cannot be run")):
        path = tmp_path / "t.toml"
        said = json.dumps(command)
        path.write_text(
            f'command = {said}\n[stack]\nboard = "omap3evm"\nfs = "jffs2"\npartition_blocks = 40\n', encoding="utf-8"
        )
        with pytest.raises(InputError, match=says):
            crashtest(CrashTest.from_file(path))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "`ffslab crashtest --new my-test.toml` writes one to begin with"),
        (["--", "true"], "true: no such TEST.toml; a program needs a file system: ffslab crashtest --fs ubifs -- true"),
        (["--fs", "ubifs"], "--fs ubifs: is of a program on a mount"),
        (["t.toml", "--", "true"], "a TEST.toml says all this itself"),
        (["t.toml", "--fs", "ubifs"], "t.toml: says its machine itself, so leave out --fs ubifs"),
        (["t.toml", "--board", "omap3evm"], "a TEST.toml says all this itself"),
    ],
)
def test_a_program_on_a_mount_needs_a_file_system(ffslab: Command, words: list[str], says: str) -> None:
    done = ffslab("crashtest", *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_an_interrupted_test_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BATCH", 10)
    test = application("whole_settings", "settings_no_fsync")
    whole = crashtest(test, points=60).judged
    kept = tmp_path / "kept"
    write = Kept.write

    def stops(self: Kept, judged: object) -> None:
        write(self, judged)
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(Kept, "write", stops)
        with pytest.raises(KeyboardInterrupt):
            crashtest(test, points=60, folder=kept)
    held = json.loads((kept / "unfinished.json").read_text(encoding="utf-8"))
    assert held["judged"]["points"] == 10
    # What was judged before is taken as it stands in the file, and the rest is judged.
    held["judged"]["recoveries"] += 1000
    (kept / "unfinished.json").write_text(json.dumps(held), encoding="utf-8")
    assert crashtest(test, points=60, folder=kept).judged == {**whole, "recoveries": whole["recoveries"] + 1000}
    assert not kept.exists()
    # What another workload left is not taken.
    kept.mkdir()
    (kept / "unfinished.json").write_text(json.dumps(held), encoding="utf-8")
    right = application("whole_settings", "settings_right")
    assert crashtest(right, points=60, folder=kept).judged == crashtest(right, points=60).judged
