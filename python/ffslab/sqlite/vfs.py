"""SQLite's operating system interface on a simulated stack.

Role: makes the system calls that SQLite's own interface to Unix makes (`src/os_unix.c`), in its order, on a
`ffslab.Stack`. A test compares them with a recording of the `sqlite3` shell.

Leaves out: shared memory. Files in WAL mode need `locking_mode = exclusive`, under which SQLite keeps the index of the
WAL in its heap; so it must be on JFFS2 on a real board, too, which does not map files for shared writing
(`fs/jffs2/file.c` has `generic_file_readonly_mmap`). Temporary files without a name are kept in memory, as on a board
whose /tmp is a tmpfs. Locks are held between the connections of this process and cost no system call.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import apsw

from ffslab._native import InputError, PowerCut
from ffslab.api.stack import Stack

# Unix's default where a page that is written leaves its neighbours alone (SQLITE_POWERSAFE_OVERWRITE). So it is on all
# three file systems: none overwrites in place.
SECTOR_BYTES = 4096
# 1970-01-01 as a Julian day, in milliseconds (`unixCurrentTimeInt64`).
UNIX_EPOCH_MS = 210_866_760_000_000
# Journals are made together with their directory entry: the first sync of one syncs the directory, too.
SYNCED_WITH_DIRECTORY = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
# Byte 18 of a data base: 2 when it is in WAL mode (file format, section 1.3.3).
VERSION_AT = 18
WAL_VERSION = 2
# Instructions of SQLite's machine: about a tenth of a millisecond, so that asking costs nothing that is seen.
STEPS_BETWEEN_SIGNALS = 10_000
SETS_WAL = re.compile(r"^\s*PRAGMA\s+(?:\w+\s*\.\s*)?journal_mode\s*(?:=|\()\s*['\"]?wal\b", re.IGNORECASE)

_numbers = itertools.count(1)


def _error(kind: type[apsw.Error], code: int, text: str) -> apsw.Error:
    error = kind(text)
    error.extendedresult = code  # type: ignore[attr-defined]
    return error


@dataclass
class Locks:
    """Who holds which lock of a data base file (`src/os_unix.c`, the table before `unixLock`)."""

    shared: set[object] = field(default_factory=set)
    reserved: object | None = None
    pending: object | None = None
    exclusive: object | None = None


class StackFile:
    """An open file of SQLite on the stack."""

    def __init__(self, vfs: StackVfs, path: str, fd: int, ino: int, flags: int) -> None:
        self._vfs = vfs
        self._stack = vfs.stack
        self._path = path
        self._fd = fd
        self._ino = ino
        self._boot = vfs.stack.boots
        self._is_database = bool(flags & apsw.SQLITE_OPEN_MAIN_DB)
        self._sync_directory = bool(flags & apsw.SQLITE_OPEN_CREATE) and bool(flags & SYNCED_WITH_DIRECTORY)
        self._locks = vfs.locks_of(path)
        self._level = apsw.SQLITE_LOCK_NONE

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        # A short answer is a short read: apsw fills up with zeros and says so to SQLite.
        with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_READ):
            return self._stack.pread(self._fd, amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_WRITE):
            done = 0
            while done < len(data):
                done += self._stack.pwrite(self._fd, data[done:], offset + done)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_TRUNCATE):
            self._stack.truncate(self._fd, newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        # On Linux `full_fsync` calls fdatasync whatever the flags are.
        with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_FSYNC):
            self._stack.fsync(self._fd, data_only=True)
        if self._sync_directory:
            # `unixSync` does not look at the result: some systems, as RTEMS, refuse to sync a directory.
            self._vfs.sync_directory(self._path, refusal_counts=False)
            self._sync_directory = False

    def xFileSize(self) -> int:  # noqa: N802
        with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_FSTAT):
            return self._stack.fstat(self._fd).size_bytes

    def xClose(self) -> None:  # noqa: N802
        self.xUnlock(apsw.SQLITE_LOCK_NONE)
        # After a power cut there is nothing left to close.
        if self._boot == self._stack.boots:
            with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_CLOSE):
                if self._is_database:
                    self._vfs.verify(self._fd, self._path)
                self._stack.close(self._fd)

    # ---- locks ----------------------------------------------------------------------------------------------

    def xLock(self, level: int) -> None:  # noqa: N802
        locks = self._locks
        if level <= self._level:
            return
        others_write = locks.exclusive not in (None, self) or locks.pending not in (None, self)
        if level == apsw.SQLITE_LOCK_SHARED:
            if others_write:
                raise apsw.BusyError("another connection writes")
            locks.shared.add(self)
        elif level == apsw.SQLITE_LOCK_RESERVED:
            if locks.reserved not in (None, self) or others_write:
                raise apsw.BusyError("another connection is about to write")
            locks.reserved = self
        else:
            if others_write:
                raise apsw.BusyError("another connection writes")
            locks.pending = self
            if locks.shared - {self}:
                # PENDING is kept: no new reader comes, and the next attempt may succeed.
                self._level = apsw.SQLITE_LOCK_PENDING
                raise apsw.BusyError("another connection reads")
            locks.exclusive = self
        self._level = level

    def xUnlock(self, level: int) -> None:  # noqa: N802
        locks = self._locks
        locks.exclusive = None if locks.exclusive is self else locks.exclusive
        locks.pending = None if locks.pending is self else locks.pending
        locks.reserved = None if locks.reserved is self else locks.reserved
        if level == apsw.SQLITE_LOCK_NONE:
            locks.shared.discard(self)
        self._level = min(level, self._level)

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return self._locks.reserved is not None or self._locks.exclusive is not None

    # ---- what the medium is like ----------------------------------------------------------------------------

    def xSectorSize(self) -> int:  # noqa: N802
        return SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: N802
        if op == apsw.SQLITE_FCNTL_HAS_MOVED:
            # Asked before each transaction that writes (`fileHasMoved`).
            with self._vfs.as_sqlite_sees_it(apsw.SQLITE_IOERR_FSTAT):
                ctypes.c_int.from_address(ptr).value = self._has_moved()
            return True
        # All others are hints and questions that make Unix call nothing.
        return False

    def _has_moved(self) -> bool:
        try:
            return self._stack.stat(self._path).ino != self._ino
        except FileNotFoundError:
            return True


class MemoryFile:
    """A temporary file without a name."""

    def __init__(self) -> None:
        self._data = bytearray()

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self._data[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if len(self._data) < offset:
            self._data.extend(bytes(offset - len(self._data)))
        self._data[offset : offset + len(data)] = data

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        del self._data[newsize:]

    def xSync(self, flags: int) -> None:  # noqa: N802
        pass

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._data)

    def xClose(self) -> None:  # noqa: N802
        self._data.clear()

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: N802
        return False


class StackVfs(apsw.VFS):
    """SQLite's view of a mounted stack. Time and random numbers are the simulation's, so that a run can be repeated."""

    def __init__(self, stack: Stack, seed: int = 1) -> None:
        self.stack = stack
        self.name = f"ffslab-{next(_numbers)}"
        self.power_was_cut = False
        self._locks: dict[str, Locks] = {}
        self._random = random.Random(seed)
        super().__init__(self.name, base=None)

    def locks_of(self, path: str) -> Locks:
        """The locks that all connections to a file share."""
        return self._locks.setdefault(path, Locks())

    @contextmanager
    def as_sqlite_sees_it(self, code: int) -> Iterator[None]:
        """Turns errors of system calls into SQLite's."""
        try:
            yield
        except PowerCut as cut:
            self.power_was_cut = True
            raise _error(apsw.IOError, code, str(cut)) from cut
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise _error(apsw.FullError, apsw.SQLITE_FULL, str(error)) from error
            raise _error(apsw.IOError, code, str(error)) from error

    def verify(self, fd: int, path: str) -> None:
        """Looks whether a file is still the one of its name (`verifyDbFile`), which Unix only logs."""
        self.stack.fstat(fd)
        with suppress(FileNotFoundError):
            self.stack.stat(path)

    def sync_directory(self, path: str, *, refusal_counts: bool = True) -> None:
        """Makes the entry of a file safe."""
        directory = path.rpartition("/")[0] or "/"
        with self.as_sqlite_sees_it(apsw.SQLITE_IOERR_DIR_FSYNC):
            fd = self.stack.open(directory, "rdonly")
            try:
                self.stack.fsync(fd, data_only=True)
            except OSError as refused:
                if refusal_counts or isinstance(refused, PowerCut):
                    raise
            self.stack.close(fd)

    # ---- what SQLite calls ----------------------------------------------------------------------------------

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> StackFile | MemoryFile:  # type: ignore[override]  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        wanted = flags[0]
        flags[1] = wanted
        if path is None:
            return MemoryFile()
        words = ["rdwr" if wanted & apsw.SQLITE_OPEN_READWRITE else "rdonly", "nofollow"]
        if wanted & apsw.SQLITE_OPEN_CREATE:
            words.append("create")
        if wanted & apsw.SQLITE_OPEN_EXCLUSIVE:
            words.append("exclusive")
        with self.as_sqlite_sees_it(apsw.SQLITE_CANTOPEN):
            try:
                if wanted & SYNCED_WITH_DIRECTORY:
                    # `findCreateFileMode`: a journal gets the permissions of its data base.
                    self.stack.stat(path.rpartition("-")[0])
                fd = self.stack.open(path, " ".join(words))
                ino = self.stack.fstat(fd).ino
                if wanted & apsw.SQLITE_OPEN_MAIN_DB:
                    self.verify(fd, path)
            except PowerCut:
                raise
            except OSError as error:
                raise apsw.CantOpenError(f"{path}: {error}") from error
        return StackFile(self, path, fd, ino, wanted)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        with self.as_sqlite_sees_it(apsw.SQLITE_IOERR_DELETE):
            try:
                self.stack.unlink(filename)
            except FileNotFoundError as error:
                raise _error(apsw.IOError, apsw.SQLITE_IOERR_DELETE_NOENT, str(error)) from error
        if syncdir:
            self.sync_directory(filename)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        with self.as_sqlite_sees_it(apsw.SQLITE_IOERR_ACCESS):
            try:
                status = self.stack.stat(pathname)
            except (FileNotFoundError, NotADirectoryError):
                return False
        # An empty file counts as none (`unixAccess`).
        return flags != apsw.SQLITE_ACCESS_EXISTS or status.kind != "file" or status.size_bytes > 0

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return "/" + name.lstrip("/")

    def xRandomness(self, numbytes: int) -> bytes:  # noqa: N802
        return self._random.randbytes(numbytes)

    def xSleep(self, microseconds: int) -> int:  # noqa: N802
        self.stack.sleep(microseconds)
        return microseconds

    def xCurrentTimeInt64(self) -> int:  # noqa: N802
        return UNIX_EPOCH_MS + self.stack.clock_ns // 1_000_000

    def xCurrentTime(self) -> float:  # noqa: N802
        return self.xCurrentTimeInt64() / 86_400_000

    def xGetLastError(self) -> tuple[int, str]:  # noqa: N802
        return 0, ""

    def excepthook(self, etype: object, evalue: object, etraceback: object) -> bool:
        """SQLite hears of an error by its code; apsw need not print it as well."""
        return True


