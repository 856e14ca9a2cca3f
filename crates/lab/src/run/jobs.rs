//! The steps that run job files.

use super::execute::failed;
use super::facts::Facts;
use super::jobs_kept::Kept;
use super::runner::{RunError, Runner, Stop, WATCH_EVERY};
use crate::fio::{self, FioError, PrepareError, Request};
use ffslab_workload::steps::{self, Step};
use thiserror::Error;

type Done = Result<Facts, Stop>;

/// Why the jobs of a step cannot begin. One line with the name of the job file.
#[derive(Debug, Error)]
pub(super) enum JobsError {
    #[error("the job file {file} has not been read")]
    NotRead { file: String },
    #[error("the job file {file} needs files, and nothing is mounted: mount before")]
    NotMounted { file: String },
    #[error("{file}: {why}")]
    Prepare { file: String, why: PrepareError },
}

impl From<JobsError> for Stop {
    fn from(error: JobsError) -> Stop {
        Stop::Failed(error.to_string())
    }
}

impl Runner<'_> {
    /// Lays out the files of the measured jobs, at the end of the setup. Everything is synced afterwards, unless a job says
    /// that its files are not.
    pub(super) fn prepare_jobs(&mut self, measure: &[Step]) -> Result<(), RunError> {
        let in_setup = |text: String| RunError::Step(format!("end of the setup: {text}"));
        let mut synced = false;
        for (index, step) in measure.iter().enumerate() {
            let Step::Fio(step) = step else { continue };
            let ready = self.ready_jobs(step).map_err(|error| in_setup(error.to_string()))?;
            synced |= ready.syncs_files();
            self.ready_jobs.insert(index, ready);
        }
        if synced {
            match self.system.sync() {
                // Where there is no sync for all files, an fsync of each is all that a program could do: a job asks for it.
                Err(refusal) if refusal.is_lack() => {}
                done => done.map_err(|error| in_setup(format!("the files of the jobs: {error}")))?,
            }
        }
        Ok(())
    }

    fn ready_jobs(&mut self, step: &steps::Fio) -> Result<fio::Ready, JobsError> {
        let name = &step.file;
        let file = self.traces.jobs_of(step).ok_or_else(|| JobsError::NotRead { file: name.clone() })?;
        if !self.system.is_mounted() {
            return Err(JobsError::NotMounted { file: name.clone() });
        }
        fio::prepare(&mut *self.system, &file, &mut self.content)
            .map_err(|why| JobsError::Prepare { file: name.clone(), why })
    }

    pub(super) fn fio(&mut self, step: &steps::Fio) -> Done {
        let ready = match self.ready_jobs.remove(&(self.step as usize)) {
            Some(ready) if self.measuring => ready,
            _ => self.ready_jobs(step)?,
        };
        let sim = self.system.sim().clone();
        let mut kept = Kept::new(self.measuring.then_some((&mut self.log, self.step)), sim, self.start.at_ns);
        let (calls, watch) = (&mut self.calls, &mut self.watch);
        let mut each = |done: Request| {
            kept.keep(&done);
            *calls += 1;
            !calls.is_multiple_of(WATCH_EVERY) || watch(*calls)
        };
        let report = match fio::run(&mut *self.system, ready, &mut self.content, &mut each) {
            Ok(report) => report,
            Err(FioError::Interrupted) => return Err(Stop::Interrupted),
            Err(FioError::Failed(text)) => return failed(text),
        };
        let mut facts = kept.facts(&report);
        for (name, text) in &report.logs {
            self.keep_log(name, text);
        }
        facts.fio = Some(report);
        Ok(facts)
    }
}
