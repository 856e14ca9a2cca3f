//! Settings of a flash translation layer, and why one cannot be made or cannot go on.

use ffslab_mtd::MtdError;
use ffslab_policy::{EvictionSpec, FreeSpec, LevellingSpec, StreamSpec, ENDURANCE_ERASES};
use thiserror::Error;

use crate::victim::Victim;

/// Fewest free blocks at which collection begins: one for collection to write to, two for blocks that fail meanwhile.
pub const FREE_BLOCKS_MIN: u32 = 3;

/// Further ones with DFTL, because collection writes translation pages, too.
pub const TRANSLATION_BLOCKS: u32 = 2;

/// Settings.
#[derive(Clone, Debug, PartialEq)]
pub struct FtlConfig {
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// Collection begins when the host needs a block and no more than these are free.
    pub gc_free_blocks: u32,
    /// While nobody waits, blocks are collected until so many are free (page maps). `None`: only a write collects.
    pub idle_free_blocks: Option<u32>,
    pub victim: Victim,
    /// What collection moves goes to blocks of its own, apart from what the host writes.
    pub gc_apart: bool,
    /// The host can say that a page will soon be written again; such pages go to blocks of their own.
    pub hot_apart: bool,
    /// Who tells hot pages from others beside the host. A rule keeps them apart, whatever `hot_apart` says.
    pub stream: StreamSpec,
    /// Which free block is written next. `None`: as belongs to the rule for levelling ([`LevellingSpec::free_rule`]).
    pub free: Option<FreeSpec>,
    /// When data move only to level wear, and from which block.
    pub levelling: LevellingSpec,
    /// Erases that a block bears by its data sheet, for rules that ask how much of its life is left.
    pub endurance_erases: u32,
    /// A checkpoint is written whenever this many pages were programmed since the last one. `None`: only when asked for.
    pub checkpoint_every_pages: Option<u32>,
    /// DFTL: entries of the map that RAM holds; the map stands on flash. `None`: RAM holds the whole map.
    pub map_cache_entries_count: Option<u32>,
    /// DFTL: which entry of the map a full cache gives up.
    pub map_eviction: EvictionSpec,
    /// Log or replacement blocks of block maps, at least two; open segments, at least one.
    pub log_blocks: u32,
    /// LAST: requests of so many pages and more are sequences.
    pub sequential_request_pages: u32,
    /// How many of the open segments can take pages in any order. The others are written on from where they end.
    pub random_segments_count: u32,
    /// Pages after which a segment that took pages in any order is merged. `None`: when its block is full.
    pub random_log_pages: Option<u32>,
    /// SLC cache: its blocks, and how it differs from the rest.
    pub slc_cache: Option<SlcCacheConfig>,
    /// Pages that are programmed or read in a row go through the chip's cache registers, as far as it has such commands. What is written
    /// then lasts after [`crate::layer::Ftl::flush`].
    pub cache_commands: bool,
    /// With `cache_commands`: pages that merges and collections read before they program them.
    pub copy_row_pages: u32,
    /// Merges and collections copy a page inside the chip so many times in a row, then through the controller with its ECC; at most
    /// [`crate::COPY_BACKS_MAX`]. 0: never inside the chip.
    pub copy_backs_max_count: u32,
    pub seed: u64,
}

/// Pages that a controller holds of a row that it moves, if nobody says how many: ours, a buffer of 16 KiB with the usual pages.
pub const COPY_ROW_PAGES: u32 = 8;

impl FtlConfig {
    /// A page map of so many pages with the usual settings: greedy, dynamic wear levelling, collected data apart.
    pub fn new(logical_pages: u32) -> FtlConfig {
        FtlConfig {
            logical_pages,
            gc_free_blocks: FREE_BLOCKS_MIN,
            idle_free_blocks: None,
            victim: Victim::Greedy,
            gc_apart: true,
            hot_apart: false,
            stream: StreamSpec::None,
            free: None,
            levelling: LevellingSpec::DYNAMIC,
            endurance_erases: ENDURANCE_ERASES,
            checkpoint_every_pages: None,
            map_cache_entries_count: None,
            map_eviction: EvictionSpec::Lru,
            log_blocks: 8,
            sequential_request_pages: 4,
            random_segments_count: 0,
            random_log_pages: None,
            slc_cache: None,
            cache_commands: false,
            copy_row_pages: COPY_ROW_PAGES,
            copy_backs_max_count: 0,
            seed: 1,
        }
    }

    /// Whether hot pages go to blocks of their own.
    pub fn keeps_hot_apart(&self) -> bool {
        self.hot_apart || self.stream != StreamSpec::None
    }

    /// The rule by which a free block is chosen.
    pub fn free_rule(&self) -> FreeSpec {
        self.free.unwrap_or_else(|| self.levelling.free_rule())
    }
}

/// An SLC cache. The times of the medium are those of its blocks; the others, with several bits a cell, take longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcCacheConfig {
    /// Blocks of the cache, at least two.
    pub blocks: u32,
    /// Bits a cell of the other blocks: a block holds so many times fewer pages in the cache.
    pub cell_bits: u32,
    /// How much longer a page of the other blocks is read and programmed.
    pub read_further_ns: u64,
    pub program_further_ns: u64,
}

impl Default for SlcCacheConfig {
    fn default() -> SlcCacheConfig {
        SlcCacheConfig { blocks: 4, cell_bits: 2, read_further_ns: 25_000, program_further_ns: 700_000 }
    }
}

/// Bytes of the record in the out-of-band area of each page.
pub const TAG_BYTES: usize = 24;

/// Errors. Those of the first group are found before anything is written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FtlError {
    #[error(
        "the medium has {oob_free_bytes} free out-of-band bytes a page; a flash translation layer needs {}",
        TAG_BYTES
    )]
    NoOob { oob_free_bytes: u32 },
    #[error("pages of the medium share cells, so that a cut program destroys earlier pages: use its SLC mode")]
    PairedPages,
    #[error("{key}: the chip has no {what}, or not one that is known")]
    NoCommand { key: &'static str, what: &'static str },
    #[error("{key}: an SLC cache moves pages between cells of different modes, for which no such times are known")]
    NotWithCache { key: &'static str },
    #[error("logical_pages = {logical_pages}: the medium has room for 1 to {logical_pages_max}")]
    Size { logical_pages: u32, logical_pages_max: u32 },
    #[error(
        "gc_free_blocks = {free_blocks}: at least {free_blocks_min}, so that collection and a failing block find room"
    )]
    FreeBlocks { free_blocks: u32, free_blocks_min: u32 },
    #[error("slc_cache_blocks = {cache_blocks}: a cache has 2 blocks or more of the medium's {blocks}, with 1 to 4 bits a cell beside it")]
    Cache { cache_blocks: u32, blocks: u32 },
    #[error("the medium holds no device of {logical_pages} logical pages: it was formatted for {found}")]
    OtherSize { logical_pages: u32, found: u32 },
    #[error("logical page {logical_page}: the device has {logical_pages}")]
    OutOfRange { logical_page: u32, logical_pages: u32 },
    /// Too many blocks have failed: what is there can be read, nothing can be written.
    #[error("no block is left to write to: {bad_blocks} of {blocks} are bad")]
    WornOut { bad_blocks: u32, blocks: u32 },
    #[error("logical page {logical_page} (page {page} of the medium): more bits are wrong than ECC can correct")]
    Uncorrectable { logical_page: u32, page: u32 },
    #[error(transparent)]
    Medium(#[from] MtdError),
}

impl FtlError {
    pub fn is_power_cut(&self) -> bool {
        *self == FtlError::Medium(MtdError::PowerCut)
    }
}
