//! The blocks of the device: what state each is in, how many of its pages are valid, which are free.

use std::collections::BTreeSet;

use crate::victim::{Victim, Victims, View};

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
    free: BTreeSet<(u64, u32)>,
    frees: u64,
    levels: bool,
    pages_per_block: u32,
    victims: Victims,
}

impl Blocks {
    pub fn new(blocks: u32, pages_per_block: u32, policy: Victim, levels: bool, seed: u64) -> Blocks {
        let count = blocks as usize;
        Blocks {
            state: vec![State::Bad; count],
            valid: vec![0; count],
            erases: vec![0; count],
            written: vec![0; count],
            first_sequence: vec![0; count],
            closed_at: vec![0; count],
            clean: vec![false; count],
            free: BTreeSet::new(),
            frees: 0,
            levels,
            pages_per_block,
            victims: Victims::new(policy, blocks, pages_per_block, seed),
        }
    }

    pub fn free_blocks(&self) -> u32 {
        self.free.len() as u32
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
        self.frees += 1;
        let key = if self.levels { u64::from(self.erases[index]) } else { self.frees };
        self.free.insert((key, block));
    }

    /// Takes a free block: the least worn one or that which was freed first; or the last in that order.
    pub fn take(&mut self, last: bool) -> Option<u32> {
        let (_, block) = if last { self.free.pop_last() } else { self.free.pop_first() }?;
        Some(block)
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

    /// Why the victim policy was refused a choice, if it was; from then on the oldest block is taken.
    pub fn refusal(&self) -> Option<ffslab_policy::Refusal> {
        self.victims.refusal()
    }

    /// The least worn closed block, and how many erases fewer than the most worn block it has.
    pub fn least_worn(&self) -> Option<(u32, u32)> {
        let closed = self.victims.closed().iter().copied();
        let least = closed.min_by_key(|&block| (self.erases[block as usize], block))?;
        let most = self.erases.iter().copied().max()?;
        Some((least, most - self.erases[least as usize]))
    }
}
