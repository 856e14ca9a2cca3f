//! Laws of time: how long the cell array takes for an operation.
//!
//! A data sheet gives a typical time and a maximum. The default is a constant; the others are those of OpenFlash
//! (`normal`, `exponential` with a base, `min_max`, `bimodal_addr` by the page's place in its block), and what a table of
//! measured times says. Times are drawn from a seeded generator ([`GENERATOR`](crate::GENERATOR)) with additions,
//! multiplications, divisions and square roots alone, which give the same bits on every machine; so do the draws.
//!
//! The bus is clocked, so its time is a constant.

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use thiserror::Error;

use crate::draws::{ln, open_unit, standard_normal};
use crate::faults::below;
use crate::pairing::Pairing;

/// How long one kind of operation takes on the cell array.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    Constant {
        ns: u64,
    },
    /// Never below 0; what a draw above the maximum of [`TimeLaw`] does is said there.
    Normal {
        mean_ns: f64,
        deviation_ns: f64,
    },
    /// The base, and a delay with an exponential distribution of this mean on top.
    Exponential {
        base_ns: u64,
        mean_ns: f64,
    },
    /// Every time between the two is equally likely.
    MinMax {
        min_ns: u64,
        max_ns: u64,
    },
    /// By the page's place in its block, over and over if the table is shorter than a block: fast and slow pages.
    ByPage {
        ns: Box<[u64]>,
    },
    /// Measured times, each with how often it was measured.
    Table {
        ns_and_weights: Box<[(u64, u32)]>,
    },
}

impl Law {
    /// Even pages take one time, odd ones another (OpenFlash, `bimodal_addr`).
    pub fn even_odd(even_ns: u64, odd_ns: u64) -> Law {
        Law::ByPage { ns: [even_ns, odd_ns].into() }
    }

    /// Pages that share their cells with an earlier one are slow, the others fast.
    pub fn fast_and_slow(fast_ns: u64, slow_ns: u64, pairing: &Pairing, pages_per_block: u32) -> Law {
        let ns = (0..pages_per_block).map(|page| if pairing.is_upper(page) { slow_ns } else { fast_ns });
        Law::ByPage { ns: ns.collect() }
    }
}

/// A law and the longest time of the data sheet. A draw above it counts as it.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLaw {
    pub law: Law,
    /// `u64::MAX`: none is given.
    pub max_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Error)]
pub enum LawError {
    #[error(
        "a normal law has a mean of at least 0 and a deviation of at least 0, not {mean_ns} ns and {deviation_ns} ns"
    )]
    Normal { mean_ns: f64, deviation_ns: f64 },
    #[error("the delay of an exponential law has a mean of at least 0, not {mean_ns} ns")]
    Exponential { mean_ns: f64 },
    #[error("a min-max law has min <= max, not {min_ns} ns and {max_ns} ns")]
    MinMax { min_ns: u64, max_ns: u64 },
    #[error("a table of times needs at least one time, and a weight that is not 0")]
    EmptyTable,
}

impl TimeLaw {
    pub fn constant(ns: u64) -> TimeLaw {
        TimeLaw { law: Law::Constant { ns }, max_ns: u64::MAX }
    }

    pub fn check(&self) -> Result<(), LawError> {
        // A comparison with NaN is false, so it is refused like a negative number.
        let at_least_0 = |value: f64| value >= 0.0 && value.is_finite();
        match &self.law {
            &Law::Normal { mean_ns, deviation_ns } if !(at_least_0(mean_ns) && at_least_0(deviation_ns)) => {
                Err(LawError::Normal { mean_ns, deviation_ns })
            }
            &Law::Exponential { mean_ns, .. } if !at_least_0(mean_ns) => Err(LawError::Exponential { mean_ns }),
            &Law::MinMax { min_ns, max_ns } if min_ns > max_ns => Err(LawError::MinMax { min_ns, max_ns }),
            Law::ByPage { ns } if ns.is_empty() => Err(LawError::EmptyTable),
            Law::Table { ns_and_weights } if total_weight(ns_and_weights) == 0 => Err(LawError::EmptyTable),
            _ => Ok(()),
        }
    }

    /// The time of the next operation on the page at this place in its block.
    #[inline]
    pub fn draw_ns(&self, random: &mut Pcg32, page_in_block: u32) -> u64 {
        match self.law {
            Law::Constant { ns } => ns,
            _ => self.draw_from(random, page_in_block).min(self.max_ns),
        }
    }

    fn draw_from(&self, random: &mut Pcg32, page_in_block: u32) -> u64 {
        match &self.law {
            Law::Constant { ns } => *ns,
            Law::Normal { mean_ns, deviation_ns } => rounded(mean_ns + deviation_ns * standard_normal(random)),
            Law::Exponential { base_ns, mean_ns } => base_ns + rounded(-mean_ns * ln(open_unit(random))),
            Law::MinMax { min_ns, max_ns } => {
                let span = u128::from(max_ns - min_ns) + 1;
                min_ns + ((u128::from(random.next_u64()) * span) >> 64) as u64
            }
            Law::ByPage { ns } => ns[page_in_block as usize % ns.len()],
            Law::Table { ns_and_weights } => {
                let mut at = below_wide(random, total_weight(ns_and_weights));
                for &(ns, weight) in &**ns_and_weights {
                    if at < u64::from(weight) {
                        return ns;
                    }
                    at -= u64::from(weight);
                }
                unreachable!("the number drawn is below the sum of the weights")
            }
        }
    }
}

/// The laws of a chip's three array operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Laws {
    pub read: TimeLaw,
    pub program: TimeLaw,
    pub erase: TimeLaw,
    /// Start value of the random generator ([`GENERATOR`](crate::GENERATOR)).
    pub seed: u64,
}

impl Laws {
    /// Constant times.
    pub fn constant(read_ns: u64, program_ns: u64, erase_ns: u64) -> Laws {
        let [read, program, erase] = [read_ns, program_ns, erase_ns].map(TimeLaw::constant);
        Laws { read, program, erase, seed: 0 }
    }

    pub fn check(&self) -> Result<(), LawError> {
        [&self.read, &self.program, &self.erase].into_iter().try_for_each(TimeLaw::check)
    }
}

/// Laws, and the generator that they draw from.
pub struct LawState {
    pub laws: Laws,
    pub random: Pcg32,
}

impl LawState {
    /// The laws have been checked.
    pub fn new(laws: Laws) -> LawState {
        let random = Pcg32::seed_from_u64(laws.seed);
        LawState { laws, random }
    }

    #[inline]
    pub fn read_ns(&mut self, page_in_block: u32) -> u64 {
        self.laws.read.draw_ns(&mut self.random, page_in_block)
    }

    #[inline]
    pub fn program_ns(&mut self, page_in_block: u32) -> u64 {
        self.laws.program.draw_ns(&mut self.random, page_in_block)
    }

    #[inline]
    pub fn erase_ns(&mut self) -> u64 {
        self.laws.erase.draw_ns(&mut self.random, 0)
    }
}

fn total_weight(ns_and_weights: &[(u64, u32)]) -> u64 {
    ns_and_weights.iter().map(|&(_, weight)| u64::from(weight)).sum()
}

/// A random number in `0..bound`; the bound may have more than 32 bits.
fn below_wide(random: &mut Pcg32, bound: u64) -> u64 {
    match u32::try_from(bound) {
        Ok(bound) => u64::from(below(random, bound)),
        Err(_) => ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64,
    }
}

fn rounded(ns: f64) -> u64 {
    // A negative number becomes 0.
    (ns + 0.5) as u64
}
