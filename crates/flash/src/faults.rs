//! Faults, with the names and meanings of Linux 6.1 `drivers/mtd/nand/raw/nandsim.c`.

use std::collections::BTreeMap;
use std::str::FromStr;

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use thiserror::Error;

use crate::error::FlashError;
use crate::geometry::Geometry;

/// The generator behind random faults and torn operations. Part of a run's identity, with its seed.
pub const GENERATOR: &str = "PCG-XSH-RR 64/32 (rand_pcg 0.10, Pcg32)";

/// nandsim flips bits in one of 1024 reads (`ns_do_bit_flips`: a 16-bit random number below 64).
const BITFLIP_READS: u32 = 1024;

/// What is wrong with a chip. The default is a chip without faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Blocks that leave the factory with a bad block mark.
    pub badblocks: Vec<u32>,
    /// Blocks whose erase fails after a number of good ones. As in nandsim the cells are erased and the status says
    /// that they are not.
    pub weakblocks: Vec<Weak>,
    /// Pages whose program fails after a number of good ones. As in nandsim the cells take the data and the status
    /// says that they do not. Out-of-band programs count too.
    pub weakpages: Vec<Weak>,
    /// Pages that read as noise, which no ECC corrects, after a number of good reads.
    pub gravepages: Vec<Weak>,
    /// Most bits that flip in one read; one read of 1024 on average is hit. 0: none.
    pub bitflips: u32,
    /// Start value of the random generator ([`GENERATOR`]).
    pub seed: u64,
}

impl Faults {
    /// Checks that the chip has the blocks and pages.
    pub fn check(&self, geometry: &Geometry) -> Result<(), FlashError> {
        for &block in self.badblocks.iter().chain(self.weakblocks.iter().map(|weak| &weak.number)) {
            if block >= geometry.blocks {
                return Err(FlashError::OutOfRange { unit: "block", number: block, count: geometry.blocks });
            }
        }
        for weak in self.weakpages.iter().chain(&self.gravepages) {
            let count = geometry.pages();
            if weak.number >= count {
                return Err(FlashError::OutOfRange { unit: "page", number: weak.number, count });
            }
        }
        Ok(())
    }
}

/// A block or page and how many operations it survives. Text form as in nandsim: `7` (3 operations) or `7:100`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weak {
    /// Block or page in the chip.
    pub number: u32,
    /// Operations that succeed before the first failure.
    pub good_operations: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is no weak block or page: write its number, or number:operations, for example 7 or 7:100")]
pub struct ParseWeakError(String);

impl FromStr for Weak {
    type Err = ParseWeakError;

    fn from_str(text: &str) -> Result<Weak, ParseWeakError> {
        let number_of = |part: &str| part.trim().parse::<u32>().map_err(|_| ParseWeakError(text.to_string()));
        match text.split_once(':') {
            Some((number, operations)) => {
                Ok(Weak { number: number_of(number)?, good_operations: number_of(operations)? })
            }
            None => Ok(Weak { number: number_of(text)?, good_operations: 3 }),
        }
    }
}

/// The faults of a chip during a run.
pub struct FaultState {
    erases_left: BTreeMap<u32, u32>,
    writes_left: BTreeMap<u32, u32>,
    reads_left: BTreeMap<u32, u32>,
    bitflips: u32,
    random: Pcg32,
}

impl FaultState {
    /// `None` when there is nothing to do during operations.
    pub fn new(faults: &Faults) -> Option<Box<FaultState>> {
        let table = |list: &[Weak]| list.iter().map(|weak| (weak.number, weak.good_operations)).collect();
        let state = FaultState {
            erases_left: table(&faults.weakblocks),
            writes_left: table(&faults.weakpages),
            reads_left: table(&faults.gravepages),
            bitflips: faults.bitflips,
            random: Pcg32::seed_from_u64(faults.seed),
        };
        let idle = state.erases_left.is_empty()
            && state.writes_left.is_empty()
            && state.reads_left.is_empty()
            && state.bitflips == 0;
        (!idle).then(|| Box::new(state))
    }

    pub fn erase_fails(&mut self, block: u32) -> bool {
        used_up(&mut self.erases_left, block)
    }

    pub fn program_fails(&mut self, page: u32) -> bool {
        used_up(&mut self.writes_left, page)
    }

    pub fn read_is_noise(&mut self, page: u32) -> bool {
        used_up(&mut self.reads_left, page)
    }

    pub fn noise(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }

    /// Chooses which bits of a read of `bits` bits flip. They are all different; most reads have none.
    pub fn choose_flips(&mut self, bits: u32, flips: &mut Vec<u32>) {
        if self.bitflips == 0 || below(&mut self.random, BITFLIP_READS) != 0 {
            return;
        }
        let count = (below(&mut self.random, self.bitflips) + 1).min(bits);
        while flips.len() < count as usize {
            let bit = below(&mut self.random, bits);
            if !flips.contains(&bit) {
                flips.push(bit);
            }
        }
    }
}

fn used_up(left: &mut BTreeMap<u32, u32>, number: u32) -> bool {
    match left.get_mut(&number) {
        None => false,
        Some(0) => true,
        Some(left) => {
            *left -= 1;
            false
        }
    }
}

/// A random number in `0..bound`.
pub fn below(random: &mut Pcg32, bound: u32) -> u32 {
    ((u64::from(random.next_u32()) * u64::from(bound)) >> 32) as u32
}
