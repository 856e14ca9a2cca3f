//! What logs have beside their rows when several programs run at once: whose call it was, and how long it waited for the
//! others.

use super::RequestLog;
use crate::tally::Tally;
use ffslab_sim::Sim;

/// Columns of the programs, as long as the others.
#[derive(Clone, Debug, Default)]
pub struct OfPrograms {
    /// Whose call it was: index into `names`.
    pub program_index: Vec<u16>,
    /// The part of the latency in which the call waited until calls of other programs had returned.
    pub waited_ns: Vec<u64>,
    pub names: Vec<String>,
}

/// How long calls waited for those of other programs. It counts all calls, with and without a row.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// Number of calls that waited.
    pub calls: u64,
    pub most_ns: u64,
    /// For each program, by its number.
    pub by_program_ns: Vec<u64>,
}

impl Waiting {
    pub(super) fn add(&mut self, sim: &Sim) -> u64 {
        let mut waited_ns = 0;
        sim.bill_waits(|program, for_ns| {
            waited_ns += for_ns;
            if self.by_program_ns.len() <= program {
                self.by_program_ns.resize(program + 1, 0);
            }
            self.by_program_ns[program] += for_ns;
        });
        self.calls += u64::from(waited_ns > 0);
        self.most_ns = self.most_ns.max(waited_ns);
        waited_ns
    }

    pub fn sum_ns(&self) -> u64 {
        self.by_program_ns.iter().sum()
    }
}

/// The log of a program, which has so many steps.
pub struct LogOf {
    pub program: String,
    pub steps_n: usize,
    pub log: RequestLog,
}

/// Where the calls of a program stand in a joined log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub row_index: usize,
    /// What [`RequestLog::step_latency_us`] is to be asked for its first step.
    pub step_index: usize,
}

/// One log of all programs: the rows of the first one, then those of the next.
pub fn joined(logs: Vec<LogOf>) -> (RequestLog, Vec<Place>) {
    let mut all = RequestLog::keeping(usize::MAX);
    let mut of = OfPrograms::default();
    let mut places = Vec::with_capacity(logs.len());
    let is_counted = logs.iter().any(|one| !one.log.tallies.is_empty());
    let mut first_step = 0;
    for (number, LogOf { program, steps_n, mut log }) in logs.into_iter().enumerate() {
        places.push(Place { row_index: all.len(), step_index: first_step });
        if is_counted {
            if log.tallies.is_empty() {
                log.begin_to_count();
            }
            log.tallies.resize_with(steps_n, Tally::default);
            all.tallies.append(&mut log.tallies);
        }
        first_step += steps_n;
        of.names.push(program);
        of.program_index.resize(of.program_index.len() + log.len(), number as u16);
        of.waited_ns.append(&mut log.waited_ns);
        all.append(log, number);
    }
    all.of_programs = Some(of);
    (all, places)
}

impl RequestLog {
    /// As [`RequestLog::keeping`], of one of several programs.
    pub fn of_program(rows_max: usize) -> RequestLog {
        RequestLog { waiting: Some(Waiting::default()), ..RequestLog::keeping(rows_max) }
    }

    /// Appends the rows of a program's log.
    fn append(&mut self, mut log: RequestLog, number: usize) {
        let first_file = self.file_names.len() as u32;
        self.file.extend(log.file.iter().map(|file| first_file + file));
        self.file_names.append(&mut log.file_names);
        let causes: Vec<u16> = log.causes.iter().map(|&cause| super::place_in(&mut self.causes, cause)).collect();
        self.cause_index.extend(log.cause_index.iter().map(|&cause| causes[cause as usize]));
        self.step.append(&mut log.step);
        self.i.append(&mut log.i);
        self.op.append(&mut log.op);
        self.offset_bytes.append(&mut log.offset_bytes);
        self.bytes.append(&mut log.bytes);
        self.start_ns.append(&mut log.start_ns);
        self.latency_ns.append(&mut log.latency_ns);
        self.cause_ns.append(&mut log.cause_ns);
        self.flash_ns.append(&mut log.flash_ns);
        self.page_reads.append(&mut log.page_reads);
        self.page_programs.append(&mut log.page_programs);
        self.erases.append(&mut log.erases);
        self.slowest.join(log.slowest, number, first_file);
    }
}
