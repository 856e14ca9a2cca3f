//! Block summaries: the tags of a block's chunks once more, in its last chunks, so that a mount reads one page per block.
//!
//! Follows `yaffs_summary.c`. A summary chunk holds 16 bytes of header (version, block, sequence number, sum of the bytes)
//! and 12 bytes per chunk: object, chunk, bytes, as packed tags have them. How they are written and read stands in
//! `summary_chunks.rs`.

use crate::tags::{Tags, Words};

pub const VERSION: u32 = 1;
pub const HEADER_BYTES: usize = 16;
pub const ENTRY_BYTES: usize = 12;

pub(crate) struct Summary {
    /// Chunks of a block before its summary; 0: no summaries.
    pub chunks: u32,
    /// Tags of the chunks of the open block; during a scan, of the block that is being scanned.
    pub entries: Vec<Words>,
}

impl Summary {
    pub fn new(enabled: bool, chunks_per_block: u32, data_bytes: u32) -> Summary {
        let all = chunks_per_block as usize * ENTRY_BYTES;
        let data = data_bytes as usize;
        let used = (all + data - 1) / (data - HEADER_BYTES).max(1);
        let chunks = if enabled { chunks_per_block.saturating_sub(used as u32) } else { 0 };
        Summary { chunks, entries: vec![Words::default(); chunks as usize] }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let words = self.entries.iter().flat_map(|entry| [entry.object, entry.chunk, entry.bytes]);
        words.flat_map(u32::to_le_bytes).collect()
    }

    pub fn load(&mut self, bytes: &[u8]) {
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        for (entry, bytes) in self.entries.iter_mut().zip(bytes.chunks_exact(ENTRY_BYTES)) {
            *entry = Words { object: word(bytes, 0), chunk: word(bytes, 4), bytes: word(bytes, 8) };
        }
    }

    /// Tags of a chunk of the block whose summary was read.
    pub fn tags(&self, page: u32, sequence: u32) -> Tags {
        Tags::from_words(sequence, self.entries[page as usize])
    }
}
