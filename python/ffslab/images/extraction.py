"""Writes the files of an image into a folder.

An image may come from anybody, and its names, depths, links and device files are what they are. So nothing is opened by
a path: the way goes from folder to folder by descriptors, which has no longest path and follows no symbolic link.
What this computer does not take is left out and said; the rest is written.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason
from ffslab.files.workplace import OPEN_FOLDER, workplace
from ffslab.images import ImageEntry, ImageTree, Partition, mode
from ffslab.text.quoting import quoted

# What the system says against one file; anything else (a full disk) is against all of them.
_ABOUT_ONE_FILE = frozenset(
    {
        errno.EACCES, errno.EEXIST, errno.EFBIG, errno.EILSEQ, errno.EINVAL, errno.ELOOP, errno.EMLINK,
        errno.ENAMETOOLONG, errno.ENODEV, errno.ENOENT, errno.EOPNOTSUPP, errno.EOVERFLOW, errno.EPERM,
    }
)  # fmt: skip
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE_B = 64 << 10
_ZEROS = bytes(_PIECE_B)


def extract(tree: ImageTree, folder: str | Path) -> list[str]:
    """Writes the files into a new or empty folder, complete or not at all; returns what had to be left out.

    Permissions and times are kept; owners, device files and set-ID bits only when root extracts, as `tar` does. Hard
    links stay links, and runs of zeros become holes. Raises `ffslab.InputError`.
    """
    folder = Path(folder)
    try:
        check_free(folder)
        with workplace(folder) as place:
            fresh = place / "fresh"
            fresh.mkdir(0o700)
            writer = _Writer(fresh, place / "links", tree)
            try:
                writer.write()
                fresh.rename(folder)
                # It may be closed to its owner from now on, which would not let it be renamed.
                writer.finish()
            finally:
                os.close(writer.here)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {reason(error)}") from None
    return writer.left_out


def extract_partitions(found: Iterable[tuple[Partition, ImageTree]], folder: str | Path) -> list[str]:
    """As `extract`, each partition into a folder of its own in a new or empty one."""
    folder = Path(folder)
    left_out = []
    try:
        check_free(folder)
        with workplace(folder) as place:
            fresh = place / "fresh"
            fresh.mkdir()
            for part, tree in found:
                if part.name in ("", ".", "..") or "/" in part.name or "\0" in part.name:
                    name = quoted(part.name)
                    raise InputError(f"the partition {name} cannot be a folder: choose one with --partition")
                left_out += [f"{quoted(part.name)}: {line}" for line in extract(tree, fresh / part.name)]
            fresh.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {reason(error)}") from None
    return left_out


def check_free(folder: Path) -> None:
    """Refuses a folder that holds something already, or is none."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: is not a folder: name a new or empty one")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: holds files already: name a new or empty folder")


