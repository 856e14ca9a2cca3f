//! DFTL: the map stands in pages on flash, and RAM holds the entries that were used last.
//!
//! Gupta, Kim and Urgaonkar, "DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of Page-level Address
//! Mappings", ASPLOS 2009: a cached mapping table, translation pages in blocks of their own, a global directory in RAM
//! that says where these stand; entries of one translation page are written back together (batch update), and entries of moved
//! pages that are cached are changed in the cache only (lazy copying).
//!
//! What differs: which entry the cache gives up is a rule ([`crate::FtlConfig::map_eviction`]); the paper's is `segmented-lru`. The map is found after a power cut by the records of all pages as without
//! a cache; translation pages that the mount finds out of date are written anew when one of their entries is wanted. The simulation keeps the whole map in
//! the host's memory, so that what a translation page says can be checked against it.

use ffslab_mtd::MtdError;
use ffslab_policy::Refusal;

use super::eviction::{Eviction, NONE};
use super::{PageMap, Stream};
use crate::causes;
use crate::config::{FtlConfig, FtlError};
use crate::flash::Flash;

const ENTRY_BYTES: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    NotCached,
    Clean,
    Dirty,
}

/// The cached mapping table.
pub(super) struct MapCache {
    entries_max: u32,
    entries: Vec<Entry>,
    count: u32,
    order: Eviction,
    /// Translation pages on flash that say something else than the map.
    stale: Vec<bool>,
    /// Translation pages that must be written because collection has moved pages.
    moved: Vec<u32>,
}

impl MapCache {
    pub fn new(entries_max: u32, config: &FtlConfig, translation_pages: u32) -> MapCache {
        let logical_pages = config.logical_pages;
        MapCache {
            entries_max: entries_max.max(1),
            entries: vec![Entry::NotCached; logical_pages as usize],
            count: 0,
            order: Eviction::new(config.map_eviction, entries_max, logical_pages, config.seed),
            stale: vec![false; translation_pages as usize],
            moved: Vec::new(),
        }
    }
}

impl MapCache {
    /// Why an answer of the rule was refused, if one was.
    pub fn refusal(&self) -> Option<Refusal> {
        self.order.refusal()
    }
}

/// Translation pages of a device.
pub(super) fn translation_pages(logical_pages: u32, page_bytes: u32) -> u32 {
    logical_pages.div_ceil(page_bytes / ENTRY_BYTES)
}

impl<F: Flash> PageMap<F> {
    fn translation_of(&self, logical_page: u32) -> u32 {
        logical_page / (self.shape.page_bytes / ENTRY_BYTES)
    }

    /// Brings the entry of a logical page to the cache, which may write another one back.
    #[inline]
    pub(super) fn look_up(&mut self, logical_page: u32) -> Result<(), FtlError> {
        match self.cache {
            None => Ok(()),
            Some(_) => self.look_up_cached(logical_page),
        }
    }

    fn look_up_cached(&mut self, logical_page: u32) -> Result<(), FtlError> {
        let translation = self.translation_of(logical_page);
        let Some(cache) = &mut self.cache else { return Ok(()) };
        let entry = cache.entries[logical_page as usize];
        if entry != Entry::NotCached {
            self.statistics.map_hits_count += 1;
            cache.order.is_used(logical_page);
        } else {
            self.statistics.map_misses_count += 1;
            if cache.count == cache.entries_max {
                self.evict()?;
            }
            self.load(translation, logical_page)?;
        }
        let Some(cache) = &mut self.cache else { return Ok(()) };
        if entry == Entry::NotCached {
            cache.count += 1;
            cache.entries[logical_page as usize] = Entry::Clean;
            cache.order.enters(logical_page);
        }
        Ok(())
    }

    /// Gives up the entry that the rule names. If it was changed, its translation page is written with all changed entries.
    fn evict(&mut self) -> Result<(), FtlError> {
        let Some(cache) = &mut self.cache else { return Ok(()) };
        let entries = &cache.entries;
        let given_up = cache.order.choose(|entry| entries[entry as usize] == Entry::Dirty);
        if cache.entries[given_up as usize] == Entry::Dirty {
            self.make_room(Stream::Translation)?;
            self.update_translation(self.translation_of(given_up))?;
        }
        let Some(cache) = &mut self.cache else { return Ok(()) };
        cache.order.leaves(given_up);
        cache.entries[given_up as usize] = Entry::NotCached;
        cache.count -= 1;
        Ok(())
    }

