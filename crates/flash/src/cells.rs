//! The medium: what the cells hold, and what has happened to each page and block. Time, faults and power are not part
//! of it.

pub mod block;
mod inherited;
mod stored;
mod torn;
mod unstable;

pub use block::BlockContent;
pub use unstable::{disturb, Unstable};

use std::collections::BTreeMap;
use std::ops::Range;

use crate::geometry::Geometry;
use crate::slab::{Slab, NONE};

/// The unit in which uncorrectable damage is remembered. Every ECC step in use is a multiple of it or starts on a
/// multiple of it.
pub const DAMAGE_UNIT_BYTES: u32 = 256;

/// Neighbouring pages of a block share a slot of this many bytes. So they stay neighbours in the host's memory however
/// often slots are reused, and reading a block touches memory in order. Larger slots would waste memory in blocks with
/// few programmed pages.
const RUN_BYTES: u32 = 16 << 10;

#[derive(Clone, Copy, Default)]
pub struct Block {
    /// Pages whose data area is programmed.
    pub programmed_pages: u32,
    /// Pages that have an OOB slot.
    oob_slots: u32,
    /// One more than the highest page of the block whose data area is programmed.
    pub order_floor_page: u32,
    pub reads_since_erase: u32,
    pub reads_between_erases_max: u32,
}

pub struct Cells {
    pub geometry: Geometry,
    /// Number of pages in a run, as a power of two.
    run_shift: u32,
    /// Slot with the data of each run of pages.
    run_slot: Vec<u32>,
    oob_slot: Vec<u32>,
    /// Number of programs of each page's data area since the erase; it stops at 255. 0: the data area is erased.
    programs: Vec<u8>,
    data: Slab,
    oob: Slab,
    pub blocks: Vec<Block>,
    pub erase_counts: Vec<u32>,
    /// Pages with units that no ECC can correct, because the power was cut while they changed. Bit n of the mask is
    /// unit n.
    damage: BTreeMap<u32, u64>,
    /// Pages that read differently each time.
    unstable: BTreeMap<u32, Unstable>,
    /// Wrong bits of pages that a copy-back has filled.
    inherited: BTreeMap<u32, Box<[u32]>>,
}

impl Cells {
    /// An erased medium. The geometry has been checked.
    pub fn new(geometry: Geometry) -> Cells {
        let (pages, blocks) = (geometry.pages() as usize, geometry.blocks as usize);
        let run_pages = (RUN_BYTES / geometry.page_bytes).clamp(1, geometry.pages_per_block);
        let runs = geometry.pages() / run_pages;
        Cells {
            geometry,
            run_shift: run_pages.trailing_zeros(),
            run_slot: vec![NONE; runs as usize],
            oob_slot: vec![NONE; pages],
            programs: vec![0; pages],
            data: Slab::new(geometry.page_bytes * run_pages, runs),
            oob: Slab::new(geometry.oob_bytes, geometry.pages()),
            blocks: vec![Block::default(); blocks],
            erase_counts: vec![0; blocks],
            damage: BTreeMap::new(),
            unstable: BTreeMap::new(),
            inherited: BTreeMap::new(),
        }
    }

    /// Block of a page, and index of the page in the block, without a division: pages per block are a power of two
    /// (`Geometry::check`).
    #[inline]
    fn place_of(&self, page: u32) -> (usize, u32) {
        let pages_per_block = self.geometry.pages_per_block;
        ((page >> pages_per_block.trailing_zeros()) as usize, page & (pages_per_block - 1))
    }

    #[inline]
    pub fn programs(&self, page: u32) -> u32 {
        u32::from(self.programs[page as usize])
    }

    #[inline]
    pub fn data(&self, page: u32) -> Option<&[u8]> {
        (self.programs[page as usize] != 0)
            .then(|| &self.data.get(self.run_slot[self.run_of(page)])[self.within_run(page)])
    }

