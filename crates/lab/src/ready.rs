//! A variant that can run.

use crate::estimate;
use crate::experiment::Variant;
use crate::observed::Observed;
use crate::result::FailedVariant;
use crate::run::{Plan, RunError};
use crate::traces::Traces;
use ffslab_machine::spec::{MachineSpec, State};
use ffslab_machine::StackTable;
use ffslab_system::System;
use std::collections::BTreeMap;

/// Initial states by their numbers in [`crate::lab::Recipes`].
pub(crate) type States = BTreeMap<usize, State>;

/// A variant whose stack has been checked, so that it can run.
pub(crate) struct Ready<'a> {
    pub(crate) variant: &'a Variant,
    pub(crate) spec: MachineSpec,
    /// The keys of the stack, in which the values of the board are filled in.
    pub(crate) keys: StackTable,
    /// Number of its initial state in [`crate::lab::Recipes`]. `None`: it starts from an erased partition.
    pub(crate) state: Option<usize>,
}

impl Ready<'_> {
    /// Builds the machine, and gives it away with what is to be run on it.
    pub(crate) fn planned<R>(
        &self,
        traces: &Traces,
        states: &States,
        rows_max: usize,
        run: impl FnOnce(Box<dyn System>, &Plan) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        let system = self.spec.build(self.state_of(states))?;
        run(system, &self.plan(traces, states, rows_max, None))
    }

    fn state_of<'s>(&self, states: &'s States) -> Option<&'s State> {
        self.state.and_then(|number| states.get(&number))
    }

    /// What is to be run on the machine.
    pub(crate) fn plan<'p>(
        &'p self,
        traces: &'p Traces,
        states: &States,
        rows_max: usize,
        observed: Option<&'p Observed>,
    ) -> Plan<'p> {
        let variant = self.variant;
        Plan {
            setup: &variant.setup,
            measure: &variant.measure,
            programs: &variant.programs,
            main_steps: (None, variant.measure.len() - 1),
            seed: variant.seed,
            traces,
            content_position_bytes: self.state_of(states).map_or(0, |state| state.content_position_bytes),
            probe_logs: variant.probe_logs,
            observed,
            film: variant.film,
            settles: variant.settles,
            pace: self.spec.program(),
            rows_max,
        }
    }

    /// What is told of the variant when a step of it could not be done.
    pub(crate) fn failed(&self, error: String) -> FailedVariant {
        let Variant { name, axes, .. } = self.variant;
        FailedVariant { name: name.clone(), axes: axes.iter().cloned().collect(), stack: self.keys.clone(), error }
    }

    /// Number of calls that the variant makes, as far as its steps tell. The calls that make its initial state are not
    /// counted.
    pub(crate) fn calls(&self, traces: &Traces) -> u64 {
        estimate::calls(self.variant.steps(), traces, self.spec.medium_bytes())
    }
}
