//! Unstable bits: what a power cut leaves when the operation had hardly begun, or was nearly over.
//!
//! **Follows.** "The unstable bits issue" of <http://www.linux-mtd.infradead.org/doc/ubifs.html>: a page whose program had hardly begun
//! looks erased, one whose program was nearly over looks programmed, and a block whose erase was cut looks as before or as erased;
//! then, the next time or the time after, the same page cannot be corrected. Ivan Djelic (linux-mtd, October 2011) has seen it with more
//! bits than ECC corrects. **Ours.** Each read fails with a chance of one half, by a seed and the number of reads of the block.
//! **Leaves out.** Cells do not settle with time; a page of more bits a cell does not take its partners along.

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

use super::{Cells, DAMAGE_UNIT_BYTES};
use crate::faults::below;

/// Of an unstable page: which parts of it are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unstable {
    pub seed: u64,
    /// Units of the data area, bit n for unit n.
    pub units: u64,
    pub oob: bool,
}

impl Unstable {
    /// The noise of a read that goes wrong; `None`: this one goes well. `reads`: of its block, since the erase.
    pub fn noise(&self, page: u32, reads: u32) -> Option<Pcg32> {
        let mut random = Pcg32::seed_from_u64(self.seed ^ u64::from(page) << 32 ^ u64::from(reads));
        (below(&mut random, 2) == 0).then_some(random)
    }
}

/// About one bit of sixteen reads wrong; of an erased page, as in data, those that lost charge.
pub fn disturb(noise: &mut Pcg32, bytes: &mut [u8]) {
    for byte in bytes {
        let random = noise.next_u32();
        *byte ^= (random & (random >> 8) & (random >> 16) & (random >> 24)) as u8;
    }
}

impl Cells {
    /// A program that had hardly begun, or was nearly over.
    pub fn program_unstable(&mut self, seed: u64, page: u32, data: &[u8], oob: Option<&[u8]>) {
        let is_nearly_over = nearly_over(seed);
        if is_nearly_over {
            self.program_data(page, data);
        }
        let changed = |(unit, part): (usize, &[u8])| u64::from(part.iter().any(|&byte| byte != 0xFF)) << unit;
        let units = data.chunks(DAMAGE_UNIT_BYTES as usize).enumerate().map(changed).fold(0, |all, unit| all | unit);
        self.program_oob_if(is_nearly_over, page, oob);
        self.becomes_unstable(page, Unstable { seed, units, oob: oob.is_some() });
    }

    /// The same for a program of the OOB area only.
    pub fn program_oob_unstable(&mut self, seed: u64, page: u32, oob: &[u8]) {
        self.program_oob_if(nearly_over(seed), page, Some(oob));
        self.becomes_unstable(page, Unstable { seed, units: 0, oob: true });
    }

    fn program_oob_if(&mut self, is_nearly_over: bool, page: u32, oob: Option<&[u8]>) {
        if let Some(oob) = oob.filter(|_| is_nearly_over) {
            self.program_oob(page, oob);
        }
    }

    /// An erase that had hardly begun, or was nearly over: all pages of the block that were programmed are unstable.
    pub fn erase_unstable(&mut self, seed: u64, block: u32) {
        let (first, end) = self.pages_of(block);
        let written: Vec<u32> = (first..end).filter(|&page| self.is_written(page)).collect();
        if nearly_over(seed) {
            self.wipe(block);
        }
        for page in written {
            self.becomes_unstable(page, Unstable { seed, units: u64::MAX, oob: true });
        }
    }

    /// From now on until the next erase.
    pub fn becomes_unstable(&mut self, page: u32, now: Unstable) {
        let before = self.unstable.get(&page).copied().unwrap_or(Unstable { seed: now.seed, units: 0, oob: false });
        let both = Unstable {
            seed: before.seed ^ now.seed.rotate_left(1),
            units: before.units | now.units,
            oob: before.oob | now.oob,
        };
        self.unstable.insert(page, both);
    }

    pub fn unstable(&self, page: u32) -> Option<Unstable> {
        self.unstable.get(&page).copied()
    }

    /// All unstable pages, in their order.
    pub fn unstable_pages(&self) -> impl ExactSizeIterator<Item = (u32, Unstable)> + '_ {
        self.unstable.iter().map(|(&page, &unstable)| (page, unstable))
    }

    /// Nothing of a block is unstable any more: it is erased.
    pub(super) fn settle(&mut self, block: u32) {
        if !self.unstable.is_empty() {
            let (first, end) = self.pages_of(block);
            self.unstable.retain(|&page, _| !(first..end).contains(&page));
        }
    }
}

fn nearly_over(seed: u64) -> bool {
    below(&mut Pcg32::seed_from_u64(!seed), 2) == 0
}
