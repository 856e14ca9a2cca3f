"""The steps of experiments as functions, for `Experiment.of`: an editor and mypy find a misspelt step or key.

>>> from ffslab import Experiment, steps
>>> setup = [steps.mount(), steps.create(file="log", bytes="5 MiB"), steps.sync()]

What is not said, or `None`, is left to its default. Made by tools/native_steps.py from `ffslab schema`.
"""

# long file: it is made, and a list of all steps.
from __future__ import annotations

from collections.abc import Sequence

from ffslab.answers.typed_keys import (
    Advice,
    AppendSync,
    BasePattern,
    ContentName,
    Distribution,
    Failure,
    FallocateFlag,
    KeyFile,
    MapAccess,
    Msync,
    MtdOp,
    OpenFlag,
    Pattern,
    RenameFlag,
    RequestCalls,
    RequestOp,
    Runs,
    ShareOf,
    Think,
    Until,
    XattrFlag,
    said_step,
)

# A step: its name under "step", its keys.
Step = dict[str, object]


def mount(*, options: Sequence[str] | None = None) -> Step:
    """Mounts the partition; an erased one gets a new file system. Read-ahead is set right after it."""
    return said_step("mount", options=options)


def umount() -> Step:
    """Unmounts; every file is closed by then."""
    return said_step("umount")


def ubi_attach() -> Step:
    """Attaches UBI to the whole partition; an erased one is formatted."""
    return said_step("ubi_attach")


def ubi_detach() -> Step:
    """Detaches UBI."""
    return said_step("ubi_detach")


def ubi_make_volume() -> Step:
    """Makes one dynamic UBI volume of all available LEBs."""
    return said_step("ubi_make_volume")


def crash() -> Step:
    """The power is lost: everything in memory is gone, and nothing is written."""
    return said_step("crash")


def boot(*, options: Sequence[str] | None = None) -> Step:
    """From power on to mounted: everything in memory is gone, then UBI attaches, the file system scans or recovers
    what it finds. After `umount` it is the boot after a clean end, else the one after a power cut.
    """
    return said_step("boot", options=options)


def format() -> Step:
    """Makes a new file system on the medium of a system that has a formatter, as RTEMS on a block device, so that it
    is counted apart from the mount. Nothing may be mounted. Without this step, the first mount of an empty medium
    does so.
    """
    return said_step("format")


def create(
    *,
    file: str,
    bytes: int | str,
    content: ContentName | None = None,
    content_file: str | None = None,
    fails: Failure | None = None,
    request_B: int | str | None = None,
) -> Step:
    """Makes a file (truncated if it exists) and writes it front to back."""
    return said_step(
        "create", file=file, bytes=bytes, content=content, content_file=content_file, fails=fails, request_B=request_B
    )


def fill(
    *,
    file: str,
    content: ContentName | None = None,
    content_file: str | None = None,
    request_B: int | str | None = None,
) -> Step:
    """Makes a file and writes it until no space is left."""
    return said_step("fill", file=file, content=content, content_file=content_file, request_B=request_B)


def create_fragmented(*, file: str, bytes: int | str, seed: int | None = None) -> Step:
    """Makes a file of pieces of 512 to 4096 B, written in random order, each followed by fsync."""
    return said_step("create_fragmented", file=file, bytes=bytes, seed=seed)


def saturate(*, file: str | None = None, request_B: int | str | None = None) -> Step:
    """Fills the partition with one file, syncs, and deletes the file. Nearly the whole partition is invalid then,
    and there was no time to collect it.
    """
    return said_step("saturate", file=file, request_B=request_B)


def occupy(*, file: str, percent: float, of: ShareOf | None = None, request_B: int | str | None = None) -> Step:
    """Makes a file that occupies a share of the partition: static data beside the data that the measurement works
    on.
    """
    return said_step("occupy", file=file, percent=percent, of=of, request_B=request_B)


def age(
    *,
    file: str,
    overwrites: float,
    distribution: Distribution | None = None,
    fsync_every: int | None = None,
    hot_percent: float | None = None,
    hot_writes_percent: float | None = None,
    request_B: int | str | None = None,
    seed: int | None = None,
    zipf_theta: float | None = None,
) -> Step:
    """Overwrites a file again and again, in requests of one size."""
    return said_step(
        "age",
        file=file,
        overwrites=overwrites,
        distribution=distribution,
        fsync_every=fsync_every,
        hot_percent=hot_percent,
        hot_writes_percent=hot_writes_percent,
        request_B=request_B,
        seed=seed,
        zipf_theta=zipf_theta,
    )


