//! A leap over months: erase counters grow by erases that nobody does, in memory and in the headers on the flash.

use crate::device::Device;
use crate::error::UbiError;
use crate::media::{EcHeader, HEADER_BYTES};
use crate::wear::Place;

impl Device {
    /// Wears each erase block by so many erases, as if it had been erased so often in the meantime.
    pub fn wear_on(&mut self, more_erases: &[u32]) -> Result<(), UbiError> {
        if self.wear.fastmap.is_some() {
            return Err(UbiError::BadRequest(
                "no leap over months with a fastmap, which holds the erase counters, too",
            ));
        }
        for (peb, &more) in (0..self.wear.places.len() as u32).zip(more_erases).filter(|(_, &more)| more > 0) {
            let place = self.wear.places[peb as usize];
            if place == Place::Nowhere {
                continue;
            }
            let erases = self.wear.erases[peb as usize] + more;
            self.wear.set_erases(peb, erases);
            self.amend_header(peb, erases)?;
        }
        Ok(())
    }

    /// The erase counter header on the flash says so, too. A block that has none is being erased.
    fn amend_header(&mut self, peb: u32, erases: u32) -> Result<(), UbiError> {
        let (offsets, at) = (self.io.layout.offsets, u64::from(peb) * u64::from(self.io.layout.peb_bytes));
        let mut bytes = [0; HEADER_BYTES];
        self.io.mtd.look(at, &mut bytes)?;
        match EcHeader::decode(&bytes, offsets) {
            Ok(header) => {
                EcHeader { erases, ..header }.encode(offsets, &mut bytes);
                Ok(self.io.mtd.amend(at, &bytes)?)
            }
            Err(_) => Ok(()),
        }
    }
}
