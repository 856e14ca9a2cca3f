//! The blocks of the device: what state each is in, how many of its pages are valid, which are free.

use crate::config::FtlConfig;
use crate::victim::{Victims, View};
use ffslab_policy::{FreePool, Refusal, Wears};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    /// Being written.
    Open,
    /// Written; a victim when its turn comes.
    Closed,
    /// Being emptied.
    Emptied,
    /// Holds a checkpoint.
    Checkpoint,
    /// A program failed in it; it is emptied soon and then bad.
    Failing,
    Bad,
}

pub(crate) struct Blocks {
    pub state: Vec<State>,
    pub valid: Vec<u32>,
    pub erases: Vec<u32>,
    /// Pages programmed since the last erase.
    pub written: Vec<u32>,
    /// Sequence number of the first page, by which a block is known that has not changed.
    pub first_sequence: Vec<u64>,
    closed_at: Vec<u64>,
    /// Free blocks that were erased since the mount; others are erased before they are written.
    pub clean: Vec<bool>,
    free: FreePool,
    pages_per_block: u32,
    victims: Victims,
}

impl Blocks {
    pub fn new(blocks: u32, pages_per_block: u32, config: &FtlConfig) -> Blocks {
        let count = blocks as usize;
        Blocks {
            state: vec![State::Bad; count],
            valid: vec![0; count],
            erases: vec![0; count],
            written: vec![0; count],
            first_sequence: vec![0; count],
            closed_at: vec![0; count],
            clean: vec![false; count],
            free: FreePool::new(config.free_rule(), config.seed),
            pages_per_block,
            victims: Victims::new(config.victim.clone(), blocks, pages_per_block, config.seed),
        }
    }

    pub fn free_blocks(&self) -> u32 {
        self.free.len()
    }

    pub fn bad_blocks(&self) -> u32 {
        self.state.iter().filter(|&&state| state == State::Bad).count() as u32
    }

    /// Puts a block among the free ones.
    pub fn release(&mut self, block: u32, clean: bool) {
        let index = block as usize;
        debug_assert_eq!(self.valid[index], 0, "block {block} holds valid pages");
        self.state[index] = State::Free;
        self.written[index] = 0;
        self.clean[index] = clean;
        self.free.insert(block, self.erases[index]);
    }

    /// Takes a free block: that which the rule chooses, or the most worn one.
    pub fn take(&mut self, most_worn: bool) -> Option<u32> {
        if most_worn {
            self.free.take_most_worn()
        } else {
            self.free.take()
        }
    }

    pub fn close(&mut self, block: u32, now: u64) {
        let index = block as usize;
        self.state[index] = State::Closed;
        self.closed_at[index] = now;
        self.victims.add(block, self.valid[index]);
    }

    /// Takes a closed block out of the victims.
    pub fn take_out(&mut self, block: u32, state: State) {
        let index = block as usize;
        debug_assert_eq!(self.state[index], State::Closed);
        self.victims.remove(block, self.valid[index]);
        self.state[index] = state;
    }

    #[inline]
    pub fn loses_page(&mut self, block: u32) {
        let index = block as usize;
        debug_assert!(self.valid[index] > 0, "block {block} has no valid page to lose");
        self.valid[index] -= 1;
        if self.state[index] == State::Closed {
            self.victims.lost_one(block, self.valid[index]);
        }
    }

    pub fn choose(&mut self, now: u64) -> Option<u32> {
        let view = View {
            valid: &self.valid,
            erases: &self.erases,
            closed_at: &self.closed_at,
            now,
            pages_per_block: self.pages_per_block,
        };
        self.victims.choose(&view)
    }

    /// The closed block with the fewest valid pages, whatever the policy.
    pub fn emptiest(&self) -> Option<u32> {
        self.victims.closed().iter().copied().min_by_key(|&block| (self.valid[block as usize], block))
    }

    /// Why a choice of a victim or of a free block was refused, if one was.
    pub fn refusal(&self) -> Option<Refusal> {
        self.victims.refusal().or_else(|| self.free.refusal())
    }

    /// What static wear levelling may do with a block.
    pub fn wears(&self, block: u32) -> Wears {
        match self.state[block as usize] {
            State::Closed => Wears::Closed,
            State::Bad => Wears::NoLonger,
            _ => Wears::Now,
        }
    }
}
