//! Runs the steps of one variant or case on a system and keeps what happened.

mod alone;
mod attributes;
mod booting;
mod calls;
mod execute;
mod facts;
mod images;
mod jobs;
mod jobs_kept;
mod key_value;
mod looping;
mod many;
mod map;
mod mtd_loop;
mod names;
mod outcome;
mod pace;
mod phase;
mod plan;
mod postmark;
mod runner;
mod set_up;
mod settling;
mod sqlite;
mod states;
mod together;
mod transfers;
mod uflip;
mod xattr;

pub use facts::{Facts, StepOutcome};
pub(crate) use images::check_saves;
pub(crate) use outcome::{Instants, Kept};
pub use outcome::{OfProgram, OfSetup, Outcome, SavedImage};
pub(crate) use phase::Boundary;
pub use plan::Plan;
pub(crate) use runner::{Begun, Runner, Start, StepBegun, WATCH_EVERY};
pub use runner::{RunError, Watch};
pub(crate) use set_up::SetUp;
pub(crate) use settling::first_mount;

use ffslab_system::System;

/// Runs a plan on a system on which nothing is mounted. See [`RunError`].
pub fn run(system: Box<dyn System>, plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    measure(SetUp::of(system, plan, watch)?, plan, watch)
}

/// Runs the measured steps of a plan, from its setup on.
pub(crate) fn measure(set_up: SetUp, plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    if plan.programs.is_empty() {
        alone::measure(set_up, plan, watch)
    } else {
        together::measure(set_up, plan, watch)
    }
}
