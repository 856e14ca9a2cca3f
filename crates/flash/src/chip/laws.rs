//! What a part may have beyond the plainest chip: times that vary, and pages that share cells.

use ffslab_sim::Op;

use super::Chip;
use crate::energy::Spent;
use crate::geometry::Timing;
use crate::law::{Law, LawError, LawState, Laws};
use crate::pairing::{Pairing, PairingError};

/// Times that vary, and the sums of what was drawn.
pub(super) struct Drawing {
    laws: LawState,
    drawn: Spent,
}

impl Chip {
    /// Draws the time of each operation on the cell array from these laws. Laws that are all constant become the chip's
    /// [`Timing`], and cost nothing.
    pub fn set_laws(&mut self, laws: Laws) -> Result<(), LawError> {
        laws.check()?;
        self.laws = None;
        match (&laws.read.law, &laws.program.law, &laws.erase.law) {
            (&Law::Constant { ns: read_ns }, &Law::Constant { ns: program_ns }, &Law::Constant { ns: erase_ns }) => {
                self.set_timing(Timing { read_ns, program_ns, erase_ns, ..self.timing });
            }
            _ => self.laws = Some(Box::new(Drawing { laws: LawState::new(laws), drawn: Spent::default() })),
        }
        Ok(())
    }

    /// Says which pages share their cells: a program that a power cut tears takes them along. `None`: no two do.
    pub fn set_pairing(&mut self, pairing: Option<Pairing>) -> Result<(), PairingError> {
        if let Some(pairing) = &pairing {
            pairing.check(self.cells.geometry.pages_per_block)?;
        }
        self.pairing = pairing.map(Box::new);
        Ok(())
    }

    pub fn pairing(&self) -> Option<&Pairing> {
        self.pairing.as_deref()
    }

    /// What the operations on the cell array took since the laws were set, summed; no bus times. `None`: the times are
    /// constant, so the counters say it ([`Spent::of_counts`]).
    pub fn drawn(&self) -> Option<Spent> {
        self.laws.as_ref().map(|laws| laws.drawn)
    }

    /// The time of an operation that takes `constant_ns` with the chip's [`Timing`], its bus time included.
    #[cold]
    pub(super) fn draw(&mut self, op: Op, address: u32, constant_ns: u64) -> u64 {
        let Some(laws) = &mut self.laws else { return constant_ns };
        let page = address & (self.cells.geometry.pages_per_block - 1);
        let Drawing { laws, drawn } = &mut **laws;
        let (of_array_ns, drawn_ns, sum_ns) = match op {
            Op::PageRead | Op::PartialPageRead | Op::OobRead => {
                (self.timing.read_ns, laws.read_ns(page), &mut drawn.read_ns)
            }
            Op::PageProgram | Op::Reprogram | Op::OobProgram => {
                (self.timing.program_ns, laws.program_ns(page), &mut drawn.program_ns)
            }
            Op::Erase => (self.timing.erase_ns, laws.erase_ns(), &mut drawn.erase_ns),
        };
        *sum_ns += drawn_ns;
        constant_ns - of_array_ns + drawn_ns
    }
}
