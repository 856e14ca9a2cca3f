//! LEBs of which only the fastmap says where they are: one may have been unmapped and its block erased since, which no fastmap tells.
//!
//! Follows Linux 6.1.192 `drivers/mtd/ubi/eba.c` (`check_mapping`).

use crate::device::{Device, VolumeState, UNMAPPED};
use crate::error::UbiError;
use crate::io::Found;
use crate::media::LebAddress;

impl Device {
    /// All LEBs of a volume are still to be proven, if it was attached by a fastmap; also those that are mapped later.
    pub fn unproven(&self, volume: VolumeState) -> VolumeState {
        let lebs = if self.attached_by_fastmap() { self.io.layout.pebs } else { 0 };
        VolumeState { unproven: vec![true; lebs as usize], ..volume }
    }

    /// The block of a LEB whose header says that it is the one; a LEB whose block has none has become unmapped.
    pub fn proven_peb_of(&mut self, id: u32, leb: u32) -> Result<u32, UbiError> {
        let peb = self.peb_of(id, leb)?;
        if peb == UNMAPPED || self.volume(id)?.unproven.get(leb as usize) != Some(&true) {
            return Ok(peb);
        }
        let torture = match self.io.read_vid_header(peb)? {
            Found::Header { header, .. } if (header.volume_id, header.leb_number) == (id, leb) => None,
            Found::Header { .. } => {
                self.io.read_only = true;
                return Err(UbiError::BadHeader);
            }
            Found::Erased { flipped } => Some(flipped),
            Found::Garbage { uncorrectable } => Some(uncorrectable),
        };
        self.volume_mut(id)?.unproven[leb as usize] = false;
        match torture {
            None => Ok(peb),
            Some(torture) => {
                self.map(id, leb, UNMAPPED)?;
                self.put_peb(peb, LebAddress { volume_id: id, leb_number: leb }, torture);
                Ok(UNMAPPED)
            }
        }
    }
}