def seed_random_numbers(vfs_name: str) -> None:
    """Starts SQLite's generator anew, from this VFS: its numbers stand in journals and are what random() gives."""
    before = apsw.vfs_names()[0]
    apsw.set_default_vfs(vfs_name)
    try:
        # 0 bytes: the generator forgets its state. The next call seeds it from the default VFS.
        apsw.randomness(0)
        apsw.randomness(1)
    finally:
        apsw.set_default_vfs(before)


@contextmanager
def connected(stack: Stack, path: str, *, wal: bool | None = None, seed: int = 1) -> Iterator[apsw.Connection]:
    """A connection to a data base on the mounted stack; `path` is below its root, the file is made when it is missing.

    A data base in WAL mode is locked exclusively; `wal` says whether it is in it, or else its header is read. After a
    power cut every call fails and the connection is closed without more writes.
    """
    if not stack.is_mounted:
        raise InputError("nothing is mounted: call mount() before connecting to a data base")
    vfs = StackVfs(stack, seed)
    try:
        seed_random_numbers(vfs.name)
        connection = apsw.Connection(path, vfs=vfs.name)
        # Python hears of Ctrl-C only while it runs, and a statement without end makes no call that it would answer.
        connection.set_progress_handler(lambda: False, STEPS_BETWEEN_SIGNALS)
        try:
            if is_wal(stack, path) if wal is None else wal:
                lock_exclusively(connection)
            yield connection
        finally:
            connection.close(force=True)
    finally:
        vfs.unregister()


def is_wal(stack: Stack, path: str) -> bool:
    """Whether a data base is in WAL mode, from its header."""
    try:
        fd = stack.open(path)
    except FileNotFoundError:
        return False
    try:
        return stack.pread(fd, 1, VERSION_AT) == bytes([WAL_VERSION])
    finally:
        stack.close(fd)


def lock_exclusively(connection: apsw.Connection) -> None:
    """WAL without shared memory: must come before the first access."""
    connection.execute("PRAGMA locking_mode = exclusive").fetchall()


def execute(connection: apsw.Connection, sql: str) -> list[tuple[object, ...]]:
    """Executes one statement; one that puts the data base into WAL mode is preceded by the lock that it needs."""
    if SETS_WAL.match(sql):
        lock_exclusively(connection)
    return list(connection.execute(sql))
