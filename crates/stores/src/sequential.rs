//! The map of the crate `sequential-storage`: a ring of pages to which items are appended.

use crate::causes::{self, DELETION, GET, ITERATE, MIGRATION, REPAIR, SEARCH, SET};
use crate::config::{demand, demand_block, demand_blocks, demand_nor, ConfigError};
use crate::flash::{is_blank, now, unless_cut, Flash};
use crate::StoreError;
use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use ffslab_fs::{Errno, KeyValueStore, Result};
use ffslab_mtd::{Capabilities, Mtd, MtdError};
use ffslab_sim::{Reason, Sim, FORMATTING};
use sequential_storage::cache::key_pointers::HeapKeyPointers;
use sequential_storage::cache::page_pointers::HeapPagePointers;
use sequential_storage::cache::page_states::HeapPageStates;
use sequential_storage::cache::{Cache, CacheImpl, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};
use sequential_storage::Error;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is kept in memory of what stands on flash; each one holds what the one before holds, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SequentialCache {
    /// Nothing: each call looks for the page in use.
    #[default]
    None,
    /// Which pages are open, in use, full.
    PageStates,
    /// Where in each page the first item and the first free place are.
    PagePointers,
    /// Where the newest item of each key is.
    KeyPointers,
}

/// The configuration of such a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequentialConfig {
    /// Items are padded to words of this size, which the flash programs at once: 1, 4 or 32 bytes.
    pub word_bytes: u32,
    /// For an item with its key: it bounds the largest value.
    pub buffer_bytes: u32,
    pub cache: SequentialCache,
    /// Keys of which the place is known, with [`SequentialCache::KeyPointers`].
    pub cache_keys: u32,
}

impl Default for SequentialConfig {
    /// Bytes are programmed alone, as SPI NOR does; items of up to 1 KiB; nothing is cached.
    fn default() -> Self {
        SequentialConfig { word_bytes: 1, buffer_bytes: 1024, cache: SequentialCache::None, cache_keys: 64 }
    }
}

pub(crate) const NAME: &str = "sequential-storage";
/// `MAX_WORD_SIZE` of its `lib.rs`, and `erase_data` of `item.rs`.
const NO_NAND: &str = "its items are words of 32 bytes at most, and one that is removed is programmed once more";
const WORDS: [u32; 3] = [1, 4, 32];
const BLOCKS: [u32; 2] = [4 << 10, 64 << 10];
/// A length in front of the key (`alloc_impl.rs`).
const KEY_LENGTH_BYTES: usize = 2;
const KEY_BYTES_MAX: usize = 255;

impl SequentialConfig {
    /// # Errors
    /// The first value with which the map, or the medium, cannot work.
    pub fn check(&self, medium: &Capabilities) -> std::result::Result<(), ConfigError> {
        demand_nor(NAME, NO_NAND, medium)?;
        demand_block(NAME, medium, &BLOCKS)?;
        demand_blocks(NAME, medium, 2, u32::MAX / medium.erase_block_bytes)?;
        demand(WORDS.contains(&self.word_bytes), "word_B", self.word_bytes, || "1, 4 or 32 are known".to_string())?;
        let (least, most) = (KEY_LENGTH_BYTES as u32 + 32, medium.erase_block_bytes);
        let is_whole = self.buffer_bytes.is_multiple_of(self.word_bytes);
        demand(is_whole && (least..=most).contains(&self.buffer_bytes), "buffer_B", self.buffer_bytes, || {
            format!("{least} to {most} bytes, in words, are needed")
        })?;
        demand((1..=1 << 20).contains(&self.cache_keys), "cache_keys", self.cache_keys, || "1 to 1048576".to_string())
    }

    /// Memory that it takes: the buffer and the caches.
    pub fn memory_bytes(&self, medium: &Capabilities) -> u64 {
        let pages = u64::from(medium.blocks);
        let keys = u64::from(self.cache_keys) * size_of::<Option<(Vec<u8>, u32)>>() as u64;
        let cache = match self.cache {
            SequentialCache::None => 0,
            SequentialCache::PageStates => pages,
            SequentialCache::PagePointers => pages * 9,
            SequentialCache::KeyPointers => pages * 9 + keys,
        };
        u64::from(self.buffer_bytes) + cache
    }
}

/// Makes an empty map: all is erased that is not.
///
/// Errors: the configuration does not suit the medium, an erase fails.
pub fn format(medium: &Mtd, config: &SequentialConfig) -> std::result::Result<(), StoreError> {
    config.check(medium.capabilities())?;
    causes::register(medium.sim());
    if is_blank(medium) {
        Ok(())
    } else {
        Ok(Flash::new(medium.clone()).erase(&FORMATTING, 0, medium.size_bytes())?)
    }
}

