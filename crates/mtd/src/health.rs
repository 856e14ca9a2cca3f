//! What went wrong on a medium and what was done about it, as `mtd->ecc_stats` of the kernel counts it (`drivers/mtd/mtdcore.c`,
//! `drivers/mtd/nand/raw/nand_base.c`), and beside it what UBI does then.

use crate::causes::SCRUB;
use crate::error::MtdError;
use crate::handle::Mtd;

/// Counts since the medium was made. They live below all mounts, so power cuts do not reset them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Bits that ECC corrected, each time that they were read (`ecc_stats.corrected`).
    pub corrected_bits: u64,
    /// Reads of frames with at least `bitflip_threshold` wrong bits that were corrected.
    pub threshold_frames: u64,
    /// Reads of frames with more wrong bits than ECC corrects (`ecc_stats.failed`).
    pub uncorrectable_frames: u64,
    /// Reads that were repeated with shifted voltages.
    pub read_retries: u64,
    pub failed_programs: u64,
    pub failed_erases: u64,
    /// Blocks that were marked bad.
    pub grown_bad_blocks: u64,
    /// Blocks whose data UBI moved because of bit flips.
    pub scrubs: u64,
    /// Blocks that UBI tested because they were in doubt.
    pub tortures: u64,
}

/// What a layer above a medium did about its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    Scrub,
    Torture,
}

impl Health {
    pub fn note(&mut self, what: Upkeep) {
        match what {
            Upkeep::Scrub => self.scrubs += 1,
            Upkeep::Torture => self.tortures += 1,
        }
    }

    /// By the names under which results have them.
    pub fn counters(&self) -> Vec<(&'static str, i64)> {
        let counts = [
            ("corrected_bits", self.corrected_bits),
            ("threshold_frames", self.threshold_frames),
            ("uncorrectable_frames", self.uncorrectable_frames),
            ("read_retries", self.read_retries),
            ("failed_programs", self.failed_programs),
            ("failed_erases", self.failed_erases),
            ("grown_bad_blocks", self.grown_bad_blocks),
            ("scrubs", self.scrubs),
            ("tortures", self.tortures),
        ];
        counts.map(|(name, count)| (name, i64::try_from(count).unwrap_or(i64::MAX))).to_vec()
    }
}

impl Mtd {
    /// Reads each page of each good block once, as `nanddump` does to a file that nobody keeps. What ECC cannot correct is only
    /// counted.
    ///
    /// Errors: the power was cut.
    pub fn read_all_pages(&self) -> Result<(), MtdError> {
        let _why = self.sim().because(&SCRUB);
        let mut page = vec![0; self.page_bytes() as usize];
        for block in 0..u64::from(self.blocks()) {
            let start = block * u64::from(self.erase_block_bytes());
            if self.is_bad(start) {
                continue;
            }
            for at in (start..start + u64::from(self.erase_block_bytes())).step_by(page.len()) {
                match self.read(at, &mut page) {
                    Ok(_) | Err(MtdError::Uncorrectable) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
