//! What each of several programs did.

use super::{step_summaries, StepSummary, Steps};
use crate::run::{OfProgram, Outcome};
use crate::slowest::ProgramWait;
use crate::stats::LatencyUs;
use ffslab_sim::units::ns_to_us;
use schemars::JsonSchema;
use serde::Serialize;

/// One of the programs that ran at the same time. The measured steps are the program "main", the first one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramSummary {
    pub name: String,
    /// It ended when all others had ended.
    pub background: bool,
    /// How often it did all of its steps.
    pub rounds: u64,
    /// System calls.
    pub calls: u64,
    /// From the start of the measurement to its end.
    pub time_us: f64,
    #[serde(rename = "read_B")]
    pub read_bytes: u64,
    #[serde(rename = "written_B")]
    pub written_bytes: u64,
    /// Latencies of its recorded calls, from when it was ready to make them.
    pub latency_us: LatencyUs,
    /// How these calls waited for calls of other programs.
    pub waited: WaitedSummary,
    /// Its steps, as those of the variant, which are the main program's. The counters of a step tell what the machine did
    /// meanwhile, for whichever program. Left out for a program in the background.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSummary>,
}

/// How calls waited until calls of other programs had returned.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WaitedSummary {
    /// Number of calls that waited.
    pub calls: u64,
    pub sum_us: f64,
    pub max_us: f64,
    /// The sum, by the program that was waited for, the longest first.
    pub by_program: Vec<ProgramWait>,
}

impl ProgramSummary {
    pub(super) fn all(outcome: &Outcome, with: &Steps) -> Vec<ProgramSummary> {
        let names: Vec<String> = outcome.programs.iter().map(|program| program.name.clone()).collect();
        outcome.programs.iter().map(|program| ProgramSummary::of(program, &names, outcome, with)).collect()
    }

    fn of(program: &OfProgram, names: &[String], outcome: &Outcome, with: &Steps) -> ProgramSummary {
        let waiting = &program.waiting;
        let waits = waiting.by_program_ns.iter().copied().enumerate();
        ProgramSummary {
            name: program.name.clone(),
            background: program.background,
            rounds: program.rounds,
            calls: program.calls,
            time_us: ns_to_us(program.time_ns),
            read_bytes: program.read_bytes,
            written_bytes: program.written_bytes,
            latency_us: program.latency,
            waited: WaitedSummary {
                calls: waiting.calls,
                sum_us: ns_to_us(waiting.sum_ns()),
                max_us: ns_to_us(waiting.most_ns),
                by_program: ProgramWait::all(waits, names),
            },
            steps: step_summaries(&program.titles, &program.steps, program.first_step, outcome, with),
        }
    }
}
