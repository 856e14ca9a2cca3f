//! Looks at what a page holds: by an operation that moves nothing when it is erased, and by none at all.

use ffslab_sim::Op;

use super::{check_buffer, Chip, Result};

impl Chip {
    /// As [`Chip::read_page`] without OOB, for who only asks whether a page is erased. `None`: it is; every byte would
    /// come as 0xFF, and `data` stays as it was. The operation takes place all the same.
    #[inline]
    pub fn read_page_unless_erased(&mut self, page: u32, data: &mut [u8]) -> Result<Option<u32>> {
        let block = self.check_page(page)?;
        let (page_bytes, oob_bytes) = (self.cells.geometry.page_bytes, self.cells.geometry.oob_bytes);
        check_buffer(data.len(), page_bytes)?;
        if self.cells.data(page).is_some() || !self.reads_are_faithful() {
            return self.read_page(page, data, None).map(Some);
        }
        self.cells.blocks[block as usize].reads_since_erase += 1;
        self.spend(Op::PageRead, page, page_bytes + oob_bytes, 0, self.read_page_ns);
        Ok(None)
    }

    /// Bytes in the cells of a page's data area; `None`: erased (all 0xFF) or outside the chip.
    pub fn peek_data(&self, page: u32) -> Option<&[u8]> {
        (page < self.cells.geometry.pages()).then(|| self.cells.data(page)).flatten()
    }

    /// Bytes in the cells of a page's OOB area; `None`: erased (all 0xFF) or outside the chip.
    pub fn peek_oob(&self, page: u32) -> Option<&[u8]> {
        (page < self.cells.geometry.pages()).then(|| self.cells.oob(page)).flatten()
    }
}
