//! Pages of files that are read in bulk: for whoever asked, and for the page cache.
//!
//! Follows `fs/ubifs/file.c` (`ubifs_bulk_read`, `ubifs_do_bulk_read`).

use crate::format::*;
use crate::Ubifs;
use ffslab_fs::{Host, Ino, PAGE_BYTES};

impl Ubifs {
    /// Reads a page together with the data nodes that follow it, and keeps those for [`Ubifs::insert_bulk`]. `None`: no
    /// bulk read is possible here, the caller must read the page by itself.
    pub(crate) fn read_page_in_bulk(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Option<bool> {
        let mut bulk = std::mem::take(&mut self.bulk);
        (bulk.ino, bulk.first) = (ino, index as u32);
        let result = self.core.index.find_bulk(&self.core.lebs, &mut bulk);
        let inode = self.inodes.get_mut(&ino)?;
        if bulk.is_at_end && result.is_ok() {
            inode.reads.leave_bulk(1);
        }
        if bulk.blocks == 0 && result.is_ok() {
            inode.reads.leave_bulk(0);
            self.bulk = bulk;
            return None;
        }
        let size_bytes = inode.size_bytes;
        // The kernel warns of an error and goes on page by page.
        let is_hole = result
            .and_then(|()| self.core.journal.read_bulk(&self.core.lebs, &mut bulk))
            .and_then(|()| bulk.fill(&mut self.core.compressor, &self.core.lebs.sim, index, size_bytes, page))
            .ok();
        self.bulk = bulk;
        is_hole
    }

    /// Gives the pages behind the one that was asked for to the page cache.
    pub(crate) fn insert_bulk(&mut self, host: &mut dyn Host) {
        let mut bulk = std::mem::take(&mut self.bulk);
        let (ino, first) = (bulk.ino, u64::from(bulk.first));
        let Some(size_bytes) = self.inodes.get(&ino).map(|inode| inode.size_bytes) else { return };
        let pages = size_bytes.div_ceil(u64::from(BLOCK_BYTES));
        let mut page = [0; PAGE_BYTES];
        let mut index = first + 1;
        while index < first + u64::from(bulk.blocks) && index < pages && !host.is_page_locked(ino, index) {
            if host.page(ino, index).is_none() {
                let Ok(is_hole) =
                    bulk.fill(&mut self.core.compressor, &self.core.lebs.sim, index, size_bytes, &mut page)
                else {
                    break;
                };
                host.insert_page(ino, index, &page);
                self.note_clean_page(ino, index, is_hole);
            }
            index += 1;
        }
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.reads.last_page = index - 1;
        }
        self.bulk = bulk;
    }
}