    /// Puts other bytes where programmed ones are; an erased page stays erased.
    pub fn amend(&mut self, page: u32, column: u32, bytes: &[u8]) {
        if self.programs[page as usize] != 0 {
            let start = column as usize;
            self.data_mut(page)[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    #[inline]
    fn data_mut(&mut self, page: u32) -> &mut [u8] {
        let (slot, range) = (self.run_slot[self.run_of(page)], self.within_run(page));
        &mut self.data.get_mut(slot)[range]
    }

    #[inline]
    fn run_of(&self, page: u32) -> usize {
        (page >> self.run_shift) as usize
    }

    /// The bytes of the run's slot that belong to the page.
    #[inline]
    fn within_run(&self, page: u32) -> Range<usize> {
        let page_bytes = self.geometry.page_bytes as usize;
        let start = (page & ((1 << self.run_shift) - 1)) as usize * page_bytes;
        start..start + page_bytes
    }

    #[inline]
    pub fn oob(&self, page: u32) -> Option<&[u8]> {
        let slot = self.oob_slot[page as usize];
        (slot != NONE).then(|| self.oob.get(slot))
    }

    #[inline]
    pub fn read_data(&self, page: u32, column: u32, data: &mut [u8]) {
        match self.data(page) {
            Some(cells) => {
                let column = column as usize;
                data.copy_from_slice(&cells[column..column + data.len()]);
            }
            None => data.fill(0xFF),
        }
    }

    #[inline]
    pub fn read_oob(&self, page: u32, oob: &mut [u8]) {
        match self.oob(page) {
            Some(cells) => oob.copy_from_slice(cells),
            None => oob.fill(0xFF),
        }
    }

    /// Programs the data area: bits can only go from 1 to 0.
    #[inline]
    pub fn program_data(&mut self, page: u32, data: &[u8]) {
        let index = page as usize;
        if self.programs[index] == 0 {
            let run = self.run_of(page);
            if self.run_slot[run] == NONE {
                self.run_slot[run] = self.data.take();
            }
            self.data_mut(page).copy_from_slice(data);
        } else {
            and_into(self.data_mut(page), data);
        }
        let (block, place) = self.place_of(page);
        let block = &mut self.blocks[block];
        if self.programs[index] == 0 {
            block.programmed_pages += 1;
        }
        block.order_floor_page = block.order_floor_page.max(place + 1);
        self.programs[index] = self.programs[index].saturating_add(1);
    }

    /// Programs the out-of-band area.
    #[inline]
    pub fn program_oob(&mut self, page: u32, oob: &[u8]) {
        let index = page as usize;
        let slot = self.oob_slot[index];
        if slot == NONE {
            let slot = self.oob.take();
            self.oob_slot[index] = slot;
            self.oob.get_mut(slot).copy_from_slice(oob);
            let (block, _) = self.place_of(page);
            self.blocks[block].oob_slots += 1;
        } else {
            and_into(self.oob.get_mut(slot), oob);
        }
    }

    /// Sets every bit of a block. The caller counts the wear.
    pub fn wipe(&mut self, block: u32) {
        let (first, end) = self.pages_of(block);
        let state = self.blocks[block as usize];
        if state.programmed_pages != 0 {
            self.programs[first as usize..end as usize].fill(0);
            self.free_erased_runs(block);
        }
        if state.oob_slots != 0 {
            // Slots are freed from the last to the first, so that the free list hands them out in ascending order
            // again.
            for page in (first..end).rev() {
                self.free_oob(page);
            }
        }
        if !self.damage.is_empty() {
            for page in first..end {
                self.damage.remove(&page);
            }
        }
        if !self.inherited.is_empty() {
            self.inherited.retain(|page, _| !(first..end).contains(page));
        }
        self.settle(block);
        self.blocks[block as usize] = Block {
            reads_between_erases_max: state.reads_between_erases_max.max(state.reads_since_erase),
            ..Block::default()
        };
    }

    fn pages_of(&self, block: u32) -> (u32, u32) {
        let first = block * self.geometry.pages_per_block;
        (first, first + self.geometry.pages_per_block)
    }

    /// Frees the slots of runs in which no page is programmed, from the last to the first as in [`Cells::wipe`].
    fn free_erased_runs(&mut self, block: u32) {
        let (first, end) = self.pages_of(block);
        for run in (self.run_of(first)..=self.run_of(end - 1)).rev() {
            let pages = run << self.run_shift..(run + 1) << self.run_shift;
            if self.run_slot[run] != NONE && self.programs[pages].iter().all(|&programs| programs == 0) {
                self.data.give_back(self.run_slot[run]);
                self.run_slot[run] = NONE;
            }
        }
    }

    fn free_oob(&mut self, page: u32) {
        let slot = &mut self.oob_slot[page as usize];
        if *slot != NONE {
            self.oob.give_back(*slot);
            *slot = NONE;
        }
    }

    /// An interrupted erase: `fate` decides for each programmed page whether it is erased (`true`) or keeps a mix of
    /// its content and ones, made by `mix`.
    pub fn wipe_partly(&mut self, block: u32, mut fate: impl FnMut() -> bool, mut mix: impl FnMut(&mut [u8])) {
        let (first, end) = self.pages_of(block);
        let mut kept = Block {
            reads_between_erases_max: self.blocks[block as usize].reads_between_erases_max,
            reads_since_erase: self.blocks[block as usize].reads_since_erase,
            ..Block::default()
        };
        for page in first..end {
            let (is_programmed, oob_slot) = (self.programs[page as usize] != 0, self.oob_slot[page as usize]);
            if !is_programmed && oob_slot == NONE {
                continue;
            }
            if fate() {
                self.programs[page as usize] = 0;
                self.free_oob(page);
                self.damage.remove(&page);
                self.inherited.remove(&page);
                continue;
            }
            if is_programmed {
                mix(self.data_mut(page));
                kept.programmed_pages += 1;
                kept.order_floor_page = page - first + 1;
                self.add_damage(page, u64::MAX);
            }
            if oob_slot != NONE {
                mix(self.oob.get_mut(oob_slot));
                kept.oob_slots += 1;
            }
        }
        self.free_erased_runs(block);
        self.blocks[block as usize] = kept;
    }

    /// Marks the units of `mask` of a page as uncorrectable until the next erase.
    pub fn add_damage(&mut self, page: u32, mask: u64) {
        if mask != 0 {
            *self.damage.entry(page).or_insert(0) |= mask;
        }
    }

    /// Whether some page may read otherwise than it was programmed.
    #[inline]
    pub fn any_damage(&self) -> bool {
        !self.damage.is_empty() || !self.unstable.is_empty() || !self.inherited.is_empty()
    }

    /// Damaged units of a page.
    pub fn damage(&self, page: u32) -> u64 {
        self.damage.get(&page).copied().unwrap_or(0)
    }

    /// Writes the bad block mark of a block, as the factory does.
    pub fn mark_bad(&mut self, block: u32) {
        let page = block * self.geometry.pages_per_block;
        let at = self.geometry.bad_mark_byte() as usize;
        if self.oob_slot[page as usize] == NONE {
            let slot = self.oob.take();
            self.oob.get_mut(slot).fill(0xFF);
            self.oob_slot[page as usize] = slot;
            self.blocks[block as usize].oob_slots += 1;
        }
        self.oob.get_mut(self.oob_slot[page as usize])[at] = 0;
    }

    /// Does the block carry a bad block mark?
    pub fn is_marked_bad(&self, block: u32) -> bool {
        self.oob(block * self.geometry.pages_per_block)
            .is_some_and(|oob| oob[self.geometry.bad_mark_byte() as usize] != 0xFF)
    }

    /// Memory that page contents occupy, in bytes.
    pub fn allocated_bytes(&self) -> u64 {
        self.data.allocated_bytes() + self.oob.allocated_bytes()
    }
}

fn and_into(cells: &mut [u8], new: &[u8]) {
    for (cell, byte) in cells.iter_mut().zip(new) {
        *cell &= byte;
    }
}

impl Clone for Cells {
    fn clone(&self) -> Cells {
        Cells {
            geometry: self.geometry,
            run_shift: self.run_shift,
            run_slot: self.run_slot.clone(),
            oob_slot: self.oob_slot.clone(),
            programs: self.programs.clone(),
            data: self.data.clone(),
            oob: self.oob.clone(),
            blocks: self.blocks.clone(),
            erase_counts: self.erase_counts.clone(),
            damage: self.damage.clone(),
            unstable: self.unstable.clone(),
            inherited: self.inherited.clone(),
        }
    }

    fn clone_from(&mut self, source: &Cells) {
        self.geometry = source.geometry;
        self.run_shift = source.run_shift;
        self.run_slot.clone_from(&source.run_slot);
        self.oob_slot.clone_from(&source.oob_slot);
        self.programs.clone_from(&source.programs);
        self.data.clone_from(&source.data);
        self.oob.clone_from(&source.oob);
        self.blocks.clone_from(&source.blocks);
        self.erase_counts.clone_from(&source.erase_counts);
        self.damage.clone_from(&source.damage);
        self.unstable.clone_from(&source.unstable);
        self.inherited.clone_from(&source.inherited);
    }
}
