//! The step that works on a mapped file, access by access.

use super::execute::{as_expected, failed};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_fs::Errno;
use ffslab_system::{timed, Fd, MapAccess, Refusal};
use ffslab_workload::prng::SplitMix64;
use ffslab_workload::steps::{Mmap, Msync, Pattern};

/// Where a map lies in its file, in bytes.
#[derive(Clone, Copy)]
struct Extent {
    at: u64,
    bytes: u64,
}

impl Runner<'_> {
    pub(super) fn mmap(&mut self, step: &Mmap) -> Result<Facts, Stop> {
        let fd = self.fd(&step.file)?;
        let extent = self.extent(step, fd)?;
        let slots = slots(step, extent)?;
        let mapped = self.system.mmap(fd, extent.at, extent.bytes, step.access);
        if as_expected(mapped, step.fails)?.is_none() {
            return Ok(Facts::default());
        }
        let mut facts = self.accesses(step, fd, extent, slots)?;
        if step.msync == Msync::End {
            let file = self.log.file_index(&step.file);
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) =
                timed(&mut *self.system, |system| system.msync(fd, extent.at, extent.bytes as usize));
            result?;
            let call = Call { op: CallOp::Sync, file, offset_bytes: extent.at, bytes: 0, start_ns, latency_ns };
            self.record(facts.requests_done.unwrap_or(0), call);
        }
        self.system.munmap(fd)?;
        facts.bytes_accepted = Some(facts.user_read_bytes + facts.user_written_bytes);
        Ok(facts)
    }

    /// Loads or stores until all are done, or one ends in a bus error.
    fn accesses(&mut self, step: &Mmap, fd: Fd, extent: Extent, slots: u64) -> Result<Facts, Stop> {
        let request_bytes = step.request_bytes.0 as usize;
        let file = self.log.file_index(&step.file);
        let mut prng = SplitMix64::new(step.seed);
        let mut facts = Facts::default();
        let mut done = 0;
        for i in 0..step.count {
            let slot = match step.pattern {
                Pattern::Sequential => i % slots,
                Pattern::Random => prng.below(slots),
                Pattern::Listed => step.order[(i % step.order.len() as u64) as usize],
            };
            let offset_bytes = extent.at + slot * step.request_bytes.0;
            let (op, data) = match step.access {
                MapAccess::Read => (CallOp::Read, &[][..]),
                MapAccess::Write => (CallOp::Write, self.content.take_of(step.content, request_bytes)),
            };
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) = timed(&mut *self.system, |system| {
                match step.access {
                    MapAccess::Read => system.map_load(fd, offset_bytes, request_bytes)?,
                    MapAccess::Write => system.map_store(fd, offset_bytes, data)?,
                }
                match step.msync {
                    Msync::Each => system.msync(fd, offset_bytes, request_bytes),
                    Msync::None | Msync::End => Ok(()),
                }
            });
            if let Err(error) = result {
                stopped(&mut facts, error)?;
                break;
            }
            let bytes = request_bytes as u64;
            self.record(i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
            facts.moved(op, bytes);
            done += 1;
            if step.gap_us.0 > 0 {
                self.sleep(step.gap_us.ns())?;
            }
            self.tick()?;
        }
        facts.requests_done = Some(done);
        Ok(facts)
    }

    /// Errors: the map would end behind the file, where every access is a bus error.
    fn extent(&mut self, step: &Mmap, fd: Fd) -> Result<Extent, Stop> {
        let (at, file_bytes) = (step.offset_bytes.0, self.system.fstat(fd)?.size_bytes);
        let rest = file_bytes.saturating_sub(at);
        match step.bytes.map_or(rest, |bytes| bytes.0) {
            0 => failed(format!("offset_B is {at}, and the file has {file_bytes} B: there is nothing to map")),
            bytes if bytes > rest => {
                failed(format!("the file has {file_bytes} B: a map of {bytes} B from {at} on ends behind it"))
            }
            bytes => Ok(Extent { at, bytes }),
        }
    }
}

/// How many accesses lie side by side in the map.
///
/// Errors: none, or less than `order` names.
fn slots(step: &Mmap, extent: Extent) -> Result<u64, Stop> {
    let (map_bytes, request_bytes) = (extent.bytes, step.request_bytes.0);
    let slots = map_bytes / request_bytes;
    if slots == 0 {
        return failed(format!("the map has {map_bytes} B: not one access of {request_bytes} B fits"));
    }
    match step.order.iter().find(|place| **place >= slots) {
        Some(place) => failed(format!(
            "order names place {place}: {slots} accesses of {request_bytes} B lie in {map_bytes} B, the first is 0"
        )),
        None => Ok(slots),
    }
}

/// A program gets SIGBUS whatever the reason, so that stands in a note.
fn stopped(facts: &mut Facts, error: Refusal) -> Result<(), Stop> {
    if error.is_lack() || error == Errno::PowerCut {
        return Err(error.into());
    }
    facts.stopped_by = Some("SIGBUS");
    facts.notes.push(format!("an access ended in a bus error: {error}"));
    Ok(())
}
