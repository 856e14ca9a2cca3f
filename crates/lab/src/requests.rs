//! One row per measured call. The rows are kept as columns because runs make millions of them. Calls beyond a limit
//! have no row and are only counted.

mod programs;

pub use programs::{joined, LogOf, OfPrograms, Place, Waiting};

pub use crate::call::{Call, CallOp};
use crate::slowest::{Cause, Cost, SlowCall, Slowest};
use crate::stats::LatencyUs;
use crate::tally::Tally;
use ffslab_sim::{CallDone, Sim, CALLER, OTHER_PROGRAM};
use std::collections::BTreeMap;
use std::ops::Range;

/// The most rows that a run keeps, for all its variants together, unless the experiment gives a limit.
pub const ROWS_MAX: usize = 2_000_000;
/// The least number of rows that a variant may keep, however many variants there are.
const VARIANT_ROWS_LEAST: usize = 1_000;

/// The most rows that each of `variants_n` variants keeps.
pub fn rows_of_a_variant(variants_n: usize) -> usize {
    (ROWS_MAX / variants_n.max(1)).max(VARIANT_ROWS_LEAST)
}

/// Calls in the order in which they ran. All columns have the same length. A row takes 75 bytes.
#[derive(Clone, Debug)]
pub struct RequestLog {
    pub step: Vec<u32>,
    /// Number of the call within its step.
    pub i: Vec<u32>,
    /// What numbers are reckoned from: a step within a loop begins with 0 again, and its calls are those of the loop.
    pub(crate) first_i: u64,
    pub op: Vec<CallOp>,
    /// Index into `file_names`.
    pub file: Vec<u32>,
    pub offset_bytes: Vec<u64>,
    pub bytes: Vec<u64>,
    /// Virtual time since the start of the measurement.
    pub start_ns: Vec<u64>,
    pub latency_ns: Vec<u64>,
    /// What took longest of each call: index into `causes`.
    pub cause_index: Vec<u16>,
    pub cause_ns: Vec<u64>,
    /// Time of chip and driver in each call.
    pub flash_ns: Vec<u64>,
    pub page_reads: Vec<u32>,
    pub page_programs: Vec<u32>,
    pub erases: Vec<u32>,
    pub file_names: Vec<String>,
    /// The first one, `None`, stands for calls that took no time.
    pub causes: Vec<Option<Cause>>,
    pub slowest: Slowest,
    /// `None`: one program runs, or this is the log of one of several.
    pub of_programs: Option<OfPrograms>,
    /// Of one of several programs: the waits of all calls, and of each row. `None`, and empty: it runs alone.
    pub waiting: Option<Waiting>,
    waited_ns: Vec<u64>,
    known: BTreeMap<String, u32>,
    rows_max: usize,
    /// The latencies of all calls by step. Empty as long as every call has a row.
    tallies: Vec<Tally>,
}

impl Default for RequestLog {
    fn default() -> RequestLog {
        RequestLog::keeping(ROWS_MAX)
    }
}

