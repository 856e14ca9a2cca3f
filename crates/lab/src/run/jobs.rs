//! The steps that run job files.

use super::execute::failed;
use super::{Facts, RunError, Runner, Stop, WATCH_EVERY};
use crate::fio::{self, FioError, Kind, Request};
use crate::requests::{Call, CallOp};
use ffslab_workload::steps::{self, Step};

type Done = Result<Facts, Stop>;

impl Runner<'_> {
    /// Lays out the files of the measured jobs, at the end of the setup.
    pub(super) fn prepare_jobs(&mut self, measure: &[Step]) -> Result<(), RunError> {
        for (index, step) in measure.iter().enumerate() {
            let Step::Fio(step) = step else { continue };
            let ready = self.ready_jobs(step).map_err(|text| RunError::Step(format!("end of the setup: {text}")))?;
            self.ready_jobs.insert(index, ready);
        }
        Ok(())
    }

    fn ready_jobs(&mut self, step: &steps::Fio) -> Result<fio::Ready, String> {
        let name = &step.file;
        let file = self.traces.jobs_of(step).ok_or_else(|| format!("the job file {name} has not been read"))?;
        if self.stack.vfs.fs().is_none() {
            return Err(format!("the job file {name} needs files, and nothing is mounted: mount before"));
        }
        fio::prepare(&mut self.stack.vfs, &file, &mut self.content).map_err(|text| format!("{name}: {text}"))
    }

    pub(super) fn fio(&mut self, step: &steps::Fio) -> Done {
        let ready = match self.ready_jobs.remove(&(self.step as usize)) {
            Some(ready) if self.measuring => ready,
            _ => self.ready_jobs(step)?,
        };
        let (log, calls, watch) = (&mut self.log, &mut self.calls, &mut self.watch);
        let (measuring, step_index, start_ns) = (self.measuring, self.step, self.start_ns);
        let mut facts = Facts::default();
        let mut i = 0;
        let mut each = |done: Request| {
            let op = match done.kind {
                Kind::Read => CallOp::Read,
                Kind::Write => CallOp::Write,
                Kind::Sync => CallOp::Sync,
            };
            match done.kind {
                Kind::Read => facts.user_read_bytes += done.bytes,
                _ => facts.user_written_bytes += done.bytes,
            }
            if measuring {
                let (offset_bytes, bytes) = (done.offset_bytes, done.bytes);
                let (start_ns, latency_ns) = (done.start_ns - start_ns, done.latency_ns);
                let file = log.file_index(done.path);
                log.push(step_index, i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
            }
            i += 1;
            *calls += 1;
            !calls.is_multiple_of(WATCH_EVERY) || watch(*calls)
        };
        let report = match fio::run(&mut self.stack.vfs, ready, &mut self.content, &mut each) {
            Ok(report) => report,
            Err(FioError::Interrupted) => return Err(Stop::Interrupted),
            Err(FioError::Failed(text)) => return failed(text),
        };
        facts.requests_done = Some(u64::from(i));
        facts.notes.extend(report.warnings.iter().cloned());
        for job in &report.jobs {
            if let Some(error) = job.error_name {
                facts.notes.push(format!("job [{}] ended with {error}", job.name));
            }
        }
        for (name, text) in &report.logs {
            self.keep_log(name, text);
        }
        facts.fio = Some(report);
        Ok(facts)
    }
}
