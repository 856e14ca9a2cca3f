//! Reading a page only to see whether it is erased: by an operation that moves no bytes in that case, and without any
//! operation.

use ffslab_sim::Op;

use super::{check_buffer, Chip, Result};

impl Chip {
    /// As [`Chip::read_page`] without OOB, for a caller that only asks whether a page is erased. `None`: the page is
    /// erased, so every byte would be 0xFF, and `data` was not changed. The operation is made and counted in either
    /// case.
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

    /// The bytes in the cells of a page's data area; `None`: the area is erased (all 0xFF), or there is no such page.
    pub fn peek_data(&self, page: u32) -> Option<&[u8]> {
        (page < self.cells.geometry.pages()).then(|| self.cells.data(page)).flatten()
    }

    /// The bytes in the cells of a page's OOB area; `None`: the area is erased (all 0xFF), or there is no such page.
    pub fn peek_oob(&self, page: u32) -> Option<&[u8]> {
        (page < self.cells.geometry.pages()).then(|| self.cells.oob(page)).flatten()
    }
}
