//! The slowest calls of a run, each with what it waited for.

use crate::call::Call;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::{CauseCounts, OpCounts, Reason, Sim, Task};
use schemars::JsonSchema;
use serde::Serialize;

/// So many calls are kept.
pub const SLOWEST: usize = 10;

/// A slow call and its bill.
#[derive(Clone, Debug)]
struct Slow {
    step: u32,
    i: u64,
    call: Call,
    bill: Vec<CauseCounts>,
    /// Number of its program, and how long it waited for each other one.
    program: usize,
    waits: Vec<(usize, u64)>,
}

/// The calls that took longest so far, the slowest first; of calls that took equally long the earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Slowest {
    calls: Vec<Slow>,
}

impl Slowest {
    /// Notes a call that has just ended on the machine `sim`, if it is among the slowest. A call that took no time is
    /// not slow.
    #[inline]
    pub fn add(&mut self, step: u32, i: u64, call: Call, sim: &Sim) {
        let quickest_ns = if self.calls.len() < SLOWEST { 0 } else { self.calls[SLOWEST - 1].call.latency_ns };
        if call.latency_ns > quickest_ns {
            self.insert(step, i, call, sim);
        }
    }

    fn insert(&mut self, step: u32, i: u64, call: Call, sim: &Sim) {
        let place = self.calls.partition_point(|slow| slow.call.latency_ns >= call.latency_ns);
        self.calls.truncate(SLOWEST - 1);
        let mut bill: Vec<CauseCounts> = Vec::new();
        // Several mounts may have the same task.
        sim.bill(|cause| match bill.iter_mut().find(|one| (one.task, one.reason) == (cause.task, cause.reason)) {
            Some(known) => known.counts = known.counts + cause.counts,
            None => bill.push(cause),
        });
        let mut waits = Vec::new();
        sim.bill_waits(|program, for_ns| waits.push((program, for_ns)));
        self.calls.insert(place, Slow { step, i, call, bill, program: 0, waits });
    }

    /// Takes in the slowest calls of another program, whose files have numbers from `first_file` on.
    pub fn join(&mut self, other: Slowest, program: usize, first_file: u32) {
        self.calls.extend(other.calls.into_iter().map(|mut slow| {
            slow.call.file += first_file;
            Slow { program, ..slow }
        }));
        // Stable, so that calls that took equally long stay in the order of the programs.
        self.calls.sort_by_key(|slow| std::cmp::Reverse(slow.call.latency_ns));
        self.calls.truncate(SLOWEST);
    }

    /// `programs`: their names, if there are several.
    pub fn summaries(&self, file_names: &[String], programs: &[String]) -> Vec<SlowCall> {
        self.calls.iter().map(|slow| slow.summary(file_names, programs)).collect()
    }
}

/// A slow call of the measured steps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SlowCall {
    /// Whose call it was, if several programs ran; its step is one of this program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Position of its step in `steps`.
    pub step: u32,
    /// Number of the call within its step.
    pub i: u64,
    pub op: &'static str,
    pub file: String,
    #[serde(rename = "offset_B")]
    pub offset_bytes: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Since the measurement began.
    pub start_us: f64,
    pub latency_us: f64,
    /// What went on until it returned, what took longest first. It may be the doing of another task: then the call
    /// waited for that task.
    pub waited_for: Vec<Wait>,
    /// For how long it waited until calls of other programs had returned. What these did is not in `waited_for`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waited_for_programs: Vec<ProgramWait>,
    /// The part of the latency in which no task could run: the call slept until a timer came.
    pub idle_us: f64,
}

/// How long calls waited until those of another program had returned.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramWait {
    pub program: String,
    pub time_us: f64,
}

impl ProgramWait {
    /// Of times by the number of the program, the longest first.
    pub fn all(waits: impl Iterator<Item = (usize, u64)>, programs: &[String]) -> Vec<ProgramWait> {
        let mut waits: Vec<(usize, u64)> = waits.filter(|(_, time_ns)| *time_ns > 0).collect();
        waits.sort_by_key(|&(program, time_ns)| (std::cmp::Reverse(time_ns), program));
        let told = |(program, time_ns): (usize, u64)| {
            Some(ProgramWait { program: programs.get(program)?.clone(), time_us: ns_to_us(time_ns) })
        };
        waits.into_iter().filter_map(told).collect()
    }
}

/// One cause of a call's latency.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Wait {
    pub task: &'static str,
    pub reason: &'static str,
    /// Time of medium, driver and CPU together.
    pub time_us: f64,
    /// The part of it that was not the CPU's.
    pub flash_us: f64,
    pub page_reads: u64,
    pub oob_reads: u64,
    pub page_programs: u64,
    pub erases: u64,
}

