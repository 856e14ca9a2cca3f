//! One process of a job: the calls that it makes, one after the other.
//!
//! Decisions are made in the order of fio 3.33 (`backend.c`: `thread_main`, `do_io`; `io_u.c`: `get_io_u`,
//! `get_rw_ddir`; `filesetup.c`: `setup_files`); in another order the generators would draw other numbers. First comes
//! whether to sync, then the direction, the file, the offset, the size.

use super::error::JobError;
use super::file::FileState;
use super::job::{Access, Job, READ, WRITE};
use super::random::{name_hash, Distribution, SeedFor, Seeds, Skewed, Tausworthe};
use super::random_map::RandomMap;
use super::Replayer;
use crate::steps::Advice;
use std::collections::VecDeque;

mod request;

/// What a process does next. `file` is an index into [`Process::file_names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Open {
        file: usize,
    },
    Close {
        file: usize,
    },
    Unlink {
        file: usize,
    },
    /// posix_fadvise(2).
    Advise {
        file: usize,
        advice: Advice,
        offset: u64,
        bytes: u64,
    },
    Transfer {
        file: usize,
        write: bool,
        offset: u64,
        bytes: u64,
    },
    Sync {
        file: usize,
        data_only: bool,
    },
    /// Sleeps this long.
    Think {
        ns: u64,
    },
    /// Sleeps until this time since the process began.
    WaitUntil {
        ns: u64,
    },
}

/// How a file is laid out before the jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub file: usize,
    /// `true`: the file is written in full, in writes of `request_bytes`. `false`: it is made anew and is empty.
    pub fill: bool,
    pub size_bytes: u64,
    pub request_bytes: u64,
}

/// No file reaches beyond this offset.
const START_MAX: u64 = 1 << 60;
/// A random map with more blocks than this, 128 MiB of memory, is for a file larger than any partition here.
const MAP_BLOCKS_MAX: u64 = 1 << 30;

/// The state of a loop over the files.
enum Phase {
    /// The loop has not begun.
    LoopStart,
    Running,
    Ended,
}

pub struct Process {
    job: Job,
    /// Number of this process within the job, which is part of its files' names.
    pub subjob_index: u64,
    /// Number of this process over all jobs, from 1, which is part of its seeds.
    thread_number: u64,
    pub file_names: Vec<String>,
    files: Vec<FileState>,
    phase: Phase,
    queue: VecDeque<Action>,
    log: Option<Replayer>,
    seeds: Seeds,
    /// Whether fio repeats offsets. During the setup it does so even if `randseed` is given.
    repeat: bool,
    size_random: [Tausworthe; 2],
    mix_random: Tausworthe,
    file_random: Tausworthe,
    file_size_random: Tausworthe,
    block_random: Tausworthe,
    order_random: [Tausworthe; 2],
    /// The limit of a loop in bytes, as fio computes it.
    size_bytes: u64,
    loops_left: u64,
    next_file: usize,
    service_file: Option<usize>,
    service_left: u64,
    files_done: usize,
    last_was_sync: bool,
    mix_direction: usize,
    mix_until_issues: u64,
    issues: [u64; 2],
    issued_bytes: [u64; 2],
    completed: [u64; 2],
    completed_bytes: [u64; 2],
    loop_start_bytes: u64,
    think_at_requests: u64,
    requests_to_offset: u64,
    ended_early: bool,
}

impl Process {
    /// `thread_number` counts from 1 over the processes of all jobs. `log`: the log that `read_iolog` names.
    pub fn new(job: Job, subjob_index: u64, thread_number: u64, log: Option<Replayer>) -> Process {
        let mut job = job;
        if let Some((read, write)) = log.as_ref().map(Replayer::directions) {
            job.access = Access { read, write, random: false };
        }
        let file_names = match &log {
            Some(log) => log.file_names().to_vec(),
            None => names_of(&job, subjob_index),
        };
        let none = || Tausworthe::new(1, false);
        let mut process = Process {
            subjob_index,
            thread_number,
            files: file_names.iter().map(|_| FileState::default()).collect(),
            file_names,
            phase: Phase::LoopStart,
            queue: VecDeque::new(),
            log,
            seeds: Seeds::new(job.seed.unwrap_or(0x89), thread_number),
            repeat: job.repeat,
            size_random: [none(), none()],
            mix_random: none(),
            file_random: none(),
            file_size_random: none(),
            block_random: none(),
            order_random: [none(), none()],
            size_bytes: job.size_bytes,
            loops_left: job.loops_n,
            next_file: 0,
            service_file: None,
            service_left: 0,
            files_done: 0,
            last_was_sync: false,
            mix_direction: READ,
            mix_until_issues: 0,
            issues: [0; 2],
            issued_bytes: [0; 2],
            completed: [0; 2],
            completed_bytes: [0; 2],
            loop_start_bytes: 0,
            think_at_requests: 0,
            requests_to_offset: 1,
            ended_early: false,
            job,
        };
        process.seed();
        // Only after the first seeding does `randseed` switch `randrepeat` off (init.c, fixup_options).
        process.repeat &= process.job.seed.is_none();
        process
    }

