//! The processes of jobs while they run, and what they have measured.

use crate::requests::rows_of_a_variant;
use crate::tally::Latencies;
use crate::turns::Ready;
use ffslab_fs::Errno;
use ffslab_system::Fd;
use ffslab_workload::fio::{iolog, Process};
use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Sync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    Active(Ready),
    Ended,
}

/// A process of a job.
pub(super) struct Running {
    pub(super) process: Process,
    pub(super) job_index: usize,
    /// Number of the reporting group that the process belongs to.
    pub(super) group: u32,
    pub(super) state: State,
    pub(super) start_ns: u64,
    pub(super) descriptors: Vec<Option<Fd>>,
    /// For each file the position at which the last transfer ended, for engines that use the file position. `u64::MAX`
    /// means that it is not known.
    pub(super) positions: Vec<u64>,
    pub(super) measured: Measured,
    pub(super) log: Option<Log>,
}

/// What a process has measured so far.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) latencies: [Latencies; 3],
    pub(super) bytes: [u64; 3],
    pub(super) error: Option<Errno>,
    pub(super) ended_ns: u64,
}

impl Measured {
    /// The empty record of one of `processes_n` processes, which share the number of latencies that are kept.
    pub(super) fn of_one(processes_n: usize) -> Measured {
        let kept_max = rows_of_a_variant(processes_n);
        let latencies = [(); 3].map(|()| Latencies::keeping(kept_max));
        Measured { latencies, bytes: [0; 3], error: None, ended_ns: 0 }
    }

    pub(super) fn add(&mut self, kind: Kind, bytes: u64, latency_ns: u64) {
        self.latencies[kind as usize].add(latency_ns);
        self.bytes[kind as usize] += bytes;
    }
}

/// A log of I/O in version 3 of fio's format.
pub(super) struct Log {
    pub(super) name: String,
    pub(super) text: String,
}

impl Log {
    /// Begins the log of a process. When a job has several processes, the number of the process is appended to the
    /// name.
    pub(super) fn new(name: &str, subjob_index: u64, processes_n: u64, files: &[String]) -> Log {
        let name = if processes_n > 1 { format!("{name}.{subjob_index}") } else { name.to_string() };
        let mut log = Log { name, text: format!("{}\n", iolog::HEADS[1]) };
        files.iter().for_each(|file| log.line(0, file, "add", None));
        log
    }

    pub(super) fn line(&mut self, elapsed_ns: u64, file: &str, what: &str, range: Option<(u64, u64)>) {
        let at_us = elapsed_ns / 1_000;
        // Writing to a `String` cannot fail.
        let _ = match range {
            Some((offset, bytes)) => writeln!(self.text, "{at_us} {file} {what} {offset} {bytes}"),
            None => writeln!(self.text, "{at_us} {file} {what}"),
        };
    }
}
