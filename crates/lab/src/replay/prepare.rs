//! What must exist before a trace can be replayed.

use super::Written;
use ffslab_fs::Errno;
use ffslab_system::{Answer, Calls, OpenFlags};
use ffslab_workload::trace::{Call, ExistingKind, Trace};
use ffslab_workload::Content;
use std::collections::BTreeSet;

/// Size of the writes that make files before a replay.
const PREPARE_BYTES: usize = 64 << 10;

/// Makes the directories, links and files that the traces expect to exist and that do not exist yet; files get the size
/// that is needed. A name that an earlier trace of the list makes is not made here. This belongs at the end of the
/// setup, after all steps that make files. If something was made, everything is synced, so that none of it is written
/// during the replay.
///
/// Errors: the file, and the error of the file system.
pub fn prepare(calls: &mut dyn Calls, traces: &[(&Trace, Written)], content: &mut Content) -> Result<(), String> {
    let mut made: BTreeSet<&[u8]> = BTreeSet::new();
    let mut made_something = false;
    for (trace, written) in traces {
        for existing in trace.existing.iter().filter(|e| !made.contains(&e.path[..])) {
            made_something |= make(calls, &existing.path, &existing.kind, *written, content).map_err(|error| {
                let (path, trace) = (String::from_utf8_lossy(&existing.path), trace.path.display());
                format!("{path}, which the trace {trace} expects to find, cannot be made: {error}")
            })?;
        }
        made.extend(trace.records.iter().filter_map(|r| makes(&r.call)));
    }
    if made_something {
        match calls.sync() {
            // The system has no sync(). What was made is then only as safe as closing the files makes it.
            Err(refusal) if refusal.is_lack() => {}
            done => done.map_err(|error| format!("the files that traces expect to find cannot be synced: {error}"))?,
        }
    }
    Ok(())
}

/// The name that exists once the call has succeeded.
fn makes(call: &Call) -> Option<&[u8]> {
    match call {
        Call::Open { path, flags: OpenFlags { create: true, .. }, .. }
        | Call::MakeDirectory { path, .. }
        | Call::Symlink { path, .. }
        | Call::Rename { to: path, .. }
        | Call::Link { to: path, .. } => Some(path),
        _ => None,
    }
}

/// Makes one file, directory or link. Returns `false` if it existed already.
fn make(
    calls: &mut dyn Calls,
    path: &[u8],
    kind: &ExistingKind,
    written: Written,
    content: &mut Content,
) -> Answer<bool> {
    match kind {
        ExistingKind::Directory => allow(Errno::Exist, calls.mkdir(path, 0o755)),
        ExistingKind::Symlink { target } => allow(Errno::Exist, calls.symlink(target, path)),
        ExistingKind::File { size_bytes } => {
            let present = match calls.stat(path) {
                Ok(stat) if stat.size_bytes >= *size_bytes => return Ok(false),
                Ok(stat) => stat.size_bytes,
                Err(error) if error == Errno::NoEnt => 0,
                Err(error) => return Err(error),
            };
            let fd = calls.open(path, OpenFlags { create: true, ..OpenFlags::WRITE }, 0o644)?;
            let mut at = present;
            while at < *size_bytes {
                let count = (size_bytes - at).min(PREPARE_BYTES as u64) as usize;
                match calls.pwrite(fd, written.take(content, count), at) {
                    Ok(bytes) => at += bytes as u64,
                    Err(error) => {
                        calls.close(fd)?;
                        return Err(error);
                    }
                }
            }
            calls.close(fd).map(|()| true)
        }
    }
}

fn allow(error: Errno, result: Answer<()>) -> Answer<bool> {
    match result {
        Err(found) if found == error => Ok(false),
        other => other.map(|()| true),
    }
}
