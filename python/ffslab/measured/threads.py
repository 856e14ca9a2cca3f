"""Threads of the kernel as logs name them: what they are here, and that they work for others.

Names are those of the sources: fs/jffs2/background.c, fs/ubifs/super.c, drivers/mtd/ubi/build.c, YAFFS2's yaffs_vfs.c,
kernel/workqueue.c, fs/fs-writeback.c and mm/ of Linux 2.6 to 6.1.
"""

from __future__ import annotations

import re

CALLER = "caller"
# The beginnings of names, and the task of a result that does the same work.
_TASKS = (
    ("jffs2_gcd_mtd", "jffs2_gc_thread"),
    ("ubi_bgt", "ubi_thread"),
    ("ubifs_bgt", "ubifs_thread"),
    *((name, "kworker") for name in ("kworker", "flush-", "pdflush", "bdi-default", "sync_supers")),
)
# Others, which have no task of their own in a result.
_OTHERS = r"yaffs-bg|kswapd|mtdblock|kthreadd|ksoftirqd|events/|swapper|<idle>"
_KERNEL_THREAD = re.compile("|".join([*(re.escape(name) for name, _ in _TASKS), _OTHERS]))
# The program sync writes back what others wrote.
_SYNC = "sync"


def task_of(name: str) -> str:
    """The task that does here what a thread of this name does; anything else is a program in its system calls."""
    return next((task for beginning, task in _TASKS if name.startswith(beginning)), CALLER)


def is_kernel_thread(name: str) -> bool:
    """Whether a thread of the kernel has such a name."""
    return _KERNEL_THREAD.match(name) is not None


def is_background(name: str) -> bool:
    """Whether no call of a measured program causes what goes by this name."""
    return name == _SYNC or is_kernel_thread(name)
