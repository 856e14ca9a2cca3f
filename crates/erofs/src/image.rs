//! Content of files of an image that is only looked into.

use crate::expand::expand;
use crate::extents::{map, Extent, Stored};
use crate::inode::{self, Inode};
use crate::metadata::Metadata;
use crate::superblock::{Superblock, BLOCK_BYTES};
use ffslab_rawblock::Wrong;
use std::rc::Rc;

/// An image as it stands.
pub struct Content<'i> {
    image: &'i [u8],
    superblock: Superblock,
    /// All fragments.
    packed: Option<Rc<Vec<u8>>>,
}

impl Metadata for Content<'_> {
    fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    fn block(&mut self, number: u64) -> Result<Rc<Vec<u8>>, Wrong> {
        self.stored(number.saturating_mul(BLOCK_BYTES), BLOCK_BYTES).map(|block| Rc::new(block.to_vec()))
    }
}

impl<'i> Content<'i> {
    pub fn of(image: &'i [u8], superblock: Superblock) -> Content<'i> {
        Content { image, superblock, packed: None }
    }

    fn stored(&self, at: u64, bytes: u64) -> Result<&'i [u8], Wrong> {
        let place = usize::try_from(at).ok().and_then(|at| Some(at..at.checked_add(bytes as usize)?));
        let held = place.and_then(|place| self.image.get(place));
        held.ok_or_else(|| Wrong::new(at, "it stands behind the end of the image"))
    }

    /// All fragments are read when the first one is asked for.
    fn fragment(&mut self, inode: &Inode, at: u64, bytes: u64) -> Result<Vec<u8>, Wrong> {
        let number = self.superblock.packed_number.filter(|&packed| packed != inode.number);
        let number =
            number.ok_or_else(|| Wrong::new(inode.behind_offset, "a fragment, and no inode with fragments"))?;
        let packed = match &self.packed {
            Some(packed) => packed.clone(),
            None => {
                let packed = inode::read(self, number)?;
                // A fragment takes no more than what stands for it may expand to.
                if packed.bytes > (self.image.len() as u64).saturating_mul(256) {
                    return Err(Wrong::new(packed.behind_offset, "more fragments than there can be"));
                }
                let held = Rc::new(content(self, &packed)?);
                self.packed.insert(held).clone()
            }
        };
        let place = usize::try_from(at).ok().and_then(|at| Some(at..at.checked_add(bytes as usize)?));
        let held = place.and_then(|place| packed.get(place));
        Ok(held.ok_or_else(|| Wrong::new(inode.behind_offset, "a fragment behind the end of all fragments"))?.to_vec())
    }
}

/// The content of a file, whose size the caller has looked at.
pub fn content(from: &mut Content<'_>, inode: &Inode) -> Result<Vec<u8>, Wrong> {
    let mut data = vec![0; inode.bytes as usize];
    let mut index = None;
    let mut end = inode.bytes;
    // From the end on, so that each extent is known as far as it goes.
    while end > 0 {
        let extent = map(from, inode, &mut index, end - 1)?;
        if extent.begin_offset >= end {
            return Err(Wrong::new(inode.behind_offset, "an extent behind its place"));
        }
        let held = part(from, inode, &extent, end)?;
        if let Some(held) = held {
            data[extent.begin_offset as usize..end as usize].copy_from_slice(&held);
        }
        end = extent.begin_offset;
    }
    Ok(data)
}

/// An extent up to `end`. `None`: it is a hole.
fn part(from: &mut Content<'_>, inode: &Inode, extent: &Extent, end: u64) -> Result<Option<Vec<u8>>, Wrong> {
    let wanted = end - extent.begin_offset;
    let (at, bytes) = match extent.stored {
        Stored::Nowhere => return Ok(None),
        Stored::Fragment { at } => return from.fragment(inode, at, wanted).map(Some),
        Stored::Metadata { at, bytes } | Stored::Blocks { at, bytes } => (at, bytes),
    };
    let Some(algorithm) = extent.algorithm else { return Ok(Some(from.stored(at, wanted)?.to_vec())) };
    let stored = from.stored(at, bytes)?;
    let is_padded = from.superblock.is_padded_before();
    let plain = expand(stored, algorithm, is_padded, extent.begin_offset % BLOCK_BYTES, wanted as usize);
    plain.map(Some).ok_or_else(|| Wrong::new(at, "a physical cluster that does not expand"))
}
