//! Runs the measured steps of a plan beside which no other program runs.

use super::outcome::{Kept, Outcome};
use super::phase::Boundary;
use super::plan::Plan;
use super::runner::{RunError, Runner, Watch};
use super::set_up::SetUp;
use crate::film::Film;
use crate::observed::Observing;
use crate::probe_log::ProbeLog;
use std::borrow::Cow;

pub(super) fn measure(set_up: SetUp, plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    let SetUp { system, begun, stands, setup } = set_up;
    let mut runner = Runner::going_on(system, begun, stands, Cow::Borrowed(plan.traces), Box::new(watch));
    runner.pace = plan.pace;
    runner.prepare(plan.measure)?;
    let start = runner.begin_measurement();
    let observing = plan.observed.map(|observed| observed.start(runner.system.sim(), &[]));
    let observing = observing.transpose().map_err(RunError::Step)?;
    let mut probe =
        if plan.probe_logs { Some(ProbeLog::start(&*runner.system).map_err(RunError::Step)?) } else { None };
    if plan.film {
        runner.film = Some(Film::start(&*runner.system).map_err(RunError::Step)?);
    }
    let mut boundary = Boundary::of(&*runner.system, None);
    let mut measure = Vec::with_capacity(plan.measure.len());
    let mut main = None;
    for (index, step) in plan.measure.iter().enumerate() {
        if let Some(probe) = &mut probe {
            probe.mark(runner.system.sim(), step.title());
        }
        let outcome = runner.step("measure", index, step)?;
        // The measurement ends with its last step.
        if index + 1 < plan.measure.len() {
            plan.pass_on(&mut runner, step);
        }
        if plan.main_steps.0 == Some(index) {
            boundary = Boundary::of(&*runner.system, Some(&outcome));
        }
        if plan.main_steps.1 == index {
            main = Some(boundary.until(&*runner.system, &outcome));
        }
        measure.push(outcome);
    }
    let main = main
        .ok_or_else(|| RunError::Step(format!("the main phase ends with step {}, which is none", plan.main_steps.1)))?;
    if let Some(probe) = probe {
        runner.logs.extend(probe.end(runner.system.sim(), &runner.log));
    }
    let film = runner.film.take().map(|film| film.end(&*runner.system));
    let Runner { system, log: requests, images, logs, .. } = runner;
    let stacks = observing.map(Observing::finish).transpose().map_err(RunError::Step)?;
    let kept = Kept { setup, measure, requests, images, logs, programs: Vec::new(), end: None, film, stacks };
    Ok(Outcome::of(&*system, &start, main, kept))
}