/// The map on a medium. Nothing is read before the first call.
///
/// Errors: the configuration does not suit the medium.
pub fn mount(medium: &Mtd, config: &SequentialConfig) -> std::result::Result<Box<dyn KeyValueStore>, StoreError> {
    config.check(medium.capabilities())?;
    causes::register(medium.sim());
    let is_small = medium.erase_block_bytes() == BLOCKS[0];
    Ok(match (config.word_bytes, is_small) {
        (1, true) => cached::<1, { 4 << 10 }>(medium, config),
        (1, false) => cached::<1, { 64 << 10 }>(medium, config),
        (4, true) => cached::<4, { 4 << 10 }>(medium, config),
        (4, false) => cached::<4, { 64 << 10 }>(medium, config),
        (_, true) => cached::<32, { 4 << 10 }>(medium, config),
        (_, false) => cached::<32, { 64 << 10 }>(medium, config),
    })
}

fn cached<const WORD: usize, const PAGE: usize>(medium: &Mtd, config: &SequentialConfig) -> Box<dyn KeyValueStore> {
    let pages = medium.blocks() as usize;
    let states = || HeapPageStates::new(pages);
    let pointers = || HeapPagePointers::new(pages);
    let keys = || HeapKeyPointers::new(config.cache_keys as usize);
    match config.cache {
        SequentialCache::None => made::<WORD, PAGE, _>(medium, config, Cache::new_uncached()),
        SequentialCache::PageStates => made::<WORD, PAGE, _>(medium, config, Cache::new(states(), Uncached, Uncached)),
        SequentialCache::PagePointers => {
            made::<WORD, PAGE, _>(medium, config, Cache::new(states(), pointers(), Uncached))
        }
        SequentialCache::KeyPointers => made::<WORD, PAGE, _>(medium, config, Cache::new(states(), pointers(), keys())),
    }
}

fn made<const WORD: usize, const PAGE: usize, C: CacheImpl<Vec<u8>> + 'static>(
    medium: &Mtd,
    config: &SequentialConfig,
    cache: C,
) -> Box<dyn KeyValueStore> {
    let flash = Rc::new(Flash::new(medium.clone()));
    let doing = Rc::new(Doing::default());
    let pages = Pages::<WORD, PAGE> { flash: flash.clone(), doing: doing.clone() };
    let map = MapStorage::new(pages, MapConfig::new(0..medium.size_bytes() as u32), cache);
    Box::new(Sequential { map, flash, doing, buffer: vec![0; config.buffer_bytes as usize] })
}

/// What the program has called for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Call {
    #[default]
    Get,
    Set,
    Delete,
    Iterate,
}

/// What the map does. Of its own it says nothing, so that this follows from what it writes: a full page gets a mark at its end, the
/// next one a mark at its beginning, then the items of the page behind that one are copied, if it is in use, and it is erased
/// (`store_item_inner` of `map.rs`). An erase at any other time is `try_repair`.
#[derive(Default)]
struct Doing {
    call: Cell<Call>,
    takes_page: Cell<bool>,
    repairs: Cell<bool>,
}

impl Doing {
    fn begins(&self, call: Call) {
        self.call.set(call);
        self.takes_page.set(false);
        self.repairs.set(false);
    }

    /// The cause of what is no part of the call itself.
    fn beside(&self) -> Option<&'static Reason> {
        match (self.repairs.get(), self.takes_page.get()) {
            (true, _) => Some(&REPAIR),
            (_, true) => Some(&MIGRATION),
            _ => None,
        }
    }
}

/// The partition as the map sees it.
struct Pages<const WORD: usize, const PAGE: usize> {
    flash: Rc<Flash>,
    doing: Rc<Doing>,
}

/// What a driver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageError(MtdError);

impl NorFlashError for PageError {
    fn kind(&self) -> NorFlashErrorKind {
        match self.0 {
            MtdError::OutOfRange => NorFlashErrorKind::OutOfBounds,
            MtdError::Unaligned => NorFlashErrorKind::NotAligned,
            _ => NorFlashErrorKind::Other,
        }
    }
}

impl<const WORD: usize, const PAGE: usize> Pages<WORD, PAGE> {
    /// Whether the page behind that at `at` holds nothing, so that nothing is to be copied.
    fn next_is_open(&self, at: u32) -> bool {
        let next = (u64::from(at) + PAGE as u64) % self.flash.mtd.size_bytes();
        let mut mark = [0; 1];
        self.flash.mtd.look(next, &mut mark).is_ok() && mark[0].count_zeros() < 4
    }