class _Writer:
    """Goes through the entries, which have directories before what they hold, and what these hold next to them."""

    def __init__(self, root: Path, links: Path, tree: ImageTree) -> None:
        self.left_out: list[str] = []
        self.here = os.open(root, OPEN_FOLDER)
        self._entries = [entry for entry in tree.entries if entry.error is None]
        # The directories from the root to here.
        self._way: list[ImageEntry] = []
        # Files that have several names keep one more until the end: their first may be in a closed directory by then.
        links.mkdir(0o700)
        self._links = links
        self._names = Counter((entry.ino, entry.kind) for entry in self._entries if entry.kind != "directory")
        self._is_root_user = os.geteuid() == 0

    def write(self) -> None:
        """Writes everything but the attributes of the root."""
        lost: str | None = None
        lost_count = 0
        for entry in self._entries:
            if lost is not None and entry.path.startswith(lost):
                lost_count += 1
                continue
            if lost_count:
                self.left_out[-1] += f", and the {lost_count} entries in it"
            lost, lost_count = None, 0
            if not entry.path:
                self._way.append(entry)
                continue
            above, _, name = entry.path.rpartition("/")
            while self._way[-1].path != above:
                self._leave()
            try:
                self._make(entry, name)
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno not in _ABOUT_ONE_FILE:
                    raise
                self._refused(entry, error)
                lost = f"{entry.path}/" if entry.kind == "directory" else None
        if lost_count:
            self.left_out[-1] += f", and the {lost_count} entries in it"
        while len(self._way) > 1:
            self._leave()

    def finish(self) -> None:
        """Gives the root its attributes."""
        for entry in self._way:
            self._set_attributes(entry, self.here)

    def _refused(self, entry: ImageEntry, error: OSError | ValueError) -> None:
        if isinstance(error, ValueError):
            why = "a name or target with a null byte"
        elif error.errno == errno.EPERM and "device" in entry.kind and not self._is_root_user:
            why = "only root can make device files"
        elif error.errno == errno.EEXIST:
            why = "this computer takes its name for one that is there already"
        else:
            why = reason(error)
        self.left_out.append(f"{quoted(f'/{entry.path}')}: {entry.kind} left out: {why}")

    def _leave(self) -> None:
        # The way up is opened first: the directory may be closed to its owner afterwards.
        above = os.open("..", OPEN_FOLDER, dir_fd=self.here)
        try:
            self._set_attributes(self._way.pop(), self.here)
        finally:
            os.close(self.here)
            self.here = above

    def _make(self, entry: ImageEntry, name: str) -> None:
        if entry.kind == "directory":
            os.mkdir(name, 0o700, dir_fd=self.here)
            below = os.open(name, OPEN_FOLDER, dir_fd=self.here)
            os.close(self.here)
            self.here = below
            self._way.append(entry)
            return
        kept = self._links / f"{entry.ino}-{entry.kind}"
        if os.path.lexists(kept) and _linked(kept, name, self.here):
            return
        if entry.kind == "file":
            self._make_file(entry, name)
        else:
            if entry.kind == "symlink":
                os.symlink(os.fsdecode(entry.data), name, dir_fd=self.here)
            else:
                os.mknod(name, stat.S_IFMT(mode(entry)) | 0o600, entry.device, dir_fd=self.here)
            self._set_attributes(entry, name)
        if self._names[entry.ino, entry.kind] > 1 and not os.path.lexists(kept):
            # Where there are no hard links each name gets a copy.
            with suppress(OSError):
                os.link(name, kept, src_dir_fd=self.here, follow_symlinks=False)

    def _make_file(self, entry: ImageEntry, name: str) -> None:
        file = os.open(name, _NEW_FILE, 0o600, dir_fd=self.here)
        try:
            with os.fdopen(file, "wb", buffering=0) as out:
                _write_sparse(out.fileno(), entry.data)
                self._set_attributes(entry, out.fileno())
        except OSError:
            os.unlink(name, dir_fd=self.here)
            raise

    def _set_attributes(self, entry: ImageEntry, what: int | str) -> None:
        """Sets owner, permissions and times of a descriptor, or of a name in this folder."""
        try:
            if isinstance(what, int):
                if self._is_root_user:
                    os.fchown(what, *entry.owner)
                os.fchmod(what, self._permissions(entry))
                os.utime(what, (entry.modified_s, entry.modified_s))
                return
            if self._is_root_user:
                os.chown(what, *entry.owner, dir_fd=self.here, follow_symlinks=False)
            if entry.kind != "symlink":
                # This computer's own new file: nobody else can have put a link there.
                os.chmod(what, self._permissions(entry), dir_fd=self.here)
            os.utime(what, (entry.modified_s, entry.modified_s), dir_fd=self.here, follow_symlinks=False)
        except (OSError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno not in _ABOUT_ONE_FILE:
                raise
            why = reason(error) if isinstance(error, OSError) else "this computer has no such time"
            self.left_out.append(f"{quoted(f'/{entry.path}')}: owner, permissions or time are not kept: {why}")

    def _permissions(self, entry: ImageEntry) -> int:
        return entry.permissions if self._is_root_user else entry.permissions & 0o777


def _linked(kept: Path, name: str, here: int) -> bool:
    """Gives a file one more name; not when it has as many as it can have."""
    try:
        os.link(kept, name, dst_dir_fd=here, follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.EMLINK:
            return False
        raise
    return True


def _write_sparse(file: int, data: bytes) -> None:
    for at in range(0, len(data), _PIECE_B):
        piece = data[at : at + _PIECE_B]
        if piece == _ZEROS:
            continue
        done = 0
        while done < len(piece):
            done += os.pwrite(file, piece[done:], at + done)
    os.ftruncate(file, len(data))