impl Slow {
    fn summary(&self, file_names: &[String], programs: &[String]) -> SlowCall {
        let call = &self.call;
        let mut bill = self.bill.clone();
        bill.retain(|cause| cause.counts != OpCounts::default());
        // Stable, so that causes with equal times stay in the order in which they came up.
        bill.sort_by_key(|cause| std::cmp::Reverse(cause.counts.time_ns()));
        let told_ns: u64 = bill.iter().map(|cause| cause.counts.time_ns()).sum();
        let waited_ns: u64 = self.waits.iter().map(|(_, for_ns)| for_ns).sum();
        SlowCall {
            program: programs.get(self.program).cloned(),
            step: self.step,
            i: self.i,
            op: call.op.name(),
            file: file_names.get(call.file as usize).cloned().unwrap_or_default(),
            offset_bytes: call.offset_bytes,
            bytes: call.bytes,
            start_us: ns_to_us(call.start_ns),
            latency_us: ns_to_us(call.latency_ns),
            waited_for: bill.iter().map(Wait::of).collect(),
            waited_for_programs: ProgramWait::all(self.waits.iter().copied(), programs),
            idle_us: ns_to_us(call.latency_ns.saturating_sub(told_ns + waited_ns)),
        }
    }
}

impl Wait {
    fn of(cause: &CauseCounts) -> Wait {
        Wait {
            task: cause.task.name,
            reason: cause.reason.name,
            time_us: ns_to_us(cause.counts.time_ns()),
            flash_us: ns_to_us(cause.counts.busy_ns + cause.counts.driver_ns),
            page_reads: cause.counts.page_reads,
            oob_reads: cause.counts.oob_reads,
            page_programs: cause.counts.page_programs,
            erases: cause.counts.erases,
        }
    }
}

/// What one call cost, as its row of the request log has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The cause that took longest, and its time. `None`: the call took no time of any.
    pub main: Option<(Cause, u64)>,
    /// Time of the chip and of its driver.
    pub flash_ns: u64,
    pub page_reads: u32,
    pub page_programs: u32,
    pub erases: u32,
}

/// Who, and why.
pub type Cause = (&'static Task, &'static Reason);

impl Cost {
    /// The cost of the call that has just ended on the machine `sim`.
    pub fn of_last_call(sim: &Sim) -> Cost {
        let mut cost = Cost::default();
        sim.bill(|CauseCounts { task, reason, counts }| {
            cost.flash_ns += counts.busy_ns + counts.driver_ns;
            cost.page_reads = cost.page_reads.saturating_add(counts.page_reads as u32);
            cost.page_programs = cost.page_programs.saturating_add(counts.page_programs as u32);
            cost.erases = cost.erases.saturating_add(counts.erases as u32);
            let time_ns = counts.time_ns();
            if time_ns > cost.main.map_or(0, |(_, longest_ns)| longest_ns) {
                cost.main = Some(((task, reason), time_ns));
            }
        });
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::CallOp;
    use ffslab_fs::causes::{CALLER, DATA, READ};
    use ffslab_sim::{Op, SimConfig};

    fn call(latency_ns: u64) -> Call {
        Call { op: CallOp::Write, file: 0, offset_bytes: 0, bytes: 1, start_ns: 0, latency_ns }
    }

    #[test]
    fn the_slowest_are_kept_in_order_with_what_they_waited_for() {
        let sim = Sim::new(SimConfig::default());
        sim.register(&[&READ, &DATA]);
        let mut slowest = Slowest::default();
        for i in 0..40u64 {
            sim.call_begins();
            for (reason, busy_ns) in [(&READ, 10), (&DATA, i)] {
                let _why = sim.because(reason);
                sim.count(Op::PageRead, 0, 0, 0, busy_ns);
            }
            slowest.add(3, i, call((i % 20) + 100), &sim);
        }
        let found = slowest.summaries(&["log".to_string()], &[]);
        let order: Vec<(u64, f64)> = found.iter().map(|slow| (slow.i, slow.latency_us)).collect();
        assert_eq!(order[..4], [(19, 0.119), (39, 0.119), (18, 0.118), (38, 0.118)]);
        assert_eq!(found.len(), SLOWEST);
        let (worst, waits) = (&found[1], &found[1].waited_for);
        assert_eq!((worst.file.as_str(), worst.op, worst.step), ("log", "write", 3));
        assert_eq!((waits[0].reason, waits[0].time_us, waits[1].reason), (DATA.name, 0.039, READ.name));
        assert_eq!((waits[0].task, worst.idle_us), (CALLER.name, 0.07));
    }

    #[test]
    fn a_call_without_cost_has_no_cause() {
        let sim = Sim::new(SimConfig::default());
        sim.call_begins();
        assert_eq!(Cost::of_last_call(&sim), Cost::default());
    }
}
