//! Bad blocks, as the driver keeps them in a table or finds them by their marks.

use super::Core;
use crate::driver::OpCost;
use crate::error::MtdError;

impl Core {
    /// Whether a block is bad, without a flash operation.
    pub fn is_bad(&self, block: u32) -> bool {
        self.bad[block as usize]
    }

    /// Whether a block is bad, as the driver finds it out (`nand_block_checkbad`): by its table, or by the mark.
    ///
    /// Errors: a power cut.
    pub fn ask_bad(&mut self, block: u32) -> Result<bool, MtdError> {
        let began_ns = self.sim.now_ns();
        let is_bad = self.find_bad(block)?;
        self.charge(OpCost { overhead_ns: 0, ..self.driver.read }, began_ns);
        Ok(is_bad)
    }

    /// [`Core::ask_bad`] at the chip's cost alone.
    pub(super) fn find_bad(&mut self, block: u32) -> Result<bool, MtdError> {
        if !self.driver.has_bad_block_table {
            self.chip.read_mark(block)?;
        }
        Ok(self.is_bad(block))
    }

    /// Marks a block as bad as `nand_block_markbad_lowlevel` does: tries to erase it, programs the mark, and enters it
    /// in the table even if the mark could not be programmed.
    pub fn mark_bad(&mut self, block: u32) -> Result<(), MtdError> {
        if self.is_bad(block) {
            return Ok(());
        }
        if self.erase(block) == Err(MtdError::PowerCut) {
            return Err(MtdError::PowerCut);
        }
        let geometry = self.chip.geometry();
        self.oob_buffer.fill(0xFF);
        self.oob_buffer[geometry.bad_mark_byte() as usize] = 0;
        let result = self.program_oob_buffer(block * geometry.pages_per_block);
        if result != Err(MtdError::PowerCut) {
            self.bad[block as usize] = true;
            self.note_grown_bad();
        }
        result
    }
}
