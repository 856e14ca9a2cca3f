"""`ffslab inspect --deleted --recover`: what was deleted comes back with equal check sums, what never was does not."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import lost_files
from ffslab import InputError, Stack
from ffslab.images import read_image
from ffslab.images.inspection import inspect_image, text
from ffslab.images.recovery import read_lost, recover, tree_of
from helpers import inspect_images as made
from helpers.command import ROOT, Command
from helpers.dumps import volume_of
from helpers.jffs2_images import tool
from recovery_campaign import SETTINGS, campaign

KINDS: dict[str, dict[str, Any]] = {"jffs2": {}, "yaffs2": {}, "ubifs": {"max_beb_per1024": 1}}
MINUTE_US = 60_000_000
OLD, NEW = b"what it held at first " * 400, b"and later " * 500


@pytest.mark.parametrize("fs", lost_files.STACKS)
def test_as_many_come_back_as_the_documentation_says(fs: str, tmp_path: Path) -> None:
    outcomes = []
    for number, later in enumerate(lost_files.LATER.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcomes.append(lost_files.outcome(fs, later, folder))
        assert outcomes[-1].others == [], "contents that no file had"
    assert lost_files.row(fs, outcomes) in (ROOT / "docs/inspect.md").read_text(encoding="utf-8")


def test_a_copy_of_garbage_collection_is_not_taken_for_the_end_of_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JFFS2 of 2.6.37 collects while files are copied in: of one a page was moved, and the rest deleted meanwhile."""
    monkeypatch.setitem(lost_files.STACKS, "jffs2", {**lost_files.STACKS["jffs2"], "kernel": "2.6.37"})
    outcome = lost_files.outcome("jffs2", lost_files.LATER["at once"], tmp_path)
    assert outcome.others == []
    assert outcome.came_back > 50


