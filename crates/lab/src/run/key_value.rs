//! The steps about keys and values. Where a store has keys they are its calls; on a file system a key is a file in the root, and each
//! step does with it what careful programs do.

use super::execute::{failed, CREATE, FILE_PERMISSIONS};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_fs::{Errno, FileKind, KeyEntry};
use ffslab_system::{timed, Answer, Fd, OpenFlags, System};
use ffslab_workload::steps::{self, KeyFile, KeyOrder};

type Done = Result<Facts, Stop>;

/// What is added to the name of a key for a file that is to take its place.
const NEW: &str = ".new";
/// Bytes of one read of a file.
const READ_BYTES: usize = 4 << 10;

impl Runner<'_> {
    pub(super) fn set_keys(&mut self, step: &steps::Set) -> Done {
        let (bytes, content, files) = (step.bytes.0, step.content, step.files);
        let mut facts = Facts::default();
        self.each_key((step.key_order(), step.gap_us.ns()), CallOp::Write, &mut facts, |runner, key| {
            let data = runner.content.take_of(content, bytes as usize);
            let (done, latency_ns) = timed(&mut *runner.system, |system| match (system.has_keys(), files) {
                (true, _) => system.set_value(key.as_bytes(), data),
                (false, KeyFile::Renamed) => replace(system, key, data),
                (false, KeyFile::Overwritten) => write_new(system, key.as_bytes(), data),
            });
            (done.map(|()| bytes), latency_ns)
        })?;
        facts.bytes_accepted = Some(facts.user_written_bytes);
        Ok(facts)
    }

    pub(super) fn get_keys(&mut self, step: &steps::Get) -> Done {
        let mut facts = Facts::default();
        self.each_key((step.key_order(), step.gap_us.ns()), CallOp::Read, &mut facts, |runner, key| {
            timed(&mut *runner.system, |system| {
                if system.has_keys() {
                    system.get_value(key.as_bytes()).map(|value| value.len() as u64)
                } else {
                    read_all(system, key.as_bytes())
                }
            })
        })?;
        Ok(facts)
    }

    pub(super) fn delete_keys(&mut self, step: &steps::Delete) -> Done {
        let mut facts = Facts::default();
        self.each_key((step.key_order(), step.gap_us.ns()), CallOp::Unlink, &mut facts, |runner, key| {
            timed(&mut *runner.system, |system| {
                if system.has_keys() {
                    system.delete_value(key.as_bytes())?
                } else {
                    system.unlink(key.as_bytes())?;
                    sync_root(system)?;
                }
                Ok(0)
            })
        })?;
        Ok(facts)
    }

    /// All keys and values; on a file system, all files of the root.
    pub(super) fn iterate_keys(&mut self) -> Done {
        let file = self.log.file_index("");
        let start_ns = self.system.now_ns() - self.start.at_ns;
        let (entries, latency_ns) =
            timed(&mut *self.system, |system| if system.has_keys() { system.list_values() } else { read_root(system) });
        let entries = entries?;
        let bytes = entries.iter().map(|entry| entry.value_bytes).sum();
        self.record(0, Call { op: CallOp::Read, file, offset_bytes: 0, bytes, start_ns, latency_ns });
        Ok(Facts {
            entries: Some(entries.len() as u64),
            requests_done: Some(1),
            bytes_accepted: Some(bytes),
            user_read_bytes: bytes,
            ..Facts::default()
        })
    }

    /// Makes the calls of a step. A call about a key that is not there is counted; no room for a value ends the step, and each other
    /// error the experiment.
    fn each_key(
        &mut self,
        (mut order, gap_ns): (KeyOrder<'_>, u64),
        op: CallOp,
        facts: &mut Facts,
        mut call: impl FnMut(&mut Self, &str) -> (Answer<u64>, u64),
    ) -> Result<(), Stop> {
        let file = self.log.file_index(order.name());
        let (mut done, mut missing) = (0, 0);
        for i in 0..order.count {
            let (number, key) = order.key(i);
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) = call(self, &key);
            let bytes = result.unwrap_or(0);
            self.record(i, Call { op, file, offset_bytes: number, bytes, start_ns, latency_ns });
            facts.moved(op, bytes);
            match result {
                Ok(_) => done += 1,
                Err(error) if error == Errno::NoEnt && op != CallOp::Write => missing += 1,
                Err(error) if error == Errno::NoSpc => {
                    facts.stopped_by = Some(error.name());
                    break;
                }
                Err(error) if error.is_lack() || error == Errno::NoDev => return Err(error.into()),
                Err(error) => return failed(format!("key {key}: {error} after {i} of {} calls", order.count)),
            }
            if gap_ns > 0 {
                self.sleep(gap_ns)?;
            }
            self.tick()?;
        }
        facts.requests_done = Some(done);
        if missing > 0 {
            facts.notes.push(format!("{missing} of {} keys were not there", done + missing));
        }
        Ok(())
    }
}

/// A new file, or an older one that is emptied, with these bytes, safe.
fn write_new(system: &mut dyn System, path: &[u8], data: &[u8]) -> Answer<()> {
    let fd = system.open(path, CREATE, FILE_PERMISSIONS)?;
    let done = write_and_sync(system, fd, data);
    let closed = system.close(fd);
    done.and(closed)
}

fn write_and_sync(system: &mut dyn System, fd: Fd, data: &[u8]) -> Answer<()> {
    let mut written = 0;
    while written < data.len() {
        written += system.write(fd, &data[written..])?;
    }
    system.fsync(fd)
}

/// A new file beside that of the key takes its place.
fn replace(system: &mut dyn System, key: &str, data: &[u8]) -> Answer<()> {
    let new = format!("{key}{NEW}");
    write_new(system, new.as_bytes(), data)?;
    system.rename(new.as_bytes(), key.as_bytes())?;
    sync_root(system)
}

/// Names are safe when their directory is.
fn sync_root(system: &mut dyn System) -> Answer<()> {
    let fd = system.open(b"/", OpenFlags { directory: true, ..OpenFlags::READ }, 0)?;
    let synced = system.fsync(fd);
    let closed = system.close(fd);
    synced.and(closed)
}

/// Opens, reads and closes a file; how many bytes it has.
fn read_all(system: &mut dyn System, path: &[u8]) -> Answer<u64> {
    let fd = system.open(path, OpenFlags::READ, 0)?;
    let mut buffer = [0; READ_BYTES];
    let mut bytes = 0;
    let read = loop {
        match system.read(fd, &mut buffer) {
            Ok(0) => break Ok(bytes),
            Ok(read) => bytes += read as u64,
            Err(error) => break Err(error),
        }
    };
    system.close(fd)?;
    read
}

/// The files of the root, read.
fn read_root(system: &mut dyn System) -> Answer<Vec<KeyEntry>> {
    let mut entries = Vec::new();
    for entry in system.readdir_path(b"/")? {
        let is_unfinished = entry.name.ends_with(NEW.as_bytes());
        if is_unfinished || entry.kind.is_some_and(|kind| kind != FileKind::File) {
            continue;
        }
        let value_bytes = read_all(system, &[b"/", entry.name.as_slice()].concat())?;
        entries.push(KeyEntry { key: entry.name, value_bytes });
    }
    Ok(entries)
}
