"""A simulated card, stick or disk that takes requests: virtual time, a power cut, and what it holds without power."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers import Columns
from ffslab.api.machine import SETTLED, Value, completed, settings_of
from ffslab.files.inputs import open_input
from ffslab.mount import saved
from ffslab.mount.nbd import PowerGoneError
from ffslab.registries.profiles import check_known, shown

# The file that is the whole device, to a bare program.
_FILE = "disk"
SAVED = saved.Kind(b"ffslab card 1\n", "a saved card")
# What is written at a time: of zeroes, and of an image.
PIECE_B = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """What the options say of the device: a profile, or a translation layer whose keys are among the settings.

    `image`: what it holds at the start.
    """

    device: str
    settings: tuple[str, ...] = ()
    image: Path | None = None

    def keys(self) -> dict[str, Value]:
        """The `[stack]` table of a program that drives the device."""
        given = settings_of(self.settings)
        for key in ("device", "fs", "system"):
            if key in given:
                raise InputError(f"--set {key}: the device is the argument DEVICE, and it stands alone: leave it out")
        is_layer = any(key.startswith("device.") for key in given)
        self._check(given, is_layer)
        device: Value = {"ftl": self.device} if is_layer else self.device
        return completed({"system": "bare", "fs": "block-device", "device": device, **given})

    def _check(self, given: Mapping[str, Value], is_layer: bool) -> None:
        """Errors: profiles that there are not; a layer without flash, or keys of one beside a whole device."""
        unknown = _native.unknown_profile(self.device, "block device")
        if not is_layer and unknown:
            raise InputError(
                f"{self.device}: {unknown}; a translation layer, such as page-map, needs --set device.part=PART"
            )
        if is_layer and not unknown:
            raise InputError(f"--set device.KEY: {self.device} is a whole device: such keys are of a translation layer")
        if "device.ftl" in given:
            raise InputError("--set device.ftl: the translation layer is the argument DEVICE: leave it out")
        if is_layer and "device.part" not in given:
            raise InputError(
                f"{self.device}: a translation layer stands on flash: name its part by --set device.part=PART "
                "(`ffslab profiles ls` lists them)"
            )
        for key, what in (("board", "board"), ("device.board", "board"), ("device.part", "part")):
            if key in given:
                check_known(str(given[key]), what, f"--set {key}")
        # Nothing of a board counts here, so nobody else opens its file.
        if "board" in given:
            shown(str(given["board"]))


@dataclass(frozen=True)
class Cut:
    """What a power cut did. `at_risk_bytes`: written since the last flush; `lost_bytes`: of them, what is not there."""

    writes: int
    at_risk_bytes: int
    lost_bytes: int
    has_layer: bool

    def text(self) -> str:
        said = (
            f"power cut after {self.writes} writes: {self.at_risk_bytes} B were written after the last flush, "
            f"{self.lost_bytes} B of them are lost"
        )
        return said if self.has_layer else f"{said}: a device without a translation layer has no write buffer here"


class Card:
    """The device, on which requests are carried out one after the other."""

    def __init__(
        self,
        wanted: Wanted,
        seed: int = 1,
        cut_after: int | None = None,
        *,
        think: bool = False,
        realtime: bool = False,
    ) -> None:
        self.name = wanted.device
        self.keys = wanted.keys()
        self.cut: Cut | None = None
        # How long the device had nothing to do before the last request.
        self.idle_ns = 0
        self.is_asked = False
        self._cut_after, self._think, self._realtime = cut_after, think, realtime
        self._writes = 0
        # By sector, what was written after the last flush, to tell what a cut took of it.
        self._at_risk: dict[int, bytes] = {}
        self._session, self._plain_image = self._made(wanted, seed)
        self._fd = self._opened()
        _, self.size_bytes, _, _ = self._session.fstat(self._fd)
        self.used_keys: dict[str, object] = json.loads(self._session.keys())
        sector = self.used_keys.get("media_block_B")
        self.sector_bytes = sector if isinstance(sector, int) else 512
        self.can_trim = self._knows_trim()
        if self._plain_image is not None:
            self._load(self._plain_image)
        self._session.begin_step("serve")
        self._host_ns, self._due_ns = time.monotonic_ns(), 0

    def _opened(self) -> int:
        """The device has power, and looks for its map."""
        self._session.mount([])
        return self._session.open(_FILE, "rdwr", 0o600)

    def _made(self, wanted: Wanted, seed: int) -> tuple[_native.Session, Path | None]:
        """The machine, and the image that is yet to be written onto it."""
        keys = self.keys
        found = None if wanted.image is None else SAVED.load(wanted.image)
        if found is None:
            return _native.Session(keys, seed, ".", SETTLED), wanted.image
        was, held = found
        fresh = _native.Session(keys, seed, ".", SETTLED)
        if json.loads(fresh.keys()) != was:
            raise InputError(
                f"{wanted.image}: was saved by another device ({was.get('device')}, sectors of "
                f"{was.get('media_block_B')} B): name that one, with the same --set"
            )
        del fresh
        try:
            return _native.Session.restored(keys, seed, ".", held), None
        except InputError as error:
            raise InputError(f"{wanted.image}: {error}") from None

    def _knows_trim(self) -> bool:
        try:
            self._session.trim(self._fd, 0, 0)
        except OSError:
            return False
        return True

    def _load(self, image: Path) -> None:
        """Writes a plain image, as somebody did before the measurement; what is zero in it is so on a new device."""
        with open_input(image, "image") as file:
            at = 0
            while piece := file.read(PIECE_B):
                if at + len(piece) > self.size_bytes:
                    raise InputError(f"{image}: is larger than {self.name}, which has {self.size_bytes} bytes")
                if piece.count(0) != len(piece):
                    whole = -(-len(piece) // self.sector_bytes) * self.sector_bytes
                    self._session.pwrite(self._fd, piece.ljust(whole, b"\0"), at)
                at += len(piece)
        self._session.fsync(self._fd, False)

    # ---- requests ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """A request has come."""
        if self.cut is not None:
            raise PowerGoneError
        self.is_asked = True
        now_ns = time.monotonic_ns()
        if self._think:
            self.rest(max(0, now_ns - self._host_ns))
        self._host_ns, self._due_ns = now_ns, self._session.now_ns()

    def rest(self, idle_ns: int) -> None:
        """Time passes on the device, which may work meanwhile."""
        self.idle_ns = idle_ns
        self._session.sleep_ns(idle_ns)

    async def answers(self) -> None:
        """In real time the client waits for as long as the request took the device."""
        if self._realtime:
            left_ns = self._session.now_ns() - self._due_ns - (time.monotonic_ns() - self._host_ns)
            await asyncio.sleep(max(0, left_ns) / 1e9)
        self._host_ns = time.monotonic_ns()

    def read(self, at: int, count: int) -> bytes:
        self._begin()
        return self._session.pread(self._fd, count, at)

    def write(self, at: int, data: bytes) -> None:
        self._begin()
        self._write(at, data)
        self._written()

    def write_zeroes(self, at: int, count: int) -> None:
        """Writes them: a device that forgets pages need not read as zeroes there."""
        self._begin()
        end = at + count
        while at < end:
            piece = min(PIECE_B, end - at)
            self._write(at, bytes(piece))
            at += piece
        self._written()

    def _write(self, at: int, data: bytes) -> None:
        self._session.pwrite(self._fd, data, at)
        if self._cut_after is not None:
            size = self.sector_bytes
            for offset in range(0, len(data), size):
                self._at_risk[(at + offset) // size] = data[offset : offset + size]

    def _written(self) -> None:
        """A request to write has been carried out; at the one that was named the power goes, before it is answered."""
        self._writes += 1
        if self._writes == self._cut_after:
            self._cut_power()
            raise PowerGoneError

    def flush(self) -> None:
        self._begin()
        self._session.fsync(self._fd, False)
        self._at_risk.clear()

    def trim(self, at: int, count: int) -> None:
        self._begin()
        self._session.trim(self._fd, at, count)
        for sector in range(at // self.sector_bytes, (at + count) // self.sector_bytes) if self._at_risk else ():
            self._at_risk.pop(sector, None)

    # ---- power cuts within a request ---------------------------------------------------------------------------

    def operations(self) -> int:
        """Programs and erases so far; none of a device without a translation layer."""
        return self._session.modifying_operations()

    def cut_within(self, operation: int, torn: str, seed: int) -> None:
        """The power will go at the program or erase that comes so many from now (1: the next one)."""
        self._session.cut_power_after(operation, torn, seed)

    def has_power(self) -> bool:
        return self._session.is_powered()

    def looked_at(self, first_sector: int, last_sector: int) -> bytes:
        """What stands in these sectors; what cannot be read is said by a word that no sector is."""
        at, count = first_sector * self.sector_bytes, (last_sector - first_sector + 1) * self.sector_bytes
        try:
            return self._session.pread(self._fd, count, at)
        except OSError:
            return b"lost"

    def power_comes_back(self) -> None:
        """The device is as after a power cut; if it has power, it is cut now, behind the last request."""
        self._session.crash()
        self._fd = self._opened()

    # ---- the end -----------------------------------------------------------------------------------------------

    def _cut_power(self) -> None:
        """Power is lost and comes back; the device looks for its map, and what stood in its buffer alone is gone."""
        self._session.crash()
        held, size = memoryview(self._session.image(False)), self.sector_bytes
        lost = sum(held[sector * size : (sector + 1) * size] != data for sector, data in self._at_risk.items())
        has_layer = bool(self._session.erase_counts())
        self.cut = Cut(self._writes, len(self._at_risk) * size, lost * size, has_layer)
        self._session.note(self.cut.text())

    def end(self) -> None:
        """Nobody asks for anything more: unless its power was cut, what waits in the device goes to its flash."""
        if self.cut is None and self.is_asked:
            self._session.fsync(self._fd, False)
        self._session.end_step()

    def save(self, file: Path) -> None:
        """Writes what the device holds, with its map and wear, to a file that is whole or not there."""
        SAVED.save(file, self.used_keys, self._session.held())

    def result(self) -> tuple[str, Columns, Columns]:
        """A variant of the summary (JSON), columns of requests and of erase blocks."""
        summary, requests, blocks, _ = self._session.result("base", "{}")
        return summary, requests, blocks
