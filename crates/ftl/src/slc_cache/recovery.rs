//! Finding what is in the cache by the records of its pages.
//!
//! The erase of the oldest block can have been cut: its pages were folded before, and some of them are still there, whole or not. Of
//! this block all data are read, and of a page that is damaged the copy in the page map counts.

use ffslab_mtd::MtdError;

use super::{parts, SlcCache};
use crate::causes;
use crate::config::{FtlConfig, FtlError};
use crate::flash::Flash;
use crate::page_map::PageMap;
use crate::tag::{Found, Tag, KIND_DATA};

impl<F: Flash> SlcCache<F> {
    pub fn mount(flash: F, config: FtlConfig) -> Result<SlcCache<F>, FtlError> {
        let begun_ns = flash.found_ns();
        let (cache, rest, settings) = parts(flash, &config)?;
        let rest = PageMap::mount(rest, settings)?.0;
        let mut made = SlcCache::blank(cache, rest, &config);
        let reason = made.cache.because(&causes::RECOVERY_SCAN);
        made.scan()?;
        drop(reason);
        made.statistics.mount_ns = made.cache.now_ns() - begun_ns;
        Ok(made)
    }

    fn scan(&mut self) -> Result<(), FtlError> {
        let full = self.cache.shape().pages_per_block;
        let mut found: Vec<(Tag, u32)> = Vec::new();
        let mut blocks: Vec<(u64, u32)> = Vec::new();
        for block in (0..self.cache.shape().blocks).filter(|&block| !self.cache.is_bad(block)).collect::<Vec<_>>() {
            let mut of_block: Vec<(u32, Tag)> = Vec::new();
            for page in self.first_page(block)..self.first_page(block) + full {
                if let Found::Tag(tag) = self.cache.read_tag(page)? {
                    if tag.kind == KIND_DATA && (tag.number as usize) < self.newest.len() {
                        of_block.push((page, tag));
                    }
                }
            }
            // Only the page that was written last can be torn.
            if let Some(&(page, tag)) = of_block.last() {
                self.erases[block as usize] = tag.erases;
                self.sequence = self.sequence.max(tag.sequence);
                if !self.is_whole(page, &tag)? {
                    of_block.pop();
                }
            }
            match of_block.first() {
                Some((_, tag)) => blocks.push((tag.sequence, block)),
                None => self.free.push_back((block, false)),
            }
            found.extend(of_block.iter().map(|&(page, tag)| (tag, page)));
        }
        if let Some(&(_, oldest)) = blocks.iter().min() {
            let mut whole = Vec::with_capacity(found.len());
            for (tag, page) in found {
                if self.block_of(page) != oldest as usize || self.is_whole(page, &tag)? {
                    whole.push((tag, page));
                }
            }
            found = whole;
        }
        found.sort_unstable_by_key(|(tag, _)| tag.sequence);
        for (tag, page) in found {
            self.enter(tag.number, page);
        }
        blocks.sort_unstable();
        self.log = blocks.into_iter().map(|(_, block)| block).collect();
        // An erased record does not prove an erased page: the block is not written on.
        self.open_pages = full;
        Ok(())
    }

    fn is_whole(&mut self, page: u32, tag: &Tag) -> Result<bool, FtlError> {
        match self.cache.read(page, &mut self.buffer).1 {
            Ok(_) => Ok(crc32fast::hash(&self.buffer) == tag.data_crc),
            Err(MtdError::Uncorrectable) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
