"""A hidden folder beside the place of a result, in which it is made: nothing of it stays, however the work ends."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ffslab.files.interruption import caught_signals, uninterrupted

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """A new folder beside `folder`, whose parents are made; it is removed at the end, with all that is left in it."""
    temporary: Path | None = None
    with caught_signals():
        try:
            with uninterrupted():
                folder.parent.mkdir(parents=True, exist_ok=True)
                temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name[:100]}.", dir=folder.parent))
            yield temporary
        finally:
            with uninterrupted():
                if temporary is not None:
                    remove_tree(temporary)


@contextmanager
def work_file(file: Path) -> Iterator[Path]:
    """The path of a hidden file beside `file`, which takes its place if all goes well and is gone if not.

    A device, a pipe (/dev/stdout) and what a link leads to are written to: root would put a file in their place.
    """
    if _takes_bytes(file):
        with workplace(Path(tempfile.gettempdir()) / file.name) as folder:
            yield folder / file.name
            with (folder / file.name).open("rb") as made, file.open("ab", buffering=0) as taker:
                shutil.copyfileobj(made, taker)
        return
    file = file.resolve() if file.is_symlink() else file
    place = file.with_name(f".{file.name[:100]}.{os.urandom(4).hex()}")
    with caught_signals():
        try:
            yield place
            place.rename(file)
        finally:
            with uninterrupted():
                place.unlink(missing_ok=True)


def _takes_bytes(file: Path) -> bool:
    """Whether a path is something that takes bytes as they come: no file, or an open one by its descriptor."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return False
    by_descriptor = file.is_symlink() and file.is_relative_to("/dev")
    return by_descriptor or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def remove_tree(folder: Path) -> None:
    """Removes a folder of this user, however deep it is and whatever its permissions are. What cannot be removed stays.

    It goes from folder to folder by descriptors: a path of all their names may be longer than the system takes.
    """
    try:
        here = os.open(folder, OPEN_FOLDER)
    except OSError:
        return
    try:
        # Of each folder from the top to here: its name in the one above, and the folders in it that are still there.
        way = [("", _emptied(here))]
        while way:
            name, folders = way[-1]
            if folders:
                below = folders.pop()
                os.chmod(below, 0o700, dir_fd=here)
                here = _moved(here, below)
                way.append((below, _emptied(here)))
            else:
                way.pop()
                if way:
                    here = _moved(here, "..")
                    os.rmdir(name, dir_fd=here)
        folder.rmdir()
    except OSError:
        return
    finally:
        os.close(here)


def _moved(here: int, name: str) -> int:
    """The descriptor of another folder in place of that of `here`."""
    there = os.open(name, OPEN_FOLDER, dir_fd=here)
    os.close(here)
    return there


def _emptied(here: int) -> list[str]:
    """Removes what is no folder; the names of the folders."""
    with os.scandir(here) as found:
        entries = list(found)
    folders = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            os.unlink(entry.name, dir_fd=here)
    return folders
