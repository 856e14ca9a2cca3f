//! The step that runs a command file of Postmark.

use super::execute::failed;
use super::facts::Facts;
use super::runner::{Runner, Stop, WATCH_EVERY};
use crate::postmark::{self, Done as Operated, PostmarkError};
use crate::requests::{Call, CallOp};
use ffslab_workload::postmark::Operation;
use ffslab_workload::steps;

impl Runner<'_> {
    pub(super) fn postmark(&mut self, step: &steps::Postmark) -> Result<Facts, Stop> {
        let Some(file) = self.traces.postmark_of(step) else {
            return failed(format!("the command file {} has not been read", step.file));
        };
        if !self.system.is_mounted() {
            return failed("nothing is mounted: a mount step must come before".to_string());
        }
        let (log, calls, watch) = (&mut self.log, &mut self.calls, &mut self.watch);
        let (measuring, step_index, start_ns) = (self.measuring, self.step, self.start.at_ns);
        let mut facts = Facts::default();
        let mut i = 0u64;
        let sim = self.system.sim().clone();
        let mut each = |done: Operated| {
            let op = match done.operation {
                Operation::Create { .. } => CallOp::Create,
                Operation::Read { .. } => CallOp::Read,
                Operation::Append { .. } => CallOp::Append,
                Operation::Delete { .. } => CallOp::Unlink,
                _ => CallOp::Other,
            };
            match op {
                CallOp::Read => facts.user_read_bytes += done.bytes,
                _ => facts.user_written_bytes += done.bytes,
            }
            if measuring {
                let (bytes, start_ns, latency_ns) = (done.bytes, done.start_ns - start_ns, done.latency_ns);
                let file = log.file_index(done.path);
                log.push(step_index, i, Call { op, file, offset_bytes: 0, bytes, start_ns, latency_ns }, &sim);
            }
            i += 1;
            *calls += 1;
            !calls.is_multiple_of(WATCH_EVERY) || watch(*calls)
        };
        for configured in &file.runs {
            match postmark::run(&mut *self.system, configured, step.drop_caches, &mut self.content, &mut each) {
                Ok(report) => facts.postmark.push(report),
                Err(PostmarkError::Interrupted) => return Err(Stop::Interrupted),
                Err(PostmarkError::Failed(text)) => return failed(text),
            }
        }
        facts.requests_done = Some(i);
        for report in &facts.postmark {
            if let Some(error) = report.first_error {
                let count = report.failed_operations;
                facts.notes.push(format!("{count} operations of Postmark failed, first with {error}; it goes on then"));
            }
            if report.ran_out_of_files {
                let text = "Postmark ran out of files: increase their number or decrease that of transactions";
                facts.notes.push(text.to_string());
            }
            if let Some(name) = &report.report_file {
                self.keep_log(name, &report.report);
            }
        }
        Ok(facts)
    }
}
