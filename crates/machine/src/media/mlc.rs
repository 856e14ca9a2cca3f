//! What a partition of raw NAND with several bits a cell is beside what all are: which pages share their cells, how long each takes.

use ffslab_flash::{Law, Laws, Pairing, TimeLaw, Timing};
use ffslab_mtd::{MediumError, SlcModeError};
use ffslab_profiles::{NandArray, Part};

/// Of other NAND all is at its default.
#[derive(Clone, Debug, Default)]
pub struct MlcSpec {
    /// Which pages share their cells; `None`: none do, or the part does not say it.
    pub pairing: Option<Pairing>,
    /// Times of lower and upper pages; `None`: all are programmed as fast.
    pub laws: Option<Laws>,
    /// Only the first of pages that share cells is used.
    pub slc_mode: bool,
}

impl MlcSpec {
    /// Errors: blocks of a size that the part's pairing does not have; SLC mode without a known pairing.
    pub fn of(part: &Part, timing: Timing, slc_mode: bool) -> Result<MlcSpec, MediumError> {
        let Some(array) = part.nand() else { return Ok(MlcSpec::default()) };
        let pairing = pairing(array)?;
        if slc_mode && pairing.is_none() {
            return Err(SlcModeError::NoPairing.into());
        }
        Ok(MlcSpec { laws: laws(array, timing, pairing.as_ref()), pairing, slc_mode })
    }
}

impl MlcSpec {
    /// How many of the pages of an erase block are used.
    pub fn used_pages(&self, pages_per_block: u32) -> u32 {
        match (&self.pairing, self.slc_mode) {
            (Some(pairing), true) => (0..pages_per_block).filter(|&page| !pairing.is_upper(page)).count() as u32,
            _ => pages_per_block,
        }
    }
}

fn pairing(array: &NandArray) -> Result<Option<Pairing>, MediumError> {
    let pages = array.geometry.pages_per_block;
    let made = array.pairing.map(|pairing| match pairing {
        ffslab_profiles::Pairing::Dist3 => Pairing::distance_3(pages),
        ffslab_profiles::Pairing::Dist6 => Pairing::runs(2, pages),
    });
    Ok(made.transpose()?)
}

/// The times of lower and upper pages, where the part says both and which are which.
fn laws(array: &NandArray, timing: Timing, pairing: Option<&Pairing>) -> Option<Laws> {
    let (fast_ns, slow_ns) = (array.program_fast_ns?, array.program_slow_ns?);
    let law = Law::fast_and_slow(fast_ns, slow_ns, pairing?, array.geometry.pages_per_block);
    let program = TimeLaw { law, max_ns: u64::MAX };
    Some(Laws { program, ..Laws::constant(timing.read_ns, timing.program_ns, timing.erase_ns) })
}
