//! What a translation layer has done.

use crate::config::FtlConfig;

/// How many counters results have.
pub const NAMED: usize = 18;

/// The counter that only layers have which copy inside the chip.
pub const COPIED_BACK_PAGES: &str = "ftl_copied_back_pages";

/// What was done since the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages that were written with a block that left the write buffer, without a write of the host.
    pub padded_pages: u64,
    /// Pages that collection moved.
    pub gc_pages: u64,
    /// Those of them that it moved while nobody waited.
    pub idle_pages: u64,
    /// Pages that wear levelling, refreshing and failing blocks moved.
    pub other_moved_pages: u64,
    /// Pages of trim bits.
    pub trim_pages: u64,
    /// Translation pages that were read and written (DFTL).
    pub map_read_pages: u64,
    pub map_written_pages: u64,
    /// Entries of the map that were in RAM when they were wanted, and those that were not (DFTL).
    pub map_hits_count: u64,
    pub map_misses_count: u64,
    /// Pages that went from the SLC cache to the rest of the device.
    pub folded_pages: u64,
    /// Pages that collection and merges copied inside the chip. `None`: the settings do not let them.
    pub copied_back_pages: Option<u64>,
    pub checkpoint_pages: u64,
    pub checkpoints_count: u64,
    /// Blocks that collection emptied; with LAST log blocks that were erased because nothing in them counted any more.
    pub collected_blocks: u64,
    /// Log blocks that became data blocks as they were, those to which a rest was copied, and logical blocks that were copied
    /// whole (block maps).
    pub switch_merges_count: u64,
    pub partial_merges_count: u64,
    pub full_merges_count: u64,
    pub erases: u64,
    /// Programs that failed.
    pub failed_programs: u64,
    /// Virtual time that the mount took to find the map; 0 on a device that was formatted.
    pub mount_ns: u64,
}

impl Statistics {
    /// Nothing yet, of a layer with these settings.
    pub(crate) fn of(config: &FtlConfig) -> Statistics {
        Statistics { copied_back_pages: (config.copy_backs_max_count > 0).then_some(0), ..Statistics::default() }
    }

    pub(crate) fn copies_back(&mut self) {
        self.copied_back_pages = self.copied_back_pages.map(|pages| pages + 1);
    }

    /// Programmed pages a page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        let moved = self.padded_pages + self.gc_pages + self.other_moved_pages + self.folded_pages;
        let all = self.host_pages + moved + self.trim_pages + self.map_written_pages + self.checkpoint_pages;
        all as f64 / self.host_pages as f64
    }

    /// The counters by the names that results have for them.
    pub fn named(&self) -> [(&'static str, u64); NAMED] {
        [
            ("ftl_host_pages", self.host_pages),
            ("ftl_padded_pages", self.padded_pages),
            ("ftl_gc_pages", self.gc_pages),
            ("ftl_idle_pages", self.idle_pages),
            ("ftl_other_moved_pages", self.other_moved_pages),
            ("ftl_trim_pages", self.trim_pages),
            ("ftl_map_read_pages", self.map_read_pages),
            ("ftl_map_written_pages", self.map_written_pages),
            ("ftl_map_hits", self.map_hits_count),
            ("ftl_map_misses", self.map_misses_count),
            ("ftl_folded_pages", self.folded_pages),
            ("ftl_checkpoint_pages", self.checkpoint_pages),
            ("ftl_collected_blocks", self.collected_blocks),
            ("ftl_switch_merges", self.switch_merges_count),
            ("ftl_partial_merges", self.partial_merges_count),
            ("ftl_full_merges", self.full_merges_count),
            ("ftl_failed_programs", self.failed_programs),
            (COPIED_BACK_PAGES, self.copied_back_pages.unwrap_or(0)),
        ]
    }
}