impl RequestLog {
    /// A log that has rows for the first `rows_max` calls and counts further ones by step.
    pub fn keeping(rows_max: usize) -> RequestLog {
        RequestLog {
            step: Vec::new(),
            i: Vec::new(),
            first_i: 0,
            op: Vec::new(),
            file: Vec::new(),
            offset_bytes: Vec::new(),
            bytes: Vec::new(),
            start_ns: Vec::new(),
            latency_ns: Vec::new(),
            cause_index: Vec::new(),
            cause_ns: Vec::new(),
            flash_ns: Vec::new(),
            page_reads: Vec::new(),
            page_programs: Vec::new(),
            erases: Vec::new(),
            causes: vec![None],
            slowest: Slowest::default(),
            of_programs: None,
            waiting: None,
            waited_ns: Vec::new(),
            file_names: Vec::new(),
            known: BTreeMap::new(),
            // Limited because the number of a call within its step is kept in 32 bits.
            rows_max: rows_max.min(u32::MAX as usize),
            tallies: Vec::new(),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.step.len()
    }

    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    /// The number of a file name in `file_names`. A new name is added.
    pub fn file_index(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.known.get(name) {
            return index;
        }
        let index = self.file_names.len() as u32;
        self.file_names.push(name.to_string());
        self.known.insert(name.to_string(), index);
        index
    }

    /// Adds a call that has just ended on the machine `sim`; its number within its step is `i`. Beyond the limit of rows
    /// it is only counted.
    pub fn push(&mut self, step: u32, i: u64, mut call: Call, sim: &Sim) {
        let waited_ns = match &mut self.waiting {
            Some(_) if sim.bill_is_void() => return,
            Some(waiting) => {
                sim.close_bill();
                // It began when the program was ready to make it.
                let late_ns = sim.bill_late_ns();
                (call.start_ns, call.latency_ns) = (call.start_ns.saturating_sub(late_ns), call.latency_ns + late_ns);
                waiting.add(sim)
            }
            None => 0,
        };
        if sim.is_observed() {
            self.show_end(&call, sim);
        }
        let i = self.first_i + i;
        self.slowest.add(step, i, call, sim);
        if self.len() == self.rows_max {
            self.count(step, call.latency_ns);
            return;
        }
        self.step.push(step);
        self.i.push(i as u32);
        self.op.push(call.op);
        self.file.push(call.file);
        self.offset_bytes.push(call.offset_bytes);
        self.bytes.push(call.bytes);
        self.start_ns.push(call.start_ns);
        self.latency_ns.push(call.latency_ns);
        let mut cost = Cost::of_last_call(sim);
        if self.waiting.is_some() {
            self.waited_ns.push(waited_ns);
            if waited_ns > cost.main.map_or(0, |(_, longest_ns)| longest_ns) {
                cost.main = Some(((&CALLER, &OTHER_PROGRAM), waited_ns));
            }
        }
        let (cause, cause_ns) =
            cost.main.map_or((0, 0), |(cause, time_ns)| (place_in(&mut self.causes, Some(cause)), time_ns));
        self.cause_index.push(cause);
        self.cause_ns.push(cause_ns);
        self.flash_ns.push(cost.flash_ns);
        self.page_reads.push(cost.page_reads);
        self.page_programs.push(cost.page_programs);
        self.erases.push(cost.erases);
    }

    /// Tells who watches the machine what the call was.
    #[cold]
    fn show_end(&self, call: &Call, sim: &Sim) {
        sim.call_ends(&CallDone {
            name: call.op.name(),
            file: self.file_names.get(call.file as usize).map_or("", String::as_str),
            offset_bytes: call.offset_bytes,
            bytes: call.bytes,
            writes: matches!(call.op, CallOp::Write | CallOp::Append | CallOp::Create | CallOp::Program),
        });
    }

    #[cold]
    fn begin_to_count(&mut self) {
        for (&step, &latency_ns) in self.step.iter().zip(&self.latency_ns) {
            tally_of(&mut self.tallies, step).add(latency_ns);
        }
    }

    fn count(&mut self, step: u32, latency_ns: u64) {
        if self.tallies.is_empty() {
            self.begin_to_count();
        }
        tally_of(&mut self.tallies, step).add(latency_ns);
    }

    /// The slowest calls, with the names of files and programs.
    pub fn slowest_calls(&self) -> Vec<SlowCall> {
        let programs = self.of_programs.as_ref().map_or(&[][..], |of| &of.names);
        self.slowest.summaries(&self.file_names, programs)
    }

    /// Number of all calls, with and without a row.
    pub fn calls(&self) -> u64 {
        self.tally().map_or(self.len() as u64, |tally| tally.len())
    }

    /// The latencies of all calls. `None`: every call has a row, from which they can be taken.
    pub fn tally(&self) -> Option<Tally> {
        let (first, others) = self.tallies.split_first()?;
        let mut sum = first.clone();
        others.iter().for_each(|tally| sum.merge(tally));
        Some(sum)
    }

    pub fn latency_us(&self) -> LatencyUs {
        self.tally().map_or_else(|| LatencyUs::of(&self.latency_ns), |tally| tally.latency_us())
    }

    /// The latencies of a measured step, which has these rows.
    pub fn step_latency_us(&self, step: usize, rows: Range<usize>) -> LatencyUs {
        if self.tallies.is_empty() {
            LatencyUs::of(&self.latency_ns[rows])
        } else {
            self.tallies.get(step).map_or_else(LatencyUs::default, Tally::latency_us)
        }
    }
}

/// The place of `cause` among `causes`, which are few. A new one is added.
pub(crate) fn place_in(causes: &mut Vec<Option<Cause>>, cause: Option<Cause>) -> u16 {
    let place = causes.iter().position(|known| *known == cause).unwrap_or_else(|| {
        causes.push(cause);
        causes.len() - 1
    });
    place as u16
}

fn tally_of(tallies: &mut Vec<Tally>, step: u32) -> &mut Tally {
    let step = step as usize;
    if tallies.len() <= step {
        tallies.resize_with(step + 1, Tally::default);
    }
    &mut tallies[step]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    fn log_of(calls: u64, rows_max: usize) -> RequestLog {
        let mut log = RequestLog::keeping(rows_max);
        let file = log.file_index("a");
        let sim = Sim::new(SimConfig::default());
        for i in 0..calls {
            let call = Call { op: CallOp::Read, file, offset_bytes: 0, bytes: 1, start_ns: i, latency_ns: 1_000 + i };
            log.push((i / 100) as u32, i % 100, call, &sim);
        }
        log
    }

    #[test]
    fn calls_beyond_the_rows_are_counted_and_change_no_exact_figure() {
        let (all, few) = (log_of(300, 1_000), log_of(300, 120));
        assert_eq!((all.len(), all.calls(), few.len(), few.calls()), (300, 300, 120, 300));
        assert!(all.tally().is_none() && few.tally().is_some());
        for (exact, counted) in [
            (all.latency_us(), few.latency_us()),
            (all.step_latency_us(0, 0..100), few.step_latency_us(0, 0..100)),
            (all.step_latency_us(2, 200..300), few.step_latency_us(2, 120..120)),
        ] {
            let few = |of: LatencyUs| (of.n, of.min, of.max, of.sum, of.mean);
            assert_eq!(few(exact), few(counted));
            assert!((exact.p99.unwrap() / counted.p99.unwrap() - 1.0).abs() < 1e-3);
        }
        assert_eq!(few.step_latency_us(3, 120..120), LatencyUs::default());
    }

    #[test]
    fn as_many_calls_as_rows_are_all_kept() {
        assert!(log_of(120, 120).tally().is_none());
        assert_eq!(rows_of_a_variant(4), 500_000);
        assert_eq!(rows_of_a_variant(10_000), 1_000);
    }
}
