//! The free blocks of a layer, and the rule for the next one at work.

use crate::free::{FreeBlocks, FreePolicy, FreeSpec};
use crate::refusal::Refusal;
use crate::Pcg;
use rand_pcg::rand_core::SeedableRng;
use std::fmt;

/// The free blocks. The rule is asked when a block is opened, never for a page.
pub struct FreePool {
    policy: Box<dyn FreePolicy>,
    random: Pcg,
    /// In the order in which they became free, with their erases.
    block: Vec<u32>,
    erases: Vec<u32>,
}

impl fmt::Debug for FreePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreePool").field("policy", &self.policy.name()).field("block", &self.block).finish()
    }
}

impl FreePool {
    /// No block yet; the rule has random numbers of this seed.
    pub fn new(rule: FreeSpec, seed: u64) -> FreePool {
        FreePool { policy: rule.make(), random: Pcg::seed_from_u64(seed), block: Vec::new(), erases: Vec::new() }
    }

    pub fn len(&self) -> u32 {
        self.block.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// A block is free, as the last one.
    pub fn insert(&mut self, block: u32, erases: u32) {
        debug_assert!(!self.block.contains(&block), "block {block} is free already");
        self.block.push(block);
        self.erases.push(erases);
    }

    /// The block that is written next.
    pub fn take(&mut self) -> Option<u32> {
        let free = FreeBlocks { block: &self.block, erases: &self.erases };
        let at = self.policy.choose(&free, &mut self.random)?;
        Some(self.remove(at))
    }

    /// The block for data that lie still, whatever the rule.
    pub fn take_most_worn(&mut self) -> Option<u32> {
        let at = (0..self.block.len()).max_by_key(|&at| (self.erases[at], std::cmp::Reverse(at)))?;
        Some(self.remove(at))
    }

    /// Which block [`FreePool::take`] would take.
    pub fn look_at_next(&mut self) -> Option<u32> {
        let free = FreeBlocks { block: &self.block, erases: &self.erases };
        let at = self.policy.choose(&free, &mut self.random)?;
        Some(self.block[at])
    }

    /// This block is not free any more.
    pub fn take_this(&mut self, block: u32) {
        if let Some(at) = self.block.iter().position(|&free| free == block) {
            self.remove(at);
        }
    }

    /// A free block has another number of erases now, without having become free anew.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        if let Some(at) = self.block.iter().position(|&free| free == block) {
            self.erases[at] = erases;
        }
    }

    /// Why an answer of the rule was refused, if one was; from then on the least worn block is taken.
    pub fn refusal(&self) -> Option<Refusal> {
        self.policy.refusal()
    }

    fn remove(&mut self, at: usize) -> u32 {
        self.erases.remove(at);
        self.block.remove(at)
    }
}
