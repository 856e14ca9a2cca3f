//! The free blocks, and which of them is written next: a rule of `ffslab-policy` decides.

use ffslab_policy::{FreeBlocks, FreePolicy, FreeSpec, Pcg};
use rand_pcg::rand_core::SeedableRng;

/// The free blocks. The rule is asked when a block is opened, never for a page.
pub(crate) struct FreePool {
    policy: Box<dyn FreePolicy>,
    random: Pcg,
    /// In the order in which they became free, with their erases.
    block: Vec<u32>,
    erases: Vec<u32>,
}

impl FreePool {
    pub fn new(rule: FreeSpec, seed: u64) -> FreePool {
        FreePool { policy: rule.make(), random: Pcg::seed_from_u64(seed), block: Vec::new(), erases: Vec::new() }
    }

    pub fn len(&self) -> u32 {
        self.block.len() as u32
    }

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

    fn remove(&mut self, at: usize) -> u32 {
        self.erases.remove(at);
        self.block.remove(at)
    }
}