def unlink(*, file: str) -> Step:
    """unlink(2): deletes a name; with its last name and no open descriptor the file goes."""
    return said_step("unlink", file=file)


def rename(*, file: str, to: str, fails: Failure | None = None, flags: Sequence[RenameFlag] | None = None) -> Step:
    """Renames; an existing target is replaced."""
    return said_step("rename", file=file, to=to, fails=fails, flags=flags)


def link(*, file: str, to: str, fails: Failure | None = None) -> Step:
    """link(2): a further name, or the first one of a file that was opened with `tmpfile`."""
    return said_step("link", file=file, to=to, fails=fails)


def truncate(*, file: str, bytes: int | str, by_descriptor: bool | None = None, fails: Failure | None = None) -> Step:
    """Cuts or extends (with a hole) a file to `bytes`."""
    return said_step("truncate", file=file, bytes=bytes, by_descriptor=by_descriptor, fails=fails)


def sync() -> Step:
    """sync(2): all dirty data and metadata."""
    return said_step("sync")


def sync_directories() -> Step:
    """YAFFS2: the headers of changed directories are written."""
    return said_step("sync_directories")


def drop_caches() -> Step:
    """Clean pages, directory entries and unused inodes leave memory."""
    return said_step("drop_caches")


def sleep(*, us: int | str) -> Step:
    """nanosleep(2). Only background work runs."""
    return said_step("sleep", us=us)


def shelf(*, days: float, temperature_C: float | None = None) -> Step:
    """The device lies switched off: cells lose charge, but no virtual time passes. Nothing may be mounted or
    attached, and `[stack.ageing]` must say how the chip ages.
    """
    return said_step("shelf", days=days, temperature_C=temperature_C)


def scrub() -> Step:
    """Reads all of the partition once, in search of bits that went wrong. With UBI attached it is asked for each of
    its erase blocks, as `ubihealthd` does, and moves what it finds; else the pages are read as by `nanddump`, and
    nothing is moved.
    """
    return said_step("scrub")


def open(*, file: str, flags: Sequence[OpenFlag], fails: Failure | None = None) -> Step:
    """open(2)."""
    return said_step("open", file=file, flags=flags, fails=fails)


def close(*, file: str) -> Step:
    """close(2)."""
    return said_step("close", file=file)


def fsync(*, file: str, fails: Failure | None = None) -> Step:
    """fsync(2): the data and attributes of an open file are on flash when it returns."""
    return said_step("fsync", file=file, fails=fails)


def stat(*, file: str, fails: Failure | None = None) -> Step:
    """stat(2)."""
    return said_step("stat", file=file, fails=fails)


def fadvise(*, file: str, advice: Advice) -> Step:
    """posix_fadvise(2) on an open file, for the whole of it."""
    return said_step("fadvise", file=file, advice=advice)


def trim(*, file: str, bytes: int | str, offset: int | str | None = None) -> Step:
    """BLKDISCARD of an open device: nobody needs so many bytes from an offset on any more, which it may use."""
    return said_step("trim", file=file, bytes=bytes, offset=offset)


def read_ahead(*, KiB: int) -> Step:
    """Sets the read-ahead of the mounted file system's backing device."""
    return said_step("read_ahead", KiB=KiB)


def requests(
    *,
    file: str,
    count: int,
    op: RequestOp,
    pattern: Pattern,
    request_B: int | str,
    calls: RequestCalls | None = None,
    content: ContentName | None = None,
    content_file: str | None = None,
    gap_us: int | str | None = None,
    order: Sequence[int] | None = None,
    range_B: int | str | None = None,
    seed: int | None = None,
) -> Step:
    """Reads and writes of one size in an open file."""
    return said_step(
        "requests",
        file=file,
        count=count,
        op=op,
        pattern=pattern,
        request_B=request_B,
        calls=calls,
        content=content,
        content_file=content_file,
        gap_us=gap_us,
        order=order,
        range_B=range_B,
        seed=seed,
    )


def mmap(
    *,
    file: str,
    access: MapAccess,
    count: int,
    pattern: Pattern,
    request_B: int | str,
    bytes: int | str | None = None,
    content: ContentName | None = None,
    content_file: str | None = None,
    fails: Failure | None = None,
    gap_us: int | str | None = None,
    msync: Msync | None = None,
    offset_B: int | str | None = None,
    order: Sequence[int] | None = None,
    seed: int | None = None,
) -> Step:
    """mmap(2), loads or stores, munmap(2). The map is a shared one (`MAP_SHARED`) of an open file. JFFS2 has none of
    a file that is open for writing: EINVAL.
    """
    return said_step(
        "mmap",
        file=file,
        access=access,
        count=count,
        pattern=pattern,
        request_B=request_B,
        bytes=bytes,
        content=content,
        content_file=content_file,
        fails=fails,
        gap_us=gap_us,
        msync=msync,
        offset_B=offset_B,
        order=order,
        seed=seed,
    )


