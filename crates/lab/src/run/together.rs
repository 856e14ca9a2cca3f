//! Runs a plan whose measured steps have other programs beside them.

use super::outcome::{Kept, OfProgram, Outcome};
use super::phase::Boundary;
use super::plan::Plan;
use super::runner::{gained, Begun, RunError, Runner, Watch};
use super::set_up::SetUp;
use crate::experiment::Program;
use crate::observed::Observing;
use crate::programs::{self, Done, Lent, Ran, ToRun};
use crate::requests::{joined, LogOf, RequestLog};
use ffslab_workload::Step;
use std::borrow::Cow;

/// Runs the measured steps and the programs beside them.
pub(super) fn measure(set_up: SetUp, plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    let SetUp { mut system, begun, stands, setup } = set_up;
    let lent = Box::new(Lent(&mut *system));
    let mut runner = Runner::going_on(lent, begun, stands, Cow::Borrowed(plan.traces), Box::new(&mut *watch));
    let mut jobs = Vec::with_capacity(plan.programs.len());
    for program in plan.programs {
        runner.prepare(&program.steps)?;
        jobs.push(std::mem::take(&mut runner.ready_jobs));
    }
    runner.prepare(plan.measure)?;
    let instants = runner.begin_measurement();
    let observing = plan.observed.map(|observed| {
        let names = plan.programs.iter().map(|program| program.name.clone());
        let names: Vec<String> = std::iter::once(Program::main(plan.measure).name).chain(names).collect();
        observed.start(runner.system.sim(), &names)
    });
    let observing = observing.transpose().map_err(RunError::Step)?;
    let boundary = Boundary::of(&*runner.system, None);
    let counters = runner.system.counters();
    let start = runner.start;
    let main = runner.into_begun();
    let beside = (1..).zip(plan.programs.iter().zip(jobs)).map(|(number, (program, ready_jobs))| ToRun {
        program: program.clone(),
        begun: main.beside(plan.seed, number, ready_jobs),
    });
    let beside: Vec<ToRun> = beside.collect();
    let mut all = vec![ToRun { program: Program::main(plan.measure), begun: main }];
    all.extend(beside);
    let rows_max = plan.rows_max / all.len();
    for one in &mut all {
        one.begun.log = RequestLog::of_program(rows_max);
    }
    let Ran { machine: mut system, done, result } = programs::run(system, all, (start, plan.traces), watch)?;
    result?;
    // The measurement ends with the last program.
    let now_ns = system.now_ns();
    let mut end = start.until(&mut *system, now_ns);
    end.facts.counters = gained(&counters, &system.counters());
    let main = boundary.until(&*system, &end);
    let stacks = observing.map(Observing::finish).transpose().map_err(RunError::Step)?;
    let kept = Kept { setup, end: Some(end), stacks, ..kept(done, start.at_ns) };
    Ok(Outcome::of(&*system, &instants, main, kept))
}

/// Puts together what all programs have kept since `start_ns`.
fn kept(done: Vec<Done>, start_ns: u64) -> Kept {
    let mut kept = Kept::default();
    let mut logs = Vec::with_capacity(done.len());
    for (number, one) in done.into_iter().enumerate() {
        let Done { program, steps, rounds, ended_ns, calls, read_bytes, written_bytes, begun } = one;
        let Begun { mut log, images, logs: texts, .. } = begun;
        let is_main = number == 0;
        kept.images.extend(images);
        kept.logs.extend(texts.into_iter().map(|(name, text)| {
            if is_main {
                (name, text)
            } else {
                (format!("{}/{name}", program.name), text)
            }
        }));
        kept.programs.push(OfProgram {
            titles: program.steps.iter().map(Step::title).collect(),
            background: program.background,
            rounds,
            time_ns: ended_ns - start_ns,
            calls,
            latency: log.latency_us(),
            waiting: log.waiting.take().unwrap_or_default(),
            read_bytes,
            written_bytes,
            steps: if is_main { Vec::new() } else { steps.clone() },
            name: program.name.clone(),
            first_step: 0,
        });
        if is_main {
            kept.measure = steps;
        }
        logs.push(LogOf { steps_n: program.steps.len(), program: program.name, log });
    }
    let (requests, places) = joined(logs);
    kept.requests = requests;
    for (program, place) in kept.programs.iter_mut().zip(places) {
        program.first_step = place.step_index;
        for step in &mut program.steps {
            step.rows = step.rows.start + place.row_index..step.rows.end + place.row_index;
        }
    }
    kept
}
