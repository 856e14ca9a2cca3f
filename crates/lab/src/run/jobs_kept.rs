//! What a step keeps of the requests that its jobs make.

use super::facts::Facts;
use crate::fio::{FioReport, Kind, Request};
use crate::requests::{Call, CallOp, RequestLog};
use ffslab_sim::Sim;

/// Collects the rows of the request log, the bytes and the number of requests of a step.
pub struct Kept<'a> {
    log: Option<(&'a mut RequestLog, u32)>,
    sim: Sim,
    start_ns: u64,
    requests: u64,
    facts: Facts,
}

impl<'a> Kept<'a> {
    /// `log` is the request log and the number of the step; it is only given for a measured step. Start times in the
    /// log are relative to `start_ns`.
    pub fn new(log: Option<(&'a mut RequestLog, u32)>, sim: Sim, start_ns: u64) -> Kept<'a> {
        Kept { log, sim, start_ns, requests: 0, facts: Facts::default() }
    }

    pub fn keep(&mut self, done: &Request) {
        let op = match done.kind {
            Kind::Read => CallOp::Read,
            Kind::Write => CallOp::Write,
            Kind::Sync => CallOp::Sync,
        };
        match done.kind {
            Kind::Read => self.facts.user_read_bytes += done.bytes,
            _ => self.facts.user_written_bytes += done.bytes,
        }
        if let Some((log, step)) = &mut self.log {
            let (offset_bytes, bytes) = (done.offset_bytes, done.bytes);
            let (start_ns, latency_ns) = (done.start_ns - self.start_ns, done.latency_ns);
            let file = log.file_index(done.path);
            let call = Call { op, file, offset_bytes, bytes, start_ns, latency_ns };
            log.push(*step, self.requests, call, &self.sim);
        }
        self.requests += 1;
    }

    /// What the step did. The notes hold the warnings about the jobs and the errors with which jobs ended.
    pub fn facts(self, report: &FioReport) -> Facts {
        let mut facts = Facts { requests_done: Some(self.requests), ..self.facts };
        facts.notes.extend(report.warnings.iter().cloned());
        for job in &report.jobs {
            if let Some(error) = job.error_name {
                facts.notes.push(format!("job [{}] ended with {error}", job.name));
            }
        }
        facts
    }
}
