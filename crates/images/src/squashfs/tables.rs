//! Metadata of squashfs: tables in compressed blocks of 8 KiB, one behind the other, read as one run of bytes.

use crate::little_endian::{u16_at, u32_at, u64_at};
use ffslab_fs::FileKind;
use ffslab_squashfs::inode::{self, Inode, Metadata, Place};
use ffslab_squashfs::{Superblock, Wrong, IS_PLAIN, IS_PLAIN_DATA, METADATA_BYTES};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many expanded metadata blocks are kept.
const KEPT_MAX: usize = 512;
const ID_BYTES: usize = 4;
const FRAGMENT_BYTES: usize = 16;
/// What all blocks together may expand to, each time that one is needed: so much, and so many times the size of the image. A damaged
/// image may ask for the same block for each of its names.
const EXPANDED_ALWAYS_BYTES: u64 = 1 << 30;
const EXPANDED_PER_IMAGE: u64 = 16;

/// A metadata block that was expanded, and where the next one begins.
struct Expanded {
    bytes: Vec<u8>,
    next_at: u64,
}

/// The tables of an image.
pub struct Tables<'i> {
    pub image: &'i [u8],
    pub superblock: Superblock,
    kept: RefCell<BTreeMap<u64, Result<Rc<Expanded>, Wrong>>>,
    may_expand_bytes: Cell<u64>,
}

