//! Garbage collection: when, and which block.
//!
//! Follows `yaffs_check_gc`, `yaffs_find_gc_block` of `yaffs_guts.c` and `yaffs2_find_refresh_block` of `yaffs_yaffs2.c`.

use ffslab_fs::Result;
use ffslab_sim::Reason;

use crate::blocks::BlockState;
use crate::device::Device;

/// Chunks to copy up to which the search for a better block ends.
const GOOD_ENOUGH_CHUNKS: i32 = 2;
/// Chunks to copy up to which a block is collected when there is no hurry.
const PASSIVE_THRESHOLD_CHUNKS: i32 = 4;
/// Blocks that one call looks at when there is no hurry.
const SEARCH_BLOCKS_MAX: u32 = 100;
/// Calls that may go without a collection while there is room.
const SKIPS: u32 = 5;
/// Calls without a find after which the oldest dirty block is taken: of writers, and of the background thread.
const FRUITLESS_CALLS_MAX: [u32; 2] = [20, 10];

/// What the garbage collection remembers between calls.
#[derive(Default)]
pub(crate) struct GcState {
    /// Block that is being collected; 0: none.
    pub block: u32,
    /// Next chunk of it to look at.
    pub page: u32,
    /// Objects to forget when the block is done.
    pub clean_up: Vec<u32>,
    /// The collection must not begin anew from within itself.
    pub disabled: bool,
    /// Some block may have to go first.
    pub has_prioritised: bool,
    finder: u32,
    /// Best candidate so far, 0: none, and how many chunks it holds.
    dirtiest: u32,
    dirtiest_chunks: i32,
    fruitless_calls: u32,
    skips_left: u32,
    refresh_left: u32,
}

impl GcState {
    /// After a mount the worst is assumed until the first collection has looked.
    pub fn new() -> GcState {
        GcState { has_prioritised: true, ..GcState::default() }
    }

    /// The block was erased.
    pub fn forget_block(&mut self, block: u32) {
        if self.block == block {
            self.block = 0;
        }
        if self.dirtiest == block {
            self.dirtiest = 0;
            self.dirtiest_chunks = 0;
        }
    }

    fn begin(&mut self, block: u32) {
        self.block = block;
        self.page = 0;
        self.clean_up.clear();
    }
}

impl Device {
    /// Collects if that is due. Called before each data chunk and header that is written.
    pub fn check_gc(&mut self, background: bool) -> Result<()> {
        if self.gc.disabled {
            return Ok(());
        }
        let reserved = self.options.reserved_blocks as i32;
        let per_block = self.blocks.chunks_per_block as i32;
        // A second round only when the first has not gained enough.
        for _ in 0..2 {
            let erased_min = reserved + self.checkpoint_blocks_wanted() + 1;
            let erased_chunks = self.blocks.erased_blocks * per_block;
            let aggressive = self.blocks.erased_blocks < erased_min;
            if !aggressive {
                if !background && erased_chunks > self.blocks.free_chunks / 4 {
                    break;
                }
                if erased_chunks >= self.blocks.free_chunks / 2 && self.gc.skips_left > 0 && !background {
                    self.gc.skips_left -= 1;
                    break;
                }
            }
            self.gc.skips_left = SKIPS;
            if self.gc.block == 0 && !aggressive {
                let block = self.block_to_refresh();
                self.gc.begin(block);
            }
            if self.gc.block == 0 {
                let block = self.find_gc_block(aggressive, background);
                self.gc.begin(block);
            }
            if self.gc.block > 0 {
                let _why = self.sim.because(Reason::GcCopy);
                self.collect_block(self.gc.block, aggressive)?;
            }
            if self.blocks.erased_blocks >= reserved || self.gc.block == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Now and then the oldest block is rewritten, so that static data move and cells are refreshed. 0: not now.
    fn block_to_refresh(&mut self) -> u32 {
        let period = self.options.refresh_period_blocks;
        if period < 10 {
            return 0;
        }
        self.gc.refresh_left = self.gc.refresh_left.min(period);
        if self.gc.refresh_left > 0 {
            return 0;
        }
        self.gc.refresh_left = period;
        self.blocks.oldest_full().unwrap_or(0)
    }

    /// 0: none that is worth it.
    fn find_gc_block(&mut self, aggressive: bool, background: bool) -> u32 {
        let mut selected = 0;
        if self.gc.has_prioritised && !aggressive {
            selected = self.find_prioritised();
        }
        if selected == 0 {
            selected = self.find_dirtiest(aggressive, background);
        }
        // Nothing for a while: the oldest dirty block is in the way of others.
        if selected == 0 && self.gc.fruitless_calls >= FRUITLESS_CALLS_MAX[usize::from(background)] {
            self.blocks.find_oldest_dirty();
            if self.blocks.oldest_dirty_block > 0 {
                selected = self.blocks.oldest_dirty_block;
            } else {
                self.gc.fruitless_calls = 0;
            }
        }
        if selected > 0 {
            self.gc.dirtiest = 0;
            self.gc.dirtiest_chunks = 0;
            self.gc.fruitless_calls = 0;
            self.gc.refresh_left = self.gc.refresh_left.saturating_sub(1);
        } else {
            self.gc.fruitless_calls += 1;
        }
        selected
    }

    /// A block about which something is odd.
    fn find_prioritised(&mut self) -> u32 {
        self.gc.dirtiest = 0;
        let mut exist = false;
        for block in self.blocks.all() {
            let info = self.blocks.info(block);
            if info.gc_prioritise {
                exist = true;
                if info.state == BlockState::Full && self.blocks.may_be_collected(block) {
                    return block;
                }
            }
        }
        if !exist {
            self.gc.has_prioritised = false;
            return 0;
        }
        // An older dirty block stands in the way.
        self.blocks.oldest_dirty_block
    }

    /// Looks on from where the last search ended.
    fn find_dirtiest(&mut self, aggressive: bool, background: bool) -> u32 {
        let per_block = self.blocks.chunks_per_block as i32;
        let (threshold, search_blocks) = if aggressive {
            (per_block, self.blocks.count())
        } else {
            let highest = (per_block / if background { 2 } else { 8 }).max(PASSIVE_THRESHOLD_CHUNKS);
            let wanted = if background { (self.gc.fruitless_calls as i32 + 2) * 2 } else { 0 };
            let threshold = wanted.max(PASSIVE_THRESHOLD_CHUNKS).min(highest);
            (threshold, (self.blocks.count() / 16 + 1).min(SEARCH_BLOCKS_MAX))
        };
        for _ in 0..search_blocks {
            if self.gc.dirtiest > 0 && self.gc.dirtiest_chunks <= GOOD_ENOUGH_CHUNKS {
                break;
            }
            self.gc.finder += 1;
            if !self.blocks.all().contains(&self.gc.finder) {
                self.gc.finder = self.blocks.first();
            }
            let block = self.gc.finder;
            let info = self.blocks.info(block);
            let live = info.live();
            if info.state == BlockState::Full
                && live < per_block
                && (self.gc.dirtiest == 0 || live < self.gc.dirtiest_chunks)
                && self.blocks.may_be_collected(block)
            {
                self.gc.dirtiest = block;
                self.gc.dirtiest_chunks = live;
            }
        }
        if self.gc.dirtiest > 0 && self.gc.dirtiest_chunks <= threshold {
            self.gc.dirtiest
        } else {
            0
        }
    }
}
