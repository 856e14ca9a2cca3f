//! The files of jobs, which are laid out before the first job starts.

use ffslab_fs::Errno;
use ffslab_system::{Advice, Answer, Calls, Fd, OpenFlags};
use ffslab_workload::fio::{Job, Layout};
use ffslab_workload::Content;

/// Permissions of files and directories that jobs make.
pub(super) const FILE_PERMISSIONS: u32 = 0o644;
const DIRECTORY_PERMISSIONS: u32 = 0o755;

/// The largest piece in which a request's data are moved; a larger request is one call in several pieces.
pub(super) const PIECE_BYTES_MAX: u64 = 8 << 20;

/// Makes the directories above a file that do not exist yet.
pub(super) fn make_directories(calls: &mut dyn Calls, name: &str) -> Answer<()> {
    for (at, _) in name.match_indices('/') {
        match calls.mkdir(&name.as_bytes()[..at], DIRECTORY_PERMISSIONS) {
            Ok(()) => {}
            Err(error) if error == Errno::Exist => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes a file before the jobs start (`extend_file` of fio's `filesetup.c`). A file that will be read is written and
/// dropped from the page cache; one that will only be written is created empty.
pub(super) fn lay_out(
    calls: &mut dyn Calls,
    name: &str,
    layout: &Layout,
    job: &Job,
    content: &mut Content,
) -> Answer<()> {
    match calls.unlink(name.as_bytes()) {
        Ok(()) => {}
        Err(error) if error == Errno::NoEnt => {}
        Err(error) => return Err(error),
    }
    let flags = OpenFlags { create: true, truncate: layout.fill, ..OpenFlags::WRITE };
    let fd = calls.open(name.as_bytes(), flags, FILE_PERMISSIONS)?;
    let filled = if layout.fill { fill(calls, fd, layout, job.create_fsync, content) } else { Ok(()) };
    let closed = calls.close(fd);
    filled.and(closed)
}

fn fill(calls: &mut dyn Calls, fd: Fd, layout: &Layout, fsync: bool, content: &mut Content) -> Answer<()> {
    calls.ftruncate(fd, layout.size_bytes)?;
    let mut at = 0;
    while at < layout.size_bytes {
        let count = layout.request_bytes.min(layout.size_bytes - at).min(PIECE_BYTES_MAX);
        at += calls.write(fd, content.take(count as usize))? as u64;
    }
    if fsync {
        calls.fsync(fd)?;
    }
    advise(calls, fd, (0, layout.size_bytes), Advice::DontNeed)
}

/// Calls posix_fadvise(2). A system without that call is no error: the program goes on without advice.
pub(super) fn advise(calls: &mut dyn Calls, fd: Fd, (at, bytes): (u64, u64), advice: Advice) -> Answer<()> {
    match calls.advise(fd, at, bytes, advice) {
        Err(refusal) if refusal.is_lack() => Ok(()),
        answer => answer,
    }
}
