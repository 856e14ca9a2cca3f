//! The device that lives: its machine, and the programs that do the workload on it again and again.

use crate::experiment::Program;
use crate::programs::{self, Done, Lent, ToRun};
use crate::requests::RequestLog;
use crate::run::{Begun, Plan, RunError, Runner, Start, StepOutcome, Watch};
use crate::tally::Tally;
use ffslab_system::System;
use ffslab_workload::Step;
use std::borrow::Cow;

const IS_HERE: &str = "the machine is lent only within a repetition";

/// A device whose setup is done.
pub(super) struct Device<'p> {
    plan: &'p Plan<'p>,
    machine: Option<Box<dyn System>>,
    start: Start,
    /// What the measured steps hold, and the programs beside them.
    main: Option<Begun>,
    beside: Vec<Begun>,
    /// How the device is at the start of each repetition.
    was_mounted: bool,
    open_at_start: Vec<String>,
    /// Calls so far.
    pub calls: u64,
    /// Bytes that programs wrote so far.
    pub written_bytes: u64,
    /// Latencies of the calls since they were last taken.
    latencies: Tally,
}

impl<'p> Device<'p> {
    /// Does the setup.
    ///
    /// Errors: see [`RunError`].
    pub fn set_up(mut machine: Box<dyn System>, plan: &'p Plan<'p>, watch: &mut Watch) -> Result<Self, RunError> {
        let mut runner =
            Runner::new(Box::new(Lent(&mut *machine)), plan.seed, Cow::Borrowed(plan.traces), Box::new(&mut *watch));
        plan.set_up(&mut runner)?;
        runner.prepare(plan.measure)?;
        runner.begin_measurement();
        runner.log = RequestLog::keeping(0);
        let (start, was_mounted, open_at_start) = (runner.start, runner.system.is_mounted(), runner.open_names());
        let main = runner.into_begun();
        let numbers = 1..=plan.programs.len() as u64;
        let beside = numbers.map(|number| main.beside(plan.seed, number, Default::default()));
        Ok(Device {
            beside: beside.collect(),
            plan,
            machine: Some(machine),
            start,
            main: Some(main),
            was_mounted,
            open_at_start,
            calls: 0,
            written_bytes: 0,
            latencies: Tally::default(),
        })
    }

    pub fn system(&self) -> &dyn System {
        self.machine.as_deref().expect(IS_HERE)
    }

    pub fn system_mut(&mut self) -> &mut dyn System {
        self.machine.as_deref_mut().expect(IS_HERE)
    }

    /// Takes the latencies of the calls since it was asked last.
    pub fn take_latencies(&mut self) -> Tally {
        std::mem::take(&mut self.latencies)
    }

    /// Does the workload for the `number`th time, from 0, and leaves the device as it was at the start: what was mounted is, and what
    /// was open is.
    ///
    /// Errors: the first call that could not be done.
    pub fn repeat(&mut self, number: u64, watch: &mut Watch) -> Result<(), RunError> {
        match self.plan.programs {
            [] => self.alone(number, watch)?,
            _ => self.together(number, watch)?,
        }
        let (was_mounted, open_at_start) = (self.was_mounted, std::mem::take(&mut self.open_at_start));
        let left = self.with_runner(watch, |runner| {
            if runner.system.is_mounted() && !was_mounted {
                runner.shut_down()?;
            }
            Ok::<(), ffslab_system::SystemError>(runner.close_all_but(&open_at_start)?)
        });
        self.open_at_start = open_at_start;
        left.map_err(|error| RunError::Step(format!("end of a repetition: {error}")))
    }

    /// Lends the machine to the program of the measured steps.
    fn with_runner<T>(&mut self, watch: &mut Watch, work: impl FnOnce(&mut Runner) -> T) -> T {
        let begun = self.main.take().expect("it is held between steps");
        let machine = self.machine.as_deref_mut().expect(IS_HERE);
        let traces = Cow::Borrowed(self.plan.traces);
        let mut runner = Runner::measuring(Box::new(Lent(machine)), begun, self.start, traces, Box::new(&mut *watch));
        let done = work(&mut runner);
        let mut begun = runner.into_begun();
        self.calls += count(&mut self.latencies, &mut begun);
        self.main = Some(begun);
        done
    }