def uflip(
    *,
    file: str,
    pattern: BasePattern,
    burst: int | None = None,
    incr: int | None = None,
    io_count: int | None = None,
    io_ignore: int | None = None,
    io_shift_B: int | str | None = None,
    io_size_B: int | str | None = None,
    mix_with: BasePattern | None = None,
    parallel_degree: int | None = None,
    partitions: int | None = None,
    pause_us: int | str | None = None,
    ratio: int | None = None,
    seed: int | None = None,
    target_offset_B: int | str | None = None,
    target_size_B: int | str | None = None,
    total_B: int | str | None = None,
) -> Step:
    """An I/O pattern of uFLIP on an open file; see the module `uflip`. Calls of the start-up phase are made but not
    recorded.
    """
    return said_step(
        "uflip",
        file=file,
        pattern=pattern,
        burst=burst,
        incr=incr,
        io_count=io_count,
        io_ignore=io_ignore,
        io_shift_B=io_shift_B,
        io_size_B=io_size_B,
        mix_with=mix_with,
        parallel_degree=parallel_degree,
        partitions=partitions,
        pause_us=pause_us,
        ratio=ratio,
        seed=seed,
        target_offset_B=target_offset_B,
        target_size_B=target_size_B,
        total_B=total_B,
    )


def append(
    *,
    file: str,
    count: int,
    request_B: int | str,
    content: ContentName | None = None,
    content_file: str | None = None,
    gap_us: int | str | None = None,
    sync: AppendSync | None = None,
) -> Step:
    """Writes at the end of an open file; after each write `sync` says how it is made durable."""
    return said_step(
        "append",
        file=file,
        count=count,
        request_B=request_B,
        content=content,
        content_file=content_file,
        gap_us=gap_us,
        sync=sync,
    )


def mkdir(*, dir: str) -> Step:
    """mkdir(2)."""
    return said_step("mkdir", dir=dir)


def rmdir(*, dir: str, fails: Failure | None = None) -> Step:
    """rmdir(2)."""
    return said_step("rmdir", dir=dir, fails=fails)


def readdir(*, dir: str) -> Step:
    """Reads every entry of a directory; "" is the root."""
    return said_step("readdir", dir=dir)


def create_many(
    *,
    dir: str,
    bytes: int | str,
    content: ContentName | None = None,
    content_file: str | None = None,
    count: int | None = None,
    fsync: bool | None = None,
    name: str | None = None,
    request_B: int | str | None = None,
    until: Until | None = None,
) -> Step:
    """Makes files in a directory; "" is the root."""
    return said_step(
        "create_many",
        dir=dir,
        bytes=bytes,
        content=content,
        content_file=content_file,
        count=count,
        fsync=fsync,
        name=name,
        request_B=request_B,
        until=until,
    )


def stat_many(*, dir: str, count: int, name: str | None = None) -> Step:
    """stat(2) of the files of `create_many`, in the order of creation."""
    return said_step("stat_many", dir=dir, count=count, name=name)


def read_many(
    *, dir: str, bytes: int | str, count: int, name: str | None = None, request_B: int | str | None = None
) -> Step:
    """Opens, reads (`bytes` from the beginning) and closes the files of `create_many`, in the order of creation."""
    return said_step("read_many", dir=dir, bytes=bytes, count=count, name=name, request_B=request_B)


def unlink_many(*, dir: str, count: int, name: str | None = None) -> Step:
    """Deletes the files of `create_many`, in the order of creation."""
    return said_step("unlink_many", dir=dir, count=count, name=name)


def set(
    *,
    bytes: int | str,
    keys: int,
    content: ContentName | None = None,
    content_file: str | None = None,
    count: int | None = None,
    files: KeyFile | None = None,
    gap_us: int | str | None = None,
    name: str | None = None,
    order: Sequence[int] | None = None,
    pattern: Pattern | None = None,
    seed: int | None = None,
) -> Step:
    """Gives keys values, one after the other. Each is safe when its call has returned."""
    return said_step(
        "set",
        bytes=bytes,
        keys=keys,
        content=content,
        content_file=content_file,
        count=count,
        files=files,
        gap_us=gap_us,
        name=name,
        order=order,
        pattern=pattern,
        seed=seed,
    )


