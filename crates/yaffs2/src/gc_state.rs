//! What garbage collection remembers between calls.
//!
//! Follows the `gc_*` fields of `struct yaffs_dev` in `yaffs_guts.h`.

use ffslab_policy::Victims;

/// What the garbage collection remembers between calls.
#[derive(Default)]
pub(crate) struct GcState {
    /// Block that is being collected; 0: none.
    pub block: u32,
    /// Index in that block of the next chunk to look at.
    pub page: u32,
    /// Deleted files that lost their last chunk by the collection of this block; their objects are forgotten at its
    /// end.
    pub clean_up: Vec<u32>,
    /// No collection may start now, because a header that shadows another object must not be moved.
    pub disabled: bool,
    /// Some block is prioritised.
    pub has_prioritised: bool,
    pub finder: u32,
    /// The block with the fewest chunks in use that the search has seen so far (0: none), and how many those are.
    pub dirtiest: u32,
    pub dirtiest_chunks: i32,
    pub fruitless_calls: u32,
    pub skips_left: u32,
    pub refresh_left: u32,
    /// Who chooses the block to collect in place of the search for the dirtiest.
    pub victims: Option<Victims>,
}

impl GcState {
    /// After a mount a prioritised block is assumed to exist, until the first search has found none.
    pub fn new() -> GcState {
        GcState { has_prioritised: true, ..GcState::default() }
    }

    /// Forgets a block that was erased, if it was being collected or was the best candidate.
    pub fn forget_block(&mut self, block: u32) {
        if self.block == block {
            self.block = 0;
        }
        if self.dirtiest == block {
            self.dirtiest = 0;
            self.dirtiest_chunks = 0;
        }
    }

    pub fn begin(&mut self, block: u32) {
        self.block = block;
        self.page = 0;
        self.clean_up.clear();
    }
}
