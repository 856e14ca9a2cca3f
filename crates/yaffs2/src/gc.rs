//! Garbage collection: when, and which block.
//!
//! Follows `yaffs_check_gc`, `yaffs_find_gc_block` of `yaffs_guts.c` and `yaffs2_find_refresh_block` of `yaffs_yaffs2.c`.

use crate::causes;
use ffslab_fs::Result;

use crate::blocks::BlockState;
use crate::device::Device;

/// A search ends early when its best block has at most this many chunks to copy.
const GOOD_ENOUGH_CHUNKS: i32 = 2;
/// Without shortage of space, only blocks with at most this many chunks to copy are collected (more in the background).
const PASSIVE_THRESHOLD_CHUNKS: i32 = 4;
/// Without shortage of space, one call looks at no more blocks than this.
const SEARCH_BLOCKS_MAX: u32 = 100;
/// How many calls in a row may do nothing while enough of the free space is erased.
const SKIPS: u32 = 5;
/// After so many calls in a row that found no block to collect, the oldest dirty block is taken. First number: calls
/// from writes; second: calls from the background thread.
const FRUITLESS_CALLS_MAX: [u32; 2] = [20, 10];

impl Device {
    /// Collects garbage if it is due. Called before each data chunk and each header is written.
    pub fn check_gc(&mut self, background: bool) -> Result<()> {
        if self.chunks.gc.disabled {
            return Ok(());
        }
        let reserved = self.chunks.options.reserved_blocks as i32;
        let per_block = self.chunks.blocks.chunks_per_block as i32;
        // A second round is only made when the first one left too few erased blocks.
        for _ in 0..2 {
            let erased_min = reserved + self.chunks.still_wanted(self.checkpoint_blocks()) + 1;
            let erased_chunks = self.chunks.blocks.erased_blocks() * per_block;
            let aggressive = self.chunks.blocks.erased_blocks() < erased_min;
            if !aggressive {
                if !background && erased_chunks > self.chunks.blocks.free_chunks() / 4 {
                    break;
                }
                if erased_chunks >= self.chunks.blocks.free_chunks() / 2 && self.chunks.gc.skips_left > 0 && !background
                {
                    self.chunks.gc.skips_left -= 1;
                    break;
                }
            }
            self.chunks.gc.skips_left = SKIPS;
            if self.chunks.gc.block == 0 && !aggressive {
                let block = self.block_to_refresh();
                self.chunks.gc.begin(block);
            }
            if self.chunks.gc.block == 0 {
                let block = self.find_gc_block(aggressive, background);
                self.chunks.gc.begin(block);
            }
            if self.chunks.gc.block > 0 {
                let _why = self.chunks.sim.because(&causes::GC_COPY);
                self.collect_block(self.chunks.gc.block, aggressive)?;
            }
            if self.chunks.blocks.erased_blocks() >= reserved || self.chunks.gc.block == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Picks the oldest full block once in a while, so that static data move and their cells are written anew. Returns
    /// 0 when that is not due.
    fn block_to_refresh(&mut self) -> u32 {
        let period = self.chunks.options.refresh_period_blocks;
        if period < 10 {
            return 0;
        }
        self.chunks.gc.refresh_left = self.chunks.gc.refresh_left.min(period);
        if self.chunks.gc.refresh_left > 0 {
            return 0;
        }
        self.chunks.gc.refresh_left = period;
        self.chunks.blocks.oldest_full().unwrap_or(0)
    }

    /// Picks the block to collect. Returns 0 when none is worth it.
    fn find_gc_block(&mut self, aggressive: bool, background: bool) -> u32 {
        let mut selected = 0;
        if self.chunks.gc.has_prioritised && !aggressive {
            selected = self.find_prioritised();
        }
        if selected == 0 {
            selected = self.find_dirtiest(aggressive, background);
        }
        // After many fruitless calls the oldest dirty block is taken: as long as it exists, newer blocks with shrink
        // headers may not be collected.
        if selected == 0 && self.chunks.gc.fruitless_calls >= FRUITLESS_CALLS_MAX[usize::from(background)] {
            self.chunks.blocks.find_oldest_dirty();
            if self.chunks.blocks.oldest_dirty_block > 0 {
                selected = self.chunks.blocks.oldest_dirty_block;
            } else {
                self.chunks.gc.fruitless_calls = 0;
            }
        }
        if selected > 0 {
            self.chunks.gc.dirtiest = 0;
            self.chunks.gc.dirtiest_chunks = 0;
            self.chunks.gc.fruitless_calls = 0;
            self.chunks.gc.refresh_left = self.chunks.gc.refresh_left.saturating_sub(1);
        } else {
            self.chunks.gc.fruitless_calls += 1;
        }
        selected
    }

    /// Finds a block that errors have prioritised; 0: there is none.
    fn find_prioritised(&mut self) -> u32 {
        self.chunks.gc.dirtiest = 0;
        let mut exist = false;
        for block in self.chunks.blocks.all() {
            let info = self.chunks.blocks.info(block);
            if info.gc_prioritise {
                exist = true;
                if info.state == BlockState::Full && self.chunks.blocks.may_be_collected(block) {
                    return block;
                }
            }
        }
        if !exist {
            self.chunks.gc.has_prioritised = false;
            return 0;
        }
        // A prioritised block exists but may not be collected yet, because older dirty blocks must go before it.
        self.chunks.blocks.oldest_dirty_block
    }

    /// Finds the block with the fewest chunks in use, beginning where the last search ended.
    fn find_dirtiest(&mut self, aggressive: bool, background: bool) -> u32 {
        let per_block = self.chunks.blocks.chunks_per_block as i32;
        let (threshold, search_blocks) = if aggressive {
            (per_block, self.chunks.blocks.count())
        } else {
            let highest = (per_block / if background { 2 } else { 8 }).max(PASSIVE_THRESHOLD_CHUNKS);
            let wanted = if background { (self.chunks.gc.fruitless_calls as i32 + 2) * 2 } else { 0 };
            let threshold = wanted.max(PASSIVE_THRESHOLD_CHUNKS).min(highest);
            (threshold, (self.chunks.blocks.count() / 16 + 1).min(SEARCH_BLOCKS_MAX))
        };
        if self.chunks.gc.victims.is_some() {
            if let Some(block) = self.victim_by_policy(threshold.min(per_block - 1)) {
                return block;
            }
        }
        for _ in 0..search_blocks {
            if self.chunks.gc.dirtiest > 0 && self.chunks.gc.dirtiest_chunks <= GOOD_ENOUGH_CHUNKS {
                break;
            }
            self.chunks.gc.finder += 1;
            if !self.chunks.blocks.all().contains(&self.chunks.gc.finder) {
                self.chunks.gc.finder = self.chunks.blocks.first();
            }
            let block = self.chunks.gc.finder;
            let info = self.chunks.blocks.info(block);
            let live = info.live();
            if info.state == BlockState::Full
                && live < per_block
                && (self.chunks.gc.dirtiest == 0 || live < self.chunks.gc.dirtiest_chunks)
                && self.chunks.blocks.may_be_collected(block)
            {
                self.chunks.gc.dirtiest = block;
                self.chunks.gc.dirtiest_chunks = live;
            }
        }
        if self.chunks.gc.dirtiest > 0 && self.chunks.gc.dirtiest_chunks <= threshold {
            self.chunks.gc.dirtiest
        } else {
            0
        }
    }
}
