"""A mount that goes on: its map on a terminal, its page in a browser, its timeline so far."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from ffslab.mount.watch import FACTS, Look, drawn, state_of
from helpers.browsing import check_axe
from helpers.command import FFSLAB, Command
from helpers.mounted import Mounted, mounted
from helpers.pftrace import read

# Machines may be busy with other tests.
PATIENCE_S = 120


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    folder = tmp_path_factory.mktemp("live")
    with mounted(folder, "jffs2", "--think", "none", "--blocks", "96", "--timeline", folder / "t.pftrace") as made:
        (made.place / "first").write_bytes(os.urandom(300_000))
        yield made


# ---- the map on a terminal -----------------------------------------------------------------------------------------


def test_a_block_is_free_or_filled_or_full() -> None:
    assert [state_of(128, 0, 128), state_of(64, 64, 128), state_of(0, 90, 128), state_of(1, 10, 128)] == [0, 1, 2, 3]


def test_the_map_fits_on_each_terminal(mount: Mounted) -> None:
    before: Any = mount.stat()
    (mount.place / "second").write_bytes(os.urandom(400_000))
    now: Any = mount.stat()
    look = Look(now, before, before)
    for columns, lines in ((200, 60), (80, 24), (40, 12)):
        for fact in FACTS:
            shown = drawn(look, fact, columns, lines).plain.splitlines()
            assert len(shown) <= lines, (columns, lines, fact)
    shown = drawn(look, "state", 100, 40).plain.splitlines()
    at = next(i for i, line in enumerate(shown) if line.startswith("state, 96 erase blocks"))
    # A sign for each block, and what they mean.
    assert len(shown[at + 1]) == 96 and set(shown[at + 1]) <= set(".+#%") and shown[at + 1].count("#") >= 3
    assert "being filled" in shown[at + 2]
    # What was done since the last look, beside what was done in all.
    cause = max(now["by_cause"], key=lambda one: one["page_programs"])
    then = next((one for one in before["by_cause"] if one["reason"] == cause["reason"]), {"page_programs": 0})
    row = next(line.split() for line in shown if line.startswith(cause["reason"]))
    assert row[-2] == f"{cause['page_programs']:,}" and row[-5] == f"{cause['page_programs'] - then['page_programs']:,}"
    # On a small one a sign stands for several blocks, which is said.
    assert "a sign for" in drawn(look, "state", 20, 12).plain


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_follows_its_size_and_keys(mount: Mounted, no_color: bool) -> None:
    child, terminal = pty.fork()
    if child == 0:
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        env |= {"TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_color else {})
        os.execve(FFSLAB, [str(FFSLAB), "mount", "stat", str(mount.place), "--watch"], env)

    def size(lines: int, columns: int) -> None:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(words: bytes) -> bytes:
        said, begun_s = b"", time.monotonic()
        while words not in said:
            assert time.monotonic() - begun_s < PATIENCE_S, said
            if select.select([terminal], [], [], 0.1)[0]:
                said += os.read(terminal, 65536)
        return said

    size(24, 80)
    said = until(b"q leaves")
    assert b"\x1b[?1049h" in said and (b"\x1b[34m" in said) is not no_color
    size(40, 130)
    os.kill(child, signal.SIGWINCH)
    # A line of the new width is there.
    until(b" " * 60 + b"\r\n")
    os.write(terminal, b"c")
    until(b"erases, 96 erase blocks")
    os.write(terminal, b"q")
    # The terminal is as it was, and the last view stays.
    said = until(b"virtual time, s")
    assert b"\x1b[?1049l" in said
    while select.select([terminal], [], [], 1)[0]:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal)


# ---- the page in a browser -----------------------------------------------------------------------------------------


@pytest.fixture
def served(mount: Mounted) -> Iterator[str]:
    """The address of the page."""
    command = [str(FFSLAB), "mount", "stat", str(mount.place), "--web"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().split(" ")[0]
    yield address
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")


def test_the_page_shows_what_goes_on(mount: Mounted, served: str, browser: Browser) -> None:
    wrong: list[str] = []
    with browser.new_context(viewport={"width": 420, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        expect.set_options(timeout=PATIENCE_S * 1000)
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(served) else None)
        page.goto(served)
        page.get_by_label("Look every").select_option("250")
        said = page.locator(".key .value").nth(1)
        expect(page.locator("#live-said")).to_have_text("Live")
        (mount.place / "third").write_bytes(os.urandom(200_000))
        totals = mount.stat()["totals"]
        operations = totals["page_reads"] + totals["page_programs"] + totals["erases"]
        expect(said).to_have_text(f"{operations:,}")
        page.get_by_role("button", name="Pause").click()
        canvas = page.locator("#live-map canvas")
        canvas.focus()
        canvas.press("ArrowRight")
        assert page.locator("#live-map .said").inner_text().startswith("Block 1: ")
        page.locator("#live-map select").select_option("erases")
        assert "erases" in page.locator("#live-map .keys").inner_text()
        assert page.locator("#live-causes tbody tr").count() == sum(
            1 for one in mount.stat()["by_cause"] if one["page_reads"] or one["page_programs"] or one["erases"]
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        check_axe(page, ("light", "dark"))
        with page.expect_download() as download:
            page.get_by_role("link", name="Save the timeline so far").click()
        # It is whole up to now: it can be read, and holds what was written.
        ((written,),) = read(Path(download.value.path()), has_ended=False).execute(
            "select count(*) from slice where name = 'write'"
        )
        assert written > 0
    assert wrong == []


def test_nobody_else_is_answered(mount: Mounted, served: str, ffslab: Command) -> None:
    port = int(served.split(":")[2].split("/")[0])
    for address, host in (
        (f"http://127.0.0.1:{port}/", None),
        (f"{served}../stat.json", None),
        (f"{served}stat.json", "evil.example"),
    ):
        asked = urllib.request.Request(address, headers={"Host": host} if host else {})
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(asked)
    taken = ffslab("mount", "stat", mount.place, "--web", "--port", str(port))
    assert taken.returncode == 2 and f"--port {port}: address already in use" in taken.stderr.lower()
    assert ffslab("mount", "stat", mount.place, "--port", "9000").returncode == 2


def test_the_page_ends_with_the_mount(tmp_path: Path) -> None:
    with mounted(tmp_path, "jffs2", "--think", "none", "--blocks", "32") as mount:
        process = subprocess.Popen([FFSLAB, "mount", "stat", mount.place, "--web"], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout as said:
            address = said.readline().split(" ")[0]
        # Without --timeline there is none to save.
        with urllib.request.urlopen(address) as answer:
            assert b"--timeline FILE" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="410"):
            urllib.request.urlopen(f"{address}timeline.pftrace")
    assert process.wait(PATIENCE_S) == 0
