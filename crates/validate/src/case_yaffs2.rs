//! What a measured case says of YAFFS2: its settings, and the clock of the harness with which most cases were measured.

use ffslab_machine::yaffs2_keys::Yaffs2Keys;
use ffslab_profiles::Yaffs2Version;
use serde::Deserialize;

/// YAFFS2's part of a case's `system`, beside much that nobody reads.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Settings {
    pub pointer_bits: Option<u32>,
    pub cache_bypass_aligned: Option<bool>,
    pub block_summaries: Option<bool>,
    pub background_gc: Option<bool>,
    #[serde(rename = "short_op_caches")]
    pub short_op_cache_pages: Option<u32>,
    pub reserved_blocks: Option<u32>,
    #[serde(rename = "refresh_period")]
    pub refresh_period_blocks: Option<u32>,
    pub deferred_dir_update: Option<bool>,
    pub tags_ecc: Option<bool>,
    pub inband_tags: Option<bool>,
    pub clock_us: Option<ClockUs>,
}

impl Settings {
    /// The same as keys of a stack.
    pub(crate) fn keys(&self) -> Yaffs2Keys {
        Yaffs2Keys {
            pointer_bits: self.pointer_bits,
            cache_bypass_aligned: self.cache_bypass_aligned,
            block_summaries: self.block_summaries,
            background_gc: Some(self.background_gc.unwrap_or(false)),
            short_op_cache_pages: self.short_op_cache_pages,
            reserved_blocks: self.reserved_blocks,
            refresh_period_blocks: self.refresh_period_blocks,
            deferred_dir_update: self.deferred_dir_update,
            tags_ecc: self.tags_ecc,
            inband_tags: self.inband_tags,
        }
    }
}

/// YAFFS2 as a part of Linux.
#[derive(Clone, Debug, Deserialize)]
pub struct InLinux {
    /// Date of its sources.
    pub version: String,
    #[serde(flatten)]
    pub settings: Settings,
}

/// By how much each operation moves the clock of the harness, in us.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ClockUs {
    pub page_read: f64,
    pub oob_read: f64,
    pub page_program: f64,
    pub erase: f64,
    #[serde(rename = "piece_4KiB")]
    pub piece: f64,
}

/// The generation of the YAFFS2 sources of this date. Whether block summaries and the cache bypass are in use has keys
/// of its own in the case.
pub(crate) fn version_of(date: &str) -> Yaffs2Version {
    match date {
        date if date < "2011-03-29" => Yaffs2Version::Y2010,
        date if date < "2012-06-15" => Yaffs2Version::Y2011,
        // It is not on record when the eviction of single chunks was added; the sources of 2018 have it.
        date if date < "2018" => Yaffs2Version::Y2012,
        _ => Yaffs2Version::Today,
    }
}
