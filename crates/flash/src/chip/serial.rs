//! Operations of chips on a serial bus that a parallel chip does not have.
//!
//! From Linux `drivers/mtd/nand/spi/core.c`: `spinand_mtd_continuous_page_read`, and `spinand_write_to_cache_op`, which sends a
//! whole page even if only its OOB area shall be programmed.

use ffslab_sim::Op;

use super::{bus_ns, check_buffer, Chip, Result};
use crate::geometry::Geometry;
use crate::reading::Moved;

impl Chip {
    /// Reads the data area of a page that the chip has fetched from its cells while the page before it was on the bus, as
    /// in a continuous read: what remains is the time of the bus. Returns as [`Chip::read_page`] does.
    pub fn read_next(&mut self, page: u32, data: &mut [u8]) -> Result<u32> {
        let block = self.check_page(page)?;
        let page_bytes = self.cells.geometry.page_bytes;
        check_buffer(data.len(), page_bytes)?;
        self.cells.read_data(page, 0, data);
        self.cells.blocks[block as usize].reads_since_erase += 1;
        let busy_ns = bus_ns(self.timing, page_bytes);
        self.sim.count(Op::PageRead, page, page_bytes, 0, busy_ns);
        self.sim.advance(busy_ns);
        if self.reads_are_faithful() {
            return Ok(0);
        }
        let moved = Moved { page, now_ns: self.sim.now_ns(), column: 0, data, tail_bytes: 0, tail: None };
        Ok(self.reading.disturb(&self.cells, moved))
    }

    /// [`Chip::program_oob`] where the whole page moves over the bus, its data as 0xFF.
    pub fn program_oob_with_page(&mut self, page: u32, oob: &[u8]) -> Result<()> {
        let Geometry { page_bytes, oob_bytes, .. } = self.cells.geometry;
        self.program_oob_moving(page, oob, page_bytes + oob_bytes, self.program_page_ns)
    }
}