    /// Reads the translation page of an entry that is not cached.
    fn load(&mut self, translation: u32, logical_page: u32) -> Result<(), FtlError> {
        if self.cache.as_ref().is_some_and(|cache| cache.stale[translation as usize]) {
            self.make_room(Stream::Translation)?;
            self.update_translation(translation)?;
        }
        if self.read_translation(translation)? {
            let at = (logical_page % (self.shape.page_bytes / ENTRY_BYTES) * ENTRY_BYTES) as usize;
            let told =
                u32::from_le_bytes([self.buffer[at], self.buffer[at + 1], self.buffer[at + 2], self.buffer[at + 3]]);
            debug_assert_eq!(told, self.map[logical_page as usize], "entry of logical page {logical_page}");
        }
        Ok(())
    }

    /// Reads a translation page into the buffer. `false`: there is none yet, or it cannot be corrected; then the next update
    /// writes it from what the records say.
    fn read_translation(&mut self, translation: u32) -> Result<bool, FtlError> {
        let page = self.map[(self.first_translation + translation) as usize];
        if page == NONE {
            return Ok(false);
        }
        let _reason = self.flash.because(&causes::MAP_READ);
        self.statistics.map_read_pages += 1;
        match self.flash.read(page, &mut self.buffer).1 {
            Ok(_) => Ok(true),
            Err(MtdError::Uncorrectable) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a translation page, changes all its changed entries and writes it.
    fn update_translation(&mut self, translation: u32) -> Result<(), FtlError> {
        self.read_translation(translation)?;
        self.write_translation(translation)
    }

    /// Writes a translation page as the map is now.
    pub(super) fn write_translation(&mut self, translation: u32) -> Result<(), FtlError> {
        let per_page = self.shape.page_bytes / ENTRY_BYTES;
        let first = (translation * per_page) as usize;
        let end = self.config.logical_pages.min((translation + 1) * per_page) as usize;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.fill(0xFF);
        for (bytes, page) in buffer.chunks_exact_mut(ENTRY_BYTES as usize).zip(&self.map[first..end]) {
            bytes.copy_from_slice(&page.to_le_bytes());
        }
        let written = {
            let _reason = self.flash.because(&causes::MAP_WRITE);
            self.append(Stream::Translation, self.first_translation + translation, &buffer, 0)
        };
        self.buffer = buffer;
        self.statistics.map_written_pages += 1;
        if let Some(cache) = &mut self.cache {
            for entry in &mut cache.entries[first..end] {
                if *entry == Entry::Dirty {
                    *entry = Entry::Clean;
                }
            }
            cache.stale[translation as usize] = false;
            cache.moved.retain(|&moved| moved != translation);
        }
        written
    }

    /// A logical page stands elsewhere now.
    #[inline]
    pub(super) fn has_changed(&mut self, logical_page: u32) {
        if self.cache.is_none() {
            return;
        }
        let translation = self.translation_of(logical_page);
        let Some(cache) = &mut self.cache else { return };
        if cache.entries[logical_page as usize] != Entry::NotCached {
            cache.entries[logical_page as usize] = Entry::Dirty;
        } else if !cache.moved.contains(&translation) {
            cache.moved.push(translation);
        }
    }

    /// Writes the translation pages of moved pages that are not cached.
    pub(super) fn settle_moved(&mut self) -> Result<(), FtlError> {
        while let Some(&translation) = self.cache.as_ref().and_then(|cache| cache.moved.last()) {
            self.update_translation(translation)?;
        }
        Ok(())
    }

    /// After a mount: which translation pages say something else than the map?
    pub(super) fn compare_translations(&mut self) -> Result<(), FtlError> {
        let translations = self.cache.as_ref().map_or(0, |cache| cache.stale.len() as u32);
        let per_page = self.shape.page_bytes / ENTRY_BYTES;
        for translation in 0..translations {
            let first = (translation * per_page) as usize;
            let end = self.config.logical_pages.min((translation + 1) * per_page) as usize;
            let is_there = self.read_translation(translation)?;
            let entries = self.buffer.chunks_exact(ENTRY_BYTES as usize).zip(&self.map[first..end]);
            let is_same = if is_there {
                entries.into_iter().all(|(bytes, page)| bytes == page.to_le_bytes())
            } else {
                self.map[first..end].iter().all(|&page| page == NONE)
            };
            if let Some(cache) = &mut self.cache {
                cache.stale[translation as usize] = !is_same;
            }
        }
        Ok(())
    }
}
