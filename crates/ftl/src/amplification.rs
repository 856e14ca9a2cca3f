//! Random writes to a page map without bytes, and the formula that they must come to.
//!
//! One stream takes what the host writes and what collection moves, and the free blocks are kept out of T, as in the papers.

use ffslab_policy::LevellingSpec;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

use crate::flash::NoBytes;
use crate::{formulas, FtlConfig, FtlError, PageMap, Victim};

/// The share of writes that goes to hot pages, and the share of pages that are hot.
pub const HOT: (f64, f64) = (0.8, 0.2);

/// Random writes to a full device.
#[derive(Clone, Debug)]
pub struct Case {
    pub victim: Victim,
    pub pages_per_block: u32,
    pub spare_share: f64,
    /// [`HOT`] says how; otherwise all pages are written alike.
    pub is_hot_cold: bool,
    /// How far from the formula the simulation may be.
    pub allowed_percent: f64,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub formula_amplification: f64,
    pub simulated_amplification: f64,
    pub flash_writes_count: u64,
}

impl Case {
    /// The comparisons whose difference is bounded.
    pub fn all() -> Vec<Case> {
        let kinds = [
            (Victim::Greedy, false, 1.0),
            (Victim::Fifo, false, 1.0),
            (Victim::Random, false, 1.0),
            (Victim::DChoices(2), false, 0.5),
            (Victim::DChoices(4), false, 0.5),
            (Victim::DChoices(10), false, 0.5),
            (Victim::Fifo, true, 2.0),
        ];
        let mut cases = Vec::new();
        for (victim, is_hot_cold, allowed_percent) in kinds {
            for pages_per_block in [32, 64, 128] {
                for spare_share in [0.07, 0.10, 0.20, 0.30] {
                    cases.push(Case {
                        victim: victim.clone(),
                        pages_per_block,
                        spare_share,
                        is_hot_cold,
                        allowed_percent,
                    });
                }
            }
        }
        cases
    }

    /// For people.
    pub fn name(&self) -> String {
        format!("{}{}", self.victim, if self.is_hot_cold { ", hot/cold" } else { "" })
    }

    /// Write amplification by the formula of the policy (greedy where it has none of its own).
    pub fn formula(&self) -> f64 {
        self.formula_at(1.0 / (1.0 - self.spare_share))
    }

    fn formula_at(&self, alpha: f64) -> f64 {
        match &self.victim {
            Victim::Fifo if self.is_hot_cold => formulas::hot_cold_fifo(alpha, HOT.0, HOT.1),
            Victim::Fifo => formulas::fifo(alpha),
            Victim::Random => formulas::random(alpha),
            Victim::DChoices(choices) => formulas::d_choices(alpha, self.pages_per_block, *choices),
            _ => formulas::greedy(alpha, self.pages_per_block),
        }
    }
}

/// Fills a device of so many blocks that are not free, overwrites it until it is in its steady state, and counts then.
///
/// # Errors
/// Too few blocks for the spare share.
pub fn compare(case: &Case, blocks: u32) -> Result<Row, FtlError> {
    let gc_free_blocks = 3;
    let pages = blocks * case.pages_per_block;
    let logical_pages = (f64::from(pages) * (1.0 - case.spare_share)).round() as u32;
    let config = FtlConfig {
        victim: case.victim.clone(),
        gc_free_blocks,
        gc_apart: false,
        levelling: LevellingSpec::NONE,
        ..FtlConfig::new(logical_pages)
    };
    let flash = NoBytes::new(blocks + gc_free_blocks, case.pages_per_block);
    let mut ftl = PageMap::format(flash, config)?;
    let mut random = Pcg32::seed_from_u64(u64::from(case.pages_per_block));
    let below = |bound: u32, random: &mut Pcg32| ((u64::from(random.next_u32()) * u64::from(bound)) >> 32) as u32;
    let hot_pages = (f64::from(logical_pages) * HOT.1).round() as u32;
    let hot_writes = (HOT.0 * f64::from(u32::MAX)) as u32;
    let next = |random: &mut Pcg32| {
        if !case.is_hot_cold {
            below(logical_pages, random)
        } else if random.next_u32() < hot_writes {
            below(hot_pages, random)
        } else {
            hot_pages + below(logical_pages - hot_pages, random)
        }
    };
    for page in 0..logical_pages {
        ftl.write(page, &[], false)?;
    }
    let mut write = |ftl: &mut PageMap<NoBytes>, count: u32| -> Result<(), FtlError> {
        (0..count).try_for_each(|_| ftl.write(next(&mut random), &[], false))
    };
    write(&mut ftl, 10 * logical_pages)?;
    ftl.reset_statistics();
    write(&mut ftl, 6 * logical_pages)?;
    Ok(Row {
        formula_amplification: case.formula_at(f64::from(pages) / f64::from(logical_pages)),
        simulated_amplification: ftl.statistics().write_amplification(),
        flash_writes_count: ftl.flash().operations().0,
    })
}
