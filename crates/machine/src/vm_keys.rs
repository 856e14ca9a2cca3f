//! `[stack.vm]`: settings of write-back, by the names of `/proc/sys/vm`.

use ffslab_linux::{DirtyLimits, WriteBackKnobs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of write-back. The limits are given either in per cent of the page cache's memory or in bytes; what is absent is the
/// kernel's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VmKeys {
    /// How often the flusher looks for what is old (`dirty_writeback_centisecs`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_writeback_ms: Option<u32>,
    /// Age at which it writes (`dirty_expire_centisecs`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_expire_ms: Option<u32>,
    /// Share of the page cache's memory that may be dirty before writers are held up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_ratio_pct: Option<u32>,
    /// Share that may be dirty before the flusher begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_background_ratio_pct: Option<u32>,
    /// The same two limits in bytes (`dirty_bytes`, `dirty_background_bytes`).
    #[serde(rename = "dirty_B", default, skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<u64>,
    #[serde(rename = "dirty_background_B", default, skip_serializing_if = "Option::is_none")]
    pub dirty_background_bytes: Option<u64>,
}

impl VmKeys {
    pub const NAMES: [&'static str; 6] = [
        "dirty_writeback_ms",
        "dirty_expire_ms",
        "dirty_ratio_pct",
        "dirty_background_ratio_pct",
        "dirty_B",
        "dirty_background_B",
    ];

    /// The settings, where a kernel has these.
    pub fn knobs(&self, of_kernel: WriteBackKnobs) -> WriteBackKnobs {
        let percent = |of_kernel: fn(&DirtyLimits) -> Option<u32>, given: Option<u32>, limits: &DirtyLimits| {
            given.or_else(|| of_kernel(limits))
        };
        let limits = &of_kernel.limits;
        let dirty = percent(dirty_percent, self.dirty_ratio_pct, limits);
        let background = percent(background_percent, self.dirty_background_ratio_pct, limits);
        let limits = match (self.dirty_bytes, self.dirty_background_bytes, dirty.zip(background)) {
            (Some(dirty_bytes), Some(background_bytes), _) => DirtyLimits::Bytes { dirty_bytes, background_bytes },
            (.., Some((dirty_percent, background_percent))) => {
                DirtyLimits::Percent { dirty_percent, background_percent }
            }
            _ => of_kernel.limits,
        };
        WriteBackKnobs {
            writeback_interval_ms: self.dirty_writeback_ms.unwrap_or(of_kernel.writeback_interval_ms),
            expire_ms: self.dirty_expire_ms.unwrap_or(of_kernel.expire_ms),
            limits,
        }
    }
}

fn dirty_percent(limits: &DirtyLimits) -> Option<u32> {
    match limits {
        DirtyLimits::Percent { dirty_percent, .. } => Some(*dirty_percent),
        DirtyLimits::Bytes { .. } => None,
    }
}

fn background_percent(limits: &DirtyLimits) -> Option<u32> {
    match limits {
        DirtyLimits::Percent { background_percent, .. } => Some(*background_percent),
        DirtyLimits::Bytes { .. } => None,
    }
}
