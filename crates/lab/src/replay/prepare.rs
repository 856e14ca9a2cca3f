//! What must exist before a trace can be replayed.

use ffslab_fs::Errno;
use ffslab_system::{Answer, Calls, OpenFlags};
use ffslab_workload::trace::{Call, ExistingKind, OpenMode, Trace};
use ffslab_workload::Content;
use std::collections::BTreeSet;

/// Size of the writes that make files before a replay.
const PREPARE_BYTES: usize = 64 << 10;

/// Makes what the traces expect to find and what is not there yet: directories, links, files of the needed size. What
/// an earlier trace of the list makes is left to it. Belongs into the setup, after whatever else makes files; if it made
/// something, everything is synced, so that nothing of it is written during the replay.
///
/// Errors: which file, and what the file system said.
pub fn prepare(calls: &mut dyn Calls, traces: &[&Trace], content: &mut Content) -> Result<(), String> {
    let mut made: BTreeSet<&[u8]> = BTreeSet::new();
    let mut made_something = false;
    for trace in traces {
        for existing in trace.existing.iter().filter(|e| !made.contains(&e.path[..])) {
            made_something |= make(calls, &existing.path, &existing.kind, content).map_err(|error| {
                let (path, trace) = (String::from_utf8_lossy(&existing.path), trace.path.display());
                format!("{path}, which the trace {trace} expects to find, cannot be made: {error}")
            })?;
        }
        made.extend(trace.records.iter().filter_map(|r| makes(&r.call)));
    }
    if made_something {
        match calls.sync() {
            // Without it what was made is as safe as closing it makes it.
            Err(refusal) if refusal.is_lack() => {}
            done => done.map_err(|error| format!("the files that traces expect to find cannot be synced: {error}"))?,
        }
    }
    Ok(())
}

/// The name that a call brings into being.
fn makes(call: &Call) -> Option<&[u8]> {
    match call {
        Call::Open { path, mode: OpenMode { create: true, .. }, .. }
        | Call::MakeDirectory { path, .. }
        | Call::Symlink { path, .. }
        | Call::Rename { to: path, .. }
        | Call::Link { to: path, .. } => Some(path),
        _ => None,
    }
}

/// `false`: it was there already.
fn make(calls: &mut dyn Calls, path: &[u8], kind: &ExistingKind, content: &mut Content) -> Answer<bool> {
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
                match calls.pwrite(fd, content.take(count), at) {
                    Ok(written) => at += written as u64,
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
