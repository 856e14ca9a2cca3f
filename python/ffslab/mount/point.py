"""What a mount needs to know of the host: where it may mount and save, and to whom the root is given."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import re
import stat
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason

# What a folder answers on which something is mounted that nobody serves any more, and whose board has no power.
DEAD = (errno.ENOTCONN, errno.EIO)
# "Not changed", for chown(2).
ID_MAX = 2**32 - 2
# Python refuses to read numbers of some thousand digits; one of more than these is too large whatever it is.
DIGITS_MAX = 18


def check_mountpoint(mountpoint: Path) -> None:
    """Refuses what cannot be mounted on.

    Errors: no folder; a mount that is dead or without power is there already.
    """
    try:
        is_folder = stat.S_ISDIR(mountpoint.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except OSError as error:
        text = f"{mountpoint}: {reason(error)}"
        if error.errno in DEAD:
            umount = "umount" if os.geteuid() == 0 else "fusermount3 -u"
            text += f": a mount that does not work any more is here: take it away first: {umount} {mountpoint}"
        raise InputError(text) from None
    if not is_folder:
        raise InputError(f"{mountpoint}: is not a folder: make an empty one to mount on")


def root_owner(asked: str | None, *, new: bool) -> tuple[int, int] | None:
    """User and group to whom the root of the file system is given; `None`: it stays whose it is.

    `asked`: UID[:GID], numbers or names. `new`: the mount makes the file system, whose root is the mounting user's.
    """
    if asked is None:
        return (os.geteuid(), os.getegid()) if new else None
    user, colon, group = asked.partition(":")
    if not user or (colon and not group):
        raise InputError(f'--owner "{asked}": must be UID or UID:GID, as 1000:1000')
    if re.fullmatch("[0-9]+", user):
        uid = _number(user)
        gid = _group_of(uid) if not colon else None
    else:
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            raise InputError(f'--owner "{asked}": there is no user "{user}": give a number') from None
        uid, gid = entry.pw_uid, entry.pw_gid
    if colon:
        try:
            gid = _number(group) if re.fullmatch("[0-9]+", group) else grp.getgrnam(group).gr_gid
        except KeyError:
            raise InputError(f'--owner "{asked}": there is no group "{group}": give a number') from None
    assert gid is not None
    if max(uid, gid) > ID_MAX:
        raise InputError(f'--owner "{asked}": numbers go up to {ID_MAX}')
    return uid, gid


def _number(digits: str) -> int:
    """The number of a user or group."""
    return int(digits) if len(digits) <= DIGITS_MAX else ID_MAX + 1


def _group_of(uid: int) -> int:
    """The group of a user; of an unknown one the group of the same number."""
    try:
        return pwd.getpwuid(uid).pw_gid
    except (KeyError, OverflowError):
        return uid


def check_save(file: Path, option: str = "--save") -> None:
    """Refuses a place for what is saved at the end before anything is begun: what a program did would be lost."""
    if file.is_dir():
        raise InputError(f"{option} {file}: is a folder: name a file")
    folder = file.absolute().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        why = "cannot be written to" if folder.is_dir() else "no such folder"
        raise InputError(f"{option} {file}: {folder}: {why}")
