//! The ledger: how many chunks of each block, and of all blocks together, are in use and free.
//!
//! The original changes both by hand, side by side; here a chunk changes hands by these methods and in no other way. In builds
//! with debug assertions they assert what must hold of a block and the totals after each change.

use super::{BlockState, Blocks};

impl Blocks {
    pub fn erased_blocks(&self) -> i32 {
        self.erased_blocks
    }

    /// Chunks that hold nothing in use, erased or not.
    pub fn free_chunks(&self) -> i32 {
        self.free_chunks
    }

    /// Takes over what a checkpoint states.
    pub fn restore(&mut self, erased_blocks: i32, free_chunks: i32, bits: &[u8]) {
        (self.erased_blocks, self.free_chunks) = (erased_blocks, free_chunks);
        self.bits.copy_from_slice(bits);
    }

    /// A scan has found a chunk in use.
    pub fn found_in_use(&mut self, block: u32, page: u32) {
        self.set_in_use(block, page);
        self.info_mut(block).in_use_chunks += 1;
    }

    /// A scan has found a chunk out of use.
    pub fn found_free(&mut self) {
        self.free_chunks += 1;
    }

    /// A scan has found that nothing was written to a block. Its chunks become free one by one ([`Blocks::found_free`]).
    pub fn found_unwritten(&mut self, block: u32) {
        self.info_mut(block).state = BlockState::Empty;
        self.erased_blocks += 1;
    }

    /// A whole block is empty: it was found so, or held a checkpoint that was erased.
    pub fn became_empty(&mut self, block: u32) {
        self.info_mut(block).state = BlockState::Empty;
        self.erased_blocks += 1;
        self.free_chunks += self.chunks_per_block as i32;
        self.check(block);
    }

    /// A chunk is written and in use from now on.
    #[inline]
    pub fn use_chunk(&mut self, block: u32, page: u32) {
        debug_assert!(!self.is_trusted || !self.is_in_use(block, page), "block {block}, page {page} is in use already");
        self.info_mut(block).in_use_chunks += 1;
        self.set_in_use(block, page);
        self.free_chunks -= 1;
        self.check(block);
    }

    /// A chunk goes out of use. Returns how many the block still has.
    #[inline]
    pub fn drop_chunk(&mut self, block: u32, page: u32) -> i32 {
        debug_assert!(!self.is_trusted || self.is_in_use(block, page), "block {block}, page {page} is not in use");
        self.free_chunks += 1;
        self.clear_in_use(block, page);
        let info = self.info_mut(block);
        info.in_use_chunks -= 1;
        let left = info.in_use_chunks;
        self.check(block);
        left
    }

    /// The chunk counts as free from now on, because its file was deleted, although garbage collection has not dropped it.
    pub fn soft_delete(&mut self, chunk: u32) {
        let block = self.of(chunk);
        self.info_mut(block).soft_deleted_chunks += 1;
        self.free_chunks += 1;
        self.became_dirtier(block);
        self.check(block);
    }

    /// Takes back what [`Blocks::soft_delete`] has counted for a chunk of the block, which is dropped now.
    pub fn undo_soft_delete(&mut self, block: u32) {
        self.free_chunks -= 1;
        self.info_mut(block).soft_deleted_chunks -= 1;
    }

    /// A block without chunks in use was erased.
    pub fn was_erased(&mut self, block: u32) {
        let info = self.info_mut(block);
        info.state = BlockState::Empty;
        info.sequence = 0;
        info.in_use_chunks = 0;
        info.soft_deleted_chunks = 0;
        info.has_shrink_header = false;
        info.skip_erased_check = true;
        info.gc_prioritise = false;
        info.has_summary = false;
        self.erased_blocks += 1;
        self.clear_all(block);
        self.check(block);
    }

    /// A block without chunks in use is lost: it could not be erased.
    pub fn was_lost(&mut self) {
        self.free_chunks -= self.chunks_per_block as i32;
    }

    /// So many erased blocks hold a checkpoint.
    pub fn became_checkpoint(&mut self, blocks: u32) {
        self.free_chunks -= (blocks * self.chunks_per_block) as i32;
        self.erased_blocks -= blocks as i32;
    }

    /// What must hold of a block and the totals after each change. The sums over all blocks are compared by
    /// [`Blocks::contradiction`].
    #[inline]
    fn check(&self, block: u32) {
        if cfg!(debug_assertions) && self.is_trusted {
            let (info, chunks) = (self.info(block), self.chunks_per_block as i32);
            let counts = [info.soft_deleted_chunks, info.in_use_chunks];
            assert!(
                counts.iter().all(|count| (0..=chunks).contains(count)) && info.live() >= 0,
                "block {block}: {info:?}"
            );
            assert!((0..=self.count() as i32).contains(&self.erased_blocks), "{} erased blocks", self.erased_blocks);
            assert!((0..=self.count() as i32 * chunks).contains(&self.free_chunks), "{} free chunks", self.free_chunks);
        }
    }

    /// How the totals differ from the sums over all blocks. `None`: they agree.
    pub fn contradiction(&self) -> Option<String> {
        use BlockState::{Allocating, Collecting, Empty, Full};
        let chunks = self.chunks_per_block as i32;
        let (mut erased, mut free, mut open) = (0, 0, None);
        for block in self.all() {
            let info = self.info(block);
            let set: u32 = self.bits[self.bits_of(block)].iter().map(|byte| byte.count_ones()).sum();
            match info.state {
                Empty => (erased, free) = (erased + 1, free + chunks),
                Allocating | Full | Collecting => free += chunks - info.live(),
                _ => continue,
            }
            if set as i32 != info.in_use_chunks {
                return Some(format!("block {block} has {set} chunks in use and counts {}", info.in_use_chunks));
            }
            if info.state == Allocating && open.replace(block).is_some() {
                return Some(format!("block {block} is open, and another one is, too"));
            }
        }
        if open != self.alloc_block {
            return Some(format!("the open block is {open:?}, chunks go to {:?}", self.alloc_block));
        }
        if erased != self.erased_blocks {
            return Some(format!("{erased} blocks are erased, {} are counted", self.erased_blocks));
        }
        (free != self.free_chunks).then(|| format!("{free} chunks are free, {} are counted", self.free_chunks))
    }
}
