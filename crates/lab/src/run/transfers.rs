//! The steps that read and write an open file, request by request.

use super::execute::failed;
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_system::{timed, Refusal, Whence};
use ffslab_text::words::size_text;
use ffslab_workload::prng::SplitMix64;
use ffslab_workload::steps::{self, AppendSync, Pattern, RequestCalls, Transfer};

type Done = Result<Facts, Stop>;

impl Runner<'_> {
    pub(super) fn requests(&mut self, step: &steps::Requests) -> Done {
        let slots = self.slots(step)?;
        let request_bytes = step.request_bytes.0;
        let by_position = step.calls == RequestCalls::AtPosition;
        let mut into = vec![0; if by_position { request_bytes as usize } else { 0 }];
        let mut open = self.open_file(&step.file)?;
        let fd = open.fd;
        let mut prng = SplitMix64::new(step.seed);
        let file = self.log.file_index(&step.file);
        let mut facts = Facts::default();
        let mut done = 0;
        for i in 0..step.count {
            let slot = match step.pattern {
                Pattern::Sequential => i % slots,
                Pattern::Random => prng.below(slots),
                Pattern::Listed => step.order[(i % step.order.len() as u64) as usize],
            };
            let offset_bytes = slot * request_bytes;
            let transfer = step.op.of_request(i);
            let data = match transfer {
                Transfer::Write => self.content.take_of(step.content, request_bytes as usize),
                Transfer::Read => &[],
            };
            let is_there = step.pattern == Pattern::Sequential && open.position == Some(offset_bytes);
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) = timed(&mut *self.system, |system| {
                if by_position && !is_there {
                    system.lseek(fd, offset_bytes as i64, Whence::Set)?;
                }
                match (transfer, by_position) {
                    (Transfer::Read, false) => system.pread_discard(fd, offset_bytes, request_bytes as usize),
                    (Transfer::Write, false) => system.pwrite(fd, data, offset_bytes),
                    (Transfer::Read, true) => system.read(fd, &mut into),
                    (Transfer::Write, true) => system.write(fd, data),
                }
            });
            let bytes = result.unwrap_or(0) as u64;
            let op = match transfer {
                Transfer::Read => CallOp::Read,
                Transfer::Write => CallOp::Write,
            };
            self.record(i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
            facts.moved(op, bytes);
            if by_position {
                // A write to a file that was opened to append went to its end, wherever that is.
                let is_known = result.is_ok() && !(open.appends && transfer == Transfer::Write);
                open.position = is_known.then_some(offset_bytes + bytes);
            }
            if let Err(error) = result {
                facts.stopped_by = Some(error.name());
                break;
            }
            done += 1;
            if step.gap_us.0 > 0 {
                self.sleep(step.gap_us.ns())?;
            }
            self.tick()?;
        }
        self.open.insert(step.file.clone(), open);
        facts.requests_done = Some(done);
        facts.bytes_accepted = Some(facts.user_read_bytes + facts.user_written_bytes);
        Ok(facts)
    }

    /// How many requests lie side by side in the range of the step.
    ///
    /// Errors: none, or less than `order` names.
    fn slots(&mut self, step: &steps::Requests) -> Result<u64, Stop> {
        let fd = self.fd(&step.file)?;
        let request_bytes = step.request_bytes.0;
        let range_bytes = match step.range_bytes {
            Some(range) => range.0,
            None => self.system.fstat(fd)?.size_bytes,
        };
        let slots = range_bytes / request_bytes;
        if slots == 0 {
            let text =
                format!("the file has {range_bytes} B: not one request of {request_bytes} B fits, write range_B");
            return failed(text);
        }
        match step.order.iter().find(|place| **place >= slots) {
            Some(place) => failed(format!(
                "order names place {place}: {slots} requests of {request_bytes} B lie in {range_bytes} B, the first is 0"
            )),
            None => Ok(slots),
        }
    }

    pub(super) fn append(&mut self, step: &steps::Append) -> Done {
        let fd = self.fd(&step.file)?;
        let bytes = step.request_bytes.0;
        let file = self.log.file_index(&step.file);
        let mut offset_bytes = self.system.fstat(fd)?.size_bytes;
        for i in 0..step.count {
            let data = self.content.take_of(step.content, bytes as usize);
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) = timed(&mut *self.system, |system| {
                let written = system.pwrite(fd, data, offset_bytes)?;
                match step.sync {
                    AppendSync::Fsync => system.fsync(fd)?,
                    AppendSync::Fdatasync => system.fdatasync(fd)?,
                    AppendSync::Sync => system.sync()?,
                    AppendSync::None => {}
                }
                Ok(written as u64)
            });
            let written = result.map_err(|error: Refusal| {
                let done = size_text(i * bytes);
                Stop::Failed(format!("{error} after {i} of {} appends ({done}){}", step.count, self.holds(error)))
            })?;
            self.record(i, Call { op: CallOp::Append, file, offset_bytes, bytes: written, start_ns, latency_ns });
            offset_bytes += written;
            if step.gap_us.0 > 0 {
                self.sleep(step.gap_us.ns())?;
            }
            self.tick()?;
        }
        let accepted = bytes * step.count;
        let requests_done = Some(step.count);
        Ok(Facts { bytes_accepted: Some(accepted), requests_done, user_written_bytes: accepted, ..Facts::default() })
    }
}
