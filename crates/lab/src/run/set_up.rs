//! A machine behind its setup. What is here depends on nothing that is measured: variants that differ in that alone begin from it.

use super::facts::StepOutcome;
use super::plan::Plan;
use super::runner::{Begun, RunError, Runner, Stands, Watch};
use crate::programs::Lent;
use ffslab_system::System;
use std::borrow::Cow;

pub(crate) struct SetUp {
    pub(super) system: Box<dyn System>,
    pub(super) begun: Begun,
    pub(super) stands: Stands,
    /// What the steps of the setup did.
    pub(super) setup: Vec<StepOutcome>,
}

impl SetUp {
    /// Runs the setup of a plan on a system on which nothing is mounted. What it takes of the plan, beside the setup, is compared in
    /// `shared.rs` before another plan goes on from here.
    pub(crate) fn of(mut system: Box<dyn System>, plan: &Plan, watch: &mut Watch) -> Result<SetUp, RunError> {
        let lent = Box::new(Lent(&mut *system));
        let mut runner = Runner::new(lent, plan.seed, Cow::Borrowed(plan.traces), Box::new(watch));
        // The computing of a program that is not alone is not known.
        runner.pace = plan.pace.filter(|_| plan.programs.is_empty());
        let setup = plan.set_up(&mut runner)?;
        let stands = runner.stands();
        let begun = runner.into_begun();
        Ok(SetUp { system, begun, stands, setup })
    }

    /// Calls that were made so far.
    pub(crate) fn calls(&self) -> u64 {
        self.stands.calls()
    }

    /// For a process that ends with its run: to free what it shares with others would copy it.
    pub(crate) fn never_freed(self) -> SetUp {
        SetUp { system: Box::new(Lent(Box::leak(self.system))), ..self }
    }
}
