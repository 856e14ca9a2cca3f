"""In which systems and file systems differ from the model, and which errors are none."""

from __future__ import annotations

import errno
import re

from campaign import machines
from ffslab import InputError, Stack
from ffslab.registries.profiles import shown

# A call that a system or file system lacks; what has no number has a reason instead.
LACKS = ("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "")
# No room on the medium, in the file, in a directory, for a name, for links.
NO_ROOM = ("ENOSPC", "EFBIG", "ENOMEM", "ENAMETOOLONG", "EMLINK", "ENFILE")
# After a cut these keep nothing that they could promise (docs/power-cuts.md).
PROMISE_NOTHING = frozenset({"fat", "dosfs", "rfs", "fatfs", "spiffs"})
# They keep their files in memory, which an unmount gives back.
IN_MEMORY = frozenset({"imfs", "mini-imfs"})
WITH_INODES = frozenset({"jffs2", "yaffs2", "ubifs"})
PAGE_B = 4096
# A cut may come again while what the last one left is mounted.
MOUNTS_MOST = 4
NAME = re.compile(r"\b(E[A-Z0-9]{2,})\b")


def name_of(error: OSError | InputError) -> str:
    """ENOENT and its like; empty: only words."""
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0, str(error.errno)).replace("EOPNOTSUPP", "ENOTSUP")
    found = NAME.search(str(error))
    return found[1] if found else ""


def refuses_fsync(machine: machines.Keys) -> bool:
    """RTEMS's JFFS2 has no fsync and says EINVAL."""
    return (machine["system"], machine["fs"]) == ("rtems", "jffs2")


def is_mlc(stack: Stack) -> bool:
    """Whether a torn program ruins the page that shares its cells, which no file system bears (docs/profiles.md)."""
    part = stack.keys.get("part")
    return isinstance(part, str) and machines.part(part)["cell"] != "slc"


def has_gap_bug(stack: Stack) -> bool:
    """Whether this kernel's JFFS2 brings old bytes back in a page behind the end (`ffslab profiles show 2.6.37`)."""
    kernel = stack.keys.get("kernel")
    if stack.keys.get("fs") != "jffs2" or not isinstance(kernel, str):
        return False
    return any(fault["key"] == "jffs2_gap_bug" and fault["present"] for fault in shown(kernel).get("faults") or [])


def brings_names_back(stack: Stack) -> bool:
    """Whether a name may come back that was removed after a power cut: JFFS2 on NOR (docs/power-cuts.md)."""
    part = stack.keys.get("part")
    return stack.keys.get("fs") == "jffs2" and isinstance(part, str) and machines.part(part)["kind"].endswith("nor")


class Full(Exception):  # noqa: N818
    """There was no room for a call."""


class Lost(Exception):  # noqa: N818
    """The chip is broken, or keeps nothing: there is nothing more to compare."""
