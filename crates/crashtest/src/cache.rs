//! What a device with a write cache may have done by a power cut: of the writes since the last flush, any may have arrived.
//!
//! **Follows.** The contract of such devices (ATA's FLUSH CACHE, SCSI's SYNCHRONIZE CACHE, CMD6 of eMMC 5.1): a flush that has ended is
//! a barrier, and between two of them there is no order. The simulated device empties its buffer in one order; here the medium as
//! it was after the last flush gets a subset of the sectors that were written since, through the same translation layer.
//! **Leaves out.** File systems above a device: what they write to it is not among the calls that are kept.

use crate::log::Effect;
use crate::recording::Recording;
use ffslab_flash::Torn;
use ffslab_machine::spec::State;
use ffslab_system::{OpenFlags, System};
use std::sync::Arc;

/// A seed that is a multiple of this: of all writes only the last has arrived.
const WAYS: u64 = 64;
/// The unit that arrives or does not.
const SECTOR_BYTES: usize = 512;

/// Bytes that were written since a flush, and where.
type Write = (u64, Arc<[u8]>);

impl Recording {
    /// Operations of the flash when the last flush before an operation had ended, and what was written since, in its order.
    fn unflushed(&self, operation_number: u64) -> (u64, Vec<Write>) {
        let entries = &self.log.entries[..self.log.until(operation_number)];
        let is_flush = |effect: &Effect| matches!(effect, Effect::Safe { .. } | Effect::AllSafe);
        let last = entries.iter().rposition(|entry| is_flush(&entry.effect));
        let written = entries[last.map_or(0, |at| at + 1)..].iter().filter_map(|entry| match &entry.effect {
            Effect::Data { at, data, .. } => Some((*at, data.clone())),
            _ => None,
        });
        (last.map_or(0, |at| entries[at].after_operations), written.collect())
    }

    /// The medium of a device whose cache was lost at an operation, but for a subset of its sectors.
    ///
    /// Errors: the device does not take them, in a line.
    pub(crate) fn lost_cache(&self, operation_number: u64, seed: u64) -> Result<State, String> {
        let (flushed, writes) = self.unflushed(operation_number);
        let state = self.at_cut(flushed, Torn::Complete);
        let mut system = self.spec.build(Some(&state)).map_err(|error| error.to_string())?;
        system.mount(&self.options).map_err(|error| error.to_string())?;
        let put = |error: ffslab_system::Refusal| format!("the device takes no write after the cut: {error:?}");
        put_subset(&mut *system, &writes, seed).map_err(put)?;
        let medium = system.snapshot().map_err(|error| error.to_string())?;
        Ok(State { medium, at_ns: system.now_ns(), content_position_bytes: 0 })
    }
}

fn put_subset(system: &mut dyn System, writes: &[Write], seed: u64) -> ffslab_system::Answer<()> {
    let flags = OpenFlags { write: true, ..OpenFlags::READ };
    let disk = system.open(b"/disk", flags, 0)?;
    let mut draw = seed;
    for (number, (at, data)) in (1..).zip(writes) {
        for (sector, bytes) in data.chunks(SECTOR_BYTES).enumerate() {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let has_arrived = match seed.is_multiple_of(WAYS) {
                true => number == writes.len(),
                false => draw >> 63 == 1,
            };
            if has_arrived {
                system.pwrite(disk, bytes, at + (sector * SECTOR_BYTES) as u64)?;
            }
        }
    }
    system.fsync(disk)?;
    system.close(disk)
}
