//! Blocks of an image in which metadata stand, wherever they come from.

use crate::superblock::{Superblock, BLOCK_BYTES};
use ffslab_rawblock::Wrong;
use std::rc::Rc;

/// Where metadata stand: blocks of the image, by their numbers.
pub trait Metadata {
    fn superblock(&self) -> &Superblock;

    /// Errors: the block cannot be read.
    fn block(&mut self, number: u64) -> Result<Rc<Vec<u8>>, Wrong>;

    /// Bytes that may stand in several blocks.
    fn take(&mut self, at_bytes: u64, bytes: usize) -> Result<Vec<u8>, Wrong> {
        let mut taken = Vec::with_capacity(bytes);
        while taken.len() < bytes {
            let at = at_bytes.saturating_add(taken.len() as u64);
            let block = self.block(at / BLOCK_BYTES)?;
            let held = &block[(at % BLOCK_BYTES) as usize..];
            taken.extend_from_slice(&held[..held.len().min(bytes - taken.len())]);
        }
        Ok(taken)
    }
}
