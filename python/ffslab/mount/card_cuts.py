"""`ffslab card cuts`: a recorded session of a card again, with the power cut within it, and a check after each cut.

The same requests go to the same device up to a program or erase of its flash, which is torn; then power is back. The
check is a program that stays: it is told of each cut by a line on its standard input, finds the card at `FFSLAB_NBD`,
and answers by a line, its verdict. States that are equal, with equal marks before them, are asked about once.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError, __version__
from ffslab.answers.card_cuts import CardCut, CardCuts, CardVerdict
from ffslab.files.os_errors import how_ended, reason
from ffslab.mount import card_record
from ffslab.mount.card import PIECE_B, Card
from ffslab.mount.card_record import MARK, TRIM, WRITE, ZEROES, Entry, entries_of, wanted_of
from ffslab.mount.card_server import Listening
from ffslab.mount.nbd import Connection
from ffslab.mount.point import check_save
from ffslab.terminal.progress import Show

# What becomes of the operation that is hit, in turn: `Torn` of crates/flash. Unstable bits must be asked for, as in
# `[crashtest.cuts]`: no translation layer here claims to bear them.
TEARS = ("nothing", "partial", "complete")
# How a verdict begins that finds nothing wrong.
GOOD = "ok"
OPERATION, REQUEST = "program or erase", "write"


@dataclass(frozen=True)
class Point:
    """A cut: at which program or erase of the session, from 1, and what becomes of that; or behind which write."""

    at: int
    torn: str | None


@dataclass(frozen=True)
class State:
    """The card after a cut, and what was said and answered before it."""

    point: Point
    card: Card
    marks: list[str]
    writes: int


class Session:
    """A recorded session, which can be had again up to any point."""

    def __init__(self, record: Path, seed: int) -> None:
        self.kept, entries = entries_of(record)
        self._entries = list(entries)
        self._seed = seed
        card = self._card()
        before = card.operations()
        for entry in self._entries:
            _do(card, entry)
        operations = card.operations() - before
        self.writes = sum(entry.kind in (WRITE, ZEROES) for entry in self._entries)
        self.unit, self.total = (OPERATION, operations) if operations else (REQUEST, self.writes)
        if self.total == 0:
            raise InputError(f"{record}: nothing was written in this session, so there is nothing to cut")
        size = card.sector_bytes
        self._sectors = sorted({sector for entry in self._entries for sector in _changed(entry, size)})

    def _card(self) -> Card:
        return Card(wanted_of(self.kept), self.kept.seed)

    def points(self, count: int, at: int | None, torn: str | None) -> list[Point]:
        """The one at `at`, or `count` of them, spread evenly, whose operations are torn in each way in turn."""
        if at is not None and at > self.total:
            raise InputError(f"--at {at}: the session has {self.total} of them ({self.unit})")
        if torn is not None and self.unit == REQUEST:
            raise InputError(f"--torn {torn}: {self.kept.device} has no flash whose operations could be torn")
        count = min(count, self.total)
        places = [at] if at is not None else [1 + index * self.total // count for index in range(count)]
        ways = [None] if self.unit == REQUEST else [torn] if torn else list(TEARS)
        return [Point(place, ways[index % len(ways)]) for index, place in enumerate(places)]

    def state(self, point: Point) -> State:
        """The device with power again after a cut there."""
        card, marks, writes = self._card(), [], 0
        if point.torn is not None:
            card.cut_within(point.at, point.torn, self._seed)
        for entry in self._entries:
            if entry.kind == MARK:
                marks.append(entry.data.decode(errors="replace"))
                continue
            try:
                _do(card, entry)
            except OSError:
                if card.has_power():
                    raise
            if not card.has_power():
                break
            writes += entry.kind in (WRITE, ZEROES)
            if point.torn is None and writes == point.at:
                break
        card.power_comes_back()
        return State(point, card, marks, writes)

    def digest(self, state: State) -> bytes:
        """Of two states with the same one a check would find the same."""
        digest = hashlib.sha256("\n".join(state.marks).encode())
        for first, last in _runs(self._sectors, PIECE_B // state.card.sector_bytes):
            digest.update(state.card.looked_at(first, last))
        return digest.digest()


def _do(card: Card, entry: Entry) -> None:
    """Makes a recorded request again."""
    if entry.idle_ns:
        card.rest(entry.idle_ns)
    match entry.kind:
        case card_record.READ:
            card.read(entry.at, entry.count)
        case card_record.WRITE:
            card.write(entry.at, entry.data)
        case card_record.ZEROES:
            card.write_zeroes(entry.at, entry.count)
        case card_record.FLUSH:
            card.flush()
        case card_record.TRIM:
            card.trim(entry.at, entry.count)


def _changed(entry: Entry, sector_bytes: int) -> range:
    if entry.kind not in (WRITE, ZEROES, TRIM):
        return range(0)
    return range(entry.at // sector_bytes, (entry.at + entry.count) // sector_bytes)


def _runs(sectors: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Sectors in their order, as first and last of those that stand together."""
    index = 0
    while index < len(sectors):
        end = index + 1
        while end < len(sectors) and sectors[end] == sectors[end - 1] + 1 and end - index < most:
            end += 1
        yield sectors[index], sectors[end - 1]
        index = end


