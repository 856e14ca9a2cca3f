//! Erasing a block, and what becomes of it: free again, or bad.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/wl.c` (`ubi_sync_erase`, `__erase_worker`).

use super::Place;
use crate::causes;
use crate::device::{Device, EraseWork};
use crate::error::UbiError;
use crate::media::ERASE_COUNTER_MAX;

impl Device {
    /// Erases a block and writes its erase counter header (`ubi_sync_erase`).
    pub fn erase_and_count(&mut self, peb: u32, torture: &mut bool) -> Result<(), UbiError> {
        let tortured = *torture;
        let erases = self.with_buffer(|device, buffer| device.io.erase(peb, tortured, buffer))?;
        *torture = false;
        self.count_erase(peb, erases)
    }

    /// Writes the erase counter header of a block that was erased so often just now.
    pub(super) fn count_erase(&mut self, peb: u32, erases: u32) -> Result<(), UbiError> {
        let erases = u64::from(self.wear.erases[peb as usize]) + u64::from(erases);
        if erases > u64::from(ERASE_COUNTER_MAX) {
            return Err(UbiError::BadHeader);
        }
        {
            let why = self.sim.reason();
            let _why = self.sim.because(if why == &causes::ERASE { &causes::UBI_HEADER } else { why });
            self.io.write_ec_header(peb, erases as u32)?;
        }
        self.wear.erases[peb as usize] = erases as u32;
        self.wear.erases_max = self.wear.erases_max.max(erases as u32);
        Ok(())
    }

    /// Erases a block that was given back (`__erase_worker`).
    pub fn erase_worker(&mut self, work: EraseWork) -> Result<(), UbiError> {
        let EraseWork { peb_number: peb, mut torture, for_setup, .. } = work;
        let _of_setup = self.sim.because_left_if(for_setup);
        let counted = self.erase_and_count(peb, &mut torture);
        self.erase_done(peb, counted)
    }

    /// What becomes of a block that was erased, or could not be.
    pub(super) fn erase_done(&mut self, peb: u32, counted: Result<(), UbiError>) -> Result<(), UbiError> {
        match counted {
            Ok(()) => {
                self.wear.put_erased(peb);
                if let Some(leveller) = &mut self.wear.leveller {
                    leveller.counts_erase();
                }
                while let Some(peb) = self.wear.protection.serve() {
                    self.wear.put(peb, Place::Used);
                }
                self.ensure_wear_levelling();
                Ok(())
            }
            Err(error) => {
                self.wear.places[peb as usize] = Place::Nowhere;
                let result = if error == UbiError::Io { self.retire(peb) } else { Err(error) };
                if result.is_err() {
                    self.io.read_only = true;
                }
                result
            }
        }
    }

    /// Marks a block as bad; a block from the reserve takes its place.
    fn retire(&mut self, peb: u32) -> Result<(), UbiError> {
        let from_available = self.space.bad_reserve_pebs == 0;
        if from_available {
            if self.space.available_pebs == 0 {
                return Err(UbiError::NoSpace);
            }
            self.space.available_pebs -= 1;
        }
        if let Err(error) = self.io.mark_bad(peb) {
            self.space.available_pebs += u32::from(from_available);
            return Err(error);
        }
        if !from_available {
            self.space.bad_reserve_pebs -= 1;
            self.space.reserved_pebs -= 1;
        }
        self.space.bad_pebs += 1;
        self.space.good_pebs -= 1;
        self.space.audit();
        self.space.calculate_level();
        Ok(())
    }
}
