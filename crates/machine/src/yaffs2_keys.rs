//! `[stack.yaffs2]`: how YAFFS2 was built and set.

use ffslab_yaffs2::{Background, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of YAFFS2 that most leave as its sources have them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Yaffs2Keys {
    /// Width of a pointer on the machine: the space kept for a checkpoint depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer_bits: Option<u32>,
    /// Writes of whole chunks go past the short-op cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bypass_aligned: Option<bool>,
    /// The last chunks of each block hold the tags of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_summaries: Option<bool>,
    /// A thread collects garbage in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_gc: Option<bool>,
    /// Chunks of the short-op cache, at most 20.
    #[serde(rename = "short_op_caches", default, skip_serializing_if = "Option::is_none")]
    pub short_op_cache_pages: Option<u32>,
    /// Erase blocks that only garbage collection may use; at least 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_blocks: Option<u32>,
    /// The oldest block is rewritten each time so many blocks have been collected.
    #[serde(rename = "refresh_period", default, skip_serializing_if = "Option::is_none")]
    pub refresh_period_blocks: Option<u32>,
    /// A directory gets its new time stamp later, not at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_dir_update: Option<bool>,
    /// Tags carry an ECC of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags_ecc: Option<bool>,
    /// Tags lie in the data area of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inband_tags: Option<bool>,
}

impl Yaffs2Keys {
    /// The options with these settings. `background`: how the thread works, if there is one.
    pub fn set(&self, standard: Options, background: Background) -> Options {
        Options {
            cache_bypass_aligned: self.cache_bypass_aligned.unwrap_or(standard.cache_bypass_aligned),
            block_summaries: self.block_summaries.unwrap_or(standard.block_summaries),
            short_op_cache_pages: self.short_op_cache_pages.unwrap_or(standard.short_op_cache_pages),
            reserved_blocks: self.reserved_blocks.unwrap_or(standard.reserved_blocks),
            refresh_period_blocks: self.refresh_period_blocks.unwrap_or(standard.refresh_period_blocks),
            tags_ecc: self.tags_ecc.unwrap_or(standard.tags_ecc),
            inband_tags: self.inband_tags.unwrap_or(standard.inband_tags),
            deferred_directory_update: self.deferred_dir_update.unwrap_or(standard.deferred_directory_update),
            pointer_bits: self.pointer_bits.unwrap_or(standard.pointer_bits),
            background: match self.background_gc {
                Some(has_thread) => has_thread.then_some(background),
                None => standard.background,
            },
            ..standard
        }
    }
}
