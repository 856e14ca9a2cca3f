//! Which translation layers there are.

use ffslab_sim::{Reason, ReasonGuard};

use crate::config::{FtlConfig, FtlError, FREE_BLOCKS_MIN, TRANSLATION_BLOCKS};
use crate::counting::CountingFlash;
use crate::flash::{Flash, OnMedium, Shape};
use crate::hybrid::{Hybrid, Scheme};
use crate::layer::Ftl;
use crate::page_map::PageMap;
use crate::slc_cache::SlcCache;
use crate::statistics::Statistics;

impl<F: Flash> Ftl for PageMap<F> {
    fn shape(&self) -> Shape {
        PageMap::shape(self)
    }

    fn logical_pages(&self) -> u32 {
        self.config().logical_pages
    }

    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard> {
        self.flash().because(reason)
    }

    fn read(&mut self, logical_page: u32, data: &mut [u8]) -> Result<(), FtlError> {
        PageMap::read(self, logical_page, data)
    }

    fn settle_reads(&self) {
        self.flash().settle_reads();
    }

    fn hint_read_pages(&mut self, further_pages: u32) {
        PageMap::hint_read_pages(self, further_pages);
    }

    fn write(&mut self, logical_page: u32, data: &[u8], hot: bool) -> Result<(), FtlError> {
        PageMap::write(self, logical_page, data, hot)
    }

    fn pad(&mut self, logical_page: u32, data: &[u8]) -> Result<(), FtlError> {
        PageMap::pad(self, logical_page, data)
    }

    fn trim(&mut self, logical_page: u32) -> Result<(), FtlError> {
        PageMap::trim(self, logical_page)
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        PageMap::flush(self)
    }

    fn idle(&mut self) -> Result<bool, FtlError> {
        self.collect_idly()
    }

    fn tell_refusal(&self) {
        if let Some(refusal) = self.policy_refusal() {
            self.flash().give_up(&refusal);
        }
    }

    fn statistics(&self) -> &Statistics {
        PageMap::statistics(self)
    }

    fn erase_counts(&self) -> Vec<u32> {
        PageMap::erase_counts(self).to_vec()
    }

    fn map_bytes(&self) -> u64 {
        PageMap::map_bytes(self)
    }
}

type Make<F> = fn(F, FtlConfig) -> Result<Box<dyn Ftl>, FtlError>;

/// A translation layer with its name and paper.
pub struct Mapping {
    /// As users write it.
    pub name: &'static str,
    pub sentence: &'static str,
    pub paper: &'static str,
    /// Free blocks at which collection begins, if nobody says how many.
    pub gc_free_blocks: u32,
    /// Makes an empty device.
    pub format: Make<OnMedium>,
    /// Finds a device again.
    pub mount: Make<OnMedium>,
    /// Makes an empty device of which only the operations are counted.
    pub count: Make<CountingFlash>,
}

ffslab_sim::known_by_name!(Mapping);

/// Entries that DFTL holds if nobody says how many.
const MAP_CACHE_ENTRIES: u32 = 1024;

fn whole_map(config: FtlConfig) -> FtlConfig {
    FtlConfig { map_cache_entries_count: None, ..config }
}

fn cached_map(config: FtlConfig) -> FtlConfig {
    FtlConfig { map_cache_entries_count: config.map_cache_entries_count.or(Some(MAP_CACHE_ENTRIES)), ..config }
}

/// All of them.
pub static MAPPINGS: [Mapping; 8] = [
    Mapping {
        name: "page-map",
        sentence: "each page can stand anywhere; the whole map is in RAM",
        paper: "Ban, US patent 5,404,485",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(PageMap::format(flash, whole_map(config))?)),
        mount: |flash, config| Ok(Box::new(PageMap::mount(flash, whole_map(config))?.0)),
        count: |flash, config| Ok(Box::new(PageMap::format(flash, whole_map(config))?)),
    },
    Mapping {
        name: "dftl",
        sentence: "each page can stand anywhere; the map is on flash, and RAM holds the entries used last",
        paper: "Gupta, Kim and Urgaonkar, ASPLOS 2009",
        gc_free_blocks: FREE_BLOCKS_MIN + TRANSLATION_BLOCKS,
        format: |flash, config| Ok(Box::new(PageMap::format(flash, cached_map(config))?)),
        mount: |flash, config| Ok(Box::new(PageMap::mount(flash, cached_map(config))?.0)),
        count: |flash, config| Ok(Box::new(PageMap::format(flash, cached_map(config))?)),
    },
    Mapping {
        name: "block-map",
        sentence: "pages keep their places in blocks; replacement blocks take what is written again",
        paper: "Ban, US patent 5,937,425",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::BlockMap)?)),
        mount: |flash, config| Ok(Box::new(Hybrid::mount(flash, config, Scheme::BlockMap)?)),
        count: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::BlockMap)?)),
    },
    Mapping {
        name: "bast",
        sentence: "each log block takes what is written again of one block",
        paper: "Kim, Kim, Noh, Min and Cho, IEEE Transactions on Consumer Electronics 2002",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::Bast)?)),
        mount: |flash, config| Ok(Box::new(Hybrid::mount(flash, config, Scheme::Bast)?)),
        count: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::Bast)?)),
    },
    Mapping {
        name: "fast",
        sentence: "one log block takes a sequence, the others take what is written again of all blocks",
        paper: "Lee, Park, Chung, Lee, Park and Song, ACM TECS 2007",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::Fast)?)),
        mount: |flash, config| Ok(Box::new(Hybrid::mount(flash, config, Scheme::Fast)?)),
        count: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::Fast)?)),
    },
    Mapping {
        name: "open-segments",
        sentence: "so many segments are open, each written in order or some in any order; opening another closes one",
        paper: "Bergmann, \"Optimizing Linux with cheap flash drives\", LWN 2011",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::OpenSegments)?)),
        mount: |flash, config| Ok(Box::new(Hybrid::mount(flash, config, Scheme::OpenSegments)?)),
        count: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::OpenSegments)?)),
    },
    Mapping {
        name: "slc-cache",
        sentence: "writes go to blocks with one bit a cell, which are folded into a page map over blocks with several",
        paper: "Im and Shin, ACM SAC 2009; Lee, Ha, Zhang, Kim and Kim, USENIX ATC 2009",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(SlcCache::format(flash, config)?)),
        mount: |flash, config| Ok(Box::new(SlcCache::mount(flash, config)?)),
        count: |flash, config| Ok(Box::new(SlcCache::format(flash, config)?)),
    },
    Mapping {
        name: "last",
        sentence:
            "log blocks for long requests belong to one block, those for short ones are shared, with hot pages apart",
        paper: "Lee, Shin, Kim and Kim, SIGOPS Operating Systems Review 2008",
        gc_free_blocks: FREE_BLOCKS_MIN,
        format: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::Last)?)),
        mount: |flash, config| Ok(Box::new(Hybrid::mount(flash, config, Scheme::Last)?)),
        count: |flash, config| Ok(Box::new(Hybrid::format(flash, config, Scheme::Last)?)),
    },
];

/// The mapping of this name.
pub fn find(name: &str) -> Option<&'static Mapping> {
    MAPPINGS.iter().find(|mapping| mapping.name == name)
}
