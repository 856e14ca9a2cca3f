//! The work that moves a LEB to another erase block: wear levelling, and scrubbing after bit flips.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/wl.c` (`wear_leveling_worker`): the data of a block with few erases, which
//! apparently do not change, move to a free block with many erases, so that the first one is used again.

use ffslab_mtd::Upkeep;

use crate::device::{Device, EraseWork};
use crate::error::UbiError;
use crate::io::Found;
use crate::leb::NotMoved;
use crate::wear::Place;

impl Device {
    pub fn move_worker(&mut self) -> Result<(), UbiError> {
        self.wear.move_scheduled = false;
        if self.wear.fastmap.is_some() {
            return match self.move_with_fastmap() {
                Some((from, to, scrubbing)) => self.move_or_give_up(from, to, scrubbing),
                None => Ok(()),
            };
        }
        let scrubbing = !self.wear.scrub.is_empty();
        let between =
            if scrubbing { self.wear.scrub.first().zip(self.wear.worn_free()) } else { self.wear.levelling_move() };
        let Some((from, to)) = between else { return Ok(()) };
        self.wear.take(to);
        self.wear.take(from);
        self.move_or_give_up(from, to, scrubbing)
    }

    fn move_or_give_up(&mut self, from: u32, to: u32, scrubbing: bool) -> Result<(), UbiError> {
        match self.move_between(from, to, scrubbing) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.io.read_only = true;
                Err(error)
            }
        }
    }

    fn move_between(&mut self, from: u32, to: u32, scrubbing: bool) -> Result<(), UbiError> {
        let place_of_source = if scrubbing { Place::Scrub } else { Place::Used };
        let header = match self.io.read_vid_header(from) {
            Ok(Found::Header { header, .. }) => header,
            // The block was handed out, but its header is not written yet.
            Ok(Found::Erased { flipped: false }) => return self.keep_both(from, Place::Protected, to),
            Ok(Found::Erased { flipped: true }) => return self.keep_both(from, Place::Scrub, to),
            // An erase that a power cut interrupted, which only a scan would have found.
            Ok(Found::Garbage { uncorrectable: true }) if self.attached_by_fastmap() => {
                self.wear.put(to, Place::Free);
                self.ensure_wear_levelling();
                let (owner, torture, for_setup, formats) = (None, true, false, false);
                return self.erase_worker(EraseWork { peb_number: from, owner, torture, for_setup, formats });
            }
            Ok(Found::Garbage { .. }) => return self.lose_both(from, to, UbiError::Io),
            Err(error) => return self.lose_both(from, to, error),
        };
        let owner = Some(header.address());
        match self.copy_leb(from, to, &header) {
            Ok(()) => {
                if scrubbing {
                    self.io.mtd.note(Upkeep::Scrub);
                }
                self.wear.put(to, Place::Used);
                let formats = false;
                self.erase_worker(EraseWork { peb_number: from, owner, torture: false, for_setup: false, formats })
            }
            Err(NotMoved::Unmapped) => self.keep_both(from, Place::Protected, to),
            Err(NotMoved::Locked) => {
                // The writer of the LEB asks for the move again when it is done.
                self.wear.put(from, place_of_source);
                self.wear.put(to, Place::Free);
                Ok(())
            }
            Err(NotMoved::SourceUnreadable) if self.wear.erroneous_pebs > self.wear.erroneous_pebs_max => {
                self.lose_both(from, to, UbiError::Io)
            }
            Err(NotMoved::SourceUnreadable) => self.keep_both(from, Place::Erroneous, to),
            Err(NotMoved::TargetDoubtful) => {
                self.wear.put(from, place_of_source);
                let formats = false;
                self.erase_worker(EraseWork { peb_number: to, owner, torture: true, for_setup: false, formats })
            }
            Err(NotMoved::Error(error)) => self.lose_both(from, to, error),
        }
    }

    /// Puts both blocks back, because nothing was moved and the target is still erased.
    fn keep_both(&mut self, from: u32, place: Place, to: u32) -> Result<(), UbiError> {
        self.wear.put(from, place);
        self.wear.put(to, Place::Free);
        self.ensure_wear_levelling();
        Ok(())
    }

    /// Gives up both blocks, because their content is unknown. The caller makes the device read-only.
    fn lose_both(&mut self, from: u32, to: u32, error: UbiError) -> Result<(), UbiError> {
        self.wear.places[from as usize] = Place::Nowhere;
        self.wear.places[to as usize] = Place::Nowhere;
        Err(error)
    }
}
