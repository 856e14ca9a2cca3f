//! Trims: what the host does not need any more, in pages of bits that a flush writes.

use super::eviction::NONE;
use super::{PageMap, Stream};
use crate::causes;
use crate::config::FtlError;
use crate::flash::Flash;

impl<F: Flash> PageMap<F> {
    /// Forgets a logical page. After a power cut it may be there again unless [`PageMap::flush`] was called.
    pub fn trim(&mut self, logical_page: u32) -> Result<(), FtlError> {
        self.check(logical_page)?;
        if self.map[logical_page as usize] != NONE {
            self.look_up(logical_page)?;
        }
        let page = std::mem::replace(&mut self.map[logical_page as usize], NONE);
        if page != NONE {
            self.owner[page as usize] = NONE;
            self.blocks.loses_page(page >> self.block_shift);
            self.has_changed(logical_page);
            if F::KEEPS_BYTES {
                let stale = logical_page / (self.shape.page_bytes * 8);
                if !self.stale_trims.contains(&stale) {
                    self.stale_trims.push(stale);
                }
            }
        }
        Ok(())
    }

    pub(super) fn write_trims(&mut self) -> Result<(), FtlError> {
        while let Some(&trims) = self.stale_trims.last() {
            let _reason = self.flash.because(&causes::TRIM);
            self.write_trim_page(trims)?;
            self.statistics.trim_pages += 1;
        }
        Ok(())
    }

    /// Writes one page of trim bits as the map is now.
    pub(super) fn write_trim_page(&mut self, trims: u32) -> Result<(), FtlError> {
        let bits = self.shape.page_bytes * 8;
        let first = (trims * bits) as usize;
        let logical = &self.map[first..self.config.logical_pages.min((trims + 1) * bits) as usize];
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.fill(0);
        for (bit, &page) in logical.iter().enumerate() {
            buffer[bit / 8] |= u8::from(page == NONE) << (bit % 8);
        }
        let written = self.append(Stream::Collected, self.first_trim + trims, &buffer, 0);
        self.buffer = buffer;
        self.stale_trims.retain(|&stale| stale != trims);
        written
    }
}
