//! A rule for static wear levelling at work in a layer: it is asked now and then which block's data move to a worn free one.
//!
//! What a rule remembers (the pools of dual-pool) is in RAM; after a mount it begins anew.

use crate::levelling::{Levelling, LevellingSpec, WearOfBlocks};
use crate::refusal::Refusal;
use crate::Pcg;
use rand_pcg::rand_core::SeedableRng;
use std::fmt;

/// The rule is asked whenever one block of so many was erased, because it looks at all of them.
const BLOCKS_PER_LOOK: u32 = 16;

/// What levelling may do with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wears {
    /// Bad: its erases say nothing.
    NoLonger,
    /// Free or being written.
    Now,
    /// Its data can be moved away.
    Closed,
}

/// The rule, with what it is shown.
pub struct Leveller {
    /// `None`: data never move for wear.
    policy: Option<Box<dyn Levelling>>,
    random: Pcg,
    block: Vec<u32>,
    erases: Vec<u32>,
    is_closed: Vec<bool>,
    endurance_erases: u32,
    erases_since_look: u32,
    erases_per_look: u32,
}

impl fmt::Debug for Leveller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Leveller").field(&self.policy.as_ref().map(|policy| policy.name())).finish()
    }
}

impl Leveller {
    /// The rule for so many blocks that bear `endurance_erases`, with random numbers of this seed.
    pub fn new(levelling: LevellingSpec, endurance_erases: u32, blocks: u32, seed: u64) -> Leveller {
        Leveller {
            policy: levelling.moves_data().then(|| levelling.make()),
            random: Pcg::seed_from_u64(seed),
            block: (0..blocks).collect(),
            erases: Vec::with_capacity(blocks as usize),
            is_closed: Vec::with_capacity(blocks as usize),
            endurance_erases,
            erases_since_look: 0,
            erases_per_look: (blocks / BLOCKS_PER_LOOK).max(1),
        }
    }

    /// A block was erased.
    #[inline]
    pub fn counts_erase(&mut self) {
        self.erases_since_look += 1;
    }

    /// Whether there is a rule, and it is time to ask it.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.erases_since_look >= self.erases_per_look && self.policy.is_some()
    }

    /// The block whose data move now, if any do. `erases` has an entry for each block.
    pub fn choose(&mut self, erases: &[u32], wears: impl Fn(u32) -> Wears) -> Option<u32> {
        debug_assert_eq!(erases.len(), self.block.len());
        self.erases_since_look = 0;
        self.erases.clear();
        self.is_closed.clear();
        for (&block, &erases) in self.block.iter().zip(erases) {
            let wears = wears(block);
            // Blocks keep their positions, so a bad one stays in its place: unworn, it is never the most worn one.
            self.erases.push(if wears == Wears::NoLonger { 0 } else { erases });
            self.is_closed.push(wears == Wears::Closed);
        }
        let wear = WearOfBlocks {
            block: &self.block,
            erases: &self.erases,
            is_closed: &self.is_closed,
            endurance_erases: self.endurance_erases,
        };
        let at = self.policy.as_mut()?.choose(&wear, &mut self.random)?;
        debug_assert!(self.is_closed[at], "block {at} has no data that can move");
        Some(self.block[at])
    }

    /// Why an answer of the rule was refused, if one was; from then on nothing moves.
    pub fn refusal(&self) -> Option<Refusal> {
        self.policy.as_ref()?.refusal()
    }
}
