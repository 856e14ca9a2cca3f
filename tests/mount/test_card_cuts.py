"""`ffslab card serve --record` and `ffslab card cuts`: what was flushed is there after each cut, and who is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import nbd_client as nbd
from helpers.command import ROOT, Command
from helpers.served_card import BUFFERED, PAGE_B, SMALL, served

# A check: each mark "page N BYTE" promises that a page is full of this byte or, as bytes grow, of one that was written
# later. It also writes where it looked, and tells of which cuts it was asked.
CHECK = f"""
import os, sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from pathlib import Path
from helpers.nbd_client import Client
for line in sys.stdin:
    at, torn, marks = line.rstrip("\\n").split(" ", 2)
    pages = dict(mark.split()[1:] for mark in Path(marks).read_text().splitlines())
    with Client(Path(os.environ["FFSLAB_NBD"].partition("socket=")[2])) as client:
        client.go()
        there = {{page: client.read(int(page) * 2048, 2048) for page in pages}}
        lost = [page for page, byte in pages.items() if there[page][0] < int(byte)]
        client.write(0, b"x" * 2048 * 100)
        client.leave()
    print(f"asked {{at}} {{torn}}", file=sys.stderr)
    print("bad: lost" if lost else "ok", flush=True)
"""


def recorded(folder: Path, *device: str, flushes: bool = True, rounds: int = 12) -> Path:
    """A session in which pages are written, some of them again, and said to last after a flush, or without one."""
    with served(folder, *device, "--record", "log.rec") as card, card.client() as client:
        # A connection of its own for the other export.
        assert client.write(0, bytes(PAGE_B)) == 0
        with nbd.Client(card.socket) as marks:
            assert marks.go(b"marks")[-1].kind == nbd.ACK
            for number in range(1, rounds):
                page = number * 7 % (rounds // 2)
                assert client.write(page * PAGE_B, bytes([number]) * PAGE_B) == 0
                if flushes:
                    assert client.ask(nbd.FLUSH)[0] == 0
                assert marks.write(0, f"page {page} {number}\n".encode().ljust(512, b"\0")) == 0
    return folder / "log.rec"


def cuts(ffslab: Command, record: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Code, answer and what the check told, of cuts that CHECK looks at."""
    check = record.with_name("check.py")
    check.write_text(CHECK)
    socket = ("--socket", str(record.with_name("c.sock")), "--json")
    ran = ffslab("card", "cuts", str(record), *words, *socket, "--", sys.executable, str(check))
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.returncode, json.loads(ran.stdout), ran.stderr


def test_what_was_flushed_is_there_after_each_cut_and_equal_states_are_asked_about_once(
    tmp_path: Path, ffslab: Command
) -> None:
    record = recorded(tmp_path, *BUFFERED)
    code, answer, told = cuts(ffslab, record, "--cuts", "1000")
    assert (code, [row["verdict"] for row in answer["verdicts"]]) == (0, ["ok"]), told
    assert (answer["unit"], answer["writes"], len(answer["cuts"])) == ("program or erase", 12, answer["total"])
    # An operation that had not begun leaves what the one before left, if that was complete.
    assert answer["asked"] == told.count("asked ") < len(answer["cuts"])
    assert {cut["torn"] for cut in answer["cuts"]} == {"nothing", "partial", "complete"}
    assert answer["cuts"][0]["marks"] < answer["cuts"][-1]["marks"] <= 11


def test_a_card_that_is_not_asked_to_flush_is_found_out_and_the_state_is_kept(tmp_path: Path, ffslab: Command) -> None:
    record = recorded(tmp_path, *BUFFERED, flushes=False, rounds=40)
    code, answer, _ = cuts(ffslab, record)
    (row,) = [row for row in answer["verdicts"] if not row["good"]]
    assert (code, row["verdict"]) == (1, "bad: lost")
    kept = ("card", "cuts", str(record), "--at", str(row["first_at"]), "--torn", row["first_torn"], "--save")
    ran = ffslab(*kept, str(tmp_path / "cut.card"))
    assert (ran.returncode, "40 writes" in ran.stdout) == (0, True), ran.stderr
    (marks,) = {cut["marks"] for cut in answer["cuts"] if cut["at"] == row["first_at"]}
    promised = {number * 7 % 20: number for number in range(1, marks + 1)}
    with served(tmp_path, *BUFFERED, "--image", "cut.card") as card, card.client() as client:
        assert any(client.read(page * PAGE_B, PAGE_B)[0] < number for page, number in promised.items())