    pub fn job(&self) -> &Job {
        &self.job
    }

    fn seed(&mut self) {
        let wide = self.job.wide_generator;
        if self.job.repeat_all {
            self.seeds.repeat_all();
        }
        let of = |seeds: &Seeds, what| Tausworthe::new(seeds.of(what), wide);
        self.size_random = [of(&self.seeds, SeedFor::ReadSize), of(&self.seeds, SeedFor::WriteSize)];
        self.mix_random = Tausworthe::new(self.seeds.of(SeedFor::Mix), false);
        self.file_random = of(&self.seeds, SeedFor::File);
        self.file_size_random = of(&self.seeds, SeedFor::FileSize);
        if self.job.access.random {
            if self.repeat {
                self.seeds.repeat_blocks();
            }
            self.block_random = of(&self.seeds, SeedFor::Block);
            let order = Tausworthe::new(self.seeds.of(SeedFor::Sequential), false);
            self.order_random = [order.clone(), order];
        }
    }

    /// Computes the sizes of the job's files, given the sizes that exist (`None`: there is no such file). Returns which
    /// files must be laid out before the run. Must be called once for each process, in the order of the jobs.
    ///
    /// Errors: sizes that are missing or contradict each other.
    pub fn set_up(&mut self, present_bytes: &[Option<u64>]) -> Result<Vec<Layout>, JobError> {
        if let Some(log) = &self.log {
            return Ok(log.layouts(present_bytes));
        }
        let job = &self.job;
        let present = |i: usize| present_bytes.get(i).copied().flatten().unwrap_or(0);
        let all_present: u64 = (0..self.files.len()).map(present).sum();
        if job.size_bytes == 0 && job.file_size_bytes.is_none() && all_present == 0 {
            return Err(JobError::NoSize);
        }
        let count = self.files.len() as u64;
        let least = job.least_request_bytes();
        let each = job.size_bytes / count;
        let mut larger = (job.size_bytes - each * count) / least;
        let start = job.offset.saturating_add(self.subjob_index.saturating_mul(job.increment_bytes));
        let start = start.min(START_MAX);
        let mut layouts = Vec::new();
        let mut total_bytes = 0;
        for i in 0..self.files.len() {
            let beyond = || JobError::Offset { offset: start, file: self.file_names[i].clone() };
            let real = present(i);
            let io_bytes = match job.file_size_bytes {
                None => {
                    let mut bytes = each;
                    if larger > 0 {
                        (larger, bytes) = (larger - 1, bytes + least);
                    }
                    if bytes == 0 {
                        bytes = real.checked_sub(start).ok_or_else(beyond)?;
                    }
                    bytes
                }
                Some((low, high)) if real < low || real > high => {
                    let drawn = match high - low {
                        0 => low,
                        range => {
                            let size = low + self.file_size_random.below(range);
                            size - size % least
                        }
                    };
                    drawn.checked_sub(start).ok_or_else(beyond)?
                }
                Some(_) => real.checked_sub(start).ok_or_else(beyond)?,
            };
            total_bytes += io_bytes;
            let file = &mut self.files[i];
            (file.offset, file.io_bytes, file.real_bytes) = (start, io_bytes, real.max(start + io_bytes));
            if start + io_bytes > real {
                let fill = job.access.read || job.overwrite;
                let request_bytes = job.sizes[WRITE].most_bytes;
                layouts.push(Layout { file: i, fill, size_bytes: file.real_bytes, request_bytes });
            }
        }
        if self.size_bytes == 0 || self.size_bytes > total_bytes {
            self.size_bytes = total_bytes;
        }
        if self.size_bytes < least {
            return Err(JobError::LessThanRequest { size_bytes: self.size_bytes, request_bytes: least });
        }
        self.make_maps()?;
        Ok(layouts)
    }

    fn make_maps(&mut self) -> Result<(), JobError> {
        let job = &self.job;
        let least = job.least_request_bytes();
        for (file, name) in self.files.iter_mut().zip(&self.file_names) {
            let range = file.real_bytes.min(file.io_bytes);
            if job.distribution != Distribution::Uniform {
                let seed = if self.repeat {
                    name_hash(name.as_bytes()).wrapping_mul(self.thread_number as u32)
                } else {
                    self.seeds.of(SeedFor::Block) as u32
                };
                file.skewed = Skewed::new(job.distribution, range.div_ceil(least).max(1), seed);
            } else if job.uses_random_map() {
                let blocks = range / least;
                if blocks > MAP_BLOCKS_MAX {
                    return Err(JobError::LargeMap { blocks });
                }
                file.map = Some(RandomMap::new(blocks));
            }
        }
        Ok(())
    }

    /// The next action, `elapsed_ns` after the process began; `None`: it has ended.
    pub fn next_action(&mut self, elapsed_ns: u64) -> Option<Action> {
        while self.queue.is_empty() {
            match self.phase {
                Phase::Ended => return None,
                Phase::LoopStart => self.start_loop(),
                Phase::Running => self.run(elapsed_ns),
            }
        }
        self.queue.pop_front()
    }

