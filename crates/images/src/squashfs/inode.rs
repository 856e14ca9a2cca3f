//! Inodes of squashfs, and the names in its directories.

use super::tables::{Cursor, Tables, Wrong};
use crate::little_endian::{u16_at, u32_at};
use ffslab_fs::FileKind;

/// Where an inode stands: the metadata block in the table of inodes, and the place in it once expanded.
pub type Place = (u64, u16);

const BASE_BYTES: usize = 16;
const NO_FRAGMENT: u32 = u32::MAX;
/// The size of a directory counts "." and "..", which stand nowhere.
const DOTS_BYTES: u32 = 3;
const SYMLINK_BYTES_MAX: u32 = 65_536;
/// Names behind one head of a directory.
const RUN_MAX: u32 = 256;
const NAME_BYTES_MAX: usize = 256;

/// What an inode says.
#[derive(Clone, Debug)]
pub struct Inode {
    pub kind: FileKind,
    pub permissions: u32,
    pub uid_number: u16,
    pub gid_number: u16,
    pub modified_s: u32,
    pub links: u32,
    pub is: Is,
}

#[derive(Clone, Debug)]
pub enum Is {
    Directory { block: u32, offset: u16, bytes: u32 },
    File(File),
    Symlink(Vec<u8>),
    Device(u32),
    Other,
}

/// Where the content of a file stands.
#[derive(Clone, Debug)]
pub struct File {
    pub bytes: u64,
    pub at_bytes: u64,
    /// Number of the fragment with its end, and the place in it.
    pub fragment_offset: Option<(u32, u32)>,
}

impl File {
    /// How many blocks are listed behind the inode.
    pub fn blocks(&self, block_bytes: u32) -> u64 {
        match self.fragment_offset {
            Some(_) => self.bytes / u64::from(block_bytes),
            None => self.bytes.div_ceil(u64::from(block_bytes)),
        }
    }
}

/// The inode there, and the reader behind it: the list of a file's blocks follows.
pub fn read<'t, 'i>(tables: &'t Tables<'i>, (block, offset): Place) -> Result<(Inode, Cursor<'t, 'i>), Wrong> {
    let mut cursor = tables.read_from(tables.superblock.inodes_at, block, offset);
    let base = cursor.take(BASE_BYTES)?;
    let half = |at: usize| u16_at(&base, at).unwrap_or_default();
    let word = |at: usize| u32_at(&base, at).unwrap_or_default();
    let (links, is, kind) = of_type(half(0), &mut cursor)?;
    let inode = Inode {
        kind,
        permissions: u32::from(half(2)) & 0o7777,
        uid_number: half(4),
        gid_number: half(6),
        modified_s: word(8),
        links,
        is,
    };
    Ok((inode, cursor))
}

/// What stands behind the part that all inodes have.
fn of_type(number: u16, cursor: &mut Cursor<'_, '_>) -> Result<(u32, Is, FileKind), Wrong> {
    let mut words = |bytes: usize| -> Result<Box<dyn Fn(usize) -> u32>, Wrong> {
        let held = cursor.take(bytes)?;
        Ok(Box::new(move |at: usize| u32_at(&held, at).unwrap_or_default()))
    };
    let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let fragment = |number: u32, offset: u32| (number != NO_FRAGMENT).then_some((number, offset));
    Ok(match number {
        1 => {
            let of = words(16)?;
            let bytes = of(8) & 0xFFFF;
            (of(4), Is::Directory { block: of(0), offset: (of(8) >> 16) as u16, bytes }, FileKind::Directory)
        }
        8 => {
            let of = words(24)?;
            let is = Is::Directory { block: of(8), offset: (of(16) >> 16) as u16, bytes: of(4) };
            (of(0), is, FileKind::Directory)
        }
        2 => {
            let of = words(16)?;
            let file = File { at_bytes: of(0).into(), bytes: of(12).into(), fragment_offset: fragment(of(4), of(8)) };
            (1, Is::File(file), FileKind::File)
        }
        9 => {
            let of = words(40)?;
            let file = File {
                at_bytes: long(of(0), of(4)),
                bytes: long(of(8), of(12)),
                fragment_offset: fragment(of(28), of(32)),
            };
            (of(24), Is::File(file), FileKind::File)
        }
        3 | 10 => {
            let of = words(8)?;
            let (links, bytes) = (of(0), of(4));
            if bytes > SYMLINK_BYTES_MAX {
                return Err(Wrong::new(cursor.at_bytes(), format!("a symbolic link of {bytes} B")));
            }
            (links, Is::Symlink(cursor.take(bytes as usize)?), FileKind::Symlink)
        }
        4 | 5 | 11 | 12 => {
            let of = words(8)?;
            let kind = if matches!(number, 4 | 11) { FileKind::BlockDevice } else { FileKind::CharDevice };
            (of(0), Is::Device(of(4)), kind)
        }
        6 | 13 => (words(4)?(0), Is::Other, FileKind::Fifo),
        7 | 14 => (words(4)?(0), Is::Other, FileKind::Socket),
        other => {
            return Err(Wrong::new(cursor.at_bytes(), format!("an inode of the kind {other}, which there is not")))
        }
    })
}

/// Calls `name` for each name of a directory, with the place of its inode.
///
/// Errors: where the directory cannot be read on.
pub fn list(
    tables: &Tables<'_>,
    (block, offset, bytes): (u32, u16, u32),
    mut name: impl FnMut(&[u8], Place) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let mut cursor = tables.read_from(tables.superblock.directories_offset, block.into(), offset);
    let mut left = bytes.saturating_sub(DOTS_BYTES);
    while left > 0 {
        let head = cursor.take(12)?;
        let word = |at: usize| u32_at(&head, at).unwrap_or_default();
        let (count, inodes_block) = (word(0).saturating_add(1), word(4));
        let wrong = |what: &str| Wrong::new(cursor.at_bytes(), what);
        if count > RUN_MAX {
            return Err(wrong("a directory whose names cannot be so many"));
        }
        left = left.saturating_sub(12);
        for _ in 0..count {
            let entry = cursor.take(8)?;
            let half = |at: usize| u16_at(&entry, at).unwrap_or_default();
            let name_bytes = usize::from(half(6)) + 1;
            if name_bytes > NAME_BYTES_MAX {
                return Err(Wrong::new(cursor.at_bytes(), format!("a name of {name_bytes} B")));
            }
            let text = cursor.take(name_bytes)?;
            name(&text, (inodes_block.into(), half(0)))?;
            left = left.saturating_sub(8 + name_bytes as u32);
        }
    }
    Ok(())
}

/// Whether the root is a directory that can be read: then this is squashfs, whatever else is damaged.
pub fn has_root(tables: &Tables<'_>) -> bool {
    read(tables, tables.superblock.root_offset).is_ok_and(|(inode, _)| inode.kind == FileKind::Directory)
}

/// A number of a list behind an inode.
pub fn next_word(cursor: &mut Cursor<'_, '_>) -> Result<u32, Wrong> {
    let word = cursor.take(4)?;
    Ok(u32_at(&word, 0).unwrap_or_default())
}
