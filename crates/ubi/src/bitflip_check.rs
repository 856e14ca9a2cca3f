//! Looking for bit flips in blocks that nobody reads, as a daemon asks for it block by block (`UBI_IOCRPEB`, `ubihealthd`).
//!
//! Follows `ubi_bitflip_check` of Linux 6.1 `drivers/mtd/ubi/wl.c` (in the kernel since 4.18 or so, with `drivers/mtd/ubi/cdev.c`).
//! **Leaves out.** `UBI_IOCSPEB`, which moves a block without looking.

use crate::device::Device;
use crate::error::UbiError;
use crate::wear::Place;

impl Device {
    /// Reads a block. If ECC had to correct bits up to its threshold, its data will be moved; a block without data is tested and
    /// erased. Returns whether that was so; a block that is bad, or waits for something already, is not read.
    pub fn check_bitflips(&mut self, peb: u32) -> Result<bool, UbiError> {
        if matches!(self.wear.places[peb as usize], Place::Nowhere | Place::Pending | Place::Scrub | Place::Erroneous) {
            return Ok(false);
        }
        let read = self.with_buffer(|device, buffer| device.io.read(peb, 0, buffer));
        match read {
            Ok(false) => return Ok(false),
            Ok(true) => {}
            // The kernel passes the error on and moves nothing: who reads the data finds it again.
            Err(UbiError::Uncorrectable) => return Ok(false),
            Err(error) => return Err(error),
        }
        match self.wear.places[peb as usize] {
            Place::Used | Place::Protected => self.scrub_peb(peb),
            Place::Free => {
                self.wear.take(peb);
                self.schedule_erase(peb, None, true);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
