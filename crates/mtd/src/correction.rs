//! What ECC makes of a read: it counts the wrong bits of each step, and corrects as many as its code can.

use ffslab_flash::DAMAGED;

use crate::ecc::Code;
use crate::health::Health;
use crate::layout::OobLayout;

/// The result of ECC for a read: the number of flips in the worst step, or that there were too many.
#[derive(Clone, Copy)]
pub(crate) struct EccResult {
    pub bitflips: u32,
    pub failed: bool,
}

impl EccResult {
    pub const CLEAN: EccResult = EccResult { bitflips: 0, failed: false };

    pub fn worse(self, other: EccResult) -> EccResult {
        EccResult { bitflips: self.bitflips.max(other.bitflips), failed: self.failed || other.failed }
    }
}

/// The bytes that follow the data on the bus.
#[derive(Clone, Copy)]
pub(crate) enum Tail {
    /// The whole OOB area.
    Oob,
    /// Only the ECC bytes of the steps that were read.
    Ecc,
}

/// A read in which bits were wrong.
#[derive(Clone, Copy)]
pub(crate) struct Flipped<'a> {
    /// How many, or [`DAMAGED`].
    pub flips: u32,
    /// Their numbers in what moved: data first, then the tail.
    pub bits: &'a [u32],
    /// The first step that was read.
    pub first_step: u32,
    pub tail: Tail,
}

/// The code of a page, with room for what it counts.
pub(crate) struct Corrector {
    code: Code,
    threshold_bits: u32,
    flips_per_step: Box<[u32]>,
}

impl Corrector {
    pub fn new(code: Code, threshold_bits: u32, page_bytes: u32) -> Corrector {
        let steps = (page_bytes / code.step_bytes) as usize;
        Corrector { code, threshold_bits, flips_per_step: vec![0; steps].into_boxed_slice() }
    }

    /// Corrects `data`, which holds whole steps, as far as possible, and counts what was wrong.
    #[cold]
    pub fn correct(&mut self, layout: &OobLayout, read: Flipped, data: &mut [u8], health: &mut Health) -> EccResult {
        if read.flips == DAMAGED {
            health.uncorrectable_frames += 1;
            return EccResult { bitflips: 0, failed: true };
        }
        let step_bytes = self.code.step_bytes as usize;
        let steps = data.len() / step_bytes;
        self.flips_per_step[..steps].fill(0);
        for &bit in read.bits {
            if let Some(step) = self.step_of(layout, bit, &read, data.len()) {
                self.flips_per_step[step] += 1;
            }
        }
        let mut result = EccResult::CLEAN;
        for &flips in &self.flips_per_step[..steps] {
            let failed = flips > self.code.strength_bits;
            if failed {
                health.uncorrectable_frames += 1;
            } else {
                health.corrected_bits += u64::from(flips);
                health.threshold_frames += u64::from(flips >= self.threshold_bits);
            }
            result = result.worse(EccResult { bitflips: if failed { 0 } else { flips }, failed });
        }
        for &bit in read.bits {
            let byte = bit as usize / 8;
            if byte < data.len() && self.flips_per_step[byte / step_bytes] <= self.code.strength_bits {
                data[byte] ^= 1 << (bit % 8);
            }
        }
        result
    }

    /// The step that a bit belongs to, counted from the first one that was read.
    fn step_of(&self, layout: &OobLayout, bit: u32, read: &Flipped, data_bytes: usize) -> Option<usize> {
        let byte = bit as usize / 8;
        match (byte.checked_sub(data_bytes), read.tail) {
            (None, _) => Some(byte / self.code.step_bytes as usize),
            (Some(after), Tail::Ecc) => Some(after / self.code.code_bytes as usize),
            (Some(after), Tail::Oob) => layout.step_of_byte(after).map(|step| (step - read.first_step) as usize),
        }
    }
}
