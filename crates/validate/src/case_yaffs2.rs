//! What a measured case says of YAFFS2: its settings, and the clock of the harness with which most cases were measured.

use serde::Deserialize;

/// YAFFS2's part of a case's `system`.
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
