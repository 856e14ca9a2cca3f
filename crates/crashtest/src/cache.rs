//! What a device with a write cache may have done by a power cut: of the writes since the last flush, any may have arrived.
//!
//! **Follows.** The contract of such devices (ATA's FLUSH CACHE, SCSI's SYNCHRONIZE CACHE, CMD6 of eMMC 5.1): a flush that has ended is
//! a barrier, and between two of them there is no order. The simulated device empties its buffer in one order; here the medium as
//! it was after the last flush gets a subset of the sectors that were written since, through the same translation layer. Who wrote
//! them, a program or the file system above the device, does not matter.

use crate::recording::Recording;
use ffslab_block::{Command, Device, DeviceError, Segment, Told};
use ffslab_flash::Torn;
use ffslab_machine::block_device::device_mut;
use ffslab_machine::spec::State;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A seed that is a multiple of this: of all writes only the last has arrived.
const WAYS: u64 = 64;

impl Recording {
    /// Operations of the flash when the last flush before an operation had ended, and what was told since, in its order.
    fn unflushed(&self, operation_number: u64) -> (u64, &[Command]) {
        let before = self.commands.partition_point(|command| command.after_operations < operation_number);
        let commands = &self.commands[..before];
        match commands.iter().rposition(|command| command.told == Told::Flushed) {
            Some(at) => (commands[at].after_operations, &commands[at + 1..]),
            None => (0, commands),
        }
    }

    /// The medium of a device whose cache was lost at an operation, but for a subset of its sectors.
    ///
    /// Errors: there is no device, or it does not take them, in a line.
    pub(crate) fn lost_cache(&self, operation_number: u64, seed: u64) -> Result<State, String> {
        let (flushed, commands) = self.unflushed(operation_number);
        let state = self.at_cut(flushed, Torn::Complete);
        let mut system = self.spec.build(Some(&state)).map_err(|error| error.to_string())?;
        let device = device_mut(&mut *system).ok_or("there is no block device whose cache could be lost")?;
        put_subset(device, commands, seed)
            .map_err(|error| format!("the device takes no write after the cut: {error}"))?;
        let medium = system.snapshot().map_err(|error| error.to_string())?;
        Ok(State { medium, at_ns: system.now_ns(), content_position_bytes: 0 })
    }
}

fn put_subset(device: &mut Device, commands: &[Command], seed: u64) -> Result<(), DeviceError> {
    let mut random = Pcg32::seed_from_u64(seed);
    let sector_bytes = device.media_block_bytes();
    for (number, command) in (1..).zip(commands) {
        let Told::Write { block, data } = &command.told else { continue };
        for (block, sector) in (*block..).zip(data.chunks(sector_bytes as usize)) {
            let is_drawn = random.next_u32() >> 31 == 1;
            let has_arrived = if seed.is_multiple_of(WAYS) { number == commands.len() } else { is_drawn };
            if has_arrived {
                device.write(Segment { block, bytes: sector_bytes }, sector)?;
            }
        }
    }
    device.flush()
}
