//! The memory of a chip that is simulated in memory: what it takes to get some for a page that is programmed.
//!
//! nandsim (`drivers/mtd/nand/raw/nandsim.c`) allocates a page when it is programmed for the first time since its block was
//! erased, and frees the pages of a block that is erased. The allocator (`mm/slub.c`) takes objects from slabs; when none has a free
//! one left, it makes a new slab, and gives slabs back of which it has enough without them (`min_partial`).

use crate::driver::PageMemory;
use ffslab_flash::Geometry;

/// Slabs with free objects that the allocator keeps: half of the binary logarithm of an object's size, at least 5 (`set_min_partial`).
const SLABS_KEPT: u32 = 5;

pub(crate) struct PagesInMemory {
    rules: PageMemory,
    pages_per_block: u32,
    /// One bit a page: it has memory.
    taken: Box<[u64]>,
    /// Objects of slabs that are free.
    free: u32,
}

impl PagesInMemory {
    pub fn new(rules: PageMemory, geometry: &Geometry) -> PagesInMemory {
        let pages = geometry.pages_per_block as usize * geometry.blocks as usize;
        let taken = vec![0; pages.div_ceil(64)].into_boxed_slice();
        PagesInMemory {
            rules,
            pages_per_block: geometry.pages_per_block,
            taken,
            free: rules.slabs_at_hand * rules.pages_per_slab,
        }
    }

    /// The word of `taken` in which a page has its bit, and the bit.
    fn place(page: u32) -> (usize, u64) {
        (page as usize / 64, 1 << (page % 64))
    }

    /// Takes memory for a page. Returns how long that takes beyond a program into memory that is there; `None`: the page has some.
    pub fn take(&mut self, page: u32) -> Option<u64> {
        let (word, bit) = Self::place(page);
        if self.taken[word] & bit != 0 {
            return None;
        }
        self.taken[word] |= bit;
        let is_new_slab = self.free == 0;
        if is_new_slab {
            self.free = self.rules.pages_per_slab;
        }
        self.free -= 1;
        Some(if is_new_slab { self.rules.slab_ns } else { 0 })
    }

    /// How long drawing takes whether bits of a page flip in a read. One without memory has none.
    pub fn draw(&self, page: u32) -> u64 {
        let (word, bit) = Self::place(page);
        if self.taken[word] & bit != 0 {
            self.rules.draw_ns
        } else {
            0
        }
    }

    /// Gives back the memory of a block that is erased. Returns how long that takes beyond the erase of an empty block.
    pub fn give_back(&mut self, block: u32) -> u64 {
        let first = block * self.pages_per_block;
        let free_before = self.free;
        for page in first..first + self.pages_per_block {
            let (word, bit) = Self::place(page);
            self.free += u32::from(self.taken[word] & bit != 0);
            self.taken[word] &= !bit;
        }
        let freed = self.free - free_before;
        if freed > 0 {
            self.free = self.free.min((SLABS_KEPT + 1) * self.rules.pages_per_slab - 1);
        }
        u64::from(freed) * self.rules.free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fifteenth_page_needs_a_slab_and_an_erase_gives_pages_back() {
        let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 4 };
        let mut memory = PagesInMemory::new(
            PageMemory { pages_per_slab: 15, slab_ns: 65, slabs_at_hand: 0, free_ns: 1, draw_ns: 7 },
            &geometry,
        );
        let slabs = |memory: &mut PagesInMemory, pages: std::ops::Range<u32>| -> Vec<u32> {
            pages.filter(|&page| memory.take(page) > Some(0)).collect()
        };
        assert_eq!(slabs(&mut memory, 0..64), [0, 15, 30, 45, 60]);
        assert_eq!(memory.take(3), None, "the page has memory");
        assert_eq!([memory.draw(3), memory.draw(64)], [7, 0]);
        assert_eq!(memory.give_back(0), 64);
        assert_eq!(memory.give_back(0), 0, "nothing is left to give back");
        assert_eq!(slabs(&mut memory, 64..140), [139], "the 64 pages given back, and 11 of the last slab");
    }
}