def get(
    *,
    keys: int,
    count: int | None = None,
    gap_us: int | str | None = None,
    name: str | None = None,
    order: Sequence[int] | None = None,
    pattern: Pattern | None = None,
    seed: int | None = None,
) -> Step:
    """Reads values of keys. A key that is not there is counted, and no error."""
    return said_step("get", keys=keys, count=count, gap_us=gap_us, name=name, order=order, pattern=pattern, seed=seed)


def delete(
    *,
    keys: int,
    count: int | None = None,
    gap_us: int | str | None = None,
    name: str | None = None,
    order: Sequence[int] | None = None,
    pattern: Pattern | None = None,
    seed: int | None = None,
) -> Step:
    """Deletes keys. A key that is not there is counted, as far as the store tells, and no error."""
    return said_step(
        "delete", keys=keys, count=count, gap_us=gap_us, name=name, order=order, pattern=pattern, seed=seed
    )


def iterate() -> Step:
    """Reads all keys and their values, in one call."""
    return said_step("iterate")


def setxattr(
    *,
    file: str,
    name: str,
    bytes: int | str | None = None,
    fails: Failure | None = None,
    flag: XattrFlag | None = None,
    value: str | None = None,
) -> Step:
    """setxattr(2): makes or replaces an extended attribute of a file or directory; "" is the root."""
    return said_step("setxattr", file=file, name=name, bytes=bytes, fails=fails, flag=flag, value=value)


def getxattr(*, file: str, name: str, fails: Failure | None = None) -> Step:
    """getxattr(2)."""
    return said_step("getxattr", file=file, name=name, fails=fails)


def listxattr(*, file: str) -> Step:
    """listxattr(2)."""
    return said_step("listxattr", file=file)


def removexattr(*, file: str, name: str, fails: Failure | None = None) -> Step:
    """removexattr(2)."""
    return said_step("removexattr", file=file, name=name, fails=fails)


def symlink(*, file: str, target: str, fails: Failure | None = None) -> Step:
    """symlink(2): makes the symbolic link `file`."""
    return said_step("symlink", file=file, target=target, fails=fails)


def readlink(*, file: str, fails: Failure | None = None) -> Step:
    """readlink(2)."""
    return said_step("readlink", file=file, fails=fails)


def chmod(*, file: str, permissions: str, fails: Failure | None = None) -> Step:
    """chmod(2)."""
    return said_step("chmod", file=file, permissions=permissions, fails=fails)


def chown(*, file: str, fails: Failure | None = None, gid: int | None = None, uid: int | None = None) -> Step:
    """chown(2)."""
    return said_step("chown", file=file, fails=fails, gid=gid, uid=uid)


def utimens(
    *, file: str, accessed_s: int | None = None, fails: Failure | None = None, modified_s: int | None = None
) -> Step:
    """utimensat(2): sets the times of a file, in seconds since 1970."""
    return said_step("utimens", file=file, accessed_s=accessed_s, fails=fails, modified_s=modified_s)


def statfs() -> Step:
    """statfs(2)."""
    return said_step("statfs")


def ftruncate(*, file: str, bytes: int | str, fails: Failure | None = None) -> Step:
    """ftruncate(2): `truncate` of the open file, by its descriptor."""
    return said_step("ftruncate", file=file, bytes=bytes, fails=fails)


def fallocate(
    *,
    file: str,
    bytes: int | str,
    fails: Failure | None = None,
    flags: Sequence[FallocateFlag] | None = None,
    offset: int | str | None = None,
) -> Step:
    """fallocate(2) of an open file. No file system for raw flash has it: what it is asked for ends in ENOTSUP
    (EOPNOTSUPP).
    """
    return said_step("fallocate", file=file, bytes=bytes, fails=fails, flags=flags, offset=offset)


def replay(
    *,
    file: str,
    content: ContentName | None = None,
    only: str | None = None,
    onto: str | None = None,
    random_percent: int | None = None,
    root: str | None = None,
    speed: float | None = None,
    think: Think | None = None,
) -> Step:
    """Replays the file system calls of a recorded program."""
    return said_step(
        "replay",
        file=file,
        content=content,
        only=only,
        onto=onto,
        random_percent=random_percent,
        root=root,
        speed=speed,
        think=think,
    )


def fio(*, file: str, lenient: bool | None = None) -> Step:
    """Runs the jobs of a fio job file. Their files are laid out first; if the step is measured, at the end of the
    setup.
    """
    return said_step("fio", file=file, lenient=lenient)