    /// Must be called after a transfer, with the number of bytes that were moved.
    pub fn transferred(&mut self, write: bool, bytes: u64) {
        let direction = if write { WRITE } else { READ };
        self.last_was_sync = false;
        self.completed[direction] += 1;
        self.completed_bytes[direction] += bytes;
    }

    /// Must be called after a sync.
    pub fn synced(&mut self) {
        self.last_was_sync = true;
    }

    /// Ends the process because of an error. Open files are still closed.
    pub fn fail(&mut self) {
        self.queue.clear();
        if !matches!(self.phase, Phase::Ended) {
            self.finish();
        }
    }

    fn start_loop(&mut self) {
        self.loop_start_bytes = self.completed_bytes.iter().sum();
        self.phase = Phase::Running;
    }

    fn limit_bytes(&self) -> u64 {
        match self.job.io_size_bytes {
            0 => self.size_bytes,
            limit => limit,
        }
    }

    fn all_requests_issued(&self) -> bool {
        let access = self.job.access;
        let issued = match (access.read, access.write) {
            (true, true) => self.issued_bytes[READ] + self.issued_bytes[WRITE],
            (_, true) => self.issued_bytes[WRITE],
            _ => self.issued_bytes[READ],
        };
        issued >= self.limit_bytes().saturating_mul(self.job.loops_n) || self.requests_exceeded()
    }

    fn requests_exceeded(&self) -> bool {
        let limit = self.job.requests_limit_n;
        limit > 0 && self.completed.iter().sum::<u64>() >= limit.saturating_mul(self.job.loops_n)
    }

    /// One iteration of `do_io`: queues a request with all that belongs to it, or the end of the loop.
    fn run(&mut self, elapsed_ns: u64) {
        let job = &self.job;
        // fio thinks after a request, also after the last one of a loop.
        let done: u64 = self.completed.iter().sum();
        if job.think_us > 0 && done >= self.think_at_requests + job.think_requests {
            self.think_at_requests = done;
            self.queue.push_back(Action::Think { ns: job.think_us * 1_000 });
            return;
        }
        let out_of_time = job.runtime_us > 0 && elapsed_ns >= job.runtime_us * 1_000;
        if out_of_time {
            self.ended_early = true;
            return self.end_loop();
        }
        if let Some(log) = &mut self.log {
            if log.next_actions(elapsed_ns, &mut self.queue) {
            } else {
                self.finish()
            }
            return;
        }
        if self.all_requests_issued() && !job.time_based {
            return self.end_loop();
        }
        if !self.queue_request() {
            self.end_loop();
        }
    }

    /// The end of `do_io`, then what `keep_running` decides.
    fn end_loop(&mut self) {
        let job = &self.job;
        let (end_fsync, write) = (job.end_fsync, job.access.write);
        if end_fsync && write && !self.last_was_sync && self.log.is_none() {
            for i in 0..self.files.len() {
                let was_open = self.files[i].open;
                if !was_open {
                    self.open(i);
                }
                self.queue.push_back(Action::Sync { file: i, data_only: false });
                if !was_open {
                    self.close(i);
                }
            }
        }
        let total_bytes: u64 = self.completed_bytes.iter().sum();
        let did_nothing = total_bytes == self.loop_start_bytes;
        if self.ended_early || did_nothing || !self.keeps_running(total_bytes) {
            return self.finish();
        }
        for i in 0..self.files.len() {
            self.close(i);
            self.files[i].done = false;
        }
        (self.files_done, self.last_was_sync, self.mix_until_issues) = (0, false, 0);
        if self.repeat {
            self.seed();
        }
        self.phase = Phase::LoopStart;
    }

    fn keeps_running(&mut self, total_bytes: u64) -> bool {
        if self.job.time_based {
            return true;
        }
        // The first loop was subtracted when it began.
        if self.loops_left > 1 {
            self.loops_left -= 1;
            return true;
        }
        let left_bytes = self.limit_bytes().saturating_sub(total_bytes);
        let all_done = self.files.iter().all(|file| file.done);
        let gives_up = all_done && self.job.io_size_bytes == 0;
        !self.requests_exceeded() && left_bytes > 0 && left_bytes >= self.job.most_request_bytes() && !gives_up
    }

    fn finish(&mut self) {
        for i in 0..self.files.len() {
            if self.job.unlink {
                self.queue.push_back(Action::Unlink { file: i });
            }
            self.close(i);
        }
        if let Some(log) = &mut self.log {
            log.close_all(&mut self.queue);
        }
        self.phase = Phase::Ended;
    }
}

/// Names of the files of process `subjob_index`: those of `filename`, or JOB.PROCESS.NUMBER.
fn names_of(job: &Job, subjob_index: u64) -> Vec<String> {
    let names: Vec<String> = if job.files.is_empty() {
        (0..job.files_n).map(|i| format!("{}.{subjob_index}.{i}", job.section)).collect()
    } else {
        job.files.clone()
    };
    match &job.directory {
        Some(directory) if !directory.is_empty() => names.iter().map(|name| format!("{directory}/{name}")).collect(),
        _ => names,
    }
}

#[cfg(test)]
mod tests;
