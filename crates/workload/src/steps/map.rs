//! The step that works on a mapped file.

use super::checks::{check_order, nonzero, request_size};
use super::error::StepError;
use super::words::{ContentName, Failure, MapAccess, Msync, Pattern};
use super::{default_seed, is_default};
use ffslab_text::quantity::{Bytes, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page of the page cache.
const PAGE_BYTES: u64 = 4 << 10;

step_keys! {
    /// mmap(2), loads or stores, munmap(2). The map is a shared one (`MAP_SHARED`) of an open file. JFFS2 has none of a file that is
    /// open for writing: EINVAL.
    Mmap {
        file: String,
        /// What the program does with the map.
        access: MapAccess,
        /// Where each access begins.
        pattern: Pattern,
        /// `listed`: the numbers of the accesses' places in the map, from 0, in the order in which they are made. When
        /// all of them were made, it begins again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<u64>,
        /// Bytes that are loaded or stored at once.
        #[serde(rename = "request_B")]
        request_bytes: Bytes,
        /// Number of accesses.
        count: u64,
        /// Where in the file the map begins: a multiple of 4 KiB.
        #[serde(rename = "offset_B", default, skip_serializing_if = "is_default")]
        offset_bytes: Bytes,
        /// How much is mapped; absent: the rest of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// When what was stored is made durable.
        #[serde(default, skip_serializing_if = "is_default")]
        msync: Msync,
        /// Seed of the random places.
        #[serde(default = "default_seed")]
        seed: u64,
        /// Think time after each access.
        #[serde(default, skip_serializing_if = "is_default")]
        gap_us: Micros,
        /// The bytes that are stored; absent: random.
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
        /// The error in which mmap(2) is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
}

impl Mmap {
    /// Errors: the key, what is wrong with it, and what would be right.
    pub(super) fn check(&self) -> Result<(), StepError> {
        request_size("request_B", self.request_bytes)?;
        check_order(self.pattern, &self.order)?;
        if !self.offset_bytes.0.is_multiple_of(PAGE_BYTES) {
            return Err(StepError::MapOffset { bytes: self.offset_bytes.0 });
        }
        if self.access == MapAccess::Read && self.msync != Msync::None {
            return Err(StepError::NothingStored);
        }
        match self.bytes {
            Some(bytes) => {
                nonzero("bytes", bytes.0)?;
                if bytes.0 < self.request_bytes.0 {
                    Err(StepError::SmallMap { bytes: bytes.0, request_bytes: self.request_bytes.0 })
                } else {
                    Ok(())
                }
            }
            None => Ok(()),
        }
    }
}