def postmark(*, file: str, commands: str | None = None, drop_caches: bool | None = None) -> Step:
    """Runs a command file of the program `postmark`."""
    return said_step("postmark", file=file, commands=commands, drop_caches=drop_caches)


def sqlite(
    *,
    file: str,
    count: int | None = None,
    pragmas: Sequence[str] | None = None,
    script: str | None = None,
    seed: int | None = None,
    sql: str | None = None,
) -> Step:
    """Executes SQL with the real SQLite, whose data base lies in the mounted file system. Its computing takes no
    time: what counts is its system calls.
    """
    return said_step("sqlite", file=file, count=count, pragmas=pragmas, script=script, seed=seed, sql=sql)


def copy_in(*, from_: str, dir: str | None = None, request_B: int | str | None = None) -> Step:
    """Copies the content of a folder of this computer into the file system, as `cp -R` does: files, directories and
    symbolic links with their permissions, sorted by name. None of the names may exist already.
    """
    return said_step("copy_in", from_=from_, dir=dir, request_B=request_B)


def save_image(*, file: str, oob: bool | None = None) -> Step:
    """Saves an image of the partition as it is on the chip now. Data in memory are not in the image; use sync or
    umount before. `ffslab run` writes the image to `images/` in the results folder.
    """
    return said_step("save_image", file=file, oob=oob)


def mtd_loop(*, count: int, op: MtdOp, first: int | None = None) -> Step:
    """A loop of operations on the partition at the level of the driver, like that of a kernel module that measures
    MTD calls: whole pages or erase blocks, one after the other. Nothing may be mounted. Bad blocks are skipped.
    """
    return said_step("mtd_loop", count=count, op=op, first=first)


def load(
    *,
    image: str,
    autoplace: bool | None = None,
    mtdparts: str | None = None,
    offset_B: int | None = None,
    oob: bool | None = None,
    partition: str | None = None,
    size_B: int | None = None,
) -> Step:
    """Puts an image or a dump on the partition, as the stack's key `image` does at the start. The partition must not
    be mounted. This takes neither time nor wear. Blocks behind the end of the image are erased.
    """
    return said_step(
        "load",
        image=image,
        autoplace=autoplace,
        mtdparts=mtdparts,
        offset_B=offset_B,
        oob=oob,
        partition=partition,
        size_B=size_B,
    )


def repeat(
    *,
    at: str | None = None,
    rounds_max: int | None = None,
    steps: Sequence[Step] | None = None,
    times: int | None = None,
    until: str | None = None,
) -> Step:
    """Does its steps in order, again and again: `times`, or until a condition holds, or whichever comes first. A run
    of `#` in `file`, `to` or `dir` of its steps counts: each round has the next number, from 0, the same in all
    of its steps, and later loops with the same name go on. Steps that draw random numbers draw others in each
    round.
    """
    return said_step("repeat", at=at, rounds_max=rounds_max, steps=steps, times=times, until=until)


def unlink_oldest(*, dir: str, count: int | None = None, name: str | None = None) -> Step:
    """Deletes the files of a directory that were changed longest ago, as a program does that needs room: it reads
    the directory and asks when each file was changed. Of files of the same second the first by name goes.
    """
    return said_step("unlink_oldest", dir=dir, count=count, name=name)


def stage(*, name: str, fastmap: bool | None = None, runs: Runs | None = None) -> Step:
    """A stage of the boot begins, to which the steps up to the next one belong: the results tell of each how long it
    took and what it read. When another program runs than before, everything in memory is gone, so the first stage
    of a boot loader is the power on.
    """
    return said_step("stage", name=name, fastmap=fastmap, runs=runs)


def read_raw(*, bytes: int | str, first_block: int) -> Step:
    """Reads pages of the chip itself, one after the other, as an SPL reads its second part, and U-Boot an
    environment or what `nand read` is told: bad blocks are passed over. Nothing may be mounted.
    """
    return said_step("read_raw", bytes=bytes, first_block=first_block)


def ubi_read(*, volume: str, bytes: int | str | None = None) -> Step:
    """Reads a volume of the UBI that is attached, from its begin, as `ubi read` of U-Boot does: erase block by erase
    block, and no check sum of a static volume is looked at.
    """
    return said_step("ubi_read", volume=volume, bytes=bytes)


def read_files(*, files: Sequence[str], request_B: int | str | None = None) -> Step:
    """Opens, reads from begin to end and closes files, one after the other: a list of those that are read when a
    system starts, or what `ubifsload` of U-Boot loads.
    """
    return said_step("read_files", files=files, request_B=request_B)