@pytest.mark.parametrize("histories", [2, pytest.param(6, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_called_whole_is_what_a_file_once_held(name: str, histories: int, tmp_path: Path) -> None:
    # Of the first two histories YAFFS2 leaves little to find.
    tally = campaign(name, histories, tmp_path, first=3)
    assert tally.wrong == []
    assert tally.states["whole"] / histories > 20 / 6


@pytest.mark.soak
@pytest.mark.parametrize("name", SETTINGS)
def test_of_many_histories_nothing_is_called_whole_that_never_was(name: str, tmp_path: Path) -> None:
    assert campaign(name, 300, tmp_path, first=5001).wrong == []


def board(fs: str, **keys: Any) -> Stack:
    """A board on which the clock has left the second of the mount."""
    stack = Stack(fs, partition_blocks=64, **KINDS[fs], **keys)
    stack.mount()
    stack.sleep(MINUTE_US)
    return stack


def saved(stack: Stack, folder: Path) -> Path:
    """The image of a board."""
    stack.sync()
    path = folder / "dump.bin"
    path.write_bytes(stack.image(oob=True))
    return path


def lost_in(path: Path, fs: str) -> dict[str, Any]:
    """The lost files by path and what became of them."""
    ((_, entries),) = read_lost(path, fs=fs, block_KiB=128)
    return {f"{entry.facts['why']} {entry.path}": entry for entry in entries or []}


@pytest.mark.parametrize("fs", KINDS)
def test_deleted_replaced_and_truncated_files_are_found(fs: str, tmp_path: Path) -> None:
    stack = board(fs)
    stack.mkdir("dir")
    for name in ("dir/deleted", "replaced", "rewritten", "kept"):
        stack.write_file(name, OLD + name.encode())
    stack.sync()
    stack.sleep(MINUTE_US)
    deleted_s = stack.clock_ns // 10**9
    stack.unlink("dir/deleted")
    stack.write_file("new", NEW)
    stack.rename("new", "replaced")
    stack.write_file("rewritten", NEW)
    stack.sync()
    found = lost_in(saved(stack, tmp_path), fs)
    assert sorted(found) == ["deleted dir/deleted", "deleted replaced", "overwritten rewritten"]
    for name, entry in found.items():
        facts = entry.facts
        assert entry.data == OLD + name.split()[1].encode()
        assert (facts["state"], facts["missing_B"], facts["held_B"]) == ("whole", [], len(entry.data))
    if fs != "yaffs2":
        assert abs(found["deleted dir/deleted"].facts["ended_s"] - deleted_s) <= 1


def test_each_volume_of_ubi_has_a_past_of_its_own(tmp_path: Path, ffslab: Command) -> None:
    text = ""
    for number, name in enumerate("ab"):
        stack = board("ubifs")
        stack.write_file(f"gone of {name}", OLD + name.encode())
        stack.write_file(f"kept of {name}", OLD)
        stack.sync()
        stack.unlink(f"gone of {name}")
        stack.sync()
        (tmp_path / name).write_bytes(volume_of(stack.image(oob=False)))
        text += f"[{name}]\nmode=ubi\nimage={tmp_path / name}\nvol_id={number}\nvol_name={name}\n"
        text += "vol_type=dynamic\nvol_size=7MiB\n"
    (tmp_path / "ini").write_text(text, encoding="utf-8")
    path = tmp_path / "two.ubi"
    command = [tool("ubinize"), "-o", path, "-m", 2048, "-p", "128KiB", "-O", 2048, tmp_path / "ini"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)

    def found(**how: Any) -> dict[str, bytes | None]:
        ((_, entries),) = read_lost(path, **how)
        return {entry.path: entry.data for entry in entries or []}

    assert found() == {"a/gone of a": OLD + b"a", "b/gone of b": OLD + b"b"}
    assert found(volume="b") == found(volume="1") == {"gone of b": OLD + b"b"}
    for verb in (["inspect", path, "--deleted"], ["inspect", path, "--recover"], ["extract", path]):
        ran = ffslab(*verb, "--volume", "c")
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
        assert "UBI has no volume c: a (0), b (1)" in ran.stderr


@pytest.mark.parametrize("fs", KINDS)
def test_a_file_of_a_deleted_directory_keeps_its_path(fs: str, tmp_path: Path) -> None:
    stack = board(fs)
    stack.mkdir("a")
    stack.mkdir("a/b")
    stack.write_file("a/b/file", OLD)
    stack.sync()
    stack.unlink("a/b/file")
    for name in ("a/b", "a"):
        stack.step("rmdir", dir=name)
    found = lost_in(saved(stack, tmp_path), fs)
    assert found["deleted a/b/file"].data == OLD


def test_what_is_missing_is_listed_and_only_written_when_asked_for(tmp_path: Path, ffslab: Command) -> None:
    stack = board("jffs2")
    held = random.Random(1).randbytes(10_000)
    stack.write_file("file", held)
    stack.write_file("other", NEW)
    stack.sync()
    stack.unlink("file")
    stack.unlink("other")
    image = saved(stack, tmp_path)
    # A byte of its second page changes: the check sum of the node is wrong, and the node is none.
    content = bytearray(image.read_bytes())
    at = content.index(held[4096:4160])
    content[at] ^= 1
    image.write_bytes(content)
    ran = ffslab("inspect", image, "--block-KiB", "128", "--recover", "lost", "--json")
    (lost,) = (it for it in json.loads(ran.stdout)["lost"]["files"] if it["path"] == "file")
    assert (lost["state"], lost["missing_B"], lost["size_B"]) == ("partial", [[4096, 8192]], len(held))
    assert sorted(path.name for path in (tmp_path / "lost").iterdir()) == ["other", "recovered.json"]
    ran = ffslab("inspect", image, "--block-KiB", "128", "--recover", "all", "--partial")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["file.partial", "other", "recovered.json"]
    assert (tmp_path / "all/file.partial").read_bytes() == held[:4096] + bytes(4096) + held[8192:]
    listed = json.loads((tmp_path / "all/recovered.json").read_text(encoding="utf-8"))["files"]
    assert [(it["file"], it["missing_B"]) for it in listed] == [("file.partial", [[4096, 8192]]), ("other", [])]
    assert "deleted or overwritten files: 2 deleted (1 partial, 1 whole)" in ran.stdout


def test_a_folder_that_holds_files_is_refused_and_stays_as_it_is(tmp_path: Path, ffslab: Command) -> None:
    stack = board("jffs2")
    stack.write_file("file", OLD)
    stack.sync()
    stack.unlink("file")
    image = saved(stack, tmp_path)
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost/mine").write_text("mine", encoding="utf-8")
    ran = ffslab("inspect", image, "--recover", "lost")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "lost: holds files already" in ran.stderr and ran.stderr.count("\n") == 1
    assert [path.name for path in (tmp_path / "lost").iterdir()] == ["mine"]
    ran = ffslab("inspect", image, "--partial")
    assert ran.returncode == 2 and "--recover DIR" in ran.stderr


def test_versions_of_one_name_are_numbered_the_newest_first(tmp_path: Path) -> None:
    stack = board("jffs2")
    for turn in range(3):
        stack.write_file("log", OLD + bytes([turn]))
        stack.sync()
        stack.sleep(MINUTE_US)
        stack.unlink("log")
    ((part, entries),) = read_lost(saved(stack, tmp_path))
    assert entries is not None
    assert [entry.path for entry in tree_of(entries).entries] == ["", "log", "log.~1~", "log.~2~", "recovered.json"]
    recover([(part, entries)], tmp_path / "lost")
    held = [(tmp_path / "lost" / name).read_bytes() for name in ("log", "log.~1~", "log.~2~")]
    assert held == [OLD + bytes([turn]) for turn in (2, 1, 0)]


def test_each_partition_of_a_chip_gets_a_folder(tmp_path: Path, ffslab: Command) -> None:
    dump = b""
    for fs in ("ubifs", "jffs2"):
        stack = board(fs)
        stack.write_file(f"of {fs}", OLD)
        stack.sync()
        stack.sleep(MINUTE_US)
        stack.unlink(f"of {fs}")
        dump += saved(stack, tmp_path).read_bytes()
    (tmp_path / "chip.bin").write_bytes(dump)
    ran = ffslab("inspect", "chip.bin", "--recover", "lost", "--mtdparts", "chip:8M(data),8M(logs)")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "lost/data/of ubifs").read_bytes() == OLD
    assert (tmp_path / "lost/logs/of jffs2").read_bytes() == OLD


def test_file_systems_without_old_nodes_say_so(tmp_path: Path) -> None:
    image = tmp_path / "volume"
    image.write_bytes(made.simulated_rfs(tmp_path, 8))
    lost = inspect_image(image, deleted=True)["lost"]
    assert lost is not None and lost["files"] == []
    assert "what was deleted is not looked for" in lost["notes"][0]


def test_an_image_in_which_nobody_looked_has_no_list(tmp_path: Path) -> None:
    stack = board("jffs2")
    stack.write_file("file", OLD)
    assert inspect_image(saved(stack, tmp_path))["lost"] is None


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"noise" * 1000)
    with pytest.raises(InputError, match="nothing is known in it"):
        read_lost(tmp_path / "noise")


# ---- which file damage hits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fs", ["jffs2", "ubifs"])
def test_damage_names_the_file_and_the_bytes_that_it_hits(fs: str, tmp_path: Path) -> None:
    stack = board(fs)
    held, before = random.Random(1).randbytes(10_000), random.Random(2).randbytes(10_000)
    stack.mkdir("dir")
    stack.write_file("dir/log", before)
    stack.write_file("gone", before[::-1])
    stack.sync()
    stack.sleep(MINUTE_US)
    stack.write_file("dir/log", held)
    stack.unlink("gone")
    stack.sync()
    # Without OOB areas, which would part what is looked for.
    image = tmp_path / "raw.bin"
    content = bytearray(stack.image())
    # A byte of the second page of the file, of what it held before, and of one that is no more.
    for page in (held[4096:4160], before[4096:4160], before[::-1][:64]):
        content[content.index(page)] ^= 1
    image.write_bytes(content)
    facts = inspect_image(image, block_KiB=128)
    hits = [piece["hits"] for piece in facts["damage"]]
    told = sorted((it["path"], it["range_B"], it["is_in_use"]) for it in hits if it is not None)
    assert told == [
        ("dir/log", [4096, 8192], False),
        ("dir/log", [4096, 8192], True),
        ("gone", [0, 4096], False),
    ]
    shown = text(facts)
    assert ": /dir/log, bytes 4096 to 8191\n" in shown
    assert ": /gone, bytes 0 to 4095, not in use" in shown


def test_files_come_out_of_a_volume_that_no_longer_mounts(tmp_path: Path) -> None:
    stack = board("ubifs")
    stack.write_file("file", OLD)
    stack.sync()
    content = bytearray(stack.image())
    # UBIFS has lost its master nodes (kind 7), and with them its index.
    for at in range(0, len(content), 2048):
        if content[at : at + 4] == b"\x31\x18\x10\x06" and content[at + 20] == 7:
            content[at + 8] ^= 1
    image = tmp_path / "raw.bin"
    image.write_bytes(content)
    facts = inspect_image(image, block_KiB=128)
    assert [it["path"] for it in facts["files"]] == ["", "file"]
    assert any("no master node that is whole" in note for note in facts["notes"])
    read = read_image(image)
    assert [(it.path, it.data) for it in read.entries] == [("", b""), ("file", OLD)]
    assert read.complaints
