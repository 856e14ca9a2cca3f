//! What each step does, call by call.

use super::{Facts, Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_fs::Errno;
use ffslab_linux::{Advice, Fd, OpenFlags};
use ffslab_workload::prng::SplitMix64;
use ffslab_workload::steps::{self, AppendSync, Failure, OpenFlag, Pattern, RequestOp, Step};

type Done = Result<Facts, Stop>;

/// Permissions of new files.
pub(super) const FILE_PERMISSIONS: u32 = 0o644;
const DIRECTORY_PERMISSIONS: u32 = 0o755;

/// Flags of `create`: O_WRONLY, O_CREAT, O_TRUNC.
const CREATE: OpenFlags = OpenFlags { create: true, truncate: true, ..OpenFlags::WRITE };

impl Runner<'_> {
    pub(super) fn execute(&mut self, step: &Step) -> Done {
        let facts = self.dispatch(step)?;
        self.tick()?;
        Ok(facts)
    }

    fn dispatch(&mut self, step: &Step) -> Done {
        let vfs = &mut self.stack.vfs;
        match step {
            Step::Mount(mount) => self.stack.mount(&mount.options).map_err(Stop::Failed).map(|()| Facts::default()),
            Step::Umount(_) => {
                let open: Vec<&str> = self.open.keys().map(String::as_str).collect();
                if !open.is_empty() {
                    return failed(format!("EBUSY: still open: {}: close them first", open.join(", ")));
                }
                plain(vfs.umount())
            }
            Step::Crash(_) => {
                self.crash();
                Ok(Facts::default())
            }
            Step::UbiAttach(_) => self.stack.ubi_attach().map_err(Stop::Failed).map(|()| Facts::default()),
            Step::UbiDetach(_) => self.stack.ubi_detach().map_err(Stop::Failed).map(|()| Facts::default()),
            Step::UbiMakeVolume(_) => self.stack.ubi_make_volume().map_err(Stop::Failed).map(|()| Facts::default()),
            Step::SyncDirectories(_) => plain(vfs.sync_directories()),
            Step::Create(create) => self.create(create),
            Step::Fill(fill) => self.fill(fill),
            Step::CreateFragmented(create) => self.create_fragmented(create),
            Step::Saturate(step) => self.saturate(step),
            Step::Occupy(step) => self.occupy(step),
            Step::Age(step) => self.age(step),
            Step::Uflip(step) => self.uflip(step),
            Step::Unlink(step) => plain(vfs.unlink(step.file.as_bytes())),
            Step::Rename(step) => self.rename(step),
            Step::Link(step) => self.link(step),
            Step::Truncate(step) => plain(vfs.truncate(step.file.as_bytes(), step.bytes.0)),
            Step::Sync(_) => plain(vfs.sync()),
            Step::DropCaches(_) => {
                vfs.drop_caches();
                Ok(Facts::default())
            }
            Step::Sleep(step) => {
                vfs.sleep_ns(step.time_us.ns());
                Ok(Facts::default())
            }
            Step::Open(open) => self.open(open),
            Step::Close(step) => {
                let fd = self.fd(&step.file)?;
                self.open.remove(&step.file);
                plain(self.stack.vfs.close(fd))
            }
            Step::Fsync(step) => {
                let fd = self.fd(&step.file)?;
                plain(self.stack.vfs.fsync(fd))
            }
            Step::Stat(step) => {
                let result = vfs.stat(step.file.as_bytes()).map(drop);
                as_expected(result, step.fails).map(|_| Facts::default())
            }
            Step::Fadvise(step) => {
                let fd = self.fd(&step.file)?;
                plain(self.stack.vfs.posix_fadvise(fd, 0, 0, advice(step.advice)))
            }
            Step::ReadAhead(step) => match step.window_kib.checked_mul(1024) {
                Some(bytes) => {
                    vfs.set_read_ahead_bytes(bytes);
                    Ok(Facts::default())
                }
                None => failed(format!("KiB = {} is too large", step.window_kib)),
            },
            Step::Requests(requests) => self.requests(requests),
            Step::Append(append) => self.append(append),
            Step::Mkdir(step) => plain(vfs.mkdir(step.dir.as_bytes(), DIRECTORY_PERMISSIONS)),
            Step::Readdir(step) => plain(vfs.readdir_path(&absolute(&step.dir)).map(drop)),
            Step::CreateMany(step) => self.create_many(step),
            Step::StatMany(step) => self.stat_many(step),
            Step::ReadMany(step) => self.read_many(step),
            Step::UnlinkMany(step) => self.unlink_many(step),
            Step::SetXattr(step) => self.set_xattr(step),
            Step::GetXattr(step) => self.get_xattr(step),
            Step::ListXattr(step) => plain(vfs.listxattr(&absolute(&step.file)).map(drop)),
            Step::RemoveXattr(step) => {
                let result = vfs.removexattr(&absolute(&step.file), step.name.as_bytes());
                as_expected(result, step.fails).map(|_| Facts::default())
            }
            Step::Replay(step) => self.replay(step),
            Step::Fio(step) => self.fio(step),
            Step::Postmark(step) => self.postmark(step),
            Step::CopyIn(step) => self.copy_in(step),
            Step::SaveImage(step) => self.save_image(step),
            Step::MtdLoop(step) => self.mtd_loop(step),
            Step::Load(step) => self.load(step),
        }
    }

    pub(super) fn fd(&self, file: &str) -> Result<Fd, Stop> {
        self.open.get(file).copied().ok_or_else(|| {
            let open: Vec<&str> = self.open.keys().map(String::as_str).collect();
            let known = if open.is_empty() { "no file is".to_string() } else { format!("open: {}", open.join(", ")) };
            Stop::Failed(format!("\"{file}\" is not open ({known}): an open step must come before"))
        })
    }

    fn open(&mut self, step: &steps::Open) -> Done {
        if self.open.contains_key(&step.file) {
            return failed("it is open already: close it first".to_string());
        }
        let has = |flag| step.flags.contains(&flag);
        let flags = OpenFlags {
            read: has(OpenFlag::Rdonly) || has(OpenFlag::Rdwr),
            write: has(OpenFlag::Wronly) || has(OpenFlag::Rdwr),
            create: has(OpenFlag::Create),
            truncate: has(OpenFlag::Truncate),
            append: has(OpenFlag::Append),
            sync: has(OpenFlag::Sync),
            direct: has(OpenFlag::Direct),
            unnamed: has(OpenFlag::Tmpfile),
            ..OpenFlags::READ
        };
        let path = match flags.unnamed {
            true => absolute(step.file.rsplit_once('/').map_or("", |(directory, _)| directory)),
            false => step.file.clone().into_bytes(),
        };
        let result = self.stack.vfs.open(&path, flags, FILE_PERMISSIONS);
        if let Some(fd) = as_expected(result, step.fails)? {
            self.open.insert(step.file.clone(), fd);
        }
        Ok(Facts::default())
    }

    pub(super) fn create(&mut self, step: &steps::Create) -> Done {
        let fd = self.stack.vfs.open(step.file.as_bytes(), CREATE, FILE_PERMISSIONS).map_err(refused)?;
        let written = match step.fails {
            Some(_) => {
                let bytes = step.bytes.0.min(step.request_bytes.0) as usize;
                let result = self.stack.vfs.pwrite(fd, self.content.take(bytes), 0);
                as_expected(result, step.fails)?;
                0
            }
            None => {
                let (written, error) = self.write_on(fd, step.request_bytes.0, Some(step.bytes.0))?;
                if let Some(error) = error {
                    return failed(self.short_of(error, written, step.bytes.0));
                }
                written
            }
        };
        self.stack.vfs.close(fd).map_err(refused)?;
        Ok(Facts { bytes_accepted: Some(written), user_written_bytes: written, ..Facts::default() })
    }

    pub(super) fn fill(&mut self, step: &steps::Fill) -> Done {
        let fd = self.stack.vfs.open(step.file.as_bytes(), CREATE, FILE_PERMISSIONS).map_err(refused)?;
        let (written, error) = self.write_on(fd, step.request_bytes.0, None)?;
        match error {
            Some(Errno::NoSpc) => {}
            Some(error) => return failed(format!("{error} after {}", size(written))),
            None => return failed(format!("the file has its largest size, {}, and space is left", size(written))),
        }
        self.stack.vfs.close(fd).map_err(refused)?;
        Ok(Facts { bytes_accepted: Some(written), user_written_bytes: written, ..Facts::default() })
    }

    /// Writes from offset 0 on in requests of `request_bytes` until `bytes` are written (`None`: the largest file) or a
    /// write fails. A short write is continued from where it stopped.
    fn write_on(&mut self, fd: Fd, request_bytes: u64, bytes: Option<u64>) -> Result<(u64, Option<Errno>), Stop> {
        let end = match bytes {
            Some(bytes) => bytes,
            None => self.stack.vfs.fs().map_or(0, |fs| fs.file_bytes_max()),
        };
        let mut at = 0;
        while at < end {
            let request_end = (at + request_bytes).min(end);
            while at < request_end {
                let data = self.content.take((request_end - at) as usize);
                match self.stack.vfs.pwrite(fd, data, at) {
                    Ok(written) => at += written as u64,
                    Err(error) => return Ok((at, Some(error))),
                }
            }
            self.tick()?;
        }
        Ok((at, None))
    }

    fn create_fragmented(&mut self, step: &steps::CreateFragmented) -> Done {
        let mut prng = SplitMix64::new(step.seed);
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < step.bytes.0 {
            let bytes = (512u64 << prng.below(4)).min(step.bytes.0 - at);
            pieces.push((at, bytes));
            at += bytes;
        }
        prng.shuffle(&mut pieces);
        let fd = self.stack.vfs.open(step.file.as_bytes(), CREATE, FILE_PERMISSIONS).map_err(refused)?;
        for (done, &(at, bytes)) in pieces.iter().enumerate() {
            let mut written = 0;
            while written < bytes {
                let data = self.content.take((bytes - written) as usize);
                written += self
                    .stack
                    .vfs
                    .pwrite(fd, data, at + written)
                    .map_err(|error| Stop::Failed(format!("{error} after {done} of {} pieces", pieces.len())))?
                    as u64;
            }
            self.stack.vfs.fsync(fd).map_err(refused)?;
            self.tick()?;
        }
        self.stack.vfs.close(fd).map_err(refused)?;
        let fragment_pieces = Some(pieces.len() as u64);
        Ok(Facts { fragment_pieces, user_written_bytes: step.bytes.0, ..Facts::default() })
    }

    fn requests(&mut self, step: &steps::Requests) -> Done {
        let fd = self.fd(&step.file)?;
        let request_bytes = step.request_bytes.0;
        let range_bytes = match step.range_bytes {
            Some(range) => range.0,
            None => self.stack.vfs.fstat(fd).map_err(refused)?.size_bytes,
        };
        let slots = range_bytes / request_bytes;
        if slots == 0 {
            let text =
                format!("the file has {range_bytes} B: not one request of {request_bytes} B fits, write range_B");
            return failed(text);
        }
        let mut prng = SplitMix64::new(step.seed);
        let file = self.log.file_index(&step.file);
        let mut facts = Facts::default();
        let (mut done, mut accepted) = (0, 0);
        let op = if step.op == RequestOp::Read { CallOp::Read } else { CallOp::Write };
        for i in 0..step.count {
            let slot = match step.pattern {
                Pattern::Sequential => i % slots,
                Pattern::Random => prng.below(slots),
            };
            let offset_bytes = slot * request_bytes;
            let data = match step.op {
                RequestOp::Write => self.content.take(request_bytes as usize),
                RequestOp::Read => &[],
            };
            let start_ns = self.stack.sim.now_ns() - self.start_ns;
            let (result, latency_ns) = self.stack.vfs.timed(|vfs| match step.op {
                RequestOp::Read => vfs.read_discard(fd, offset_bytes, request_bytes as usize),
                RequestOp::Write => vfs.pwrite(fd, data, offset_bytes),
            });
            let bytes = result.unwrap_or(0) as u64;
            self.record(i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
            accepted += bytes;
            if let Err(error) = result {
                facts.stopped_by = Some(error.name());
                break;
            }
            done += 1;
            if step.gap_us.0 > 0 {
                self.stack.vfs.sleep_ns(step.gap_us.ns());
            }
            self.tick()?;
        }
        facts.requests_done = Some(done);
        facts.bytes_accepted = Some(accepted);
        match step.op {
            RequestOp::Read => facts.user_read_bytes = accepted,
            RequestOp::Write => facts.user_written_bytes = accepted,
        }
        Ok(facts)
    }

    fn append(&mut self, step: &steps::Append) -> Done {
        let fd = self.fd(&step.file)?;
        let bytes = step.request_bytes.0;
        let file = self.log.file_index(&step.file);
        let mut offset_bytes = self.stack.vfs.fstat(fd).map_err(refused)?.size_bytes;
        for i in 0..step.count {
            let data = self.content.take(bytes as usize);
            let start_ns = self.stack.sim.now_ns() - self.start_ns;
            let (result, latency_ns) = self.stack.vfs.timed(|vfs| {
                let written = vfs.pwrite(fd, data, offset_bytes)?;
                match step.sync {
                    AppendSync::Fsync => vfs.fsync(fd)?,
                    AppendSync::Fdatasync => vfs.fdatasync(fd)?,
                    AppendSync::Sync => vfs.sync()?,
                    AppendSync::None => {}
                }
                Ok(written as u64)
            });
            let written = result.map_err(|error: Errno| {
                let done = size(i * bytes);
                Stop::Failed(format!("{error} after {i} of {} appends ({done}){}", step.count, self.holds(error)))
            })?;
            self.record(i, Call { op: CallOp::Append, file, offset_bytes, bytes: written, start_ns, latency_ns });
            offset_bytes += written;
            self.tick()?;
        }
        let accepted = bytes * step.count;
        let requests_done = Some(step.count);
        Ok(Facts { bytes_accepted: Some(accepted), requests_done, user_written_bytes: accepted, ..Facts::default() })
    }

    /// Keeps a call of the measurement.
    pub(crate) fn record(&mut self, i: u64, call: Call) {
        if self.measuring {
            self.log.push(self.step, i, call);
        }
    }

    /// "ENOSPC after 1.2 MiB of 5.0 MiB: the partition holds ..."
    pub(super) fn short_of(&self, error: Errno, written: u64, wanted: u64) -> String {
        format!("{} after {} of {}{}", error.name(), size(written), size(wanted), self.holds(error))
    }

    /// What to add to a message when the partition is too small.
    pub(super) fn holds(&self, error: Errno) -> String {
        if error != Errno::NoSpc {
            return String::new();
        }
        let blocks = u64::from(self.stack.partition_blocks());
        let bytes = size(blocks * self.stack.block_bytes());
        format!(": the partition holds {bytes} ({blocks} blocks) with the file system's own needs; enlarge it or write less")
    }
}

/// Names are relative to the mount point, so "" is the root.
pub(super) fn absolute(name: &str) -> Vec<u8> {
    format!("/{name}").into_bytes()
}

/// A size as people read it.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..=1023 => format!("{bytes} B"),
        1024..=1_048_575 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

pub(super) fn failed<T>(text: String) -> Result<T, Stop> {
    Err(Stop::Failed(text))
}

pub(super) fn refused(error: Errno) -> Stop {
    Stop::Failed(error.to_string())
}

pub(super) fn plain(result: Result<(), Errno>) -> Done {
    result.map(|()| Facts::default()).map_err(refused)
}

/// Checks a result against the error in which the step is to end. `None`: it ended so.
pub(super) fn as_expected<T>(result: Result<T, Errno>, fails: Option<Failure>) -> Result<Option<T>, Stop> {
    match (result, fails) {
        (Ok(value), None) => Ok(Some(value)),
        (Err(error), None) => Err(refused(error)),
        (Err(error), Some(expected)) if error.name() == expected.name() => Ok(None),
        (Err(error), Some(expected)) => failed(format!("{error}, but `fails` says {}", expected.name())),
        (Ok(_), Some(expected)) => failed(format!("it succeeded, but `fails` says {}", expected.name())),
    }
}

fn advice(advice: steps::Advice) -> Advice {
    match advice {
        steps::Advice::Normal => Advice::Normal,
        steps::Advice::Random => Advice::Random,
        steps::Advice::Sequential => Advice::Sequential,
        steps::Advice::WillNeed => Advice::WillNeed,
        steps::Advice::DontNeed => Advice::DontNeed,
    }
}