impl<'i> Tables<'i> {
    pub fn of(image: &'i [u8], superblock: Superblock) -> Tables<'i> {
        let may_expand_bytes = EXPANDED_ALWAYS_BYTES + EXPANDED_PER_IMAGE * image.len() as u64;
        Tables { image, superblock, kept: RefCell::default(), may_expand_bytes: Cell::new(may_expand_bytes) }
    }

    /// What a block expands to, of at most `most_bytes`. `None`: it is damaged, or all together are too much.
    fn expand(&self, stored: &[u8], most_bytes: usize) -> Option<Vec<u8>> {
        self.may_expand_bytes.set(self.may_expand_bytes.get().checked_sub(most_bytes as u64)?);
        self.superblock.compressor.expand(stored, most_bytes)
    }

    fn metadata(&self, at_bytes: u64) -> Result<Rc<Expanded>, Wrong> {
        let mut kept = self.kept.borrow_mut();
        if let Some(known) = kept.get(&at_bytes) {
            return known.clone();
        }
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        let found = self.expand_metadata(at_bytes).map(Rc::new);
        kept.insert(at_bytes, found.clone());
        found
    }

    fn expand_metadata(&self, at_bytes: u64) -> Result<Expanded, Wrong> {
        let wrong = |what: &str| Wrong::new(at_bytes, what);
        let at = usize::try_from(at_bytes).ok().filter(|&at| at < self.image.len());
        let at = at.ok_or_else(|| wrong("metadata behind the end of the image"))?;
        let head = u16_at(self.image, at).ok_or_else(|| wrong("metadata that is cut off"))?;
        let bytes = usize::from(head & !IS_PLAIN);
        let stored = self.image.get(at + 2..at + 2 + bytes).ok_or_else(|| wrong("metadata that is cut off"))?;
        let plain = if head & IS_PLAIN == 0 {
            self.expand(stored, METADATA_BYTES)
        } else {
            (bytes <= METADATA_BYTES).then(|| stored.to_vec())
        };
        let bytes = plain.ok_or_else(|| wrong("a metadata block that does not expand"))?;
        Ok(Expanded { bytes, next_at: (at + 2 + stored.len()) as u64 })
    }

    /// A reader of the table that begins at `table_at`, from the metadata block at `block` in it on.
    pub fn read_from(&self, table_at: u64, block: u64, offset: u16) -> Cursor<'_, 'i> {
        Cursor { tables: self, at_bytes: table_at.saturating_add(block), offset: offset.into() }
    }

    /// An entry of a table whose metadata blocks stand where a list of offsets says.
    fn listed(&self, list_at: u64, number: u32, entry_bytes: usize) -> Result<Vec<u8>, Wrong> {
        let per_block = METADATA_BYTES / entry_bytes;
        let (block, entry) = (number as usize / per_block, number as usize % per_block);
        let place = usize::try_from(list_at).ok().and_then(|at| at.checked_add(8 * block));
        let at = place.and_then(|at| u64_at(self.image, at));
        let at = at.ok_or_else(|| Wrong::new(list_at, "a table that is cut off"))?;
        self.read_from(at, 0, (entry * entry_bytes) as u16).take(entry_bytes)
    }

    /// The owner or group with this number.
    pub fn id(&self, number: u16) -> Result<u32, Wrong> {
        let at = self.superblock.ids_offset;
        if number >= self.superblock.ids_count {
            return Err(Wrong::new(at, format!("an owner with the number {number}, which is not there")));
        }
        let entry = self.listed(at, number.into(), ID_BYTES)?;
        u32_at(&entry, 0).ok_or_else(|| Wrong::new(at, "a table that is cut off"))
    }

    /// What the block holds in which the ends of files stand.
    pub fn fragment(&self, number: u32) -> Result<Vec<u8>, Wrong> {
        let list_at = self.superblock.fragments_at.filter(|_| number < self.superblock.fragments_count);
        let list_at = list_at.ok_or_else(|| Wrong::new(0, format!("the fragment {number}, which is not there")))?;
        let entry = self.listed(list_at, number, FRAGMENT_BYTES)?;
        let (at, stored) = u64_at(&entry, 0).zip(u32_at(&entry, 8)).unwrap_or_default();
        self.data(at, stored).map(|(data, _)| data)
    }

    /// A block of data, and where the next one begins. `stored`: how many bytes it takes, and whether they are plain.
    pub fn data(&self, at_bytes: u64, stored: u32) -> Result<(Vec<u8>, u64), Wrong> {
        let wrong = |what: &str| Wrong::new(at_bytes, what);
        let most = self.superblock.block_bytes as usize;
        let bytes = (stored & !IS_PLAIN_DATA) as usize;
        let at = usize::try_from(at_bytes).ok();
        let place = at.and_then(|at| Some(at..at.checked_add(bytes)?));
        let held =
            place.and_then(|place| self.image.get(place)).ok_or_else(|| wrong("data behind the end of the image"))?;
        let plain =
            if stored & IS_PLAIN_DATA == 0 { self.expand(held, most) } else { (bytes <= most).then(|| held.to_vec()) };
        let plain = plain.ok_or_else(|| wrong("a block of data that does not expand"))?;
        Ok((plain, at_bytes + bytes as u64))
    }
}

/// The inode there, and the reader behind it: the list of a file's blocks follows.
pub fn inode_at<'t, 'i>(tables: &'t Tables<'i>, (block, offset): Place) -> Result<(Inode, Cursor<'t, 'i>), Wrong> {
    let mut cursor = tables.read_from(tables.superblock.inodes_at, block, offset);
    let inode = inode::read(&mut cursor)?;
    Ok((inode, cursor))
}

/// Whether the root is a directory that can be read: then this is squashfs, whatever else is damaged.
pub fn has_root(tables: &Tables<'_>) -> bool {
    inode_at(tables, tables.superblock.root_offset).is_ok_and(|(inode, _)| inode.kind == FileKind::Directory)
}

/// Reads a table from a place on.
pub struct Cursor<'t, 'i> {
    tables: &'t Tables<'i>,
    at_bytes: u64,
    offset: usize,
}

impl Metadata for Cursor<'_, '_> {
    fn at_bytes(&self) -> u64 {
        self.at_bytes
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, Wrong> {
        let mut taken = Vec::with_capacity(bytes.min(METADATA_BYTES));
        while taken.len() < bytes {
            let block = self.tables.metadata(self.at_bytes)?;
            let held = block.bytes.get(self.offset..).unwrap_or_default();
            if held.is_empty() {
                // Only the last block of a table is short, and none is empty.
                if self.offset > block.bytes.len() || block.bytes.is_empty() {
                    return Err(Wrong::new(self.at_bytes, "a place behind the end of a metadata block"));
                }
                (self.at_bytes, self.offset) = (block.next_at, 0);
                continue;
            }
            let count = held.len().min(bytes - taken.len());
            taken.extend_from_slice(&held[..count]);
            self.offset += count;
        }
        Ok(taken)
    }
}
