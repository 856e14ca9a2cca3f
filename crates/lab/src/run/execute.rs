//! What each step does, call by call.

use super::facts::{Facts, StepOutcome};
use super::pace::after_call_ns;
use super::runner::{OpenFile, RunError, Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_fs::Errno;
use ffslab_system::{Answer, Fd, OpenFlags, Refusal, System, SystemError};
use ffslab_text::words::size_text;
use ffslab_workload::prng::SplitMix64;
use ffslab_workload::steps::{self, ContentName, Failure, OpenFlag, Step};

type Done = Result<Facts, Stop>;

/// What random bytes mean where a file system compresses.
const RANDOM_BYTES: &str =
    "what the steps wrote are random bytes, which no compressor shrinks, as of pictures or encrypted files: \
    `content` or `content_file` of a step says what yours are like";

/// Permissions of new files.
pub(super) const FILE_PERMISSIONS: u32 = 0o644;
const DIRECTORY_PERMISSIONS: u32 = 0o755;

/// Flags of `create`: O_WRONLY, O_CREAT, O_TRUNC.
pub(super) const CREATE: OpenFlags = OpenFlags { create: true, truncate: true, ..OpenFlags::WRITE };

impl Runner<'_> {
    pub(crate) fn step(&mut self, phase: &str, index: usize, step: &Step) -> Result<StepOutcome, RunError> {
        self.after_call_ns = self.pace.map_or(0, |costs| after_call_ns(costs, step));
        let begun = self.step_begins(index);
        self.system.sim().step_begins(|| step.title(), step.name());
        let done = self.execute(step).and_then(|facts| self.settle().map(|()| facts));
        let facts = done.map_err(|error| match error {
            Stop::Failed(text) => {
                let why = self.system.failure().map_or_else(String::new, |why| format!(": {why}"));
                RunError::Step(format!("{phase} step {} ({}): {text}{why}", index + 1, step.title()))
            }
            Stop::Interrupted => RunError::Interrupted,
        })?;
        Ok(self.step_ends(begun, facts))
    }

    /// Lays out what the measured steps need to find, at the end of the setup.
    pub(crate) fn prepare(&mut self, measure: &[Step]) -> Result<(), RunError> {
        self.prepare_replays(measure)?;
        self.prepare_jobs(measure)
    }

    /// Does a step as a part of one that has begun.
    pub(crate) fn part_of_step(&mut self, step: &Step) -> Result<Facts, RunError> {
        self.execute(step).map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("{}: {text}", step.title())),
            Stop::Interrupted => RunError::Interrupted,
        })
    }

    pub(super) fn execute(&mut self, step: &Step) -> Done {
        let mut facts = self.dispatch(step)?;
        if step.writes_random() && facts.user_written_bytes > 0 {
            facts.where_compressed = Some(RANDOM_BYTES.to_string());
        }
        self.tick()?;
        Ok(facts)
    }

    fn dispatch(&mut self, step: &Step) -> Done {
        self.content.give_file(self.traces.content_of(step));
        self.content.give_mix(None);
        let system = &mut *self.system;
        match step {
            Step::Mount(mount) => no_facts(system.mount(&mount.options)),
            Step::Umount(_) => {
                let open: Vec<&str> = self.open.keys().map(String::as_str).collect();
                if !open.is_empty() {
                    return failed(format!("EBUSY: still open: {}: close them first", open.join(", ")));
                }
                let was_mounted = system.is_mounted();
                match system.umount() {
                    Err(refusal) if !was_mounted => {
                        failed(format!("{}: nothing is mounted: a mount step must come before", refusal.name()))
                    }
                    done => plain(done),
                }
            }
            Step::Crash(_) => no_facts(self.crash()),
            Step::Boot(boot) => no_facts(self.boot(&boot.options)),
            Step::Format(_) => no_facts(system.format()),
            Step::UbiAttach(_) => no_facts(system.ubi_attach()),
            Step::UbiDetach(_) => no_facts(system.ubi_detach()),
            Step::UbiMakeVolume(_) => no_facts(system.ubi_make_volume()),
            Step::SyncDirectories(_) => plain(self.call(CallOp::Sync, "", |system| system.sync_directories())),
            Step::Create(create) => self.create(create),
            Step::Fill(fill) => self.fill(fill),
            Step::CreateFragmented(create) => self.create_fragmented(create),
            Step::Saturate(step) => self.saturate(step),
            Step::Occupy(step) => self.occupy(step),
            Step::Age(step) => self.age(step),
            Step::Uflip(step) => self.uflip(step),
            Step::Mmap(step) => self.mmap(step),
            Step::Unlink(step) => self.unlink(&step.file),
            Step::Rename(step) => self.rename(step),
            Step::Link(step) => self.link(step),
            Step::Truncate(step) if step.by_descriptor => self.cut_open(&step.file, step.bytes.0, step.fails),
            Step::Truncate(step) => {
                let (file, bytes) = (&step.file, step.bytes.0);
                let cut = self.call(CallOp::Truncate, file, |system| system.truncate(file.as_bytes(), bytes));
                expected(cut, step.fails)
            }
            Step::Sync(_) => self.sync(),
            Step::DropCaches(_) => plain(system.drop_caches()),
            Step::Sleep(step) => {
                self.sleep(step.time_us.ns())?;
                Ok(Facts::default())
            }
            Step::Shelf(step) => no_facts(system.lies(step.days * 86_400.0, step.celsius)),
            Step::Scrub(_) => {
                // Nothing may have been mounted yet.
                ffslab_mtd::causes::register(system.sim());
                no_facts(system.scrub())
            }
            Step::Open(open) => self.open(open),
            Step::Close(step) => {
                let fd = self.fd(&step.file)?;
                self.open.remove(&step.file);
                plain(self.close(fd, &step.file))
            }
            Step::Fsync(step) => {
                let fd = self.fd(&step.file)?;
                let synced = self.call(CallOp::Sync, &step.file, |system| system.fsync(fd));
                expected(synced, step.fails)
            }
            Step::Stat(step) => {
                let result = self.call(CallOp::Stat, &step.file, |system| system.stat(step.file.as_bytes()));
                expected(result, step.fails)
            }
            Step::Fadvise(step) => {
                let fd = self.fd(&step.file)?;
                plain(self.call(CallOp::Other, &step.file, |system| system.advise(fd, 0, 0, step.advice)))
            }
            Step::Trim(step) => {
                let fd = self.fd(&step.file)?;
                let (at, bytes) = (step.offset.0, step.bytes.0);
                plain(self.call(CallOp::Other, &step.file, |system| system.trim(fd, at, bytes)))
            }
            Step::ReadAhead(step) => match step.window_kib.checked_mul(1024) {
                Some(bytes) => plain(system.set_read_ahead_bytes(bytes)),
                None => failed(format!("KiB = {} is too large", step.window_kib)),
            },
            Step::Requests(requests) => self.requests(requests),
            Step::Append(append) => self.append(append),
            Step::Mkdir(step) => {
                let made = |system: &mut dyn System| system.mkdir(step.dir.as_bytes(), DIRECTORY_PERMISSIONS);
                plain(self.call(CallOp::Mkdir, &step.dir, made))
            }
            Step::Rmdir(step) => {
                let removed = self.call(CallOp::Rmdir, &step.dir, |system| system.rmdir(step.dir.as_bytes()));
                expected(removed, step.fails)
            }
            Step::Readdir(step) => {
                let path = absolute(&step.dir);
                let names = self.call(CallOp::Readdir, &step.dir, |system| system.readdir_path(&path))?;
                Ok(Facts { entries: Some(names.len() as u64), ..Facts::default() })
            }
            Step::CreateMany(step) => self.create_many(step),
            Step::StatMany(step) => self.stat_many(step),
            Step::ReadMany(step) => self.read_many(step),
            Step::UnlinkMany(step) => self.unlink_many(step),
            Step::Set(step) => self.set_keys(step),
            Step::Get(step) => self.get_keys(step),
            Step::Delete(step) => self.delete_keys(step),
            Step::Iterate(_) => self.iterate_keys(),
            Step::SetXattr(step) => self.set_xattr(step),
            Step::GetXattr(step) => self.get_xattr(step),
            Step::ListXattr(_) | Step::RemoveXattr(_) => self.attributes(step),
            Step::Symlink(_)
            | Step::Readlink(_)
            | Step::Chmod(_)
            | Step::Chown(_)
            | Step::Utimens(_)
            | Step::Ftruncate(_)
            | Step::Fallocate(_)
            | Step::Statfs(_) => self.attributes(step),
            Step::Replay(step) => self.replay(step),
            Step::Fio(step) => self.fio(step),
            Step::Postmark(step) => self.postmark(step),
            Step::Sqlite(step) => self.sqlite(step),
            Step::CopyIn(step) => self.copy_in(step),
            Step::SaveImage(step) => self.save_image(step),
            Step::MtdLoop(step) => self.mtd_loop(step),
            Step::Load(step) => self.load(step),
            Step::Repeat(step) => self.repeat(step),
            Step::Stage(step) => self.begin_stage(step),
            Step::ReadRaw(step) => self.read_raw(step),
            Step::UbiRead(step) => self.ubi_read(step),
            Step::ReadFiles(step) => self.read_files(step),
            Step::UnlinkOldest(step) => self.unlink_oldest(step),
        }
    }

    pub(super) fn fd(&self, file: &str) -> Result<Fd, Stop> {
        self.open_file(file).map(|open| open.fd)
    }

    pub(super) fn open_file(&self, file: &str) -> Result<OpenFile, Stop> {
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
        let path = if flags.unnamed {
            absolute(step.file.rsplit_once('/').map_or("", |(directory, _)| directory))
        } else {
            step.file.clone().into_bytes()
        };
        let result = self.call(CallOp::Open, &step.file, |system| system.open(&path, flags, FILE_PERMISSIONS));
        if let Some(fd) = as_expected(result, step.fails)? {
            let position = (!flags.append).then_some(0);
            self.open.insert(step.file.clone(), OpenFile { fd, position, appends: flags.append });
        }
        Ok(Facts::default())
    }

    pub(super) fn create(&mut self, step: &steps::Create) -> Done {
        let fd = self.open_new(&step.file)?;
        let open = (fd, &step.file[..]);
        let (written, error) = self.write_on(open, step.request_bytes.0, step.bytes.0, step.content)?;
        match (error, step.fails) {
            (Some(error), None) => return failed(self.short_of(error, written, step.bytes.0)),
            (error, expected) => as_expected(error.map_or(Ok(()), Err), expected)?,
        };
        self.close(fd, &step.file)?;
        Ok(Facts { bytes_accepted: Some(written), user_written_bytes: written, ..Facts::default() })
    }

    pub(super) fn fill(&mut self, step: &steps::Fill) -> Done {
        let fd = self.open_new(&step.file)?;
        let (open, end) = ((fd, &step.file[..]), self.system.file_bytes_max());
        let (written, error) = self.write_on(open, step.request_bytes.0, end, step.content)?;
        match error.map(Refusal::errno) {
            Some(Errno::NoSpc) => {}
            Some(error) => return failed(format!("{error} after {}", size_text(written))),
            None => return failed(format!("the file has its largest size, {}, and space is left", size_text(written))),
        }
        self.close(fd, &step.file)?;
        Ok(Facts { bytes_accepted: Some(written), user_written_bytes: written, ..Facts::default() })
    }

    /// Writes from offset 0 to `end` in requests of `request_bytes`, or until a write fails. A short write is continued from
    /// where it stopped.
    pub(super) fn write_on(
        &mut self,
        (fd, file): (Fd, &str),
        request_bytes: u64,
        end: u64,
        content: ContentName,
    ) -> Result<(u64, Option<Refusal>), Stop> {
        let mut at = 0;
        while at < end {
            let request_end = (at + request_bytes).min(end);
            while at < request_end {
                let begun_ns = self.call_begins();
                let data = self.content.take_of(content, (request_end - at) as usize);
                let result = self.system.write(fd, data);
                self.call_ends((CallOp::Write, file, at), begun_ns, result.map_or(0, |written| written as u64));
                match result {
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
        let fd = self.open_new(&step.file)?;
        for (done, &(at, bytes)) in pieces.iter().enumerate() {
            let mut written = 0;
            while written < bytes {
                let begun_ns = self.call_begins();
                let data = self.content.take((bytes - written) as usize);
                let moved = self.system.pwrite(fd, data, at + written);
                let row = (CallOp::Write, &step.file[..], at + written);
                self.call_ends(row, begun_ns, moved.map_or(0, |moved| moved as u64));
                let after = |error| Stop::Failed(format!("{error} after {done} of {} pieces", pieces.len()));
                written += moved.map_err(after)? as u64;
            }
            self.call(CallOp::Sync, &step.file, |system| system.fsync(fd))?;
            self.tick()?;
        }
        self.close(fd, &step.file)?;
        let fragment_pieces = Some(pieces.len() as u64);
        Ok(Facts { fragment_pieces, user_written_bytes: step.bytes.0, ..Facts::default() })
    }

    /// Keeps a call of the measurement.
    pub(crate) fn record(&mut self, i: u64, call: Call) {
        if self.measuring {
            self.log.push(self.step, i, call, self.system.sim());
            self.prepare_next_call();
        }
    }

    /// "ENOSPC after 1.2 MiB of 5.0 MiB: the partition holds ..."
    pub(super) fn short_of(&self, error: Refusal, written: u64, wanted: u64) -> String {
        format!("{} after {} of {}{}", error.name(), size_text(written), size_text(wanted), self.holds(error))
    }

    /// What to add to a message when the medium is too small.
    pub(super) fn holds(&self, error: Refusal) -> String {
        match error.errno() {
            Errno::NoSpc => format!(": {}", self.system.too_small()),
            _ => String::new(),
        }
    }
}

/// Names are relative to the mount point, so "" is the root.
pub(super) fn absolute(name: &str) -> Vec<u8> {
    format!("/{name}").into_bytes()
}

pub(super) fn failed<T>(text: String) -> Result<T, Stop> {
    Err(Stop::Failed(text))
}

pub(super) fn plain(result: Answer<()>) -> Done {
    Ok(result.map(|()| Facts::default())?)
}

fn no_facts(result: Result<(), SystemError>) -> Done {
    Ok(result.map(|()| Facts::default())?)
}

/// As [`as_expected`], for a step of which nothing is told.
pub(super) fn expected<T>(result: Answer<T>, fails: Option<Failure>) -> Done {
    as_expected(result, fails).map(|_| Facts::default())
}

/// Checks a result against the error in which the step is to end. `None`: it ended so.
pub(super) fn as_expected<T>(result: Answer<T>, fails: Option<Failure>) -> Result<Option<T>, Stop> {
    match (result, fails) {
        (Ok(value), None) => Ok(Some(value)),
        (Err(error), None) => Err(error.into()),
        (Err(error), Some(expected)) if error.name() == expected.name() => Ok(None),
        (Err(error), Some(expected)) => failed(format!("{error}, but `fails` says {}", expected.name())),
        (Ok(_), Some(expected)) => failed(format!("it succeeded, but `fails` says {}", expected.name())),
    }
}
