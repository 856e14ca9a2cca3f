"""`ffslab mount stat --watch`: a mount on a terminal, a sign for each erase block, and operations by cause.

Signs tell all that colours tell, so that nothing is lost with NO_COLOR or to eyes without colours. Blocks whose content
has changed since the last look stand reversed. Keys: c for other facts of the blocks, q to leave.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab._native import InputError
from ffslab.answers.mount import MountStat
from ffslab.mount.control import SHADES, SHOWN, stat, text
from ffslab.terminal.printing import say
from ffslab.text.causes import titles
from ffslab.text.quoting import printable
from ffslab.text.tables import number, text_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

EVERY_S = 1.0
# What a block holds: its sign, its style, and what it is. A free one may have a mark of the layer below.
STATES = (
    (".", "bright_black", "free"),
    ("+", "green", "being filled"),
    ("#", "blue", "full, mostly valid"),
    ("%", "yellow", "full, mostly garbage"),
)
FREE_SHARE, FULL_SHARE = 15 / 16, 8 / 255
FACTS = ("state", "erases", "valid share", "erases since you watch")
# From few to many, on dark and on light ground.
RAMP = ("bright_black", "cyan", "blue", "magenta", "red")
# Blocks of a line are a multiple of this, unless there is no room.
LINE_OF = 16
# Lines around map and causes: head, title, legend, head of the table (two), keys, three empty ones.
LINES_AROUND, CAUSES_MIN = 9, 3


@dataclass(frozen=True)
class Look:
    """A mount at a moment, with what it was a look earlier and when the watching began."""

    now: MountStat
    before: MountStat
    first: MountStat


def state_of(free_B: int, valid_B: int, block_B: int) -> int:  # noqa: N803
    """Which of `STATES` an erase block is in."""
    if free_B >= FREE_SHARE * block_B:
        return 0
    if free_B > FULL_SHARE * block_B:
        return 1
    return 2 if 2 * valid_B > block_B else 3


def watch(mountpoint: Path) -> None:
    """Shows the mount on the terminal until it ends, somebody leaves, or Ctrl-C; then the last view is printed."""
    from rich.console import Console

    watched = _Watched(mountpoint)
    console = Console()
    try:
        if console.is_terminal and not console.is_dumb_terminal:
            _show(watched, console)
        else:
            while watched.looks():
                time.sleep(EVERY_S)
    except KeyboardInterrupt:
        pass
    say(text(watched.look.now))


class _Watched:
    """A mount, and the last look at it."""

    def __init__(self, mountpoint: Path) -> None:
        self.mountpoint = mountpoint
        now = stat(mountpoint)
        self.look = Look(now, now, now)

    def looks(self) -> bool:
        """Looks again; whether the mount still goes on."""
        try:
            self.look = Look(stat(self.mountpoint), self.look.now, self.look.first)
        except InputError:
            return False
        return True


def _show(watched: _Watched, console: Console) -> None:
    from rich.live import Live

    fact = 0
    with _keys() as wait, Live(console=console, screen=True, auto_refresh=False) as view:
        while True:
            view.update(drawn(watched.look, FACTS[fact], *console.size), refresh=True)
            key = wait(EVERY_S)
            if key in ("q", "Q") or (key is None and not watched.looks()):
                return
            if key in ("c", "C"):
                fact = (fact + 1) % len(FACTS)


@contextmanager
def _keys() -> Iterator[Callable[[float], str | None]]:
    """Waits for a key, for another size of the terminal (""), or until so many seconds have passed (`None`)."""
    import termios
    import tty

    has_keys = sys.stdin.isatty()
    before = termios.tcgetattr(sys.stdin) if has_keys else []
    resized, resize = os.pipe()
    old = signal.signal(signal.SIGWINCH, lambda *_: os.write(resize, b"r"))

    def wait(at_most_s: float) -> str | None:
        sources = [resized, *([sys.stdin.fileno()] if has_keys else [])]
        ready, _, _ = select.select(sources, [], [], at_most_s)
        if resized in ready:
            os.read(resized, 1024)
            return ""
        if not ready:
            return None
        # The terminal is gone when there is nothing to read.
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or "q"

    try:
        if has_keys:
            tty.setcbreak(sys.stdin)
        yield wait
    finally:
        signal.signal(signal.SIGWINCH, old)
        os.close(resized)
        os.close(resize)
        if has_keys:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def drawn(look: Look, fact: str, columns: int, lines: int) -> Text:
    """The whole view, as large as the terminal."""
    from rich.text import Text

    now = look.now
    view = Text(no_wrap=True, overflow="crop")
    totals = now["totals"]
    view.append(f"{printable(now['fs'])} on {printable(now['board'])}, {now['system']}", style="bold")
    facts = [f"virtual time {number(totals['time_us'] / 1e6, 1)} s", f"{number(now['fuse_requests'], 0)} requests"]
    if now["free_B"] is not None:
        facts.append(f"{number(now['free_B'] / 2**20, 1)} MiB free")
    facts += [] if now["powered"] else ["without power"]
    view.append(f"   {', '.join(facts)}\n\n")
    rows = _causes(look)
    # The map gets what the shortest table of causes leaves.
    room = max(1, lines - LINES_AROUND - min(CAUSES_MIN, len(rows)))
    if blocks := len(now["blocks"]["erases"]):
        room = _map(view, look, fact, min(columns, 128), room, blocks)
    left = max(0, lines - LINES_AROUND - room)
    head = ["why", "who", "reads", "programs", "erases", "in all: reads", "programs", "erases"]
    table = text_table(head, rows[:left], "llrrrrrr").splitlines()
    view.append("\n".join(printable(line) for line in table))
    view.append("\n\nq leaves, c: other facts of the blocks; reversed: changed since the last look", style="dim")
    return view


def _map(view: Text, look: Look, fact: str, columns: int, room: int, blocks: int) -> int:
    """Adds the map of erase blocks to `view`; how many lines it has."""
    columns = max(1, columns // LINE_OF * LINE_OF)
    each = -(-blocks // (columns * room))
    cells = range(0, blocks, each)
    signs, legend = _signs(look, fact)
    changed = _changed(look)
    title = f"{fact}, {number(blocks, 0)} erase blocks" + (f", a sign for {each}" if each > 1 else "")
    view.append(f"{title}\n", style="bold")
    shown = []
    for at in cells:
        # The most frequent sign; of several that one which comes first.
        sign, style = Counter(signs[at : at + each]).most_common(1)[0][0]
        shown.append((sign, f"{style} reverse" if any(changed[at : at + each]) else style))
    for line in range(0, len(shown), columns):
        for style, run in groupby(shown[line : line + columns], key=itemgetter(1)):
            view.append("".join(sign for sign, _ in run), style=style)
        view.append("\n")
    for sign, style, what in legend:
        view.append(sign, style=style)
        view.append(f" {what}  ")
    view.append("\n\n")
    return -(-len(cells) // columns)


def _signs(look: Look, fact: str) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Sign and style of each erase block, and what they mean."""
    held, block_B = look.now["blocks"], look.now["block_B"] or 1  # noqa: N806
    if fact == "state" and held["free_B"]:
        states = [state_of(free, valid, block_B) for free, valid in zip(held["free_B"], held["valid_B"], strict=True)]
        return [STATES[state][:2] for state in states], list(STATES)
    if fact == "valid share" and held["valid_B"]:
        return _shades([valid / block_B for valid in held["valid_B"]], 1, "nothing valid", "all valid")
    erases = held["erases"]
    if fact == "erases since you watch":
        erases = [now - then for now, then in zip(erases, look.first["blocks"]["erases"], strict=True)]
    most = max(erases, default=0)
    return _shades(erases, most, "0 erases", f"{number(most, 0)} erases")