    fn reason_of_write(&self, at: u32) -> &'static Reason {
        let place = at as usize % PAGE;
        if self.doing.repairs.get() {
            return &REPAIR;
        }
        if place == PAGE - WORD {
            self.doing.takes_page.set(true);
        }
        if place == 0 {
            self.doing.takes_page.set(self.doing.takes_page.get() && !self.next_is_open(at));
            return &MIGRATION;
        }
        self.doing.beside().unwrap_or(match self.doing.call.get() {
            Call::Delete => &DELETION,
            _ => &SET,
        })
    }
}

impl<const WORD: usize, const PAGE: usize> ErrorType for Pages<WORD, PAGE> {
    type Error = PageError;
}

impl<const WORD: usize, const PAGE: usize> ReadNorFlash for Pages<WORD, PAGE> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> std::result::Result<(), PageError> {
        let why = self.doing.beside().unwrap_or(match self.doing.call.get() {
            Call::Get => &GET,
            Call::Iterate => &ITERATE,
            Call::Set | Call::Delete => &SEARCH,
        });
        unless_cut(self.flash.read(why, offset.into(), bytes)).await.map_err(PageError)
    }

    fn capacity(&self) -> usize {
        self.flash.mtd.size_bytes() as usize
    }
}

impl<const WORD: usize, const PAGE: usize> NorFlash for Pages<WORD, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> std::result::Result<(), PageError> {
        if !self.doing.takes_page.get() {
            self.doing.repairs.set(true);
        }
        let why = self.doing.beside().unwrap_or(&MIGRATION);
        let erased = self.flash.erase(why, from.into(), to.into());
        self.doing.takes_page.set(false);
        unless_cut(erased).await.map_err(PageError)
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> std::result::Result<(), PageError> {
        let why = self.reason_of_write(offset);
        unless_cut(self.flash.program(why, offset.into(), bytes)).await.map_err(PageError)
    }
}

impl<const WORD: usize, const PAGE: usize> MultiwriteNorFlash for Pages<WORD, PAGE> {}

struct Sequential<const WORD: usize, const PAGE: usize, C: CacheImpl<Vec<u8>>> {
    map: MapStorage<Vec<u8>, Pages<WORD, PAGE>, C>,
    flash: Rc<Flash>,
    doing: Rc<Doing>,
    /// For an item with its key.
    buffer: Vec<u8>,
}

fn errno(error: &Error<PageError>, flash: &Flash) -> Errno {
    match error {
        Error::Storage { .. } => flash.medium_errno(),
        Error::FullStorage => Errno::NoSpc,
        Error::ItemTooBig | Error::BufferTooBig | Error::BufferTooSmall(_) | Error::SerializationError(_) => {
            Errno::TooBig
        }
        _ => Errno::Io,
    }
}

/// A key as the map takes it.
fn key_of(key: &[u8]) -> Result<Vec<u8>> {
    if key.len() <= KEY_BYTES_MAX {
        Ok(key.to_vec())
    } else {
        Err(Errno::NameTooLong)
    }
}

impl<const WORD: usize, const PAGE: usize, C: CacheImpl<Vec<u8>>> KeyValueStore for Sequential<WORD, PAGE, C> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sim(&self) -> &Sim {
        self.flash.mtd.sim()
    }

    fn key_bytes_max(&self) -> usize {
        KEY_BYTES_MAX.min(self.buffer.len() - KEY_LENGTH_BYTES)
    }

    fn value_bytes_max(&self) -> usize {
        self.buffer.len() - KEY_LENGTH_BYTES - self.key_bytes_max()
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let key = key_of(key)?;
        self.doing.begins(Call::Set);
        let stored = now(self.map.store_item(&mut self.buffer, &key, &value))?;
        stored.map_err(|error| errno(&error, &self.flash))
    }

    fn get(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        let key = key_of(key)?;
        self.doing.begins(Call::Get);
        let found = now(self.map.fetch_item::<&[u8]>(&mut self.buffer, &key))?;
        let found = found.map_err(|error| errno(&error, &self.flash))?;
        found.map(<[u8]>::to_vec).ok_or(Errno::NoEnt)
    }

    /// A key that is not there is no error: the map only marks what it finds.
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let key = key_of(key)?;
        self.doing.begins(Call::Delete);
        let removed = now(self.map.remove_item(&mut self.buffer, &key))?;
        removed.map_err(|error| errno(&error, &self.flash))
    }

    /// The map shows all items in the order in which they were written: of a key the last one counts.
    fn iterate(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.doing.begins(Call::Iterate);
        let mut newest = BTreeMap::new();
        let Sequential { map, buffer, .. } = self;
        let read = now(async {
            let mut items = map.fetch_all_items(buffer).await?;
            while let Some((key, value)) = items.next::<&[u8]>(buffer).await? {
                newest.insert(key, value.to_vec());
            }
            Ok(())
        })?;
        read.map_err(|error| errno(&error, &self.flash))?;
        newest.iter().for_each(|(key, value)| each(key, value));
        Ok(())
    }
}