    fn alone(&mut self, number: u64, watch: &mut Watch) -> Result<(), RunError> {
        let measure = self.plan.measure;
        let mut written_bytes = 0;
        let done = self.with_runner(watch, |runner| {
            if number > 0 {
                runner.prepare(measure)?;
            }
            for (index, step) in measure.iter().enumerate() {
                let outcome = runner.step("measure", index, &shifted(step, number))?;
                written_bytes += outcome.facts.user_written_bytes;
                is_whole("measure", index, step, &outcome)?;
            }
            Ok(())
        });
        self.written_bytes += written_bytes;
        done
    }

    fn together(&mut self, number: u64, watch: &mut Watch) -> Result<(), RunError> {
        let programs: Vec<Program> = self.plan.programs.iter().map(|program| program.shifted(number)).collect();
        let measure = self.plan.measure;
        let jobs = self.with_runner(watch, |runner| {
            let jobs = programs.iter().map(|program| {
                runner.prepare(&program.steps)?;
                Ok(std::mem::take(&mut runner.ready_jobs))
            });
            let jobs: Vec<_> = jobs.collect::<Result<_, RunError>>()?;
            runner.prepare(measure)?;
            Ok::<_, RunError>(jobs)
        })?;
        let mut main = self.main.take().expect("it is held between steps");
        main.log = RequestLog::of_program(0);
        let mut all = vec![ToRun { program: Program::main(measure).shifted(number), begun: main }];
        for ((program, jobs), mut begun) in programs.into_iter().zip(jobs).zip(std::mem::take(&mut self.beside)) {
            begun.ready_jobs = jobs;
            begun.log = RequestLog::of_program(0);
            all.push(ToRun { program, begun });
        }
        let machine = self.machine.take().expect(IS_HERE);
        let ran = programs::run(machine, all, (self.start, self.plan.traces), watch)?;
        self.machine = Some(ran.machine);
        let mut result = ran.result;
        for (place, done) in ran.done.into_iter().enumerate() {
            let Done { program, steps, mut begun, written_bytes, .. } = done;
            self.written_bytes += written_bytes;
            for (index, (step, outcome)) in program.steps.iter().zip(&steps).enumerate() {
                result = result.and_then(|()| is_whole(&program.phase(), index, step, outcome));
            }
            self.calls += count(&mut self.latencies, &mut begun);
            if place > 0 {
                let closed = begun.close_all(self.system_mut());
                result = result.and(closed.map_err(|error| RunError::Step(format!("{}: {error}", program.title()))));
                self.beside.push(begun);
            } else {
                self.main = Some(begun);
            }
        }
        result
    }
}

impl Program {
    /// The program with other places in its files: each repetition draws its own.
    fn shifted(&self, number: u64) -> Program {
        Program { steps: self.steps.iter().map(|step| shifted(step, number)).collect(), ..self.clone() }
    }
}

fn shifted(step: &Step, number: u64) -> Step {
    let mut step = step.clone();
    step.shift_seed(number);
    step
}

/// What a single run tells as its result is the end of a device.
fn is_whole(phase: &str, index: usize, step: &Step, outcome: &StepOutcome) -> Result<(), RunError> {
    let Some(why) = &outcome.facts.stopped_by else { return Ok(()) };
    let (done, number) = (outcome.facts.requests_done.unwrap_or_default(), index + 1);
    Err(RunError::Step(format!("{phase} step {number} ({}): {why} after {done} requests", step.title())))
}

/// Counts the calls of a log, and puts an empty one in its place.
fn count(latencies: &mut Tally, begun: &mut Begun) -> u64 {
    let log = std::mem::replace(&mut begun.log, RequestLog::keeping(0));
    log.tally().map_or(0, |tally| {
        latencies.merge(&tally);
        tally.len()
    })
}