def _shades(
    values: Sequence[float], most: float, low: str, high: str
) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    def shade(value: float) -> tuple[str, str]:
        share = value / most if most else 0
        # What is not 0 is seen.
        place = -int(-share * (len(SHADES) - 1) // 1)
        return ("." if place == 0 else SHADES[place]), RAMP[min(len(RAMP) - 1, int(share * len(RAMP)))]

    return [shade(value) for value in values], [(".", RAMP[0], low), (SHADES[-1], RAMP[-1], high)]


def _changed(look: Look) -> list[bool]:
    """Of each erase block whether it holds something else than a look earlier, or was erased."""
    now, before = look.now["blocks"], look.before["blocks"]
    changed = [False] * len(now["erases"])
    for key in ("erases", "valid_B", "free_B"):
        for at, (one, other) in enumerate(zip(now[key], before[key], strict=False)):
            changed[at] = changed[at] or one != other
    return changed


def _causes(look: Look) -> list[list[str]]:
    """Rows of the table of causes: what was done since the last look, and in all; what is done most comes first."""
    title_of = titles(look.now)
    earlier = {(cause["task"], cause["reason"]): cause for cause in look.before["by_cause"]}
    rows = []
    for cause in sorted(look.now["by_cause"], key=lambda one: -one["busy_us"]):
        if not any(cause[key] for key in SHOWN):
            continue
        then = earlier.get((cause["task"], cause["reason"]))
        since = [cause[key] - (then[key] if then else 0) for key in SHOWN]
        who = title_of.get(cause["task"], cause["task"])
        counts = [number(one, 0) for one in (*since, *(cause[key] for key in SHOWN))]
        rows.append([cause["reason"], who, *counts])
    return rows
