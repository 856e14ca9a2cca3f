//! The patterns of uFLIP, call by call.

use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_system::timed;
use ffslab_workload::steps::{Transfer, Uflip};

impl Runner<'_> {
    pub(super) fn uflip(&mut self, step: &Uflip) -> Result<Facts, Stop> {
        let fd = self.fd(&step.file)?;
        let file_bytes = self.system.fstat(fd)?.size_bytes;
        let calls = step.calls(file_bytes).map_err(|error| Stop::Failed(error.to_string()))?;
        let request_bytes = step.io_size_bytes.0 as usize;
        let file = self.log.file_index(&step.file);
        let mut facts = Facts::default();
        let mut done = 0;
        for (i, io) in calls.enumerate() {
            let data = match io.op {
                Transfer::Write => self.content.take(request_bytes),
                Transfer::Read => &[],
            };
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) = timed(&mut *self.system, |system| match io.op {
                Transfer::Read => system.pread_discard(fd, io.offset_bytes, request_bytes),
                Transfer::Write => system.pwrite(fd, data, io.offset_bytes),
            });
            let bytes = result.unwrap_or(0) as u64;
            let op = match io.op {
                Transfer::Read => {
                    facts.user_read_bytes += bytes;
                    CallOp::Read
                }
                Transfer::Write => {
                    facts.user_written_bytes += bytes;
                    CallOp::Write
                }
            };
            if !io.ignored {
                self.record(i as u64, Call { op, file, offset_bytes: io.offset_bytes, bytes, start_ns, latency_ns });
            }
            if let Err(error) = result {
                facts.stopped_by = Some(error.name());
                break;
            }
            done += 1;
            if io.pauses {
                self.sleep(step.pause_us.ns())?;
            }
            self.tick()?;
        }
        facts.requests_done = Some(done);
        facts.bytes_accepted = Some(facts.user_read_bytes + facts.user_written_bytes);
        Ok(facts)
    }
}
