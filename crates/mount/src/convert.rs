//! Translation between the types of FUSE and those of the simulation.

use ffslab_fs::{FileKind, Stat, TimeSpec};
use ffslab_system::{Answer, Caller, Fd, NewTime, NodeEntry, OpenFlags as Opening, Refusal};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Generation, INodeNo, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyXattr, Request,
    TimeOrNow,
};
use nix::libc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the kernel may cache names and attributes: not at all, because the simulated kernel caches them.
pub const TTL: Duration = Duration::ZERO;

/// The error that the kernel passes on to the program. What the system lacks is EOPNOTSUPP and not ENOSYS, which the kernel
/// takes for "never ask again" of some requests: after one refused open it would take every later one for granted
/// (`no_open` of `fs/fuse/file.c`).
pub fn number(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::Lacks { .. } => Errno::EOPNOTSUPP,
        Refusal::Failed(errno) => Errno::from_i32(errno.number() as i32),
    }
}

pub fn fd(handle: FileHandle) -> Fd {
    Fd(handle.0 as u32)
}

pub fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid() }
}

pub fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::File => FileType::RegularFile,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::CharDevice => FileType::CharDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
        FileKind::Fifo => FileType::NamedPipe,
        FileKind::Socket => FileType::Socket,
    }
}

fn system_time(time: TimeSpec) -> SystemTime {
    let nanoseconds = Duration::from_nanos(u64::from(time.nanoseconds));
    let seconds = Duration::from_secs(time.seconds.unsigned_abs());
    if time.seconds < 0 {
        UNIX_EPOCH - seconds + nanoseconds
    } else {
        UNIX_EPOCH + seconds + nanoseconds
    }
}

pub fn new_time(time: TimeOrNow) -> NewTime {
    let TimeOrNow::SpecificTime(time) = time else { return NewTime::Now };
    NewTime::At(match time.duration_since(UNIX_EPOCH) {
        Ok(after) => TimeSpec { seconds: after.as_secs() as i64, nanoseconds: after.subsec_nanos() },
        Err(before) => {
            let before = before.duration();
            let part = u32::from(before.subsec_nanos() > 0);
            TimeSpec {
                seconds: -(before.as_secs() as i64) - i64::from(part),
                nanoseconds: part * (1_000_000_000 - before.subsec_nanos()),
            }
        }
    })
}

pub fn attributes(stat: &Stat) -> FileAttr {
    let changed = system_time(stat.changed);
    FileAttr {
        ino: INodeNo(u64::from(stat.ino)),
        size: stat.size_bytes,
        blocks: stat.blocks,
        atime: system_time(stat.accessed),
        mtime: system_time(stat.modified),
        ctime: changed,
        crtime: changed,
        kind: file_type(stat.kind),
        perm: stat.permissions as u16,
        nlink: stat.links,
        uid: stat.uid,
        gid: stat.gid,
        rdev: stat.device,
        blksize: ffslab_fs::PAGE_BYTES as u32,
        flags: 0,
    }
}

pub fn entry(reply: ReplyEntry, result: Answer<NodeEntry>) {
    match result {
        Ok(NodeEntry { generation, stat, .. }) => reply.entry(&TTL, &attributes(&stat), Generation(generation)),
        Err(error) => reply.error(number(error)),
    }
}

pub fn attr(reply: ReplyAttr, result: Answer<Stat>) {
    match result {
        Ok(stat) => reply.attr(&TTL, &attributes(&stat)),
        Err(error) => reply.error(number(error)),
    }
}

pub fn empty(reply: ReplyEmpty, result: Answer<()>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(number(error)),
    }
}

pub fn xattr(reply: ReplyXattr, room_bytes: u32, result: Answer<Vec<u8>>) {
    match result {
        Ok(value) if room_bytes == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > room_bytes as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(number(error)),
    }
}

/// The flags with which a program called open(2). The kernel states the position of each write, also for files opened
/// to append.
pub fn opening(flags: i32) -> Opening {
    let access = flags & libc::O_ACCMODE;
    Opening {
        read: access != libc::O_WRONLY,
        write: access != libc::O_RDONLY,
        truncate: flags & libc::O_TRUNC != 0,
        exclusive: flags & libc::O_EXCL != 0,
        append: flags & libc::O_APPEND != 0,
        direct: flags & libc::O_DIRECT != 0,
        sync: flags & libc::O_SYNC == libc::O_SYNC,
        dsync: flags & libc::O_SYNC == libc::O_DSYNC,
        ..Opening::default()
    }
}