class Swapped:
    """The device that clients keep, while the card behind it is another one after each cut."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.name, self.size_bytes = card.name, card.size_bytes
        self.sector_bytes, self.can_trim = card.sector_bytes, card.can_trim

    def read(self, at: int, count: int) -> bytes:
        return self.card.read(at, count)

    def write(self, at: int, data: bytes) -> None:
        self.card.write(at, data)

    def write_zeroes(self, at: int, count: int) -> None:
        self.card.write_zeroes(at, count)

    def flush(self) -> None:
        self.card.flush()

    def trim(self, at: int, count: int) -> None:
        self.card.trim(at, count)

    async def answers(self) -> None:
        pass


class Check:
    """The user's program, which is told of one cut after the other."""

    def __init__(self, process: Process, name: str, marks: Path) -> None:
        self._process, self._name, self._marks = process, name, marks

    async def verdict(self, state: State) -> str:
        """Raises `InputError` when it ends instead."""
        self._marks.write_text("".join(f"{mark}\n" for mark in state.marks), encoding="utf-8")
        told = f"{state.point.at} {state.point.torn or 'behind'} {self._marks}\n"
        assert self._process.stdin is not None
        said = b""
        with suppress(ConnectionError):
            self._process.stdin.write(told.encode())
            await self._process.stdin.drain()
            said = await self._line()
        if not said.endswith(b"\n"):
            code = await self._process.wait()
            raise InputError(
                f"{self._name}: ended {how_ended(code)} before it had a verdict of the cut at {state.point.at}: it "
                "reads a line for each cut and answers by a line"
            )
        return said.decode(errors="replace").strip() or "nothing said"

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readline()
        except ValueError:
            raise InputError(f"{self._name}: says more than fits into a line of 64 KiB: a verdict is a line") from None

    async def end(self) -> None:
        """There are no more cuts: its standard input ends, and so should it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


@dataclass
class Cuts:
    """`count`: how many cuts; or the one `at` an operation, whose state goes to `save`."""

    record: Path
    listening: Listening | None = None
    count: int = 200
    at: int | None = None
    torn: str | None = None
    seed: int = 1
    save: Path | None = None

    def run(self, command: Sequence[str], show: Show | None) -> CardCuts:
        """Raises `InputError` for a record that cannot be taken, or a check that ends before it has answered."""
        if self.save is not None:
            check_save(self.save)
        session = Session(self.record, self.seed)
        points = session.points(self.count, self.at, self.torn)
        if self.save is not None:
            session.state(points[0]).card.save(self.save)
        cuts: list[CardCut] = []
        if self.listening is not None:
            line = self.listening.opened()
            try:
                cuts = asyncio.run(self._judge(session, points, line, command, show))
            finally:
                line.close()
                self.listening.remove()
        return {
            "ffslab": __version__,
            "device": session.kept.device,
            "unit": session.unit,
            "total": session.total,
            "writes": session.writes,
            "asked": sum(cut["asked"] for cut in cuts),
            "verdicts": _counted(cuts),
            "cuts": cuts,
        }

    async def _judge(
        self,
        session: Session,
        points: Sequence[Point],
        line: socket.socket,
        command: Sequence[str],
        show: Show | None,
    ) -> list[CardCut]:
        """Serves the states and asks the check about them. What went wrong on our side ends it, and is raised."""
        assert self.listening is not None
        first = session.state(points[0])
        shown = Swapped(first.card)
        failures: list[Exception] = []

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await Connection([shown], reader, writer).serve()
            except Exception as error:
                failures.append(error)
            finally:
                writer.close()

        start = asyncio.start_server if self.listening.path is None else asyncio.start_unix_server
        server = await start(client, sock=line)
        environment = {**os.environ, "FFSLAB_NBD": self.listening.uri(line)}
        cuts: list[CardCut] = []
        with tempfile.TemporaryDirectory(prefix="ffslab-card-") as place:
            try:
                process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=environment)
            except OSError as error:
                raise InputError(f"{command[0]}: cannot be run: {reason(error)}") from None
            check = Check(process, command[0], Path(place) / "marks")
            known: dict[bytes, str] = {}
            try:
                for index, point in enumerate(points):
                    state = session.state(point) if index else first
                    shown.card = state.card
                    cuts.append(await _told(check, session, state, known))
                    if failures:
                        raise failures[0]
                    if show is not None:
                        show((index + 1) / len(points), f"cut {index + 1} of {len(points)}")
                await check.end()
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()
                server.close()
        return cuts


async def _told(check: Check, session: Session, state: State, known: dict[bytes, str]) -> CardCut:
    """What the check says of a state, unless it has said it of an equal one."""
    digest = session.digest(state)
    asked = digest not in known
    if asked:
        known[digest] = await check.verdict(state)
    return {
        "at": state.point.at,
        "torn": state.point.torn,
        "writes": state.writes,
        "marks": len(state.marks),
        "verdict": known[digest],
        "asked": asked,
    }


def _counted(cuts: Sequence[CardCut]) -> list[CardVerdict]:
    """Verdicts with how often they were given, good ones first."""
    counted: dict[str, CardVerdict] = {}
    for cut in cuts:
        text = cut["verdict"]
        row = counted.setdefault(
            text,
            {
                "verdict": text,
                "good": text.split(maxsplit=1)[0].rstrip(",;:") == GOOD,
                "cuts": 0,
                "first_at": cut["at"],
                "first_torn": cut["torn"],
            },
        )
        row["cuts"] += 1
    return sorted(counted.values(), key=lambda row: (not row["good"], -row["cuts"]))
