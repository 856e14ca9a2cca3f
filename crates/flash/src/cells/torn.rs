//! What a power cut leaves in the cells of the operation that it hits.
//!
//! On a part with several bits a cell, one word line holds several pages ([`Pairing`]). Programming the later page moves the
//! charge of cells that already hold the earlier one, so a cut in its middle takes the earlier page along (Tseng, Grupp,
//! Swanson: Understanding the Impact of Power Loss on Flash Memory, DAC 2011).

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

use super::{Cells, DAMAGE_UNIT_BYTES};
use crate::faults::below;
use crate::pairing::Pairing;

impl Cells {
    /// Lets only the first bytes of a program reach the cells. ECC cannot correct the units that they change, because
    /// the ECC bytes come last on the bus; units left at 0xFF keep the content of an earlier program.
    pub fn program_torn(&mut self, seed: u64, page: u32, data: &[u8], oob: Option<&[u8]>, pairing: Option<&Pairing>) {
        let bytes = data.len() + oob.map_or(0, <[u8]>::len);
        let arrived = 1 + below(&mut Pcg32::seed_from_u64(seed), bytes as u32 - 1) as usize;
        let of_data = arrived.min(data.len());
        self.program_data(page, &prefix(data, of_data));
        let mut damage = 0;
        for (unit, part) in data[..of_data].chunks(DAMAGE_UNIT_BYTES as usize).enumerate() {
            if part.iter().any(|&byte| byte != 0xFF) {
                damage |= 1 << unit;
            }
        }
        self.add_damage(page, damage);
        if let Some(oob) = oob {
            if arrived > data.len() {
                self.program_oob(page, &prefix(oob, arrived - data.len()));
            }
        }
        self.ruin_partners(seed, page, pairing);
    }

    /// As [`Cells::program_torn`] for a program of the OOB area only.
    pub fn program_oob_torn(&mut self, seed: u64, page: u32, oob: &[u8], pairing: Option<&Pairing>) {
        let arrived = 1 + below(&mut Pcg32::seed_from_u64(seed), self.geometry.oob_bytes - 1) as usize;
        self.program_oob(page, &prefix(oob, arrived));
        self.ruin_partners(seed, page, pairing);
    }

    /// Some pages of the block are erased, others hold a mix of their content and ones.
    pub fn erase_torn(&mut self, seed: u64, block: u32) {
        let mut fates = Pcg32::seed_from_u64(seed);
        let mut noise = Pcg32::seed_from_u64(!seed);
        self.wipe_partly(
            block,
            || below(&mut fates, 2) == 0,
            |bytes| {
                for byte in bytes {
                    *byte |= noise.next_u32() as u8;
                }
            },
        );
    }

    /// Makes the pages unreadable that share their cells with `page` and were programmed before it.
    pub fn ruin_partners(&mut self, seed: u64, page: u32, pairing: Option<&Pairing>) {
        let Some(pairing) = pairing else { return };
        let (block, place) = self.place_of(page);
        let first = block as u32 * self.geometry.pages_per_block;
        for partner in pairing.earlier_pages(place) {
            self.ruin(seed.wrapping_add(u64::from(partner)), first + partner);
        }
    }

    /// About one bit of four of a programmed page flips, in data and OOB area, and no ECC corrects them.
    pub fn ruin(&mut self, seed: u64, page: u32) {
        let mut noise = Pcg32::seed_from_u64(!seed);
        let mut mix = |bytes: &mut [u8]| {
            for byte in bytes {
                let random = noise.next_u32();
                *byte ^= (random & (random >> 8)) as u8;
            }
        };
        if self.programs(page) != 0 {
            mix(self.data_mut(page));
            self.add_damage(page, u64::MAX);
        }
        let slot = self.oob_slot[page as usize];
        if slot != crate::slab::NONE {
            mix(self.oob.get_mut(slot));
        }
    }

    /// Tears a page's only program after the fact: it was under way when the power was cut.
    pub fn tear(&mut self, seed: u64, page: u32, pairing: Option<&Pairing>) {
        let data = self.data(page).expect("the page is programmed").to_vec();
        let oob = self.oob(page).map(<[u8]>::to_vec);
        self.unprogram(page);
        self.program_torn(seed, page, &data, oob.as_deref(), pairing);
    }

    /// Tears an erase after the fact: some of the pages that were programmed are erased, the others hold what nobody can
    /// read. (The mix of old content and ones is noise here: the old content is gone.)
    pub fn tear_erase(&mut self, seed: u64, block: u32, programmed_pages: u32) {
        let mut random = Pcg32::seed_from_u64(seed);
        let mut noise = vec![0; self.geometry.page_bytes as usize];
        let first = block * self.geometry.pages_per_block;
        for page in first..first + programmed_pages {
            if below(&mut random, 2) == 0 {
                random.fill_bytes(&mut noise);
                self.program_data(page, &noise);
                self.add_damage(page, u64::MAX);
            }
        }
    }

    /// Takes back the only program of a page, the last one of its block: it had not begun when the power was cut.
    pub fn unprogram(&mut self, page: u32) {
        debug_assert_eq!(self.programs(page), 1);
        let (block, place) = self.place_of(page);
        self.programs[page as usize] = 0;
        let state = &mut self.blocks[block];
        state.programmed_pages -= 1;
        // Of a block that is programmed in order, what came before is what lies before.
        state.order_floor_page = state.order_floor_page.min(place);
        if self.oob_slot[page as usize] != crate::slab::NONE {
            self.blocks[block].oob_slots -= 1;
            self.free_oob(page);
        }
        self.damage.remove(&page);
        self.inherited.remove(&page);
        self.free_erased_runs(block as u32);
    }
}

/// `bytes` with everything behind the first `count` bytes replaced by 0xFF.
fn prefix(bytes: &[u8], count: usize) -> Vec<u8> {
    let mut torn = vec![0xFF; bytes.len()];
    torn[..count].copy_from_slice(&bytes[..count]);
    torn
}