def test_a_device_without_a_layer_is_cut_behind_its_writes(tmp_path: Path, ffslab: Command) -> None:
    code, answer, _ = cuts(ffslab, recorded(tmp_path, "sd-card", flushes=False))
    assert (code, answer["unit"], answer["total"]) == (0, "write", 12)
    assert [cut["torn"] for cut in answer["cuts"]] == [None] * 12


def test_what_cannot_be_cut_is_one_line(tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "text").write_text("no record")
    (tmp_path / "disk.img").write_bytes(b"x" * 4096)
    record = recorded(tmp_path, *SMALL, "--image", str(tmp_path / "disk.img"))
    (tmp_path / "half.rec").write_bytes(record.read_bytes()[:-30])
    # A byte of what was written, and one behind whose change nothing else would ask.
    for name, at in (("data", -300), ("settings", record.read_bytes().index(b'"seed": ') + 8)):
        changed = bytearray(record.read_bytes())
        changed[at] ^= 1
        (tmp_path / f"{name}.rec").write_bytes(changed)
    (tmp_path / "layerless").mkdir()
    layerless = recorded(tmp_path / "layerless", "sd-card")
    tail = ("--socket", str(tmp_path / "s"), "--", "true")
    for words, said in [
        ((str(tmp_path / "text"), *tail), "is no record of a card"),
        ((str(tmp_path / "half.rec"), *tail), "damaged or has no end"),
        ((str(tmp_path / "data.rec"), *tail), "damaged or has no end"),
        ((str(tmp_path / "settings.rec"), *tail), "damaged or has no end"),
        ((str(record), "--at", "100000", *tail), "--at 100000: the session has"),
        ((str(layerless), "--torn", "partial", *tail), "has no flash"),
        ((str(record), *tail), "before it had a verdict of the cut at 1"),
        ((str(record), *tail[:-1], "sh", "-c", "read a; kill -9 $$"), "sh: ended by signal 9 (Killed) before it had"),
        ((str(record), *tail[:-1], "no such program"), "cannot be run"),
        ((str(record), "--", "true"), "say where to listen"),
        ((str(record),), "say what becomes of the cuts"),
        ((str(record), "--save", str(tmp_path / "x")), "name it by --at"),
        ((str(record), "--at", "1", "--save", str(tmp_path / "no" / "x")), "no such folder"),
    ]:
        ran = ffslab("card", "cuts", *words)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), (words, ran.stderr)
        assert said in ran.stderr, ran.stderr
    (tmp_path / "disk.img").write_bytes(b"y" * 4096)
    ran = ffslab("card", "cuts", str(record), *tail)
    assert (ran.returncode, "is not what it was" in ran.stderr) == (2, True), ran.stderr
    both = ("--record", str(tmp_path / "r"), "--cut-after", "1", "--socket", str(tmp_path / "s"))
    ran = ffslab("card", "serve", *SMALL, *both, "--no-results")
    assert (ran.returncode, "give one of them" in ran.stderr) == (2, True), ran.stderr


@pytest.mark.parametrize("torn", ["nothing", "complete"])
def test_a_cut_hits_the_operation_that_is_named(tmp_path: Path, ffslab: Command, torn: str) -> None:
    record = recorded(tmp_path, *SMALL)
    _, answer, _ = cuts(ffslab, record, "--at", "3", "--torn", torn)
    # Without a buffer each write is one program: that of the third has come to the flash, or not.
    assert [(cut["at"], cut["writes"], cut["marks"]) for cut in answer["cuts"]] == [(3, 2, 1)]
