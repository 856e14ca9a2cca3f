//! What a leap over months does to a chip: blocks are worn by erases that nobody does. For who simulates a whole life.

use super::Chip;

impl Chip {
    /// Erases that a block bears from now on; `None`: none wears out, for lack of a model of ageing.
    pub fn erases_left(&self, block: u32) -> Option<u32> {
        let ageing = self.reading.ageing.as_ref()?;
        Some(ageing.erases_left(block, *self.cells.erase_counts.get(block as usize)?))
    }

    /// Counts so many further erases of a block, which change nothing else.
    pub fn wear_on(&mut self, block: u32, erases: u32) {
        if let Some(count) = self.cells.erase_counts.get_mut(block as usize) {
            *count += erases;
        }
    }

    /// Puts other bytes where programmed ones are, from byte `column` of the page on; an erased page stays erased.
    pub fn amend(&mut self, page: u32, column: u32, bytes: &[u8]) {
        self.cells.amend(page, column, bytes);
    }
}
